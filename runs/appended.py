"""What is said of a run after its end: rulings, decisions and later verdicts, in files that only grow.

`rulings.jsonl`, `decisions.jsonl` and `rejudged.jsonl` lie beside `run.json`, which is never touched. Two who write at
once lose nothing: they take turns by a lock that a dead holder doesn't keep. A line that was torn by a crash was never
acknowledged and is taken away by the next one who writes; any other line that can't be read is an error, never skipped.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from filelock import FileLock
from pydantic import ValidationError

from runs.errors import AppendedUnreadable
from runs.files import append_synced, mark_changed, storage
from runs.schema.agent import ProposalDecision
from runs.schema.base import Record
from runs.schema.run import RunLog
from runs.schema.verdict import Rejudged, Ruling

RULINGS_FILE = "rulings.jsonl"
REJUDGED_FILE = "rejudged.jsonl"
DECISIONS_FILE = "decisions.jsonl"

_LOCK = ".appending.lock"

R = TypeVar("R", bound=Record)


def append(path: Path, records: Sequence[Record]) -> None:
    """Add records to the end of a file, one a line, synced; made on first use.

    Raises:
        StorageUnwritable: nothing was added.
    """
    lines = b"".join(record.model_dump_json().encode() + b"\n" for record in records)
    with appending(path.parent), storage(path):
        fd = os.open(path, os.O_CREAT | os.O_RDWR | os.O_APPEND, 0o666)
        try:
            _drop_torn_end(fd)
            append_synced(fd, path, lines)
        finally:
            os.close(fd)
        mark_changed(path.parent)


@contextlib.contextmanager
def appending(folder: Path) -> Iterator[None]:
    """Alone in adding to the files of this folder, across processes. Not to be taken again inside."""
    lock = FileLock(folder / _LOCK, timeout=60, thread_local=False)
    with storage(folder):
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def _drop_torn_end(fd: int) -> None:
    size = os.fstat(fd).st_size
    data = os.pread(fd, size, 0) if size else b""
    if data and not data.endswith(b"\n"):
        os.ftruncate(fd, data.rfind(b"\n") + 1)


def read(path: Path, model: type[R]) -> tuple[R, ...]:
    """The records of a file, in the order in which they were written; none where there is no file.

    Raises:
        AppendedUnreadable: a line is damaged, or can't be read at all.
    """
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise AppendedUnreadable(path, 1, (error.strerror or str(error)).lower()) from error
    found = []
    for number, line in enumerate(lines[:-1], start=1):  # after the last newline: torn, never acknowledged
        try:
            found.append(model.model_validate_json(line))
        except ValidationError as error:
            raise AppendedUnreadable(path, number, error.errors()[0]["msg"]) from None
    return tuple(found)


def with_appended(log: RunLog, folder: Path) -> RunLog:
    """The log with what was said since: rulings after those made while it ran, later verdicts, decisions on proposals.

    Raises:
        AppendedUnreadable
    """
    rulings = read(folder / RULINGS_FILE, Ruling)
    rejudged = read(folder / REJUDGED_FILE, Rejudged)
    decisions = read(folder / DECISIONS_FILE, ProposalDecision)
    if not rulings and not rejudged and not decisions:
        return log
    return log.model_copy(
        update={
            "rulings": (*log.rulings, *rulings),
            "rejudged": (*log.rejudged, *rejudged),
            "decisions": (*log.decisions, *decisions),
        },
    )
