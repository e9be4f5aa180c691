"""The map of holes: it says what lookup and approach say, and counts, maps and CSV agree."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

import numpy as np

from runner.config import Config
from runner.kinematics.frames import BaseInCell
from runner.kinematics.model import ArmModel
from runner.table.approach import Approach
from runner.table.approach_arc import FIELD_PLACE_DEG, sweep_arc
from runner.table.cell_tables import CellTables
from runner.table.holes import COLUMNS, MARKS, Asked, Status, find_holes, query_of
from runner.table.region import Ground, Region
from runner.table.rows import CellOfTable


def asked_of(tables: CellTables, arm: ArmModel, config: Config) -> Asked:
    return Asked.of(tables.reach, arm, config)


def test_every_square_is_as_the_rows_have_it(tables: CellTables, arm: ArmModel, config: Config) -> None:
    """Against the meaning written down once more, row by row."""
    asked, ground = asked_of(tables, arm, config), Ground.of(config)
    found = find_holes(asked, tables.approach_place, ground)
    assert len(found.squares) == 195
    assert sum(found.counts().values()) == 195
    columns = tables.reach.columns
    limits = asked.limits
    inside = (columns[1] >= 0.070) & (columns[1] < 0.100) & (columns[4] <= config.arm.j1_safe_max_deg)
    for joint, lo, hi in zip(columns[3:], limits.min_deg, limits.max_deg, strict=True):
        inside &= (joint >= lo) & (joint <= hi)
    for state in found.squares[::7]:
        if state.approach_deg is None:
            assert state.status is Status.HOLE
            continue
        near = inside & (np.abs(columns[3:].T - state.approach_deg) <= 15.0).all(axis=1)
        assert state.candidates_left == np.count_nonzero(near)
        rows = np.flatnonzero(near)
        dx, dz = (np.abs(columns[i][rows] * 1000 - c) for i, c in ((0, state.x_mm), (2, state.z_mm)))
        if not len(rows) or np.hypot(dx, dz).min() > 30.0:
            assert state.status is Status.HOLE
            continue
        best = int(np.argmin(np.hypot(dx, dz)))
        assert state.row == rows[best]
        assert np.allclose((state.x_residual_mm, state.z_residual_mm), (dx[best], dz[best]))
        within = max(dx[best], dz[best]) <= 10.0
        assert state.status is (Status.DENSE if within else Status.MARGINAL)


def test_one_arc_leaves_most_of_the_region_open(
    tables: CellTables, arm: ArmModel, base: BaseInCell, config: Config
) -> None:
    arc = Approach(sweep_arc(FIELD_PLACE_DEG, arm, base, CellOfTable.of(config), "approach_place"), "arc.json", "")
    found = find_holes(asked_of(tables, arm, config), arc, Ground.of(config))
    assert 0 < found.counts()["dense"] <= 59  # whatever the table holds
    assert found.counts()["hole"] > 100
    assert {s.approach_method for s in found.squares} <= {"interp", "out_of_range"}


def test_map_csv_and_counts_say_the_same(tables: CellTables, arm: ArmModel, config: Config) -> None:
    ground = replace(Ground.of(config), region=Region((-50, -330), (100, 340), 40))
    found = find_holes(asked_of(tables, arm, config), tables.approach_place, ground)
    lines = list(csv.DictReader(io.StringIO(found.to_csv())))
    assert list(lines[0]) == list(COLUMNS)
    assert [line["status"] for line in lines] == [str(s.status) for s in found.squares]
    drawn = found.drawn()
    top = drawn.splitlines()[: len(ground.region.zs_mm)]
    for status, count in found.counts().items():
        assert f"{status} {count}" in drawn
        assert sum(line[6:].count(MARKS[Status(status)]) for line in top) == count
    assert found.as_dict()["counts"] == found.counts()


def test_a_proof_overrides_what_is_not_dense(tables: CellTables, arm: ArmModel, config: Config) -> None:
    ground = replace(Ground.of(config), region=Region((-50, -330), (100, 340), 140))
    asked = asked_of(tables, arm, config)
    plain = find_holes(asked, tables.approach_place, ground)
    proofs = dict.fromkeys(ground.region.squares, (Status.UNREACHABLE, "out of reach"))
    proved = find_holes(asked, tables.approach_place, ground, proofs)
    for before, after in zip(plain.squares, proved.squares, strict=True):
        wanted = before.status if before.status is Status.DENSE else Status.UNREACHABLE
        assert after.status is wanted


def test_a_pick_asks_without_a_tolerance(config: Config) -> None:
    pick, place = Ground.of(config, "pick"), Ground.of(config)
    assert query_of((0.2, 0.2), (0.0,) * 6, pick).joint_tol_deg is None
    assert query_of((-0.2, 0.2), (0.0,) * 6, place).joint_tol_deg == 15.0
