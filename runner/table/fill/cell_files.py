"""Fill a cell: its tables in, the filled table, the approach grid and the proofs out, each replaced whole.

The files are written only when all of it is there; what stood before goes to the archive.
"""

from __future__ import annotations

from pathlib import Path

from runner.config import Config
from runner.table.approach import APPROACH_FOLDER, Approach, write_approach
from runner.table.approach_arc import sweep_arc
from runner.table.cell_tables import GRID_FILES, CellTables, open_tables
from runner.table.fill.proof_file import proof_path, write_proofs
from runner.table.fill.sequence import Filled, FillSettings, fill
from runner.table.format import TABLE_FILE, changing, put_table, read_table
from runner.table.postures import arm_of
from runner.table.region import FillPhase, Ground
from runner.table.rows import CellOfTable
from runner.table.scan import Progress, quiet


def approach_of(tables: CellTables, phase: FillPhase) -> Approach:
    """The approach file of a phase."""
    return tables.approach_place if phase == "place" else tables.approach_pick


def swept_approach(config: Config, phase: FillPhase, base_deg: tuple[float, ...]) -> Approach:
    """An arc of one base pose, as the field's, in place of the cell's approach file."""
    arm, base = arm_of(config)
    name = GRID_FILES["approach_place" if phase == "place" else "approach_pick"]
    arc = sweep_arc(
        base_deg, arm, base, CellOfTable.of(config), "approach_place" if phase == "place" else "approach_pick"
    )
    return Approach(arc, f"{name} swept", "")


def fill_cell(
    cell_folder: Path,
    config: Config,
    ground: Ground,
    settings: FillSettings | None = None,
    *,
    arc_deg: tuple[float, ...] | None = None,
    progress: Progress = quiet,
) -> Filled:
    """Fill a cell's tables for one phase.

    Args:
        cell_folder: whose tables; what is missing is made first.
        config: its settings.
        ground: which squares.
        settings: of the field's part.
        arc_deg: begin from an arc of this base pose, as the field did, in place of the cell's approach file.
        progress: told how far it is.

    Raises:
        BadTableFile, WrongTable: a file can't be used; nothing is changed.
        TableBusy: another process has held the table for too long.
        StorageUnwritable: a file can't be written.
    """
    arm, base = arm_of(config)
    tables = open_tables(cell_folder, config, lambda share, what: progress(0.2 * share, what))
    approach = approach_of(tables, ground.phase) if arc_deg is None else swept_approach(config, ground.phase, arc_deg)
    path = cell_folder / TABLE_FILE
    with changing(path):
        table = read_table(path, wanted=CellOfTable.of(config))
        filled = fill(
            table, approach, arm, base, config, ground, settings,
            lambda share, what: progress(0.2 + 0.7 * share, what),
        )  # fmt: skip
        progress(0.9, "writing")
        if filled.table is not table:
            put_table(path, filled.table)
    write_approach(cell_folder / APPROACH_FOLDER / GRID_FILES[filled.approach.phase], filled.approach)
    write_proofs(proof_path(cell_folder, ground.phase), filled.proofs)
    return filled
