"""`corrections.json` of a cell and its history. One file holds a table for each thing that a table can belong to.

The file is replaced as a whole; the history only grows and is written first, so no change is ever without its line. A
file that can't be read is an error, never an empty table.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from runs.corrections.table import BelongsTo, CorrectionTable
from runs.errors import CorrectionsUnreadable, NewerThanUs
from runs.events import utc_text
from runs.files import append_line, storage, write_atomic
from runs.schema.base import Record
from runs.schema.run import CorrectionChange

CORRECTIONS_VERSION = 1


class CorrectionTables(Record):
    """The whole file: tables by the key of what they belong to."""

    corrections_version: Literal[1] = 1
    tables: dict[str, CorrectionTable] = Field(default_factory=dict)


class HistoryLine(Record):
    """One change in `corrections_history.jsonl`."""

    at: str
    run_id: str
    belongs_to: BelongsTo
    change: CorrectionChange
    hash_before: str
    hash_after: str


class CorrectionFile:
    """The corrections of one cell. Making one touches no disk."""

    def __init__(self, cell: Path) -> None:
        self.path = cell / "corrections.json"
        self.history_path = cell / "corrections_history.jsonl"

    def load(self, belongs_to: BelongsTo) -> CorrectionTable:
        """The table learned with exactly this calibration, reach table and profile; an empty one if there is none.

        Raises:
            CorrectionsUnreadable, NewerThanUs
        """
        return self.tables().tables.get(belongs_to.key, CorrectionTable(belongs_to=belongs_to))

    def save(self, before: CorrectionTable, after: CorrectionTable, change: CorrectionChange, *, run_id: str) -> None:
        """Keep what a trial taught: `after` comes from `before.learn`, which comes from `load`.

        Raises:
            StorageUnwritable: the table on the disk is as it was.
            CorrectionsUnreadable, NewerThanUs: see `load`.
        """
        tables = self.tables()
        key = after.belongs_to.key
        line = HistoryLine(
            at=utc_text(),
            run_id=run_id,
            belongs_to=after.belongs_to,
            change=change,
            hash_before=before.content_hash,
            hash_after=after.content_hash,
        )
        with storage(self.path.parent):
            self.path.parent.mkdir(parents=True, exist_ok=True)
        append_line(self.history_path, line.model_dump_json().encode())
        changed = tables.model_copy(update={"tables": {**tables.tables, key: after}})
        write_atomic(self.path, changed.model_dump_json(indent=2).encode() + b"\n")

    def tables(self) -> CorrectionTables:
        """Every table of the file; none where there is no file.

        Raises:
            CorrectionsUnreadable, NewerThanUs
        """
        try:
            text = self.path.read_bytes()
        except FileNotFoundError:
            return CorrectionTables()
        except OSError as error:
            raise CorrectionsUnreadable(self.path, (error.strerror or str(error)).lower()) from None
        try:
            raw = json.loads(text)
        except ValueError:
            raise CorrectionsUnreadable(self.path, "it is cut off or no JSON") from None
        version = raw.get("corrections_version") if isinstance(raw, dict) else None
        if type(version) is not int:
            raise CorrectionsUnreadable(self.path, "it says no corrections_version")
        if version > CORRECTIONS_VERSION:
            raise NewerThanUs(self.path, version, CORRECTIONS_VERSION)
        try:
            return CorrectionTables.model_validate_json(text, strict=True)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            key = ".".join(map(str, first["loc"]))
            raise CorrectionsUnreadable(self.path, f"{key}: {first['msg'].lower()}") from None
