"""The tables of a cell folder: made on first use, read and checked against the settings from then on.

Makes the default cell's own reach table and approach grids where none are; never overwrites one that is there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from runner.config import Config
from runner.kinematics.frames import BaseInCell
from runner.kinematics.model import ArmModel
from runner.table.approach import APPROACH_FOLDER, Approach, ApproachPhase, read_approach, write_approach
from runner.table.approach_grid import build_grid_approach
from runner.table.errors import BadTableFile
from runner.table.format import TABLE_FILE, read_table, write_table
from runner.table.lookup import Lookup
from runner.table.opening import OpenTable, bound_to, index_of, open_table
from runner.table.plan import Planner
from runner.table.postures import arm_of, hard_limits
from runner.table.rows import CellOfTable, ReachTable
from runner.table.scan import Progress, default_scan, quiet

GRID_FILES: dict[ApproachPhase, str] = {"approach_pick": "pick.json", "approach_place": "place.json"}


@dataclass(frozen=True, eq=False)
class CellTables:
    """A cell's reach table, ready to be asked, and its approach grids."""

    opened: OpenTable
    approach_pick: Approach
    approach_place: Approach
    file: Path
    cell: CellOfTable

    @property
    def content_hash(self) -> str:
        """Of the reach table."""
        return self.opened.content_hash

    @cached_property
    def reach(self) -> ReachTable:
        """The reach table's rows, read when they are first asked for; lookups don't need them.

        Raises:
            BadTableFile: the file has been replaced since it was opened.
        """
        table = read_table(self.file, wanted=self.cell)
        if table.content_hash != self.content_hash:
            raise BadTableFile(self.file, "it was replaced while it was in use")
        return table

    def planner(self, config: Config, arm: ArmModel | None = None, base: BaseInCell | None = None) -> Planner:
        """A planner over these tables; arm and base are the settings' where not given."""
        own_arm, own_base = arm_of(config)
        arm, base = arm or own_arm, base or own_base
        made_from = bound_to(self.cell, hard_limits(arm, config), config.arm.j1_safe_max_deg)
        same = self.opened.index.bound_to == made_from | {"content_hash": self.content_hash}
        lookup = self.opened.lookup() if same else Lookup.over(index_of(self.reach, made_from))
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
    opened = open_table(table_path, config)
    return CellTables(opened, grids["approach_pick"], grids["approach_place"], table_path, wanted)


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
