"""The tables of a cell folder: made on first use, read and checked against the settings from then on.

Makes the default cell's own reach table and approach grids where none are; never overwrites one that is there.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from runner.config import Config
from runner.kinematics.frames import BaseInCell
from runner.kinematics.model import ArmModel
from runner.table.approach import APPROACH_FOLDER, Approach, ApproachPhase, read_approach, write_approach
from runner.table.approach_grid import build_grid_approach
from runner.table.format import TABLE_FILE, CellOfTable, ReachTable, read_table, write_table
from runner.table.lookup import Lookup
from runner.table.plan import Planner
from runner.table.postures import arm_of, hard_limits
from runner.table.scan import Progress, default_scan, quiet

GRID_FILES: dict[ApproachPhase, str] = {"approach_pick": "pick.json", "approach_place": "place.json"}


@dataclass(frozen=True, slots=True, eq=False)
class CellTables:
    """A cell's reach table and approach grids."""

    reach: ReachTable
    approach_pick: Approach
    approach_place: Approach

    def planner(self, config: Config, arm: ArmModel | None = None, base: BaseInCell | None = None) -> Planner:
        """A planner over these tables; arm and base are the settings' where not given."""
        own_arm, own_base = arm_of(config)
        arm, base = arm or own_arm, base or own_base
        lookup = Lookup(self.reach, hard_limits(arm, config), j1_safe_max_deg=config.arm.j1_safe_max_deg)
        return Planner(arm, base, config, lookup, self.approach_pick, self.approach_place)


def open_tables(cell_folder: Path, config: Config, progress: Progress = quiet) -> CellTables:
    """The cell's tables; what is missing is made and written, which takes a few seconds.

    Raises:
        BadTableFile, WrongTable: a file that is there can't be used; it is left as it is.
        StorageUnwritable: a new table can't be written.
    """
    wanted = CellOfTable.of(config)
    arm, base = arm_of(config)
    table_path = cell_folder / TABLE_FILE
    if not table_path.exists():
        write_table(table_path, default_scan(arm, base, config, _part(progress, 0.0, 0.5)))
    grids: dict[ApproachPhase, Approach] = {}
    for at, (phase, name) in enumerate(GRID_FILES.items()):
        path = cell_folder / APPROACH_FOLDER / name
        if path.exists():
            grids[phase] = read_approach(path, wanted=wanted)
        else:
            grid = build_grid_approach(arm, base, config, phase, _part(progress, 0.5 + 0.25 * at, 0.25))
            grids[phase] = write_approach(path, grid)
    return CellTables(read_table(table_path, wanted=wanted), grids["approach_pick"], grids["approach_place"])


def remake_approach(cell_folder: Path, config: Config, progress: Progress = quiet) -> None:
    """Make both approach tables anew; what was there goes to the archive.

    Raises:
        StorageUnwritable: a table can't be written; the old one stands.
    """
    arm, base = arm_of(config)
    for at, (phase, name) in enumerate(GRID_FILES.items()):
        grid = build_grid_approach(arm, base, config, phase, _part(progress, 0.5 * at, 0.5))
        write_approach(cell_folder / APPROACH_FOLDER / name, grid)


def _part(progress: Progress, start: float, span: float) -> Progress:
    return lambda share, what: progress(start + span * share, what)
