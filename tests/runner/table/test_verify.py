"""Verifying: a copy against itself, and two copies against each other, row by row."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from runner.config import Config
from runner.kinematics.frames import BaseInCell
from runner.kinematics.ik.protocol import JointLimits
from runner.kinematics.model import ArmModel
from runner.table.errors import BadTableFile
from runner.table.format import write_table
from runner.table.index import map_index, save_index
from runner.table.merge import merge
from runner.table.opening import open_table
from runner.table.postures import hard_limits
from runner.table.rows import ReachTable, RowBatch, make_table
from runner.table.scan import sample
from runner.table.stamp import index_file
from runner.table.verify import compare, verify


def with_columns(table: ReachTable, columns: np.ndarray) -> ReachTable:
    batch = RowBatch(rows=columns.shape[1], source="changed", made_at="2026-01-01T00:00:00+00:00")
    return make_table(columns[:3].T, columns[3:].T, table.cell, [batch])


def test_a_good_copy_is_sound(tmp_path: Path, small_table: ReachTable, arm: ArmModel, config: Config) -> None:
    path = tmp_path / "reach.parquet"
    write_table(path, small_table)
    against = {"wanted": small_table.cell, "limits": hard_limits(arm, config), "j1_safe_max_deg": 88.0}
    report, table = verify(path, **against)  # type: ignore[arg-type]
    assert report.sound
    assert (report.rows, report.doubles, report.off_rows, report.index) == (2000, 0, 0, "none")
    assert report.off_max_mm < 1e-6
    assert report.outside_limits == np.count_nonzero(table.joints_deg[1] > 88.0)
    open_table(path, config)
    assert verify(path, **against)[0].index == "current"  # type: ignore[arg-type]


@pytest.mark.parametrize("array", ["joints", "coarse", "points"])
def test_an_index_that_says_what_the_rows_do_not_is_wrong(
    tmp_path: Path, small_table: ReachTable, arm: ArmModel, config: Config, array: str
) -> None:
    path = tmp_path / "reach.parquet"
    write_table(path, small_table)
    open_table(path, config)
    index = map_index(index_file(path))
    getattr(index, array)[2, 2] += 1
    save_index(index_file(path), index)
    report, _ = verify(path, wanted=small_table.cell, limits=hard_limits(arm, config), j1_safe_max_deg=88.0)
    assert (report.index, report.sound) == ("wrong", False)


def test_rows_of_another_arm_and_doubles_are_counted(tmp_path: Path, small_table: ReachTable) -> None:
    columns = np.hstack((small_table.columns, small_table.columns[:, :3]))
    columns[4, 10:12] += 20.0
    path = tmp_path / "reach.parquet"
    write_table(path, with_columns(small_table, columns))
    report, _ = verify(path, wanted=small_table.cell.model_copy(update={"tool_roll_deg": 1.0}))
    assert (report.off_rows, report.doubles, report.sound) == (2, 3, False)
    assert report.other_cell == "tool roll deg is 30.0, not 1.0"


def test_a_copy_that_is_cut_off_is_refused(tmp_path: Path, small_table: ReachTable) -> None:
    path = tmp_path / "reach.parquet"
    write_table(path, small_table)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(BadTableFile):
        verify(path)


def test_copies_that_grew_apart_are_told_row_by_row_and_batch_by_batch(
    small_table: ReachTable, arm: ArmModel, base: BaseInCell
) -> None:
    def grown(seed: int, count: int) -> ReachTable:
        rows = sample(count, arm, base, limits=JointLimits.of(arm, margin_deg=1.0), seed=seed)
        batch = RowBatch(rows=count, source=f"seed {seed}", made_at="2026-01-01T00:00:00+00:00")
        new = make_table(rows.points_m, rows.joints_deg, small_table.cell, [batch])
        return merge(small_table, [new]).table

    a, b = grown(50, 120), grown(51, 80)
    told = compare(a, b)
    assert not told.same_content
    assert told.in_both == 2000
    assert [(one.source, one.rows, one.only_here) for one in told.only_a] == [("seed 50", 120, 120)]
    assert [(one.source, one.rows, one.only_here) for one in told.only_b] == [("seed 51", 80, 80)]
    assert (told.as_dict()["rows_only_a"], told.as_dict()["rows_only_b"]) == (120, 80)
    assert not told.other_order
    assert compare(a, a).same_content
    assert compare(small_table, a).only_a == ()


def test_another_order_and_other_points_are_told(small_table: ReachTable) -> None:
    turned = compare(small_table, with_columns(small_table, small_table.columns[:, ::-1].copy()))
    assert (turned.in_both, turned.only_a, turned.only_b, turned.other_order) == (2000, (), (), True)
    columns = small_table.columns.copy()
    columns[0, 5] += 0.001
    moved = compare(small_table, with_columns(small_table, columns))
    assert (moved.other_point, moved.other_order, moved.in_both) == (1, False, 2000)
