"""The default cell's own tables, built once a test run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from runner.config import Config
from runner.kinematics.frames import BaseInCell
from runner.kinematics.model import ArmModel
from runner.table.approach import Approach
from runner.table.cell_tables import CellTables, open_tables
from runner.table.fill.sequence import Filled, fill
from runner.table.lookup import Lookup
from runner.table.plan import Planner
from runner.table.postures import arm_of, hard_limits
from runner.table.region import Ground
from runner.table.rows import CellOfTable, ReachTable, RowBatch, make_table
from runner.table.scan import sample


@pytest.fixture(scope="session")
def cell_folder(tmp_path_factory: pytest.TempPathFactory, config: Config) -> Path:
    folder = tmp_path_factory.mktemp("cell")
    open_tables(folder, config)
    return folder


@pytest.fixture(scope="session")
def tables(cell_folder: Path, config: Config) -> CellTables:
    return open_tables(cell_folder, config)


@pytest.fixture(scope="session")
def planner(tables: CellTables, config: Config) -> Planner:
    return tables.planner(config)


@pytest.fixture(scope="session")
def small_table(arm: ArmModel, base: BaseInCell, config: Config) -> ReachTable:
    """Two thousand spread poses."""
    rows = sample(2000, arm, base, limits=hard_limits(arm, config), seed=7)
    batch = RowBatch(rows=2000, source="spread, seed 7", made_at="2026-01-01T00:00:00+00:00")
    return make_table(rows.points_m, np.asarray(rows.joints_deg), CellOfTable.of(config), [batch])


@pytest.fixture(scope="session")
def filled(tables: CellTables, arm: ArmModel, base: BaseInCell, config: Config) -> Filled:
    """The default cell's place region, filled."""
    return fill(tables.reach, tables.approach_place, arm, base, config, Ground.of(config))


@pytest.fixture(scope="session")
def filled_planner(filled: Filled, tables: CellTables, config: Config) -> Planner:
    """A planner over the filled table."""
    arm, base = arm_of(config)
    lookup = Lookup(filled.table, hard_limits(arm, config), j1_safe_max_deg=config.arm.j1_safe_max_deg)
    return Planner(arm, base, config, lookup, tables.approach_pick, Approach(filled.approach, "place.json", ""))
