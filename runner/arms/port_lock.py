"""One process drives an arm: a lock on its address, which the system lets go of when its holder dies.

It is kept for this machine, in the folder for temporary files; it can't know of other machines.
"""

from __future__ import annotations

import getpass
import hashlib
import os
import socket
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout

from runner.arms.client import host_and_port
from runner.arms.errors import PortBusy
from runs.files import storage


class PortLock:
    """Held from construction until `release`."""

    def __init__(self, kind: str, address: str) -> None:
        """Take the lock.

        Raises:
            PortBusy: another process, or another driver in this one, has it.
        """
        name = hashlib.sha256(_place(kind, address).encode()).hexdigest()[:16]
        self._path = Path(tempfile.gettempdir()) / f"trialcell-arm-{name}.lock"
        self._note = self._path.with_suffix(".txt")
        self._lock = FileLock(self._path, timeout=0, thread_local=False, mode=0o666)
        with storage(self._path):
            self._acquire(address)
        with storage(self._note):
            self._note.write_text(f"process {os.getpid()} of {getpass.getuser()} ({' '.join(sys.argv[:3])})")

    def _acquire(self, address: str) -> None:
        try:
            self._lock.acquire()
        except Timeout:
            raise PortBusy(address, self._holder()) from None

    def release(self) -> None:
        """Let go. Safe more than once."""
        self._lock.release()

    def _holder(self) -> str:
        try:
            return self._note.read_text().strip() or "another process"
        except OSError:
            return "another process"


def _place(kind: str, address: str) -> str:
    """The same text for every way to say the same place."""
    if kind == "mycobot-serial":
        return os.path.realpath(address)
    host, port = host_and_port(address)
    with suppress(OSError):  # a name that nobody knows: connecting will say so
        host = str(socket.getaddrinfo(host, None, proto=socket.IPPROTO_TCP)[0][4][0])
    return f"{host}:{port}"
