"""Seeds: the row nearby that twists the arm least, against brute force; squares without one are named."""

from __future__ import annotations

import numpy as np
import pytest

from runner.config import Config
from runner.kinematics.frames import BaseInCell
from runner.kinematics.model import ArmModel
from runner.table.approach import Approach
from runner.table.approach_arc import FIELD_PLACE_DEG, sweep_arc
from runner.table.cell_tables import CellTables
from runner.table.holes import Asked, Status, find_holes
from runner.table.region import Ground
from runner.table.rows import CellOfTable
from runner.table.seeds import Seeds, find_seeds


@pytest.fixture(scope="module")
def field_seeds(tables: CellTables, arm: ArmModel, base: BaseInCell, config: Config) -> Seeds:
    """As the field: seeds for one arc."""
    arc = Approach(sweep_arc(FIELD_PLACE_DEG, arm, base, CellOfTable.of(config), "approach_place"), "arc.json", "")
    asked = Asked.of(tables.reach, arm, config)
    holes = find_holes(asked, arc, Ground.of(config))
    return find_seeds(holes, holes.of(Status.HOLE), asked, arc)


def test_a_seed_is_the_row_that_twists_the_arm_least(
    field_seeds: Seeds, tables: CellTables, arm: ArmModel, config: Config
) -> None:
    columns = tables.reach.columns
    usable = Asked.of(tables.reach, arm, config).usable_rows((0.070, 0.100))
    assert len(field_seeds.found) > 80
    for seed in field_seeds.found[::12]:
        off = np.hypot(columns[0][usable] - seed.x_mm / 1000, columns[2][usable] - seed.z_mm / 1000)
        near = usable[off <= 0.030]
        twist = np.abs(columns[4:][:, near].T - np.array(FIELD_PLACE_DEG[1:])).max(axis=1)
        assert seed.row == near[np.argmin(twist)]
        assert seed.difference_deg == pytest.approx(twist.min())
        assert seed.dist_mm <= 30.0


def test_squares_out_of_reach_have_no_seed_and_are_told_as_a_patch(field_seeds: Seeds) -> None:
    assert all(np.hypot(*square) > 365 for square in field_seeds.without)
    told = field_seeds.as_dict()
    assert told["with_seed"] + len(field_seeds.without) == told["holes"]
    assert sum(len(patch["squares"]) for patch in told["without"]) == len(field_seeds.without)


def test_the_csv_has_a_line_a_seed(field_seeds: Seeds) -> None:
    lines = field_seeds.to_csv().splitlines()
    assert lines[0].startswith("grid_x_mm,grid_z_mm,row,j0,j1,j2,j3,j4,j5,ee_x,ee_y,ee_z,difference_deg")
    assert len(lines) == 1 + len(field_seeds.found)
