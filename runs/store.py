"""Where runs live: `<cell>/runs/<run id>/` with `events.jsonl`, the pictures and, at the end, `run.json`.

Every event is on the disk before the call that writes it returns, so a process that is killed loses at most the event
in flight; `recover` builds `run.json` from the events then. Nothing is ever changed that was written, no complete
`run.json` is replaced unless asked, and no other folder is used when this one can't be written.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Literal

from filelock import FileLock, Timeout

from runs.appended import with_appended
from runs.errors import NotARunLog, RecordError, RunExists, RunInProgress, RunNotFound, StorageUnwritable
from runs.events import EVENTS_FILE, RUN_FILE, RunCreated, RunHeader, event_line, parse_line, utc_text
from runs.files import mark_changed, storage, sync_folder, write_all, write_atomic
from runs.migrate import load_log
from runs.recover import read_events, rebuilt
from runs.schema.run import RunLog
from runs.writer import WRITING_LOCK, RunWriter, log_bytes

__all__ = ["RunEntry", "RunHeader", "RunStore", "RunWriter", "StoredRun", "open_any", "picture_path"]

RUN_ID = re.compile(r"run_([0-9]{4,15})_\d{8}_\d{6}")
"""Name of a run's folder, and in it its number: no longer than the index can put in order with its time."""

NUMBER_OF_RUN = re.compile(r"(?:run_)?(\d+)")
NAME_OF_RUN = re.compile(rf"latest|{NUMBER_OF_RUN.pattern}|{RUN_ID.pattern}")
ENOUGH_SPACE_BYTES = 100 * 1024 * 1024
"""What must be free before a trial begins: some twenty pictures, a film and the events need less."""

RunState = Literal["complete", "running", "interrupted"]


@dataclass(frozen=True, slots=True)
class RunEntry:
    """A run's folder. `running` has a living writer, `interrupted` has neither that nor a `run.json`."""

    run_id: str
    folder: Path
    state: RunState


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run read from its folder. Unless it is complete, `log` is what has happened so far, without a result."""

    entry: RunEntry
    log: RunLog


def run_name(number: int, started: datetime) -> str:
    """The name of a run of that number: `run_0001_20260703_132310`; the time is UTC's."""
    return f"run_{number:04d}_{started.astimezone(UTC):%Y%m%d_%H%M%S}"


def picture_path(image: str, folder: Path) -> Path | None:
    """Where a picture of a log is now: beside the log, else under the cell's folder; None if it is in neither.

    The name in the log is relative to the cell's folder; the run's folder may since have been moved or renamed. What a
    log says leads to no file outside of the two, be it by `..`, by a whole path or by a link.
    """
    cell = folder.parent.parent
    for path in (folder / PurePosixPath(image).name, cell / image):
        try:
            real = path.resolve()
            if real.is_file() and (real.is_relative_to(folder.resolve()) or real.is_relative_to(cell.resolve())):
                return path
        except (OSError, ValueError, RuntimeError):  # a name that no system takes, or links in a circle
            continue
    return None


class RunStore:
    """The runs of one cell. Making one touches no disk."""

    def __init__(self, runs_dir: Path) -> None:
        self.runs_dir = runs_dir

    def check_writable(self, *, needed_bytes: int = ENOUGH_SPACE_BYTES) -> None:
        """Make sure, before anything moves, that a run can be written here. Makes the folder on first use.

        Raises:
            StorageUnwritable: no permission, no folder can be made, or less than `needed_bytes` is free.
        """
        probe = self.runs_dir / f".probe_{secrets.token_hex(4)}"
        with storage(self.runs_dir):
            self.runs_dir.mkdir(parents=True, exist_ok=True)
            free_bytes = shutil.disk_usage(self.runs_dir).free
        write_atomic(probe, b"trialcell\n")
        with storage(self.runs_dir):
            probe.unlink()
        if free_bytes < needed_bytes:
            raise StorageUnwritable(
                self.runs_dir,
                f"only {free_bytes // 2**20} MB are free, a run needs up to {needed_bytes // 2**20} MB",
                free_bytes=free_bytes,
                needed_bytes=needed_bytes,
            )

    def create(self, header: RunHeader, *, run_id: str | None = None) -> RunWriter:
        """Begin a run: its folder appears at once with its first event in it, under the next number.

        Args:
            run_id: its name, where a plan has given it one.

        Raises:
            RunExists: a run of that name is here already.
            StorageUnwritable: the folder can't be made.
            ValueError: `header.started_at` has no offset from UTC.
        """
        started = datetime.fromisoformat(header.started_at)
        if started.tzinfo is None:
            raise ValueError(f"started_at {header.started_at!r} doesn't say its offset from UTC")
        with storage(self.runs_dir):
            self.runs_dir.mkdir(parents=True, exist_ok=True)
        with self._creating():
            run_id = run_id or run_name(self.last_number() + 1, started)
            if (self.runs_dir / run_id).exists():
                raise RunExists(run_id, self.runs_dir)
            created = RunCreated(**dict(header), run_id=run_id, frames_dir=f"{self.runs_dir.name}/{run_id}")
            line = event_line(0, utc_text(), created)
            folder = self.runs_dir / run_id
            with storage(folder):
                self._make_folder(folder, line)
            lock = FileLock(folder / WRITING_LOCK, timeout=0, thread_local=False)
            with storage(folder):
                lock.acquire()
            return RunWriter(folder, parse_line(line), lock)

    def last_number(self) -> int:
        """The highest number of a run here; 0 where there is none."""
        return max((int(match[1]) for match in self._names()), default=0)

    def adopt(self, run_id: str, log: bytes, files: Mapping[str, Path]) -> RunEntry:
        """Take in a run from elsewhere, whole or not at all: its `run.json` as it is, and copies of files by name.

        Raises:
            RunExists: a run of that name is here already.
            StorageUnwritable: it can't be written, or one of the files can't be read.
            ValueError: that is no name of a run.
        """
        if RUN_ID.fullmatch(run_id) is None:
            raise ValueError(f"{run_id!r} is no name of a run")
        folder = self.runs_dir / run_id
        with storage(self.runs_dir):
            self.runs_dir.mkdir(parents=True, exist_ok=True)
        with self._creating(), storage(folder):
            if folder.exists():
                raise RunExists(run_id, self.runs_dir)
            new = self._new_folder()
            for name, source in files.items():
                shutil.copyfile(source, new / name)
            write_atomic(new / RUN_FILE, log)
            new.rename(folder)
            sync_folder(self.runs_dir)
        return self._entry(run_id)

    def _new_folder(self) -> Path:
        for left_over in self.runs_dir.glob(".new_*"):  # a process was killed here; we hold the lock
            shutil.rmtree(left_over)
        new = self.runs_dir / f".new_{secrets.token_hex(4)}"
        new.mkdir()
        return new

    def _make_folder(self, folder: Path, first_line: bytes) -> None:
        new = self._new_folder()
        fd = os.open(new / EVENTS_FILE, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
        try:
            write_all(fd, first_line)
        finally:
            os.close(fd)
        sync_folder(new)
        new.rename(folder)
        sync_folder(self.runs_dir)

    @contextlib.contextmanager
    def _creating(self) -> Iterator[None]:
        """Alone in making or recovering runs here, across processes; a dead holder doesn't keep it."""
        lock = FileLock(self.runs_dir / ".creating.lock", timeout=60, thread_local=False)
        with storage(self.runs_dir):
            lock.acquire()
        try:
            yield
        finally:
            lock.release()

    def _names(self) -> list[re.Match[str]]:
        try:
            names = [path.name for path in self.runs_dir.iterdir()]
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            raise RecordError(f"can't read {self.runs_dir}: {why}", next_step="mend its permissions") from error
        return [match for name in names if (match := RUN_ID.fullmatch(name))]

    def list(self) -> tuple[RunEntry, ...]:
        """All runs here, the oldest first."""
        names = sorted(self._names(), key=lambda match: (int(match[1]), match[0]))
        return tuple(self._entry(match[0]) for match in names)

    def newest(self, count: int) -> tuple[RunEntry, ...]:
        """At most so many runs, the one begun last first."""
        names = sorted(self._names(), key=lambda match: (int(match[1]), match[0]), reverse=True)
        return tuple(self._entry(match[0]) for match in names[:count])

    def _entry(self, run_id: str) -> RunEntry:
        folder = self.runs_dir / run_id
        return RunEntry(run_id, folder, state_of(folder))

    def find(self, wanted: str) -> RunEntry:
        """The run called `wanted`: its id, its number with or without zeros or `run_`, or `latest`.

        Raises:
            RunNotFound: there is none, or more than one.
        """
        matches = sorted(self._names(), key=lambda match: (int(match[1]), match[0]))
        if wanted == "latest":
            matches = matches[-1:]
        else:
            number = NUMBER_OF_RUN.fullmatch(wanted)
            matches = [m for m in matches if m[0] == wanted or (number and int(m[1]) == int(number[1]))]
        if len(matches) != 1:
            raise RunNotFound(wanted, self.runs_dir)
        return self._entry(matches[0][0])

    def latest(self) -> RunEntry | None:
        """The run that was begun last, None if there is no run yet."""
        return self.find("latest") if self._names() else None

    def open(self, wanted: str) -> StoredRun:
        """Read a run (named as in `find`), finished or not.

        Raises:
            RunNotFound, NotARunLog, NewerThanUs
        """
        return open_folder(self.find(wanted).folder)

    def recover(self, wanted: str, *, overwrite: bool = False) -> RunLog:
        """Build `run.json` from the events where it is missing, and return the log.

        A complete `run.json` is only read, unless `overwrite` asks for it to be built again. One that can't be read
        is kept as `run.json.damaged`.

        Raises:
            RunNotFound: no such run.
            RunInProgress: a process is writing it.
            NotARunLog: its events can't be read either.
            StorageUnwritable: `run.json` can't be written.
        """
        entry = self.find(wanted)
        path = entry.folder / RUN_FILE
        with self._creating():
            lock = FileLock(entry.folder / WRITING_LOCK, timeout=0, thread_local=False)
            try:
                with storage(entry.folder):
                    lock.acquire()
            except StorageUnwritable as error:
                if isinstance(error.__cause__, Timeout):
                    raise RunInProgress(entry.run_id) from None
                raise
            try:
                return _recover(entry.folder, path, overwrite=overwrite)
            finally:
                with contextlib.suppress(OSError):
                    (entry.folder / WRITING_LOCK).unlink()
                lock.release()


def _recover(folder: Path, path: Path, *, overwrite: bool) -> RunLog:
    damaged = False
    if path.exists() and not overwrite:
        try:
            return load_log(path)
        except NotARunLog:
            damaged = True
    log = rebuilt(read_events(folder / EVENTS_FILE))
    if damaged:
        with storage(folder):
            path.replace(path.with_name(f"{path.name}.damaged"))
    write_atomic(path, log_bytes(log))
    mark_changed(folder)
    return log


def _is_being_written(folder: Path) -> bool:
    if not (folder / WRITING_LOCK).exists():
        return False
    lock = FileLock(folder / WRITING_LOCK, timeout=0, thread_local=False)
    try:
        lock.acquire()
    except Timeout:
        return True
    except OSError:  # a folder that can only be read: nobody writes there
        return False
    lock.release()
    return False


def state_of(folder: Path) -> RunState:
    """Whether a run has its end, is being written, or was cut off."""
    if (folder / RUN_FILE).exists():
        return "complete"
    return "running" if _is_being_written(folder) else "interrupted"


def open_folder(folder: Path) -> StoredRun:
    """Read the run of a folder, wherever it is: `run.json`, else what the events say so far; with later rulings.

    Raises:
        NotARunLog, NewerThanUs, AppendedUnreadable
    """
    entry = RunEntry(folder.resolve().name, folder, state_of(folder))
    if entry.state == "complete":
        return StoredRun(entry, with_appended(load_log(folder / RUN_FILE), folder))
    if not (folder / EVENTS_FILE).exists():
        raise NotARunLog(folder, f"it has neither {RUN_FILE} nor {EVENTS_FILE}")
    return StoredRun(entry, with_appended(read_events(folder / EVENTS_FILE).state.log(), folder))


def open_any(wanted: str, store: RunStore) -> StoredRun:
    """Read a run by its name in the store, by its folder, or a log by its file (also one called `events.jsonl`).

    Raises:
        RunNotFound, NotARunLog, NewerThanUs
    """
    path = Path(wanted)
    if NAME_OF_RUN.fullmatch(wanted):
        try:
            return store.open(wanted)
        except RunNotFound:
            if not path.exists():
                raise
    if path.is_dir() or path.name == EVENTS_FILE:
        return open_folder(path if path.is_dir() else path.parent)
    log = load_log(path)
    if path.name == RUN_FILE:
        log = with_appended(log, path.parent)
    return StoredRun(RunEntry(log.run_id, path.parent, "complete"), log)
