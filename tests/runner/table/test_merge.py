"""Merging: nothing twice, old rows untouched, and the file whole whatever happens to whoever writes it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from runner.config import Config
from runner.kinematics.frames import BaseInCell
from runner.kinematics.ik.protocol import JointLimits
from runner.kinematics.model import ArmModel
from runner.table import merge as merging
from runner.table.errors import TableBusy, WrongTable
from runner.table.format import TABLE_FILE, archived, changing, read_table, write_table
from runner.table.lookup import Lookup
from runner.table.merge import first_alike, merge, merge_into
from runner.table.postures import hard_limits
from runner.table.query import Query
from runner.table.rows import ReachTable, RowBatch, make_table
from runner.table.scan import sample, scan

AT = "2026-01-01T00:00:00+00:00"


def table_of(small: ReachTable, columns: np.ndarray, source: str) -> ReachTable:
    batch = RowBatch(rows=columns.shape[1], source=source, made_at=AT)
    return make_table(columns[:3].T, columns[3:].T, small.cell, [batch])


def spread(small: ReachTable, arm: ArmModel, base: BaseInCell, seed: int, count: int = 300) -> ReachTable:
    rows = sample(count, arm, base, limits=JointLimits.of(arm, margin_deg=1.0), seed=seed)
    return table_of(small, np.hstack((rows.points_m, rows.joints_deg)).T, f"seed {seed}")


def test_new_rows_come_after_the_old_ones_and_none_comes_twice(
    small_table: ReachTable, arm: ArmModel, base: BaseInCell
) -> None:
    new = spread(small_table, arm, base, 99).columns
    mixed = table_of(small_table, np.hstack((small_table.columns[:, 40:60], new, new[:, :5])), "mixed")
    result = merge(small_table, [mixed])
    assert np.array_equal(result.table.columns, np.hstack((small_table.columns, new)))
    (added,) = result.added
    assert (result.before, added.offered, added.new, added.duplicate) == (2000, 325, 300, 25)
    last = result.table.batches[-1]
    assert (last.rows, last.offered, last.source) == (300, 325, "mixed")
    assert sum(batch.rows for batch in result.table.batches) == len(result.table)
    again = merge(result.table, [mixed, mixed])
    assert again.table is result.table
    assert [one.new for one in again.added] == [0, 0]


def test_rows_that_a_csv_rounded_are_known_again(small_table: ReachTable) -> None:
    rounded = small_table.columns.copy()
    rounded[:3] = np.round(rounded[:3], 6)
    rounded[3:] = np.round(rounded[3:], 3)
    assert merge(small_table, [table_of(small_table, rounded, "csv")]).added[0].new == 0


def test_doubles_that_are_there_already_stay_so_that_row_numbers_do(small_table: ReachTable) -> None:
    doubled = table_of(small_table, np.hstack((small_table.columns, small_table.columns[:, :7])), "doubled")
    assert merge(doubled, [small_table]).table is doubled


def test_equal_rows_are_found_also_where_hashes_collide(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    joints = rng.integers(-2, 3, (6, 4000)) * 0.5
    joints[0, :7] = -0.0
    told = first_alike(joints)
    _, first, back = np.unique(joints.T + 0.0, axis=0, return_index=True, return_inverse=True)
    assert np.array_equal(told, first[back.ravel()])
    monkeypatch.setattr(merging, "_hash", lambda steps: (steps[0] & 1).astype(np.uint64))
    assert np.array_equal(first_alike(joints), told)


def test_a_table_of_another_tool_is_refused(small_table: ReachTable, tmp_path: Path) -> None:
    cell = small_table.cell.model_copy(update={"tcp_mm": (0.0, 0.0, 90.0)})
    other = make_table(small_table.columns[:3].T, small_table.joints_deg.T, cell, small_table.batches)
    with pytest.raises(WrongTable, match="tcp mm"):
        merge(small_table, [other])
    path = tmp_path / TABLE_FILE
    write_table(path, small_table)
    before = path.read_bytes()
    for additions, wanted in (([other], small_table.cell), ([small_table], cell)):
        with pytest.raises(WrongTable):
            merge_into(path, additions, wanted)
    assert path.read_bytes() == before


def test_a_lookup_outside_the_filled_region_answers_as_before(
    small_table: ReachTable, arm: ArmModel, base: BaseInCell, config: Config
) -> None:
    limits = hard_limits(arm, config)
    old = Lookup(small_table, limits, j1_safe_max_deg=88.0)
    near = scan(np.array([30.0, 60.0, 0.0, 0.0, -60.0, -30.0]), arm, base, limits=limits, offsets_deg=(-5.0, 0.0, 5.0))
    filled = merge(small_table, [table_of(small_table, np.hstack((near.points_m, near.joints_deg)).T, "fill")]).table
    new = Lookup(filled, limits, j1_safe_max_deg=88.0)
    lo, hi = near.points_m[:, [0, 2]].min(axis=0) - 0.05, near.points_m[:, [0, 2]].max(axis=0) + 0.05
    rng, same = np.random.default_rng(5), 0
    while same < 100:
        x, z = rng.uniform(-0.3, 0.3), rng.uniform(-0.2, 0.3)
        if lo[0] <= x <= hi[0] and lo[1] <= z <= hi[1]:
            continue
        query = Query((x, z), (0.0, 0.2), 0.05, ref_joints=(0.0,) * 6, joint_tol_deg=float(rng.uniform(60, 200)))
        a, b = old.find(query), new.find(query)
        if a.ok:
            same += 1
            assert (a.selected_idx, a.joints_deg, a.ee_xz_m, a.dist_m) == (
                b.selected_idx, b.joints_deg, b.ee_xz_m, b.dist_m,
            )  # fmt: skip
    assert len(new) == len(old) + 243


MERGE = """
import sys, numpy as np
from pathlib import Path
from runner.config import Config
from runner.kinematics.ik.protocol import JointLimits
from runner.table.merge import merge_into
from runner.table.postures import arm_of
from runner.table.rows import CellOfTable, RowBatch, make_table
from runner.table.scan import sample
path, seed, rounds, count = Path(sys.argv[1]), *map(int, sys.argv[2:])
arm, base = arm_of(Config())
cell = CellOfTable.of(Config())
print("ready", flush=True)
for i in range(rounds):
    rows = sample(count, arm, base, limits=JointLimits.of(arm), seed=1000 * seed + i)
    batch = RowBatch(rows=count, source=f"process {seed}, round {i}", made_at="2026-01-01T00:00:00+00:00")
    merge_into(path, [make_table(rows.points_m, rows.joints_deg, cell, [batch])], cell)
    print(i, flush=True)
"""


def start(path: Path, seed: int, rounds: int, count: int) -> subprocess.Popen[str]:
    args = [sys.executable, "-c", MERGE, str(path), str(seed), str(rounds), str(count)]
    return subprocess.Popen(args, stdout=subprocess.PIPE, text=True, env={**os.environ, "TRIALCELL_COMPILED": "0"})


def test_two_processes_that_merge_at_once_both_get_in(tmp_path: Path, small_table: ReachTable) -> None:
    path = tmp_path / TABLE_FILE
    write_table(path, small_table)
    both = [start(path, seed, 4, 50) for seed in (1, 2)]
    assert [process.wait(120) for process in both] == [0, 0]
    table = read_table(path, wanted=small_table.cell)
    sources = [batch.source for batch in table.batches[1:]]
    assert sorted(sources) == [f"process {p}, round {i}" for p in (1, 2) for i in range(4)]
    assert len(table) == 2000 + 8 * 50
    assert np.array_equal(table.columns[:, :2000], small_table.columns)
    assert len(archived(path)) == 8


def test_a_writer_that_is_killed_leaves_a_whole_table(tmp_path: Path, small_table: ReachTable) -> None:
    path = tmp_path / TABLE_FILE
    write_table(path, small_table)
    for wait_s in (0.02, 0.07):
        writer = start(path, int(1000 * wait_s), 500, 3000)
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
        assert writer.stdout.readline() == "0\n"
        time.sleep(wait_s)
        writer.send_signal(signal.SIGKILL)
        writer.wait(60)
        table = read_table(path, wanted=small_table.cell)
        assert np.array_equal(table.columns[:, :2000], small_table.columns)
    (tmp_path / f".{TABLE_FILE}.0badcafe.tmp").write_bytes(b"cut off")
    with changing(path, wait_s=0.0):  # a dead holder keeps no lock, and what it left is cleared
        assert [p.name for p in tmp_path.iterdir() if p.name.endswith(".tmp")] == []


def test_who_waits_too_long_is_told_so(tmp_path: Path, small_table: ReachTable) -> None:
    path = tmp_path / TABLE_FILE
    write_table(path, small_table)
    before = path.read_bytes()
    with changing(path), pytest.raises(TableBusy, match="being changed by another process"):
        merge_into(path, [small_table], small_table.cell, wait_s=0.05)
    assert path.read_bytes() == before
