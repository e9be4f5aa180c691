"""Clearances of the arm: signs, parts and places that a person can check by hand."""

from __future__ import annotations

import numpy as np
import pytest

from runner.config import Config
from runner.geometry import (
    BlockOnTable,
    BoxOnTable,
    Clearance,
    HeldBlock,
    Mast,
    Obstacles,
    clearances,
    first_broken,
    interpolated,
    obstacles_of,
    smallest_mm,
    swept,
)
from runner.kinematics.errors import WrongJoints
from runner.kinematics.fk import tool_pose
from runner.kinematics.frames import BaseInCell, stance_rotation
from runner.kinematics.gripper import tip_below_tcp_m
from runner.kinematics.ik.dls import DampedLeastSquares
from runner.kinematics.ik.protocol import IkTarget
from runner.kinematics.model import ArmModel, load_arm

BENT = np.array([0.0, 60.0, -20.0, 0.0, 20.0, -30.0])


def at(point_xyz_m: tuple[float, float, float], tilt: float, arm: ArmModel, base: BaseInCell) -> np.ndarray:
    heading = float(np.degrees(np.arctan2(point_xyz_m[2], point_xyz_m[0])))
    target = IkTarget(base.to_base(np.array(point_xyz_m)), stance_rotation(tilt, heading, base))
    start = BENT + np.array([heading - 90.0, 0, 0, 0, 0, 0])
    found = DampedLeastSquares(arm).solve(target, start)
    assert found.converged
    return found.angles_deg


def to(found: tuple[Clearance, ...], against: str) -> Clearance:
    (one,) = (c for c in found if c.against == against)
    return one


@pytest.mark.parametrize("tilt", [30.0, 50.0, 70.0])
@pytest.mark.parametrize("opening", [44.5, 30.0])
def test_the_pads_stand_over_the_table_as_the_four_bar_says(
    tilt: float, opening: float, arm: ArmModel, base: BaseInCell
) -> None:
    pose = at((0.1, 0.05, 0.18), tilt, arm, base)
    found = to(clearances(pose, arm, base, Obstacles(opening_mm=opening)), "table")
    assert found.what == "pad"
    assert found.mm == pytest.approx(50.0 - tip_below_tcp_m(tilt, opening, arm) * 1000.0, abs=0.05)


def test_a_base_that_stands_lower_brings_the_pads_nearer_the_table(arm: ArmModel) -> None:
    pose = at((0.1, 0.05, 0.18), 50.0, arm, BaseInCell.at())
    high = to(clearances(pose, arm, BaseInCell.at(), Obstacles()), "table").mm
    low = to(clearances(pose, arm, BaseInCell.at((0.0, -0.01, 0.0)), Obstacles()), "table").mm
    assert high - low == pytest.approx(10.0)


def test_open_jaws_straddle_the_block_with_the_room_that_is_left(arm: ArmModel, base: BaseInCell) -> None:
    pose = at((0.15, 0.026, 0.12), 50.0, arm, base)
    yaw = float(np.degrees(np.arctan2(0.12, 0.15)))
    aligned = clearances(pose, arm, base, Obstacles(block=BlockOnTable((0.15, 0.12), yaw, 30.0)))
    assert to(aligned, "block").mm == pytest.approx((44.58 - 30.0) / 2.0, abs=0.05)
    askew = clearances(pose, arm, base, Obstacles(block=BlockOnTable((0.15, 0.12), yaw + 45.0, 30.0)))
    assert 0.0 < to(askew, "block").mm < 2.0
    closed = clearances(pose, arm, base, Obstacles(opening_mm=20.0, block=BlockOnTable((0.15, 0.12), yaw, 30.0)))
    assert to(closed, "block").mm < -4.0


def test_a_held_block_is_part_of_the_arm(arm: ArmModel, base: BaseInCell) -> None:
    pose = at((-0.15, 0.10, 0.15), 50.0, arm, base)
    T = np.eye(4)
    tool = tool_pose(pose, arm)
    T[:3, :3] = tool[:3, :3].T  # upright in the cell
    T[:3, 3] = tool[:3, :3].T @ np.array([0.0, 0.0, -0.02])  # 20 mm below the tool point
    held = Obstacles().holding(HeldBlock(T, 30.0))
    assert held.opening_mm == 30.0
    found = to(clearances(pose, arm, base, held), "table")
    assert (found.what, found.mm) == ("held block", pytest.approx(100.0 - 20.0 - 15.0, abs=0.02))
    resting = Obstacles().holding(HeldBlock(T, 30.0), may_rest=True)
    assert to(clearances(pose, arm, base, resting), "table").what == "pad"
    assert held.released().held is None


def test_a_low_tool_over_a_wall_meets_the_box_and_a_high_one_does_not(arm: ArmModel, base: BaseInCell) -> None:
    box = BoxOnTable((-0.16, 0.16), 45.0, (120.0, 120.0), 43.0, 3.0)
    high, low = (at((-0.12, y, 0.12), 50.0, arm, base) for y in (0.10, 0.04))
    assert to(clearances(high, arm, base, Obstacles(box=box)), "box").mm > 20.0
    found = to(clearances(low, arm, base, Obstacles(box=box)), "box")
    assert found.mm < 0.0
    assert found.what in ("pad", "finger")


def test_a_mast_in_the_way_is_met_where_the_path_passes_it(arm: ArmModel, base: BaseInCell) -> None:
    mast = Obstacles(mast=Mast((0.0, 0.25), 0.015))
    a, b = (BENT + np.array([j0, 0, 0, 0, 0, 0]) for j0 in (-60.0, 60.0))
    ends = clearances(np.stack((a, b)), arm, base, mast)
    assert to(ends, "mast").mm > 50.0
    found = to(swept(np.stack((a, b)), arm, base, mast, step_deg=2.0), "mast")
    assert found.mm < 0.0
    assert found.pose_index in range(20, 41)


def test_folding_the_forearm_onto_the_upper_arm_is_seen(arm: ArmModel, base: BaseInCell) -> None:
    assert to(clearances(arm.home_deg, arm, base, Obstacles()), "arm").mm > 20.0
    assert to(clearances(np.array([0.0, 0, 65, 0, 0, 0]), arm, base, Obstacles()), "arm").mm < 0.0
    into_the_base = np.array([0.0, 100.0, 50.0, 0.0, 100.0, 0.0])
    assert to(clearances(into_the_base, arm, base, Obstacles()), "arm").mm < 0.0


def test_the_smallest_of_many_poses_is_that_of_each(arm: ArmModel, base: BaseInCell, config: Config) -> None:
    poses = np.random.default_rng(0).uniform(arm.min_deg, arm.max_deg, (300, 6))
    around = obstacles_of(config, box_xz_m=(-0.15, 0.2), box_yaw_deg=10.0, block_xz_m=(0.2, 0.1))
    each = [min(c.mm for c in clearances(pose, arm, base, around)) for pose in poses]
    assert smallest_mm(poses, arm, base, around) == pytest.approx(each, abs=1e-9)


def test_a_path_is_filled_up_to_the_step_and_keeps_its_waypoints() -> None:
    points = np.array([[0.0, 0.0], [10.0, 3.0], [10.0, 3.0], [9.0, -20.0]])
    filled = interpolated(points, 2.0)
    assert np.abs(np.diff(filled, axis=0)).max() <= 2.0 + 1e-9
    for point in points:
        assert (np.abs(filled - point).max(axis=1) < 1e-9).any()
    assert np.array_equal(interpolated(points[:1], 2.0), points[:1])


def test_the_worst_broken_margin_is_named_and_an_arm_may_leave_a_tight_place(config: Config) -> None:
    guard = config.guard
    fine = (Clearance(5.0, "pad", "table", 0), Clearance(30.0, "link 3", "mast", 0))
    assert first_broken(fine, guard) is None
    tight = (Clearance(0.5, "pad", "table", 3), Clearance(-2.0, "finger", "box", 4))
    broken = first_broken(tight, guard)
    assert broken is not None
    assert broken.against == "box"
    assert first_broken(tight, guard, standing=tight) is None
    nearer = (Clearance(0.5, "pad", "table", 3), Clearance(-4.0, "finger", "box", 4))
    assert first_broken(nearer, guard, standing=tight) is nearer[1]
    assert first_broken((), guard) is None


def test_an_arm_without_gripper_or_shells_has_nothing_to_touch_with() -> None:
    teaching = load_arm("teaching3")
    assert clearances(np.zeros(3), teaching, BaseInCell.at(), Obstacles(mast=Mast((0.0, 1.0), 0.1))) == ()


def test_angles_that_are_no_pose_are_refused(arm: ArmModel, base: BaseInCell) -> None:
    with pytest.raises(WrongJoints):
        clearances(np.full(6, np.nan), arm, base, Obstacles())
