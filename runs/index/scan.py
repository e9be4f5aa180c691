"""Looking through a folder of runs: which are there, what changed, and a row for each, in as many processes as pay.

It only reads. A run that can't be read becomes a row that says why; nothing stops at it.
"""

from __future__ import annotations

import os
import re
import time
from array import array
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from runs.appended import REJUDGED_FILE, RULINGS_FILE
from runs.errors import RecordError
from runs.events import EVENTS_FILE, RUN_FILE
from runs.index.row import row_of, unreadable_row
from runs.index.typed import Undecodable, decode, encode_line
from runs.schema.run import RunLog
from runs.store import RUN_ID, RunState, open_folder

STAMPS_A_RUN = 3
"""Numbers kept of each run: its folder's time, its log's time (ns) and its log's size; the last two -1 without one."""

ENOUGH_FOR_PROCESSES = 3000
"""From so many runs on, starting processes is quicker than doing without."""

_CHUNK = 2000

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


def look(runs_dir: Path) -> Seen:
    """Which runs are there and when they changed. A folder that is not there has none."""
    try:
        folder_ns = runs_dir.stat().st_mtime_ns
        names = sorted(name for name in os.listdir(runs_dir) if name.startswith("run_"))  # noqa: PTH208 - names alone
    except (FileNotFoundError, NotADirectoryError):
        return Seen([], array("q"), 0)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise RecordError(f"can't read {runs_dir}: {why}", next_step="mend its permissions") from error
    is_run = re.compile(RUN_ID.pattern).fullmatch
    names = [name for name in names if is_run(name)]
    stamps = array("q")
    fd = os.open(runs_dir, os.O_RDONLY)
    try:
        for name in names:
            stamps.extend(_stamp(name, fd))
    finally:
        os.close(fd)
    return Seen(names, stamps, folder_ns)


def _stamp(name: str, fd: int) -> tuple[int, int, int]:
    """An unfinished run is known by its events."""
    try:
        folder_ns = os.stat(name, dir_fd=fd).st_mtime_ns
    except OSError:
        return -1, -1, -1
    if (now_ns := time.time_ns()) - folder_ns < _TICK_NS:
        folder_ns = -now_ns  # like no stamp before or after
    for file in (RUN_FILE, EVENTS_FILE):
        try:
            found = os.stat(f"{name}/{file}", dir_fd=fd)
        except OSError:
            continue
        return folder_ns, found.st_mtime_ns, found.st_size
    return folder_ns, -1, -1


def row_at(folder: Path) -> dict[str, Any]:
    """The row of one run's folder."""
    return _row(str(folder.parent), folder.name)


def log_at(runs_dir: str, name: str) -> tuple[RunLog, RunState]:
    """A run's log as far as `typed.decode` knows it, the quick way where its schema is today's.

    Paths are texts here: to make `Path` objects takes as long as to decode a log.

    Raises:
        RecordError, ValueError, OSError: it can't be read.
    """
    inside = f"{runs_dir}/{name}/"
    try:
        text = _bytes(inside + RUN_FILE)
        if text is not None:
            rulings, rejudged = _bytes(inside + RULINGS_FILE), _bytes(inside + REJUDGED_FILE)
            return decode(text, rulings=rulings or b"", rejudged=rejudged or b""), "complete"
    except (OSError, Undecodable, ValueError):  # an older schema, or damaged: the long way says which
        pass
    try:
        stored = open_folder(Path(runs_dir, name))
        return decode(stored.log.model_dump_json().encode()), stored.entry.state
    except Undecodable as error:
        raise ValueError(str(error)) from None


def _row(runs_dir: str, name: str) -> dict[str, Any]:
    try:
        log, state = log_at(runs_dir, name)
        return row_of(log, name, state)
    except (RecordError, ValueError) as error:
        return unreadable_row(name, error.message if isinstance(error, RecordError) else str(error))
    except OSError as error:
        return unreadable_row(name, f"{Path(runs_dir, name)}: {(error.strerror or str(error)).lower()}")


def _bytes(path: str) -> bytes | None:
    """What a file holds; None where there is none. Without the layers of `open`, which cost more than the reading."""
    try:
        fd = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        size = os.fstat(fd).st_size
        data = os.read(fd, size + 1)
        while len(data) < size and (more := os.read(fd, size - len(data) + 1)):
            data += more
        return data
    finally:
        os.close(fd)


def write_rows(runs_dir: Path, names: Sequence[str], out: Path) -> int:
    """A row for each run, one a line of JSON; how many bytes that made."""
    size = 0
    with out.open("wb") as file:
        for name in names:
            size += file.write(encode_line(_row(str(runs_dir), name)))
    return size


def rows_in_files(runs_dir: Path, names: Sequence[str], into: Path, *, processes: int | None = None) -> list[Path]:
    """Rows of many runs as files of JSON lines in the folder `into`, so that memory stays flat.

    Args:
        processes: how many to use; one for each processor by default, only our own below `ENOUGH_FOR_PROCESSES`.
    """
    wanted = processes if processes is not None else min(os.cpu_count() or 1, 8)
    if len(names) < ENOUGH_FOR_PROCESSES or wanted < 2:
        out = into / "rows_0.json"
        write_rows(runs_dir, names, out)
        return [out]
    chunks = [names[start : start + _CHUNK] for start in range(0, len(names), _CHUNK)]
    files = [into / f"rows_{number}.json" for number in range(len(chunks))]
    with ProcessPoolExecutor(wanted, mp_context=get_context("spawn")) as pool:
        list(pool.map(write_rows, [runs_dir] * len(chunks), chunks, files))
    return files
