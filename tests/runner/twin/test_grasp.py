"""The block is held by friction alone: gripped, lifted, carried and dropped into the box, by known places."""

from __future__ import annotations

from math import atan2, cos, degrees, radians, sin

import numpy as np
import pytest

from runner.kinematics.frames import stance_rotation
from runner.kinematics.ik.dls import DampedLeastSquares
from runner.kinematics.ik.protocol import IkTarget, JointLimits
from runner.twin.setup import Twin

TILT_DEG, GRASP_Y_M, BACK_M = 50.0, 0.028, 0.055


def joints(twin: Twin, point_m, heading_deg: float, tilt_deg: float, start_deg):
    base, model = twin.world.scene.base, twin.arm.model
    solver = DampedLeastSquares(model, limits=JointLimits.of(model, margin_deg=1.0), restarts=8)
    rotation = stance_rotation(tilt_deg, heading_deg, base)
    return solver.solve(IkTarget(base.to_base(np.array(point_m)), rotation), start_deg)


def go(twin: Twin, angles_deg, wait_still) -> None:
    twin.arm.send_path(np.atleast_2d(angles_deg), speed_percent=60)
    twin.clock.sleep(0.5)
    wait_still(twin)


def carried(twin: Twin, block_xz_m, yaw_deg, box_xz_m, wait_still):
    """Truth while held, at the box and at the end, and the gripper's value while held."""
    x, z = block_xz_m
    radial = degrees(atan2(z, x))
    heading = min((yaw_deg + 90 * k for k in range(-4, 5)), key=lambda h: abs((h - radial + 180) % 360 - 180))
    start = np.array([radial - 90, 40.0, 0, 0, 10, -30])
    pick = joints(twin, (x, GRASP_Y_M, z), heading, TILT_DEG, start)
    t, h = radians(TILT_DEG), radians(heading)
    above = (x - BACK_M * cos(t) * cos(h), GRASP_Y_M + BACK_M * sin(t), z - BACK_M * cos(t) * sin(h))
    up = joints(twin, above, heading, TILT_DEG, pick.angles_deg)
    assert pick.converged
    assert up.converged
    go(twin, up.angles_deg, wait_still)
    go(twin, pick.angles_deg, wait_still)
    twin.arm.send_gripper_value(20)
    twin.clock.sleep(2.0)
    go(twin, up.angles_deg, wait_still)
    held, value = twin.truth(), twin.arm.read_gripper_value()
    side = degrees(atan2(box_xz_m[1], box_xz_m[0]))
    place = joints(twin, (box_xz_m[0], 0.105, box_xz_m[1]), side, 40.0, np.array([side - 90, *up.angles_deg[1:]]))
    assert place.converged
    go(twin, place.angles_deg, wait_still)
    over = twin.truth()
    twin.arm.send_gripper_open()
    twin.clock.sleep(2.0)
    return held, value, over, twin.truth()


@pytest.mark.parametrize(
    ("seed", "block_xz_m", "yaw_off_deg", "box_xz_m"),
    [
        (1, (0.16, 0.18), 0.0, (-0.16, 0.20)),
        (2, (0.08, 0.24), 15.0, (-0.10, 0.23)),
        (3, (0.22, 0.12), -20.0, (-0.20, 0.17)),
        (4, (0.12, 0.22), 30.0, (-0.18, 0.14)),
    ],
)
def test_a_block_is_picked_carried_and_dropped_into_the_box(
    perfect_twin, wait_still, seed, block_xz_m, yaw_off_deg, box_xz_m
):
    yaw_deg = degrees(atan2(block_xz_m[1], block_xz_m[0])) + yaw_off_deg
    perfect_twin.reset(seed, block_xz_m=block_xz_m, box_xz_m=box_xz_m, block_yaw_deg=yaw_deg, box_yaw_deg=10.0 * seed)
    before = perfect_twin.truth()
    assert before.block_on_table
    assert not before.block_held
    assert not before.block_in_box
    held, value, over, after = carried(perfect_twin, block_xz_m, yaw_deg, box_xz_m, wait_still)
    assert held.block_held
    assert not held.block_on_table
    assert value == pytest.approx(52, abs=2), "30 mm between the pads"
    assert over.block_held, "not lost on the way"
    slip_mm = 1000 * abs(
        np.linalg.norm(np.subtract(over.block_m, over.tool_m)) - np.linalg.norm(np.subtract(held.block_m, held.tool_m))
    )
    assert slip_mm < 3.0
    assert after.block_in_box
    assert not after.block_held
    assert not after.block_on_table


def test_closing_on_nothing_holds_nothing(perfect_twin):
    perfect_twin.reset(1)
    perfect_twin.arm.send_gripper_value(20)
    perfect_twin.clock.sleep(2.0)
    assert perfect_twin.arm.read_gripper_value() == pytest.approx(20, abs=1)
    assert not perfect_twin.truth().block_held
