"""`corrections_history.jsonl` on the disk: whole lines only, numbered from 1, added to and never changed.

A line that a crash tore off is none; the next one begins where it began.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from pydantic import ValidationError

from runs.corrections.history import HistoryLine
from runs.errors import CorrectionsUnreadable
from runs.files import append_line, storage

_TAIL_BYTES = 1 << 16


class HistoryFile:
    """The history of one cell's corrections. Making one touches no disk."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def lines(self) -> list[HistoryLine]:
        """Every whole line, the oldest first; none where there is no file.

        Raises:
            CorrectionsUnreadable: a line can't be read or has another number than its place.
        """
        try:
            raw = self.path.read_bytes()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise CorrectionsUnreadable(self.path, (error.strerror or str(error)).lower()) from None
        whole, _, _ = raw.rpartition(b"\n")
        return [self._parsed(number, text) for number, text in enumerate(whole.split(b"\n") if whole else (), start=1)]

    def count(self) -> int:
        """How many whole lines it has, by what the last one says; the others are not read.

        Raises:
            CorrectionsUnreadable
        """
        try:
            with self.path.open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                tail = _TAIL_BYTES
                while True:
                    file.seek(max(0, size - tail))
                    whole, _, _ = file.read().rpartition(b"\n")
                    _, end, last = whole.rpartition(b"\n")
                    if end or tail >= size:
                        break
                    tail *= 8
        except FileNotFoundError:
            return 0
        except OSError as error:
            raise CorrectionsUnreadable(self.path, (error.strerror or str(error)).lower()) from None
        if not last:
            return 0
        try:
            return int(json.loads(last)["seq"])
        except (ValueError, KeyError, TypeError):
            raise CorrectionsUnreadable(self.path, "its last line can't be read") from None

    def append(self, line: HistoryLine) -> None:
        """Add a line and sync it.

        Raises:
            StorageUnwritable: the history is as it was.
        """
        self._cut_torn_line()
        append_line(self.path, line.model_dump_json(exclude_defaults=True).encode())

    def _parsed(self, number: int, text: bytes) -> HistoryLine:
        try:
            line = HistoryLine.model_validate_json(text, strict=True)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            key = ".".join(map(str, first["loc"]))
            raise CorrectionsUnreadable(self.path, f"line {number}: {key}: {first['msg'].lower()}") from None
        if line.seq != number:
            raise CorrectionsUnreadable(self.path, f"line {number} says that it is line {line.seq}")
        return line

    def _cut_torn_line(self) -> None:
        with storage(self.path):
            try:
                with self.path.open("rb+") as file:
                    size = file.seek(0, os.SEEK_END)
                    file.seek(max(0, size - 1))
                    if not size or file.read(1) == b"\n":
                        return
                    file.seek(0)
                    file.truncate(file.read().rfind(b"\n") + 1)
            except FileNotFoundError:
                return
