"""Whole plans: there are some for the default cell's starts, they do what they say, and refusals explain themselves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from runner.config import Config
from runner.geometry import HeldBlock, Obstacles, clearances, first_broken, obstacles_of, swept
from runner.kinematics.fk import tool_points_m
from runner.kinematics.frames import BaseInCell, stance_of, tool_points_cell_m
from runner.kinematics.model import ArmModel
from runner.table.approach import Approach
from runner.table.approach_arc import FIELD_PLACE_DEG, sweep_arc
from runner.table.candidates import grasp_height_m
from runner.table.cell_tables import CellTables
from runner.table.errors import NoPlan
from runner.table.plan import PickPlan, PlacePlan, Planner
from runner.table.postures import arm_of, wrapped_deg
from runner.table.rows import CellOfTable
from runs.schema.geometry import TablePoint


@dataclass(frozen=True)
class Start:
    block_xz_m: TablePoint
    block_yaw_deg: float
    box_xz_m: TablePoint
    box_yaw_deg: float


def starts(count: int, seed: int, config: Config) -> list[Start]:
    """Random starts of the default cell: places inside the workspace, any yaw."""
    rng = np.random.default_rng(seed)
    t = config.twin

    def place(radii: tuple[float, float], side: float, x_from: float) -> TablePoint:
        while True:
            r, angle = rng.uniform(*radii), rng.uniform(0.0, np.pi / 2)
            x, z = side * r * np.cos(angle), r * np.sin(angle)
            if abs(x) >= x_from:
                return float(x), float(z)

    return [
        Start(
            place(t.block_r_m, 1.0, t.block_x_min_m),
            float(rng.uniform(-45, 45)),
            place(t.box_r_m, -1.0, -t.box_x_max_m),
            float(rng.uniform(-180, 180)),
        )
        for _ in range(count)
    ]


def around(start: Start, config: Config) -> Obstacles:
    return obstacles_of(
        config,
        box_xz_m=start.box_xz_m,
        box_yaw_deg=start.box_yaw_deg,
        block_xz_m=start.block_xz_m,
        block_yaw_deg=start.block_yaw_deg,
    )


def whole(start: Start, planner: Planner, config: Config) -> tuple[PickPlan, PlacePlan]:
    """Every plan of a trial, transfers included."""
    obstacles = around(start, config)
    home = np.array(config.arm.home_deg)
    aside = home.copy()
    aside[0] = -config.trial.swept_j0_deg
    pick = planner.plan_pick(start.block_xz_m, start.block_yaw_deg, obstacles)
    planner.plan_transfer(home, pick.approach_deg, obstacles)
    held = obstacles.holding(HeldBlock(pick.T_tcp_block, config.block.side_mm))
    place = planner.plan_place(start.box_xz_m, held)
    planner.plan_transfer(pick.approach_deg, place.approach_deg, held)
    free = obstacles.released()
    for goal in (aside, place.approach_deg, home):
        planner.plan_transfer(place.approach_deg if goal is not place.approach_deg else aside, goal, free)
    return pick, place


def check_pick(plan: PickPlan, start: Start, planner: Planner, config: Config, arm: ArmModel, base: BaseInCell) -> None:
    x, y, z = tool_points_cell_m(plan.target_deg, arm, base)
    assert (x, z) == pytest.approx(start.block_xz_m, abs=2e-5)
    assert y >= config.table.grasp_y_m - 2e-5
    stance = stance_of(plan.target_deg, arm, base)
    off = abs(wrapped_deg(4 * (stance.heading_deg - start.block_yaw_deg - plan.askew_deg)) / 4)
    assert off < 0.1
    assert abs(plan.askew_deg) <= 20.0
    points = tool_points_m(plan.path_deg, arm)
    along = (points[-1] - points[0]) / np.linalg.norm(points[-1] - points[0])
    offsets = points - points[0]
    assert np.linalg.norm(offsets - np.outer(offsets @ along, along), axis=1).max() < 1e-3
    broken = first_broken(swept(plan.path_deg, arm, base, around(start, config), step_deg=2.0), config.guard)
    assert broken is None
    approach, reach = plan.lookups
    assert (approach.label, approach.method, reach.label, reach.method) == (
        "stage3_approach_pick",
        "grid",
        "stage4_pick",
        "fk_nearest",
    )
    assert reach.target_angles == tuple(plan.target_deg)
    assert approach.target_angles == tuple(plan.approach_deg)
    assert reach.refined is not None
    assert reach.refined.residual_mm <= 1.0
    assert planner.limits.hold(plan.path_deg, slack_deg=1e-6)


def check_place(plan: PlacePlan, start: Start, config: Config, arm: ArmModel, base: BaseInCell) -> None:
    x, y, z = tool_points_cell_m(plan.target_deg, arm, base)
    assert (x, z) == pytest.approx(start.box_xz_m, abs=2e-5)
    assert config.table.place_band_y_m[0] <= y < config.table.place_band_y_m[1]
    assert np.abs(plan.target_deg - plan.approach_deg).max() <= config.table.joint_tol_deg + 1e-6
    approach, reach = plan.lookups
    assert (approach.phase, reach.phase) == ("approach_place", "place_withblock")
    assert reach.ref_joints_used == approach.target_angles
    assert reach.joint_tol_deg_used == config.table.joint_tol_deg
    assert reach.max_dj_deg is not None
    assert reach.max_dj_deg <= config.table.joint_tol_deg + 1e-6


def test_the_default_cells_starts_have_plans_that_keep_their_word(
    planner: Planner, config: Config, arm: ArmModel, base: BaseInCell
) -> None:
    for start in starts(12, 1, config):
        pick, place = whole(start, planner, config)
        check_pick(pick, start, planner, config, arm, base)
        check_place(place, start, config, arm, base)


@pytest.mark.slow
def test_two_hundred_starts_all_have_plans(planner: Planner, config: Config, arm: ArmModel, base: BaseInCell) -> None:
    for start in starts(200, 2, config):
        pick, place = whole(start, planner, config)
        check_pick(pick, start, planner, config, arm, base)
        check_place(place, start, config, arm, base)


@pytest.mark.slow
def test_most_of_the_fields_place_squares_have_a_plan(planner: Planner, config: Config) -> None:
    pick = planner.plan_pick((0.2, 0.1), 0.0, obstacles_of(config, block_xz_m=(0.2, 0.1)))
    held = HeldBlock(pick.T_tcp_block, config.block.side_mm)
    served = 0
    for x in range(-330, -49, 20):
        for z in range(100, 341, 20):
            target = (x / 1000.0, z / 1000.0)
            try:
                planner.plan_place(target, obstacles_of(config, box_xz_m=target).holding(held))
            except NoPlan:
                continue
            served += 1
    assert served >= 145  # of 195; about 152 can be reached at all


def test_a_plan_is_the_same_every_time(planner: Planner, config: Config) -> None:
    (start,) = starts(1, 8, config)
    first, second = (planner.plan_pick(start.block_xz_m, start.block_yaw_deg, around(start, config)) for _ in range(2))
    assert np.array_equal(first.path_deg, second.path_deg)
    assert first.lookups == second.lookups


def test_the_requested_place_stands_beside_the_corrected_one(planner: Planner, config: Config) -> None:
    plan = planner.plan_pick((0.2, 0.12), 10.0, obstacles_of(config), requested_xz_m=(0.197, 0.112))
    for lookup in plan.lookups:
        assert (lookup.requested_xz_m, lookup.target_xz_m) == ((0.197, 0.112), (0.2, 0.12))


def test_the_gripped_block_lies_in_the_jaws_as_it_lay_on_the_table(
    planner: Planner, config: Config, arm: ArmModel, base: BaseInCell
) -> None:
    plan = planner.plan_pick((0.2, 0.1), 25.0, obstacles_of(config, block_xz_m=(0.2, 0.1), block_yaw_deg=25.0))
    T = plan.T_tcp_block
    assert np.linalg.det(T[:3, :3]) == pytest.approx(1.0)
    assert np.abs(T[:3, 0]).round(6).tolist()[0] in (0.0, 1.0) or plan.askew_deg != 0
    held = Obstacles().holding(HeldBlock(T, 30.0))
    (table,) = (c for c in clearances(plan.target_deg, arm, base, held) if c.against == "table")
    assert (table.what, table.mm) == ("held block", pytest.approx(0.0, abs=0.05))


def test_a_wide_block_raises_the_grasp_only_as_far_as_the_fingertips_need(planner: Planner) -> None:
    settings = planner.config
    level = grasp_height_m(10.0, planner.arm, settings)
    assert level == pytest.approx(settings.table.grasp_y_m), "a level tool's fingertips stay above it"
    assert 0.024 < grasp_height_m(50.0, planner.arm, settings) < 0.028
    small = settings.model_copy(update={"block": settings.block.model_copy(update={"side_mm": 20.0})})
    assert grasp_height_m(60.0, planner.arm, small) > grasp_height_m(60.0, planner.arm, settings)


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ((0.45, 0.1), r"outside the table \(x -400…400 mm, z 0…440 mm\)"),
        ((0.2, -0.05), "outside the table"),
        ((0.38, 0.2), r"out of reach by about \d+ mm"),
        ((-0.2, 0.2), r"out of reach by about 2\d\d mm"),
        ((0.05, 0.01), "out of reach|no posture|none of"),
        ((float("nan"), 0.2), "not a number"),
    ],
)
def test_a_block_that_cannot_be_picked_is_refused_with_the_reason_and_the_next_step(
    planner: Planner, target: TablePoint, words: str
) -> None:
    with pytest.raises(NoPlan, match=words) as caught:
        planner.plan_pick(target, 0.0, Obstacles())
    assert caught.value.family == "refused"
    assert caught.value.next_step


def test_a_block_at_the_tables_edge_may_be_aimed_at_beyond_it(planner: Planner) -> None:
    """An arm that misses is told to go beside where the block is seen; on the table it is where it is seen."""
    aimed, seen = (0.2, -0.004), (0.2, 0.006)
    with pytest.raises(NoPlan, match="outside the table"):
        planner.plan_pick(aimed, 0.0, Obstacles())
    assert planner.plan_pick(aimed, 0.0, Obstacles(), requested_xz_m=seen).target_m[2] == pytest.approx(-0.004)


def test_a_box_out_of_reach_is_refused(planner: Planner) -> None:
    with pytest.raises(NoPlan, match="the box is out of reach"):
        planner.plan_place((-0.38, 0.3), Obstacles())
    with pytest.raises(NoPlan, match="yaw is not a number"):
        planner.plan_pick((0.2, 0.1), float("nan"), Obstacles())


def test_a_block_wider_than_the_jaws_open_is_refused(tables: CellTables, config: Config) -> None:
    wide = config.model_copy(update={"block": config.block.model_copy(update={"side_mm": 45.0})})
    with pytest.raises(NoPlan, match=r"45 mm does not fit between jaws that open 44\.6 mm"):
        tables.planner(wide).plan_pick((0.2, 0.1), 0.0, Obstacles())


def test_a_block_between_box_walls_is_refused_with_what_is_in_the_way(planner: Planner, config: Config) -> None:
    inside = obstacles_of(config, box_xz_m=(0.2, 0.1), block_xz_m=(0.2, 0.1))
    with pytest.raises(NoPlan, match="of the box") as caught:
        planner.plan_pick((0.2, 0.1), 0.0, inside)
    assert caught.value.skipped
    assert caught.value.lookups


def test_a_row_too_far_off_refuses_with_the_lookups_words(tables: CellTables, config: Config) -> None:
    strict = config.model_copy(update={"table": config.table.model_copy(update={"dist_max_m": 1e-6})})
    with pytest.raises(NoPlan, match="reach lookup: the nearest row is"):
        tables.planner(strict).plan_pick((0.2003, 0.1007), 0.0, Obstacles())


def test_a_taught_arc_leads_where_it_passes_and_says_where_it_does_not(tables: CellTables, config: Config) -> None:
    arm, base = arm_of(config)
    cell = CellOfTable.of(config)
    pick = sweep_arc((0.0, 40.0, -30.0, 0.0, 50.0, -30.0), arm, base, cell, "approach_pick")
    place = sweep_arc(FIELD_PLACE_DEG, arm, base, cell, "approach_place")
    lookup = tables.planner(config).lookup
    planner = Planner(arm, base, config, lookup, Approach(pick, "pick.json", ""), Approach(place, "place.json", ""))
    block = planner.plan_pick((0.17, 0.18), 20.0, obstacles_of(config, block_xz_m=(0.17, 0.18), block_yaw_deg=20.0))
    assert block.residual_mm < 1.0
    held = HeldBlock(block.T_tcp_block, config.block.side_mm)
    box = planner.plan_place((-0.21, 0.18), obstacles_of(config, box_xz_m=(-0.21, 0.18)).holding(held))
    approach, reach = box.lookups
    assert approach.method == "interp"
    assert np.allclose(approach.target_angles, box.approach_deg)
    assert reach.max_dj_deg is not None
    assert reach.max_dj_deg <= config.table.joint_tol_deg
    at = tool_points_cell_m(box.target_deg, arm, base)
    assert np.allclose(at, (-0.21, config.table.release_y_m, 0.18), atol=1e-4)
    with pytest.raises(NoPlan, match="outside the taught pairs"):
        planner.plan_place((-0.34, 0.05), obstacles_of(config).holding(held))
