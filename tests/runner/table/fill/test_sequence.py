"""Filling the place region: every square decided, every reachable one dense and planned, nothing lost on the way."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from runner.config import Config
from runner.geometry import HeldBlock, obstacles_of
from runner.kinematics.fk import tool_points_m
from runner.kinematics.frames import BaseInCell, tool_points_cell_m
from runner.kinematics.model import ArmModel
from runner.table.approach import Approach
from runner.table.approach_lookup import lookup_approach
from runner.table.cell_tables import CellTables
from runner.table.fill.proof import row_limits
from runner.table.fill.sequence import Filled, FillSettings, fill
from runner.table.holes import Asked, Status
from runner.table.plan import Planner
from runner.table.region import Ground, Region


def test_no_square_stays_undecided(filled: Filled) -> None:
    assert filled.after.counts() == {"dense": 162, "marginal": 0, "hole": 0, "unreachable": 33, "blocked": 0}
    told = filled.as_dict()
    assert told["decided"] == told["squares_in_all"] == 195
    assert [s.name for s in filled.stages] == ["before", "scan", "direct solution", "proofs"]


def test_152_centres_are_served_over_the_very_centre(filled: Filled) -> None:
    at_centre = [s for s in filled.after.of(Status.DENSE) if max(s.x_residual_mm or 0, s.z_residual_mm or 0) < 0.1]
    assert len(at_centre) == 152


def test_rows_that_were_there_keep_their_numbers(filled: Filled, tables: CellTables) -> None:
    assert np.array_equal(filled.table.columns[:, : len(tables.reach)], tables.reach.columns)
    assert sum(b.rows for b in filled.table.batches) == len(filled.table)


def test_every_approach_pose_leads_to_a_row_as_the_lookup_finds_it(
    filled: Filled, arm: ArmModel, base: BaseInCell, config: Config
) -> None:
    """From the files alone: the approach that is looked up, then the rows near it."""
    asked = Asked.of(filled.table, arm, config)
    approach = Approach(filled.approach, "place.json", "")
    for square in filled.approach.squares[::9]:
        if (square.x_mm, square.z_mm) not in filled.after.ground.region.squares:
            continue
        record = lookup_approach(
            approach, square.centre_xz_m, asked.limits, label="a", j1_safe_max_deg=88.0, x_residual_max_m=0.02
        )
        pose = square.pose(0)
        assert record.target_angles == pose.joints_deg
        over = tool_points_cell_m(np.array(pose.joints_deg), arm, base)
        assert pose.target_xz_m is not None
        assert pose.height_y_m is not None
        lift = np.linalg.norm(over - np.array([pose.target_xz_m[0], pose.height_y_m, pose.target_xz_m[1]]))
        assert lift == pytest.approx(pose.lift_m, abs=5e-5)
        assert 0.012 - 1e-9 <= pose.lift_m <= 0.040


def test_filling_twice_changes_nothing(filled: Filled, arm: ArmModel, base: BaseInCell, config: Config) -> None:
    ground = replace(Ground.of(config), region=Region((-290, -330), (160, 240)))
    approach = Approach(filled.approach, "place.json", "")
    again = fill(filled.table, approach, arm, base, config, ground, known=filled.proofs)
    assert again.table is filled.table
    assert again.before.counts() == again.after.counts()
    assert again.stages[1].note == "nothing to scan"
    assert len(again.approach.squares) == len(filled.approach.squares)


def test_an_unreachable_square_is_beyond_every_random_pose(filled: Filled, arm: ArmModel, config: Config) -> None:
    limits = row_limits(arm, config)
    rng = np.random.default_rng(3)
    poses = limits.min_deg + rng.random((200_000, 6)) * (limits.max_deg - limits.min_deg)
    at = tool_points_m(poses, arm)
    inside = (at[:, 2] >= 0.070) & (at[:, 2] < 0.100)
    nearest = min(np.hypot(max(abs(p.x_mm) - 10, 0), max(p.z_mm - 10, 0)) for p in filled.proofs.squares) / 1000
    assert np.hypot(at[inside, 0], at[inside, 1]).max() < nearest


def test_boxes_all_over_the_region_are_planned(filled: Filled, filled_planner: Planner, config: Config) -> None:
    """Some squares here, all of them in the slow test below."""
    dense = [s.square for s in filled.after.of(Status.DENSE) if max(s.x_residual_mm or 0, s.z_residual_mm or 0) < 0.1]
    _planned(dense[::11] + [s for s in dense if np.hypot(*s) > 360], filled_planner, config)


@pytest.mark.slow
def test_a_box_in_every_square_is_planned(filled: Filled, filled_planner: Planner, config: Config) -> None:
    dense = [s.square for s in filled.after.of(Status.DENSE) if max(s.x_residual_mm or 0, s.z_residual_mm or 0) < 0.1]
    _planned(dense, filled_planner, config)


def _planned(squares: list[tuple[int, int]], planner: Planner, config: Config) -> None:
    pick = planner.plan_pick((0.2, 0.2), 20.0, obstacles_of(config, block_xz_m=(0.2, 0.2), block_yaw_deg=20.0))
    held = HeldBlock(pick.T_tcp_block, config.block.side_mm)
    rng = np.random.default_rng(5)
    for x, z in squares:
        target = (x / 1000, z / 1000)
        around = obstacles_of(config, box_xz_m=target, box_yaw_deg=float(rng.uniform(-90, 90)))
        plan = planner.plan_place(target, around.holding(held))
        reach = plan.lookups[1]
        assert reach.method == "fk_nearest"
        assert reach.max_dj_deg is not None
        assert reach.max_dj_deg <= 15.0
        assert plan.residual_mm < 1.0
        off = tool_points_cell_m(plan.target_deg, planner.arm, planner.base) - np.array([target[0], 0, target[1]])
        assert np.hypot(off[0], off[2]) < 1e-3
        assert 0.070 <= off[1] < 0.100


def test_without_a_scan_the_rest_is_done_all_the_same(
    tables: CellTables, arm: ArmModel, base: BaseInCell, config: Config
) -> None:
    ground = Ground.of(config, region=Region((-310, -330), (160, 220)))
    found = fill(tables.reach, tables.approach_place, arm, base, config, ground, FillSettings(bases=0))
    assert found.scanned.counts() == found.before.counts()
    assert found.after.counts()["hole"] == found.after.counts()["marginal"] == 0
