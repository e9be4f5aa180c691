"""A cell's tables for another tool: the rows' joints stay, where the tool comes to be is reckoned anew.

So whatever was scanned, merged and filled is kept. What stood before goes to the archive. Approach poses are made anew.
"""

from __future__ import annotations

from pathlib import Path

from runner.config import Config
from runner.kinematics.frames import tool_points_cell_m
from runner.table.cell_tables import remake_approach
from runner.table.format import TABLE_FILE, changing, put_table, read_head, read_table
from runner.table.postures import arm_of
from runner.table.rows import CellOfTable, make_table, now_utc
from runner.table.scan import Progress, quiet

_ANEW = "; "


def retool(cell_folder: Path, config: Config, progress: Progress = quiet) -> bool:
    """Make the tables of a cell fit the tool and base of these settings; whether there was anything to do.

    A cell that has no table yet gets one on its first use.

    Raises:
        BadTableFile: the table can't be read; nothing was changed. WrongTable: it is for another arm altogether.
        TableBusy, StorageUnwritable: it can't be written.
    """
    path, wanted = cell_folder / TABLE_FILE, CellOfTable.of(config)
    if not path.exists() or read_head(path).cell == wanted:
        return False
    arm, base = arm_of(config)
    with changing(path):
        old = read_table(path)
        wanted.model_copy(update={"arm_model": old.cell.arm_model}).require(wanted, path)
        progress(0.0, "the reach table for the calibrated tool")
        joints = old.joints_deg.T
        anew = f"reckoned anew for tool point {', '.join(f'{mm:.2f}' for mm in wanted.tcp_mm)} mm, {now_utc()}"
        batches = [b.model_copy(update={"source": f"{b.source.split(_ANEW)[0]}{_ANEW}{anew}"}) for b in old.batches]
        put_table(path, make_table(tool_points_cell_m(joints, arm, base), joints, wanted, batches))
    remake_approach(cell_folder, config, lambda share, what: progress(0.3 + 0.7 * share, what))
    return True
