"""One lookup without the settings: what a cell's settings came to lies noted beside its table since the last time.

The command line asks here first. Where anything has changed since (settings, table, index, this program) it says so by
giving nothing, and the long way is gone. It loads neither the models of the settings nor a reader of tables.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from runner.table.errors import BadIndexFile
from runner.table.index import map_index
from runner.table.lookup import Lookup
from runner.table.stamp import FileStamp, KnownSettings, index_file, read_note, settings_sha256


@dataclass(frozen=True, slots=True, eq=False)
class KnownTable:
    """A table ready to be asked, and the settings that a question needs."""

    lookup: Lookup
    settings: KnownSettings


def known_table(table_file: Path, settings_file: Path) -> KnownTable | None:
    """The table, if everything is as it was when the settings were last resolved for it."""
    note = read_note(table_file)
    if note is None or note.settings is None or settings_sha256(settings_file) != note.settings.sha256:
        return None
    try:
        if FileStamp.of(table_file.stat()) != note.stamp:
            return None
        index = map_index(index_file(table_file))
    except (BadIndexFile, OSError):
        return None
    if index.bound_to != note.index:
        return None
    return KnownTable(Lookup.over(index, compiled=False), note.settings)
