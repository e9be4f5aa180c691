"""A run's side of a served twin: which one stands at an arm's address, its clock, its reset, its truth for scoring.

A run takes the pace, the camera's address and a start from here. It never learns from it how the arm stands or where
things are; the truth is asked for once the trial has ended. Loads no physics.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, ValidationError

from runner.twin.errors import StartNotPossible, TwinGone
from runs.errors import StorageUnwritable
from runs.files import storage, write_atomic

FOLDER = "served"
_ANSWER_S = 10.0
_LONGEST_NAP_S, _SHORTEST_NAP_S = 0.1, 0.0005


class Addresses(BaseModel):
    """Where one served twin is reached. `tcp` is HOST:PORT, `pty` a device path, the others are URLs."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    pid: int
    tcp: str | None
    pty: str | None
    camera: str
    control: str
    firmware: str
    profile: str


def announced(cell: Path, addresses: Addresses) -> Path:
    """Write the addresses into the cell's folder; returns the file.

    Raises:
        StorageUnwritable: the folder can't be written.
    """
    folder = cell / FOLDER
    with storage(folder):
        folder.mkdir(exist_ok=True)
    path = folder / f"{addresses.pid}.json"
    write_atomic(path, addresses.model_dump_json(indent=2).encode() + b"\n")
    return path


def withdrawn(path: Path) -> None:
    """Take the addresses back; a file or folder that has gone is as good."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise StorageUnwritable(path, error.strerror or str(error)) from error


def served_twins(cell: Path) -> Iterator[Addresses]:
    """The twins that are served for this cell and whose process is there."""
    folder = cell / FOLDER
    for path in sorted(folder.glob("*.json")) if folder.is_dir() else ():
        try:
            addresses = Addresses.model_validate_json(path.read_bytes())
        except (OSError, ValidationError):
            continue  # being written, or left by another version
        if _lives(addresses.pid):
            yield addresses


def served_at(cell: Path, address: str) -> Addresses | None:
    """The served twin with that arm's address (HOST:PORT or a device path), or None: another arm stands there."""
    for addresses in served_twins(cell):
        if addresses.tcp is not None and _same_place(addresses.tcp, address):
            return addresses
        if addresses.pty is not None and os.path.realpath(address) == os.path.realpath(addresses.pty):
            return addresses
    return None


class TwinControl:
    """The control port of one served twin. Safe from several threads."""

    def __init__(self, addresses: Addresses) -> None:
        self.addresses = addresses
        self._host = urlsplit(addresses.control).netloc
        self._lock = threading.Lock()
        self._connection = http.client.HTTPConnection(self._host, timeout=_ANSWER_S)

    def reset(
        self,
        seed: int,
        *,
        block_xz_m: tuple[float, float] | None = None,
        box_xz_m: tuple[float, float] | None = None,
    ) -> None:
        """The twin to the start of a seed.

        Raises:
            StartNotPossible: the given places overlap. TwinGone: it does not answer.
        """
        self._ask("POST", "/reset", {"seed": seed, "block_xz_m": block_xz_m, "box_xz_m": box_xz_m})

    def clock(self) -> tuple[float, float]:
        """The twin's time in seconds, and how many of its seconds go into one of ours.

        Raises:
            TwinGone: it does not answer.
        """
        told = self._ask("GET", "/clock")
        return float(told["now_s"]), float(told["speedup"])

    def truth(self) -> dict[str, Any]:
        """How things are in the twin, to score a trial that has ended.

        Raises:
            TwinGone: it does not answer.
        """
        return self._ask("GET", "/truth")

    def close(self) -> None:
        """Let go of the connection. Safe more than once."""
        with self._lock:
            self._connection.close()

    def _ask(self, method: str, path: str, told: Mapping[str, Any] | None = None) -> dict[str, Any]:
        body = None if told is None else json.dumps(told)
        with self._lock:
            status, answer = self._answer(method, path, body)
        if status == 409:
            raise StartNotPossible(str(answer.get("error")))
        if status != 200:
            raise TwinGone(self._host, f"it says {answer.get('error', status)!r} to {path}")
        return answer

    def _answer(self, method: str, path: str, body: str | None) -> tuple[int, dict[str, Any]]:
        for last in (False, True):
            try:
                self._connection.request(method, path, body, {"Content-Type": "application/json"})
                response = self._connection.getresponse()
                return response.status, dict(json.loads(response.read()))
            except (OSError, http.client.HTTPException, ValueError) as error:
                self._connection.close()  # one that lay idle may have been dropped: the next try opens another
                if last:
                    raise TwinGone(self._host, str(error) or type(error).__name__) from error
        raise AssertionError("the second try answers or raises")


class TwinTime:
    """The served twin's own time as a `Clock`: what a run waits by, however fast or slow the twin runs.

    When the twin has gone, time goes on at the last pace: that it has gone is for the arm and the camera to say.
    """

    def __init__(self, control: TwinControl) -> None:
        self._control = control
        self._known: tuple[float, float, float] | None = None  # its time, its pace, and ours then

    def now_s(self) -> float:
        """The twin's seconds since it was started."""
        return self._clock()[0]

    def sleep(self, seconds: float) -> None:
        """Wait until that much of the twin's time has passed."""
        now_s, speedup = self._clock()
        end_s = now_s + seconds
        while now_s < end_s:
            time.sleep(min(max((end_s - now_s) / speedup, _SHORTEST_NAP_S), _LONGEST_NAP_S))
            now_s, speedup = self._clock()

    def _clock(self) -> tuple[float, float]:
        try:
            now_s, speedup = self._control.clock()
        except TwinGone:
            if self._known is None:
                raise
            then_s, speedup, ours_s = self._known
            return then_s + (time.monotonic() - ours_s) * speedup, speedup
        self._known = now_s, speedup, time.monotonic()
        return now_s, speedup


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # it is somebody else's
    return True


def _same_place(one: str, other: str) -> bool:
    """Whether two HOST:PORT mean the same door; 0.0.0.0 is every address of this machine."""
    (host_a, port_a), (host_b, port_b) = _split(one), _split(other)
    if port_a != port_b:
        return False
    return host_a in ("0.0.0.0", host_b) or bool(_numbers(host_a) & _numbers(host_b))


def _split(address: str) -> tuple[str, str]:
    host, _, port = address.rpartition(":")
    return host.strip("[]"), port


def _numbers(host: str) -> set[str]:
    try:
        return {str(found[4][0]) for found in socket.getaddrinfo(host, None)}
    except OSError:
        return set()
