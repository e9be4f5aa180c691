"""A twin session's world on the disk, so that a killed batch goes on in it: block, box, arm, and what it holds.

A desk of metal stays as it is when a process dies; the twin's dies with it. So what is needed to make it anew is put by
after every record of a trial or a reset. It is for going on only: no judge and no stage of a trial reads it.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from runner.twin.setup import Twin
from runs.batches import BatchFolder
from runs.files import storage

_VERSION = 1


class KeptWorld(NamedTuple):
    """A world that was put by: the start whose seed it was made from, its logs so far, and the twin's state."""

    made_for: int
    logs: tuple[tuple[str, str], ...]  # "run" or "reset", and its id
    twin: dict[str, Any]


class WorldFile:
    """One session's file. What can't be read, or is of another version, is as if it were not there."""

    def __init__(self, batch: BatchFolder, session: int) -> None:
        self._path = batch.folder / f"world_{session:04d}.json"

    def keep(self, twin: Twin, made_for: int, logs: tuple[tuple[str, str], ...]) -> None:
        """Put the world by as it is. Whole or not at all; not synced, for a power cut is no worse than a new world.

        Raises:
            StorageUnwritable
        """
        told = {"version": _VERSION, "made_for": made_for, "logs": logs, "twin": twin.state()}
        new = self._path.with_suffix(".new")
        with storage(self._path):
            new.write_text(json.dumps(told), encoding="ascii")
            new.replace(self._path)

    def read(self) -> KeptWorld | None:
        """What was put by, None if nothing was that can be used."""
        try:
            told = json.loads(self._path.read_bytes())
            if told["version"] != _VERSION:
                return None
            logs = tuple((str(kind), str(name)) for kind, name in told["logs"])
            return KeptWorld(int(told["made_for"]), logs, dict(told["twin"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def forget(self) -> None:
        """The session is over, or its world is no longer to be gone on with."""
        with storage(self._path):
            self._path.unlink(missing_ok=True)
