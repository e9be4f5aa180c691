"""Looking through a folder of runs: which are there, what changed, and a row for each, in as many processes as pay.

It only reads. A run that can't be read becomes a row that says why; nothing stops at it.
"""

from __future__ import annotations

import contextlib
import gc
import os
import re
import time
from array import array
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from runs.appended import REJUDGED_FILE, RULINGS_FILE
from runs.errors import RecordError
from runs.events import EVENTS_FILE, RUN_FILE
from runs.index.row import gone_row, row_of, unreadable_row
from runs.index.typed import Undecodable, decode
from runs.schema.run import RunLog
from runs.store import RUN_ID, RunState, open_folder

STAMPS_A_RUN = 3
"""Numbers kept of each run: its folder's time, its log's time (ns) and its log's size; the last two -1 without one."""

ENOUGH_FOR_PROCESSES = 3000
"""From so many runs on, starting processes is quicker than doing without."""

_AT_ONCE = 250
"""So many rows are made columns together: few enough to stay in the processor's cache, and memory stays flat."""

_MOST_IN_A_FILE = 25_000

UNFINISHED = ("running", "interrupted")
"""States of runs that are looked at again each time."""

_TICK_NS = 50_000_000
"""A folder may change twice in one tick of its clock, so one that changed just now is looked at again."""


@dataclass(frozen=True, slots=True)
class Seen:
    """The runs of a folder as they were: names in order, three stamps each, and the folder's own time before that."""

    names: list[str]
    stamps: array[int]
    folder_ns: int

    def stamp(self, at: int) -> tuple[int, ...]:
        """The stamps of the run at this place."""
        return tuple(self.stamps[at * STAMPS_A_RUN : (at + 1) * STAMPS_A_RUN])


def names_in(runs_dir: Path) -> tuple[list[str], int]:
    """Which runs are there, in order, and the folder's own time (ns) before that. A folder that is not there has none.

    Raises:
        RecordError: the folder can't be read.
    """
    try:
        folder_ns = runs_dir.stat().st_mtime_ns
        names = sorted(name for name in os.listdir(runs_dir) if name.startswith("run_"))  # noqa: PTH208 - names alone
    except (FileNotFoundError, NotADirectoryError):
        return [], 0
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise RecordError(f"can't read {runs_dir}: {why}", next_step="mend its permissions") from error
    is_run = re.compile(RUN_ID.pattern).fullmatch
    return [name for name in names if is_run(name)], folder_ns


def look(runs_dir: Path) -> Seen:
    """Which runs are there and when they changed.

    Raises:
        RecordError: the folder can't be read.
    """
    names, folder_ns = names_in(runs_dir)
    return Seen(names, stamps_of(runs_dir, names), folder_ns)


def stamps_of(runs_dir: Path, names: Sequence[str]) -> array[int]:
    """When these runs changed, `STAMPS_A_RUN` numbers each.

    Raises:
        OSError: the folder of runs can't be opened.
    """
    stamps = array("q")
    if names:
        with _opened(runs_dir) as fd:
            for name in names:
                stamps.extend(_stamp(name, fd))
    return stamps


@contextlib.contextmanager
def _opened(folder: Path | str) -> Iterator[int]:
    """A folder held open: names in it are found from there, which takes less than a whole path."""
    fd = os.open(folder, os.O_RDONLY)
    try:
        yield fd
    finally:
        os.close(fd)


Stamp = tuple[int, int, int]


def _stamp(name: str, fd: int) -> Stamp:
    """An unfinished run is known by its events."""
    folder_ns = _folder_ns(name, fd)
    if folder_ns is None:
        return -1, -1, -1
    for file in (RUN_FILE, EVENTS_FILE):
        try:
            found = os.stat(f"{name}/{file}", dir_fd=fd)
        except OSError:
            continue
        return folder_ns, found.st_mtime_ns, found.st_size
    return folder_ns, -1, -1


def _folder_ns(name: str, fd: int) -> int | None:
    try:
        folder_ns = os.stat(name, dir_fd=fd).st_mtime_ns
    except OSError:
        return None
    now_ns = time.time_ns()
    return folder_ns if now_ns - folder_ns >= _TICK_NS else -now_ns  # that is like no stamp before or after


def log_at(runs_dir: Path, name: str) -> tuple[RunLog, RunState]:
    """A run's log as far as `typed.decode` knows it, the quick way where its schema is today's.

    Raises:
        RecordError, ValueError, OSError: it can't be read.
    """
    with _opened(runs_dir) as fd:
        log = _quickly(name, fd)[1]
    return (log, "complete") if log is not None else _in_full(runs_dir, name)


def row_and_stamp(runs_dir: Path, name: str, fd: int) -> tuple[dict[str, Any], Stamp]:
    """The row of a run, and its stamp from before it was read. `fd` is the folder of runs, held open."""
    stamp, log = _quickly(name, fd)
    try:
        if log is not None:
            return row_of(log, name, "complete"), stamp
        log, state = _in_full(runs_dir, name)
        return row_of(log, name, state), stamp
    except (RecordError, ValueError) as error:
        return unreadable_row(name, error.message if isinstance(error, RecordError) else str(error)), stamp
    except OverflowError as error:
        return _spoilt({"run_id": name}, str(error)), stamp
    except OSError as error:
        return unreadable_row(name, f"{runs_dir / name}: {(error.strerror or str(error)).lower()}"), stamp


def _quickly(name: str, fd: int) -> tuple[Stamp, RunLog | None]:
    """A run's stamp and its log in today's schema; None of any other and of a damaged one: the long way says which.

    It goes without the layers of `open` and without looking at a file twice, which cost more than the reading.
    """
    folder_ns, stamp = _folder_ns(name, fd), (-1, -1, -1)
    inside = f"{name}/"
    try:
        file = os.open(inside + RUN_FILE, os.O_RDONLY, dir_fd=fd)
    except OSError:
        return _stamp(name, fd), None
    try:
        found = os.fstat(file)
        if folder_ns is not None:
            stamp = folder_ns, found.st_mtime_ns, found.st_size
        text = _rest(file, found.st_size)
        later = [_appended(inside + of, fd) for of in (RULINGS_FILE, REJUDGED_FILE)]
        return stamp, decode(text, rulings=later[0], rejudged=later[1])
    except (OSError, Undecodable, ValueError):
        return stamp, None
    finally:
        os.close(file)


def _in_full(runs_dir: Path, name: str) -> tuple[RunLog, RunState]:
    stored = open_folder(runs_dir / name)
    try:
        return decode(stored.log.model_dump_json().encode()), stored.entry.state
    except Undecodable as error:
        raise ValueError(str(error)) from None


def _rest(file: int, size: int) -> bytes:
    data = os.read(file, size + 1)
    while len(data) < size and (more := os.read(file, size - len(data) + 1)):
        data += more
    return data


def _appended(path: str, fd: int) -> bytes:
    """What was appended later; most runs have none, and asking first takes less than failing to open."""
    if not os.access(path, os.F_OK, dir_fd=fd):
        return b""
    file = os.open(path, os.O_RDONLY, dir_fd=fd)
    try:
        return _rest(file, os.fstat(file).st_size)
    finally:
        os.close(file)


def write_rows(
    runs_dir: Path, names: Sequence[str], out: Path, gone: Sequence[str] = ()
) -> tuple[bytes, dict[str, str]]:
    """A row for each run, and for each that is gone, into a file of columns; memory grows with the columns alone.

    Returns:
        The runs' stamps (as `Seen` keeps them) from before each was read, and the state of those that have not ended.
    """
    from runs.index.columns import table_of, write_table  # noqa: PLC0415 - takes a quarter of a second to import

    stamps, unfinished, tables = array("q"), {}, []
    collects = gc.isenabled()
    gc.disable()  # rows are no circles, and looking for some takes a third of the time
    try:
        with _opened(runs_dir) if names else contextlib.nullcontext(-1) as fd:
            for start in range(0, len(names), _AT_ONCE):
                rows = []
                for name in names[start : start + _AT_ONCE]:
                    row, stamp = row_and_stamp(runs_dir, name, fd)
                    stamps.extend(stamp)
                    rows.append(row)
                    if row["state"] in UNFINISHED:
                        unfinished[name] = row["state"]
                tables.append(table_of(rows, _spoilt))
    finally:
        if collects:
            gc.enable()
    tables.append(table_of([gone_row(name) for name in gone], _spoilt))
    write_table(tables, out)
    return stamps.tobytes(), unfinished


def _spoilt(row: dict[str, Any], why: str) -> dict[str, Any]:
    return unreadable_row(row["run_id"], f"a figure or text in it is out of bounds: {why}")


def rows_in_files(
    runs_dir: Path, base: Path, *, processes: int | None = None, told: Callable[[int], None]
) -> tuple[Seen, list[Path], dict[str, str]]:
    """Rows of all runs of a folder as files of columns, each named like `base` with a number.

    Args:
        processes: how many to use; one for each processor by default, only our own below `ENOUGH_FOR_PROCESSES`.
        told: how many runs there are, before they are read.

    Returns:
        What was seen, the files (one at least), and the state of the runs that have not ended.

    Raises:
        RecordError: the folder can't be read.
    """
    names, folder_ns = names_in(runs_dir)
    told(len(names))
    wanted = processes if processes is not None else min(os.cpu_count() or 1, 8)
    alone = len(names) < ENOUGH_FOR_PROCESSES or wanted < 2
    size = min(_MOST_IN_A_FILE, len(names) if alone else -(-len(names) // (4 * wanted))) or 1
    chunks = [names[start : start + size] for start in range(0, max(1, len(names)), size)]
    files = [base.with_name(f"{base.name}-{number}.parquet") for number in range(len(chunks))]
    if alone:
        done = [write_rows(runs_dir, chunk, file) for chunk, file in zip(chunks, files, strict=True)]
    else:
        with ProcessPoolExecutor(wanted, mp_context=get_context("spawn")) as pool:
            done = list(pool.map(write_rows, [runs_dir] * len(chunks), chunks, files))
    stamps = array("q")
    unfinished: dict[str, str] = {}
    for some, states in done:
        stamps.frombytes(some)
        unfinished |= states
    return Seen(names, stamps, folder_ns), files, unfinished
