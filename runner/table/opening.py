"""Opens a reach table for lookups: maps the index that lies beside it, or makes it anew where it is stale.

An index is taken only for the very content, cell and limits that it was made from. It is saved atomically, so two
processes may make it at once. Where it can't be saved it is made in memory, which takes a little longer each time.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from runner.config import CELL_FILE, Config
from runner.kinematics.ik.protocol import JointLimits
from runner.table.errors import BadIndexFile, NoTableYet
from runner.table.format import read_file
from runner.table.index import Index, build_index, map_index, save_index
from runner.table.lookup import Lookup
from runner.table.postures import arm_of, hard_limits
from runner.table.rows import CellOfTable, ReachTable
from runner.table.stamp import (
    FileStamp,
    KnownSettings,
    Note,
    index_file,
    read_note,
    settings_sha256,
    write_note,
)
from runs.errors import StorageUnwritable
from runs.files import sha256_hex


@dataclass(frozen=True, slots=True, eq=False)
class OpenTable:
    """A table ready for lookups."""

    index: Index
    content_hash: str
    made: bool  # whether the index was made now, because none that fits lay there
    saved: bool  # whether it lies in a file

    def lookup(self, *, compiled: bool = True) -> Lookup:
        """Ask it."""
        return Lookup.over(self.index, compiled=compiled)


def open_table(path: Path, config: Config) -> OpenTable:
    """The table of a cell with these settings, ready for lookups.

    Raises:
        NoTableYet: there is no such file.
        BadTableFile: cut off, not Parquet, or not as its own metadata says.
        WrongTable: made for another arm, tool or base.
    """
    arm, _ = arm_of(config)
    wanted = CellOfTable.of(config)
    made_from = bound_to(wanted, hard_limits(arm, config), config.arm.j1_safe_max_deg)
    ready = _ready(path, made_from)
    if ready is not None:
        return OpenTable(ready, str(ready.bound_to["content_hash"]), made=False, saved=True)
    read = read_file(path, wanted=wanted)
    index = index_of(read.table, made_from)
    saved = False
    with suppress(StorageUnwritable):
        save_index(index_file(path), index)
        write_note(path, Note(read.stamp, read.sha256, index.bound_to))
        saved = True
    return OpenTable(index, read.table.content_hash, made=True, saved=saved)


def bound_to(cell: CellOfTable, limits: JointLimits, j1_safe_max_deg: float) -> dict[str, Any]:
    """What an index depends on besides the rows."""
    return {
        "cell": cell.model_dump(mode="json"),
        "min_deg": limits.min_deg.tolist(),
        "max_deg": limits.max_deg.tolist(),
        "j1_safe_max_deg": j1_safe_max_deg,
    }


def index_of(table: ReachTable, made_from: dict[str, Any]) -> Index:
    """An index over a table, bound to it and to what `bound_to` says."""
    return build_index(
        table.columns,
        made_from["min_deg"],
        made_from["max_deg"],
        j1_safe_max_deg=made_from["j1_safe_max_deg"],
        bound_to=made_from | {"content_hash": table.content_hash},
    )


def remember_settings(path: Path, opened: OpenTable, config: Config) -> None:
    """Note how the settings file beside the table was resolved, so that the next single lookup needn't.

    Args:
        path: of the table.
        opened: it, opened with these settings.
        config: as the file says, with nothing laid over it.
    """
    note, digest = read_note(path), settings_sha256(path.with_name(CELL_FILE))
    if note is None or digest is None or note.index != opened.index.bound_to:
        return
    known = known_settings(config, digest)
    if note.settings != known:
        with suppress(StorageUnwritable):
            write_note(path, replace(note, settings=known))


def known_settings(config: Config, sha256: str) -> KnownSettings:
    """What a single lookup needs of the settings, under the hash of their file."""
    t = config.table
    return KnownSettings(sha256, t.pick_band_y_m, t.place_band_y_m, t.dist_max_m, t.place_floor_y_m)


def _ready(path: Path, made_from: dict[str, Any]) -> Index | None:
    """The index that lies there, if it is for this file, cell and limits."""
    note = read_note(path)
    if note is None or {k: v for k, v in note.index.items() if k != "content_hash"} != made_from:
        return None
    try:
        stamp = FileStamp.of(path.stat())
        moved = stamp != note.stamp
        if moved and sha256_hex(path.read_bytes()) != note.sha256:
            return None
        index = map_index(index_file(path))
    except FileNotFoundError:
        raise NoTableYet(path) from None
    except (BadIndexFile, OSError):
        return None
    if index.bound_to != note.index:
        return None
    if moved:
        with suppress(StorageUnwritable):
            write_note(path, replace(note, stamp=stamp))
    return index
