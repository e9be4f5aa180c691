"""One process at a time drives a cell. The lock says who holds it, and a holder that died doesn't keep it.

The operating system lets go of the lock when its process ends, however it ends; the note beside it is for people only
and is never what decides. Reading a cell (logs, tables) needs no lock.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from pathlib import Path
from types import TracebackType

from filelock import FileLock, Timeout

from runs.errors import CellBusy
from runs.events import utc_text
from runs.files import storage, write_atomic

LOCK_FILE = "cell.lock"
HOLDER_FILE = "cell.lock.json"


class CellLock:
    """Use it in a `with`: the cell is ours inside, or `CellBusy` says whose it is.

    A second lock on the same cell is refused in the same process too.
    """

    def __init__(self, cell: Path, *, command: str | None = None) -> None:
        """`command` is what people are told that we do, the command line by default."""
        self.cell = cell
        self.command = command if command is not None else " ".join(["trialcell", *sys.argv[1:]])
        self._lock = FileLock(cell / LOCK_FILE, timeout=0, thread_local=False)

    def __enter__(self) -> CellLock:
        """Take the cell, making its folder on first use.

        Raises:
            CellBusy: another process has it.
            StorageUnwritable: the cell's folder can't be written.
        """
        try:
            with storage(self.cell):
                self.cell.mkdir(parents=True, exist_ok=True)
                self._acquire()
            me = {"pid": os.getpid(), "host": socket.gethostname(), "since": utc_text(), "command": self.command}
            write_atomic(self.cell / HOLDER_FILE, json.dumps(me).encode() + b"\n")
        except BaseException:
            self._lock.release()
            raise
        return self

    def _acquire(self) -> None:
        try:
            self._lock.acquire()
        except Timeout:
            holder = holder_of(self.cell)
            raise CellBusy(self.cell, **holder) from None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let go of the cell."""
        try:
            with storage(self.cell):
                (self.cell / HOLDER_FILE).unlink(missing_ok=True)
        finally:
            self._lock.release()


def holder_of(cell: Path) -> dict[str, object]:
    """What the holder wrote of itself; every fact None where that can't be read."""
    nobody: dict[str, object] = dict.fromkeys(("pid", "host", "since", "command"))
    try:
        note = json.loads((cell / HOLDER_FILE).read_bytes())
    except (OSError, ValueError):
        return nobody
    if not isinstance(note, dict):
        return nobody
    return {name: note.get(name) for name in nobody}
