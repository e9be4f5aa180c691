"""Rows that scans make."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import qmc

from runner.config import Config
from runner.kinematics.errors import WrongJoints
from runner.kinematics.frames import BaseInCell, tool_points_cell_m
from runner.kinematics.ik.protocol import JointLimits
from runner.kinematics.model import ArmModel
from runner.table.cell_tables import CellTables
from runner.table.errors import BadQuery
from runner.table.postures import hard_limits
from runner.table.scan import sample, scan

POSE = np.array([10.0, 40.0, -20.0, 0.0, 30.0, -30.0])


def test_the_fields_scan_has_16807_rows_a_base_and_151263_for_nine(arm: ArmModel, base: BaseInCell) -> None:
    one = scan(POSE, arm, base)
    assert len(one.joints_deg) == 7**5 == 16807
    assert np.array_equal(np.unique(one.joints_deg[:, 1]), 40.0 + np.arange(-15, 16, 5))
    assert np.array_equal(np.unique(one.joints_deg[:, 0]), [10.0])
    nine = scan(POSE + np.arange(9)[:, None] * [1, 0, 0, 0, 0, 0], arm, base)
    assert len(nine.joints_deg) == 151_263
    assert np.array_equal(nine.joints_deg[:16807], one.joints_deg)
    rows = [0, 5000, 151_262]
    assert nine.points_m[rows] == pytest.approx(tool_points_cell_m(nine.joints_deg[rows], arm, base), abs=1e-12)


def test_the_last_joint_moves_no_point_so_each_place_stands_there_seven_times(arm: ArmModel, base: BaseInCell) -> None:
    one = scan(POSE, arm, base)
    assert len(np.unique(np.round(one.points_m, 9), axis=0)) == 7**4


def test_which_joints_and_offsets_are_scanned_is_an_option(arm: ArmModel, base: BaseInCell) -> None:
    rows = scan(POSE, arm, base, joints=(0, 1), offsets_deg=(-1.0, 0.0, 1.0))
    assert len(rows.joints_deg) == 9
    assert np.array_equal(rows.joints_deg[0], POSE - [1, 1, 0, 0, 0, 0])


def test_rows_outside_limits_and_doubles_are_dropped_and_counted(
    arm: ArmModel, base: BaseInCell, config: Config
) -> None:
    limits = hard_limits(arm, config)
    high = np.array([0.0, 110.0, 0.0, 0.0, 0.0, 0.0])
    rows = scan(np.stack((high, high)), arm, base, limits=limits, joints=(1,), drop_doubles=True)
    assert rows.dropped_outside == 4  # 120 and 125 of both
    assert rows.dropped_double == 5
    assert rows.joints_deg[:, 1].tolist() == [95.0, 100.0, 105.0, 110.0, 115.0]


@pytest.mark.parametrize("spread", [True, False])
def test_samples_fill_the_limits_and_are_the_same_for_a_seed(arm: ArmModel, base: BaseInCell, spread: bool) -> None:
    limits = JointLimits.of(arm, margin_deg=1.0)
    rows = sample(500, arm, base, limits=limits, seed=3, spread=spread)
    assert np.all((rows.joints_deg >= limits.min_deg) & (rows.joints_deg <= limits.max_deg))
    assert np.all(np.ptp(rows.joints_deg, axis=0) > 0.9 * (limits.max_deg - limits.min_deg))
    again = sample(500, arm, base, limits=limits, seed=3, spread=spread)
    assert np.array_equal(rows.joints_deg, again.joints_deg)
    assert not np.array_equal(rows.joints_deg, sample(500, arm, base, limits=limits, seed=4, spread=spread).joints_deg)


def test_a_spread_sample_is_more_even_than_a_random_one(arm: ArmModel, base: BaseInCell) -> None:
    limits = JointLimits.of(arm)
    uneven = []
    for spread in (True, False):
        rows = sample(1000, arm, base, limits=limits, seed=3, spread=spread)
        shares = (rows.joints_deg - limits.min_deg) / (limits.max_deg - limits.min_deg)
        uneven.append(qmc.discrepancy(shares))
    assert uneven[0] < 0.3 * uneven[1]


def test_wrong_questions_are_refused(arm: ArmModel, base: BaseInCell) -> None:
    with pytest.raises(BadQuery):
        scan(POSE, arm, base, joints=(1, 6))
    with pytest.raises(BadQuery):
        scan(POSE, arm, base, joints=(1, 1))
    with pytest.raises(WrongJoints):
        scan(np.full(6, np.nan), arm, base)
    with pytest.raises(BadQuery):
        sample(0, arm, base, limits=JointLimits.of(arm), seed=1)


def test_the_default_table_has_rows_near_every_place_that_counts(
    tables: CellTables, arm: ArmModel, base: BaseInCell, config: Config
) -> None:
    table = tables.reach
    assert 200_000 < len(table) < 1_000_000
    assert sum(b.rows for b in table.batches) == len(table)
    limits = hard_limits(arm, config)
    assert np.all((limits.min_deg <= table.joints_deg.T) & (limits.max_deg >= table.joints_deg.T))
    some = np.random.default_rng(0).integers(0, len(table), 200)
    off = tool_points_cell_m(table.joints_deg[:, some].T, arm, base) - table.columns[:3, some].T
    assert np.abs(off).max() < 1e-12
    for (lo, hi), side, radii in (
        (config.table.pick_band_y_m, 1.0, (0.15, 0.30)),
        (config.table.place_band_y_m, -1.0, (0.16, 0.33)),
    ):
        inside = (table.columns[1] >= lo) & (table.columns[1] < hi)
        x, z = table.columns[0][inside], table.columns[2][inside]
        for r in np.linspace(*radii, 6):
            for angle in np.radians(np.arange(0, 76, 15)):
                px, pz = side * r * np.cos(angle), r * np.sin(angle)
                assert np.hypot(x - px, z - pz).min() < 0.010
