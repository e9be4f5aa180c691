"""The reach table's file: what goes in comes out, and what is wrong is refused with the old content intact."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from runner.config import Config
from runner.table.errors import BadRows, BadTableFile, NoTableYet, WrongTable
from runner.table.format import TABLE_FILE, read_table, write_table
from runner.table.rows import CellOfTable, ReachTable, RowBatch, make_table
from runs.errors import StorageUnwritable


def test_a_table_comes_back_to_the_last_bit_with_what_is_known_of_it(tmp_path: Path, small_table: ReachTable) -> None:
    path = tmp_path / TABLE_FILE
    write_table(path, small_table)
    back = read_table(path, wanted=small_table.cell)
    assert np.array_equal(back.columns, small_table.columns)
    assert (back.cell, back.batches, back.content_hash) == (
        small_table.cell,
        small_table.batches,
        small_table.content_hash,
    )
    assert not back.columns.flags.writeable
    assert back.columns[3].flags.c_contiguous
    assert len(back) == 2000


def test_an_update_keeps_the_old_content_in_the_archive_once(tmp_path: Path, small_table: ReachTable) -> None:
    path = tmp_path / TABLE_FILE
    write_table(path, small_table)
    first = path.read_bytes()
    half = make_table(
        small_table.columns[:3, ::2].T,
        small_table.joints_deg[:, ::2].T,
        small_table.cell,
        [RowBatch(rows=1000, source="every second row", made_at="2026-01-02T00:00:00+00:00")],
    )
    write_table(path, half)
    (kept,) = (tmp_path / "archive").iterdir()
    assert kept.read_bytes() == first
    assert len(read_table(path)) == 1000
    write_table(path, small_table)
    write_table(path, half)
    assert len(list((tmp_path / "archive").iterdir())) == 2
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


def test_no_file_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(NoTableYet, match="trialcell table scan"):
        read_table(tmp_path / TABLE_FILE)


@pytest.mark.parametrize("keep", [0, 10, 1000, -1])
def test_a_file_that_is_cut_off_is_refused(tmp_path: Path, small_table: ReachTable, keep: int) -> None:
    path = tmp_path / TABLE_FILE
    write_table(path, small_table)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(BadTableFile, match="can't be used"):
        read_table(path)


def test_a_parquet_file_of_something_else_is_refused(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / TABLE_FILE
    pq.write_table(pa.table({"a": [1, 2]}), path)
    with pytest.raises(BadTableFile, match="it has no"):
        read_table(path)


def test_rows_that_were_changed_behind_the_hash_are_refused(tmp_path: Path, small_table: ReachTable) -> None:
    import pyarrow.parquet as pq

    path = tmp_path / TABLE_FILE
    write_table(path, small_table)
    raw = pq.read_table(path)
    pq.write_table(raw.slice(0, 1999), path)
    with pytest.raises(BadTableFile, match="not the ones that its metadata speaks of"):
        read_table(path)


@pytest.mark.parametrize(
    ("setting", "word"),
    [
        ({"tcp_mm": (0.0, 0.0, 90.0)}, "tcp mm"),
        ({"tool_roll_deg": 0.0}, "tool roll deg"),
        ({"base_shift_m": (0.0, -0.0086, 0.0)}, "base shift m"),
    ],
)
def test_a_table_of_another_cell_is_refused_with_what_differs(
    tmp_path: Path, small_table: ReachTable, config: Config, setting: dict[str, object], word: str
) -> None:
    path = tmp_path / TABLE_FILE
    write_table(path, small_table)
    other = config.model_copy(update={"arm": config.arm.model_copy(update=setting)})
    with pytest.raises(WrongTable, match=word):
        read_table(path, wanted=CellOfTable.of(other))


def test_rows_that_are_not_finite_make_no_table(small_table: ReachTable) -> None:
    joints = small_table.joints_deg.T.copy()
    joints[3, 2] = np.inf
    with pytest.raises(BadRows, match="row 3"):
        make_table(small_table.columns[:3].T, joints, small_table.cell, small_table.batches)
    with pytest.raises(BadRows, match="batches account for another number"):
        make_table(small_table.columns[:3].T[:5], joints[5:10], small_table.cell, small_table.batches)


@pytest.mark.skipif(os.geteuid() == 0, reason="skipped: root may write anywhere")
def test_a_folder_that_may_not_be_written_leaves_the_old_table(tmp_path: Path, small_table: ReachTable) -> None:
    path = tmp_path / TABLE_FILE
    write_table(path, small_table)
    before = path.read_bytes()
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(StorageUnwritable):
            write_table(path, small_table)
    finally:
        tmp_path.chmod(0o700)
    assert path.read_bytes() == before
