"""Where batches live: `<cell>/batches/<id>/` with `plan.json`, `events.jsonl` and the logs of the resets.

The plan is written once. Every event is on the disk before the call that writes it returns, from whichever process;
what has become of the batch is always worked out from both. It runs nothing.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

from filelock import FileLock, Timeout
from pydantic import TypeAdapter, ValidationError

from runs.batch_records import PLAN_VERSION, BatchEvent, BatchPlan
from runs.errors import Family, NewerThanUs, RecordError
from runs.events import utc_text
from runs.files import append_line, storage, write_atomic
from runs.store import run_name

PLAN_FILE = "plan.json"
EVENTS_FILE = "events.jsonl"
STOP_FILE = "stop.json"
BATCH_ID = re.compile(r"batch_(\d{3,})_\d{8}_\d{6}")
_EVENT: TypeAdapter[BatchEvent] = TypeAdapter(BatchEvent)


class BatchNotFound(RecordError):
    """No batch of that name in the cell."""

    family: ClassVar[Family] = "usage"

    def __init__(self, wanted: str, searched: Path) -> None:
        self.wanted, self.searched = wanted, searched
        what = "no batch yet" if wanted == "latest" else f"no batch {wanted!r}"
        super().__init__(f"{what} in {searched}", next_step="begin one with: trialcell batch 20")


class BatchUnreadable(RecordError):
    """A plan that can't be read."""


class BatchRunning(RecordError):
    """Another process works on this batch."""

    family: ClassVar[Family] = "busy"

    def __init__(self, batch_id: str) -> None:
        self.batch_id = batch_id
        super().__init__(f"{batch_id} is being run by another process", next_step="watch it: trialcell batch status")


class BatchFolder:
    """One batch on disk. Making one touches no disk."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._events = folder / EVENTS_FILE
        self._read: list[BatchEvent] = []
        self._read_to = 0

    @property
    def batch_id(self) -> str:
        """Its name, which is its folder's."""
        return self.folder.name

    @property
    def resets_dir(self) -> Path:
        """Logs of the resets, each like a run's."""
        return self.folder / "resets"

    def plan(self) -> BatchPlan:
        """The plan.

        Raises:
            BatchUnreadable: it is damaged. NewerThanUs: a later version of the program wrote it.
        """
        path = self.folder / PLAN_FILE
        try:
            raw = json.loads(path.read_bytes())
        except (OSError, ValueError) as error:
            raise BatchUnreadable(f"can't read {path}: {error}", next_step="begin another batch") from None
        version = raw.get("plan_version") if isinstance(raw, dict) else None
        if type(version) is int and version > PLAN_VERSION:
            raise NewerThanUs(path, version, PLAN_VERSION)
        try:
            return BatchPlan.model_validate(raw)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(map(str, first["loc"]))
            raise BatchUnreadable(f"{path}: {where}: {first['msg']}", next_step="begin another batch") from None

    def add(self, event: BatchEvent) -> None:
        """Write one event down; safe from several processes at once.

        Raises:
            StorageUnwritable: it is not on the disk.
        """
        lock = FileLock(self.folder / ".events.lock", timeout=60)
        with storage(self._events):
            lock.acquire()
        try:
            append_line(self._events, self._after_a_torn_line() + _EVENT.dump_json(event))
        finally:
            lock.release()

    def _after_a_torn_line(self) -> bytes:
        """What has to stand before the next line: a line that a crash tore ends there, and takes nothing with it."""
        try:
            with self._events.open("rb") as file:
                file.seek(-1, os.SEEK_END)
                return b"" if file.read(1) == b"\n" else b"\n"
        except OSError:  # not there yet, or empty
            return b""

    def events(self) -> list[BatchEvent]:
        """All events in order. A line that was torn by a crash is left out: what it would have said is found again.

        What has been read once is not read again: asked after every session, thousands of starts would take hours.
        """
        for offset, event in self.events_from(self._read_to):
            self._read.append(event)
            self._read_to = offset
        return list(self._read)

    def events_from(self, offset: int) -> Iterator[tuple[int, BatchEvent]]:
        """Events from a byte of the file on, each with the byte behind it."""
        try:
            with self._events.open("rb") as file:
                file.seek(offset)
                data = file.read()
        except FileNotFoundError:
            return
        for line in data.splitlines(keepends=True):
            if not line.endswith(b"\n"):
                return
            offset += len(line)
            try:
                yield offset, _EVENT.validate_json(line)
            except ValidationError:
                continue

    def ask_to_stop(self, *, now: bool, by: str) -> bool:
        """Ask whoever runs it to stop: after the trial under way, or at once. A second asking means at once.

        Returns whether it is to stop at once.
        """
        now = now or self.stop_asked() is not None
        write_atomic(self.folder / STOP_FILE, json.dumps({"now": now, "by": by, "at": utc_text()}).encode())
        return now

    def stop_asked(self) -> dict[str, Any] | None:
        """What was asked, None if nothing was. A file that can't be read counts as asked."""
        try:
            found = json.loads((self.folder / STOP_FILE).read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValueError):
            return {"now": False, "by": "unknown"}
        return found if isinstance(found, dict) else {"now": False, "by": "unknown"}

    def forget_stop(self) -> None:
        """A stop that was asked for has been obeyed, or is overruled by `resume`."""
        with storage(self.folder):
            (self.folder / STOP_FILE).unlink(missing_ok=True)

    @contextmanager
    def running(self) -> Iterator[None]:
        """While inside, this process runs the batch.

        Raises:
            BatchRunning: another one does.
        """
        lock = FileLock(self.folder / ".running.lock", timeout=0, thread_local=False)
        try:
            with storage(self.folder):
                self._acquire(lock)
            yield
        finally:
            lock.release()

    def _acquire(self, lock: FileLock) -> None:
        try:
            lock.acquire()
        except Timeout:
            raise BatchRunning(self.batch_id) from None

    def is_running(self) -> bool:
        """Whether a living process runs it."""
        path = self.folder / ".running.lock"
        if not path.exists():
            return False
        lock = FileLock(path, timeout=0, thread_local=False)
        try:
            lock.acquire()
        except Timeout:
            return True
        except OSError:
            return False
        lock.release()
        return False


class BatchStore:
    """The batches of one cell."""

    def __init__(self, cell: Path) -> None:
        self.folder = cell / "batches"

    def list(self) -> list[BatchFolder]:
        """All, the oldest first."""
        try:
            names = [path.name for path in self.folder.iterdir()]
        except (FileNotFoundError, NotADirectoryError):
            return []
        found = sorted((int(match[1]), name) for name in names if (match := BATCH_ID.fullmatch(name)))
        return [BatchFolder(self.folder / name) for _, name in found]

    def find(self, wanted: str = "latest") -> BatchFolder:
        """A batch by its id, its number or `latest`.

        Raises:
            BatchNotFound
        """
        every = self.list()
        if wanted == "latest" and every:
            return every[-1]
        for batch in every:
            match = BATCH_ID.fullmatch(batch.batch_id)
            assert match is not None
            if wanted == batch.batch_id or (wanted.isdigit() and int(wanted) == int(match[1])):
                return batch
        raise BatchNotFound(wanted, self.folder)

    def new_id(self) -> str:
        """The next name."""
        last = [BATCH_ID.fullmatch(batch.batch_id) for batch in self.list()]
        number = max((int(match[1]) for match in last if match), default=0) + 1
        return f"batch_{number:03d}_{datetime.now(UTC):%Y%m%d_%H%M%S}"

    def create(self, plan: BatchPlan) -> BatchFolder:
        """A new folder with its plan, whole or not at all.

        Raises:
            StorageUnwritable
        """
        folder = self.folder / plan.batch_id
        with storage(folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            folder.mkdir()
        write_atomic(folder / PLAN_FILE, plan.model_dump_json(indent=1).encode() + b"\n")
        return BatchFolder(folder)


def planned_run_id(plan: BatchPlan, start: int) -> str:
    """The name of the run of a start's first try: the same however many workers there are."""
    return run_name(plan.first_number + start, datetime.fromisoformat(plan.made_at))
