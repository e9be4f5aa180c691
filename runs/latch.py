"""The stop that only a person clears: a file in the cell's folder that says who set it, why and when.

Programs set and read it; none clears it by itself. A latch that can't be read counts as set. Every setting and
clearing is added to a history that is never shortened.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from pydantic import ValidationError

from runs.events import utc_text
from runs.files import append_line, storage, sync_folder, write_atomic
from runs.schema.base import Record

LATCH_FILE = "stop.json"
HISTORY_FILE = "stop_history.jsonl"


class Stop(Record):
    """A latched stop: a person or a part of the program, its reason, and when (UTC)."""

    by: str
    why: str
    at: str


class StopLatch:
    """The latch of one cell. Making one touches no disk."""

    def __init__(self, cell: Path) -> None:
        self.path = cell / LATCH_FILE
        self.history_path = cell / HISTORY_FILE

    def read(self) -> Stop | None:
        """The stop that is latched, or None. One look at the disk, so it may be asked before every motion."""
        try:
            text = self.path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            return self._unreadable((error.strerror or str(error)).lower())
        try:
            return Stop.model_validate_json(text)
        except ValidationError:
            return self._unreadable("its text is damaged")

    def _unreadable(self, why: str) -> Stop:
        return Stop(by="unknown", why=f"{self.path.name} is there but can't be read: {why}", at="unknown")

    def set(self, *, by: str, why: str) -> Stop:
        """Latch a stop. If one is latched already, that one stays and is returned; the history has both.

        Raises:
            StorageUnwritable: it could not be written down; the caller has to stop all the same.
        """
        stop = Stop(by=by, why=why, at=utc_text())
        with storage(self.path.parent):
            self.path.parent.mkdir(parents=True, exist_ok=True)
        standing = self.read()
        if standing is None:
            write_atomic(self.path, stop.model_dump_json().encode() + b"\n")
        self._remember("set", stop)
        return standing or stop

    def clear(self, *, by: str) -> Stop | None:
        """A person takes the stop back; returns what was cleared, None if nothing was latched.

        Raises:
            ValueError: `by` names nobody.
            StorageUnwritable: the latch stays.
        """
        if not by.strip():
            raise ValueError("a stop is cleared by somebody: say who")
        standing = self.read()
        if standing is None:
            return None
        self._remember("cleared", Stop(by=by, why=f"cleared: {standing.why}", at=utc_text()))
        with storage(self.path):
            self.path.unlink(missing_ok=True)
            sync_folder(self.path.parent)
        return standing

    def _remember(self, what: str, stop: Stop) -> None:
        line = {"what": what, "pid": os.getpid(), **stop.model_dump()}
        append_line(self.history_path, json.dumps(line, ensure_ascii=False).encode())
