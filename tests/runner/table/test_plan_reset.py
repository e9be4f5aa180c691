"""The block out of the box and down at its next start: clear of the walls, flat on the table, turned as wanted."""

from __future__ import annotations

import numpy as np
import pytest

from runner.geometry import HeldBlock, obstacles_of, swept
from runner.kinematics.fk import tool_pose
from runner.table.cell_tables import open_tables
from runner.table.errors import NoPlan
from runner.table.plan_out import plans_out
from runner.table.plan_reset import plan_set_down

BOX = (-0.19, 0.12)


@pytest.fixture(scope="module")
def planner(prepared_cell, config):
    return open_tables(prepared_cell, config).planner(config)


@pytest.fixture
def boxed(config):
    return obstacles_of(config, box_xz_m=BOX, box_yaw_deg=20.0)


def _block(planner, joints, held):
    """Centre (3,) and edges (3, 3) of a held block at a pose, cell frame."""
    T = tool_pose(joints, planner.arm) @ held.T_tcp_block
    return planner.base.to_cell(T[:3, 3]), planner.base.turn_to_cell(T[:3, :3].T)


@pytest.mark.parametrize(
    ("along", "across", "turned_deg"),
    [
        (0.0, 0.0, -20.0),
        (0.02, -0.01, 13.0),
        (-0.015, 0.02, -60.0),
        (0.033, 0.0, 0.0),
        (0.0, -0.035, 5.0),
        (-0.022, 0.01, 30.0),
    ],
)
def test_a_block_is_taken_straight_up_between_the_walls(planner, boxed, config, along, across, turned_deg):
    """`along`, `across`: off the box's middle by its own edges; the last three lie 7 to 15 mm from a wall."""
    turn = np.radians(20.0)
    at = BOX + np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]]) @ (along, across)
    plan = next(plans_out(planner, tuple(at), 20.0 + turned_deg, boxed))
    points = np.array([planner.base.to_cell(tool_pose(q, planner.arm)[:3, 3]) for q in plan.path_deg])
    assert np.hypot(*(points[:, [0, 2]] - points[-1, [0, 2]]).T).max() < 0.002, "not straight up"
    centre, _ = _block(planner, plan.target_deg, HeldBlock(plan.T_tcp_block, config.block.side_mm))
    assert centre[1] == pytest.approx(0.018, abs=1e-4)
    drawn_mm = np.hypot(*(centre[[0, 2]] - at)) * 1000.0
    assert drawn_mm < 5.0, "an open jaw would come down on the block"
    for clearance in swept(plan.path_deg, planner.arm, planner.base, boxed, step_deg=2.0):
        if clearance.against.startswith("box"):
            assert clearance.mm >= config.guard.box_mm


@pytest.mark.parametrize(("goal", "yaw_deg"), [((0.2, 0.1), 0.0), ((0.1, 0.2), 40.0), ((0.22, 0.03), -25.0)])
def test_a_held_block_comes_down_flat_where_it_shall_lie(planner, boxed, config, goal, yaw_deg):
    out = next(plans_out(planner, BOX, 10.0, boxed))
    held = HeldBlock(out.T_tcp_block, config.block.side_mm)
    down = plan_set_down(planner, goal, yaw_deg, boxed.holding(held))
    centre, edges = _block(planner, down.target_deg, held)
    tilt_deg = np.degrees(np.arccos(np.clip(np.abs(edges[:, 1]).max(), -1.0, 1.0)))
    assert centre[[0, 2]] == pytest.approx(goal, abs=0.003)
    assert tilt_deg <= 20.0
    lowest_m = centre[1] - np.abs(edges[:, 1]).sum() * config.block.side_mm / 2000.0
    assert 0.0 <= lowest_m <= 0.003, "neither into the table nor dropped"
    level = max(range(3), key=lambda i: np.hypot(edges[i, 0], edges[i, 2]))
    turned = np.degrees(np.arctan2(edges[level, 2], edges[level, 0])) - yaw_deg
    assert abs((turned + 45.0) % 90.0 - 45.0) < 2.0


def test_a_block_in_a_corner_or_far_out_is_refused_with_a_reason(planner, boxed, config):
    with pytest.raises(NoPlan, match="margin to the box"):
        next(plans_out(planner, (BOX[0] + 0.019, BOX[1] + 0.052), 20.0, boxed))
    far = (-0.36, 0.16)
    with pytest.raises(NoPlan, match="reach"):
        next(plans_out(planner, far, 0.0, obstacles_of(config, box_xz_m=far)))


def test_each_next_way_out_is_another_posture(planner, boxed):
    ways = plans_out(planner, BOX, 0.0, boxed)
    assert len({next(ways).lookups[0].pose_id for _ in range(3)}) == 3
