"""The index of one folder of runs: made, kept up to date, made again. It lies in `.index/` beside the runs.

Files of columns hold it: the bulk, and what changed since, with a small file that names those that belong together
and is replaced last. So a reader always finds a whole index, two processes at once do no harm, and a process that is
killed leaves the old one. Whatever is missing, damaged or of another version is made again from the folders. Where the
folder can't be written, the index is made for this process alone and thrown away.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import shutil
import tempfile
import time
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock

from runs.files import storage, write_atomic
from runs.index.database import Database, IndexDamaged, QuestionTooLarge, in_files
from runs.index.scan import Seen, look, rows_in_files, stamps_of, write_rows
from runs.index.shape import COLUMNS
from runs.index.typed import Undecodable, pack, unpack_seen
from runs.store import state_of

INDEX_VERSION = 2
"""Goes up when a row means something else although its columns are the same."""

FOLDER = ".index"
CURRENT = "current.json"

MANY_RUNS = 20_000
"""Up to so many runs every question looks at each folder first; beyond, at those that may have changed (`refresh`)."""

TRUSTED_S = 600.0
"""Beyond `MANY_RUNS`, how long a look at every folder is good for while nothing was noted as changed."""

_SETTLED_NS = 1_000_000_000
"""A folder that changed less than this before it was looked at may change again within the same tick of its clock."""

_KEPT_S = 600.0
"""How long a file that is no longer the index may still be read by somebody."""

_COLUMNS_HASH = hashlib.sha256(json.dumps([INDEX_VERSION, COLUMNS]).encode()).hexdigest()[:16]

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Files:
    """The files of an index as they belong together."""

    base: tuple[Path, ...]
    delta: Path | None

    @property
    def all(self) -> list[Path]:
        """Every file."""
        return [*self.base, *([self.delta] if self.delta is not None else [])]

    def sql(self) -> str:
        """All runs, each once."""
        if self.delta is None:
            return in_files(self.base)
        delta = in_files([self.delta])
        return (
            f"{in_files(self.base)} WHERE run_id NOT IN (SELECT run_id FROM ({delta})) "
            f"UNION ALL {delta} WHERE state <> 'gone'"
        )


@dataclass(frozen=True, slots=True)
class Refreshed:
    """What keeping up to date took. `how` is "current", "updated" or "rebuilt"."""

    how: str
    runs: int
    changed: int
    seconds: float


class RunIndex:
    """The index of the runs in one folder. Making one touches no disk."""

    def __init__(self, runs_dir: Path) -> None:
        self.runs_dir = runs_dir
        self._alone: tempfile.TemporaryDirectory[str] | None = None

    @property
    def folder(self) -> Path:
        """Where the index lies."""
        return self.runs_dir / FOLDER if self._alone is None else Path(self._alone.name)

    def refresh(self, *, full: bool = False, progress: Progress | None = None) -> Refreshed:
        """Bring the index up to date with the folders: a look at each, a row for each that is new or changed.

        Beyond `MANY_RUNS` that look is left out while the runs' folder has not been touched since the last one, which
        is at most `TRUSTED_S` old; every writer of ours touches it. Unfinished runs are always looked at, they alone
        where the others can be trusted.

        Args:
            full: look at every run in any case.
            progress: told, in words, what takes long.

        Raises:
            RecordError: the folder of runs can't be read.
        """
        begun = time.perf_counter()
        if not full and (n := self._trusted()) is not None:
            return Refreshed("current", n, 0, time.perf_counter() - begun)
        with self._turn():
            how, n, changed = self._update(progress)
        return Refreshed(how, n, changed, time.perf_counter() - begun)

    def rebuild(self, *, processes: int | None = None, progress: Progress | None = None) -> Refreshed:
        """Make the index anew from the folders.

        Raises:
            RecordError: the folder of runs can't be read.
        """
        begun = time.perf_counter()
        with self._turn():
            seen = self._rebuild(processes, progress)
        return Refreshed("rebuilt", len(seen.names), len(seen.names), time.perf_counter() - begun)

    def files(self) -> Files | None:
        """The index as it is; None where there is none, or none that this program made."""
        note = self._note()
        if note is None:
            return None
        delta = note["delta"]
        files = Files(
            tuple(self.folder / name for name in note["base"]), None if delta is None else self.folder / delta
        )
        return files if all(path.is_file() for path in files.all) else None

    def close(self) -> None:
        """Throw away an index that was made for this process alone."""
        if self._alone is not None:
            self._alone.cleanup()
            self._alone = None

    def _note(self) -> dict[str, Any] | None:
        try:
            note = json.loads((self.folder / CURRENT).read_bytes())
            if note["columns"] != _COLUMNS_HASH:
                return None
            names = [*note["base"], note["seen"], *([note["delta"]] if note["delta"] is not None else [])]
            if not note["base"] or any("/" in name or os.sep in name for name in names):
                return None
            known = {"unfinished": dict(note["unfinished"]), "stamps": list(note["stamps"])}
            return {**note, **known, "checked_at": float(note["checked_at"])}
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def _trusted(self) -> int | None:
        """How many runs there are, where the last look at them all still holds."""
        note = self._note()
        if note is None or note["runs"] <= MANY_RUNS or self.files() is None:
            return None
        recent = 0 <= time.time() - note["checked_at"] < TRUSTED_S
        try:
            same = note["folder_ns"] == self.runs_dir.stat().st_mtime_ns
            return int(note["runs"]) if recent and same and self._still_unfinished(note) else None
        except OSError:
            return None

    def _still_unfinished(self, note: dict[str, Any]) -> bool:
        """Whether the runs that had not ended are as they were."""
        states: dict[str, str] = note["unfinished"]
        if stamps_of(self.runs_dir, list(states)).tolist() != note["stamps"]:
            return False
        return all(state_of(self.runs_dir / name) == state for name, state in states.items())

    @contextlib.contextmanager
    def _turn(self) -> Iterator[None]:
        """Alone in changing the index, across processes; a dead holder doesn't keep it."""
        lock: FileLock | None = None
        if self._alone is None and self.runs_dir.is_dir():
            try:
                (self.runs_dir / FOLDER).mkdir(exist_ok=True)
                lock = FileLock(self.folder / ".lock", timeout=120, thread_local=False)
                lock.acquire()
            except OSError:
                lock = None
        if lock is None and self._alone is None:
            self._alone = tempfile.TemporaryDirectory(prefix="trialcell_index_")
        try:
            yield
        finally:
            if lock is not None:
                lock.release()

    def _update(self, progress: Progress | None) -> tuple[str, int, int]:
        note, files, before = self._note(), self.files(), self._seen()
        if note is None or files is None or before is None:
            return self._made_again(progress)
        seen = look(self.runs_dir)
        changed, gone = _differences(before, seen)
        known = set(changed) | set(gone)
        changed += [
            name
            for name, state in note["unfinished"].items()
            if name not in known and state_of(self.runs_dir / name) != state
        ]
        if not changed and not gone:
            if len(seen.names) > MANY_RUNS:
                self._write_note({**note, **_as_noted(seen)})
            return "current", len(seen.names), 0
        if len(changed) > max(2000, len(seen.names) // 4):
            return self._made_again(progress)
        try:
            self._add(files, changed, gone, seen, note)
        except (IndexDamaged, QuestionTooLarge):
            return self._made_again(progress)
        return "updated", len(seen.names), len(changed) + len(gone)

    def _made_again(self, progress: Progress | None) -> tuple[str, int, int]:
        seen = self._rebuild(None, progress)
        return "rebuilt", len(seen.names), len(seen.names)

    def _add(self, files: Files, changed: list[str], gone: list[str], seen: Seen, note: dict[str, Any]) -> None:
        token = secrets.token_hex(6)
        news, delta = self.folder / f"news-{token}.parquet", self.folder / f"delta-{token}.parquet"
        unfinished = {name: state for name, state in note["unfinished"].items() if name not in {*changed, *gone}}
        with self._writing(news) as database:
            unfinished |= write_rows(self.runs_dir, changed, news, gone)[1]
            query = in_files([news])
            if files.delta is not None:
                own = f"SELECT run_id FROM ({query})"
                query += f" UNION ALL {in_files([files.delta])} WHERE run_id NOT IN ({own})"
            database.write(query, delta)
            base = [path.name for path in files.base]
            n = database.rows(f"SELECT count(*) AS n FROM ({in_files([delta])})")[0]["n"]
            whole = n > max(2000, len(seen.names) // 20)
            if whole:
                base = [f"base-{token}.parquet"]
                database.write(Files(files.base, delta).sql(), self.folder / base[0])
        self._switch(seen, base, None if whole else delta.name, unfinished)

    def _rebuild(self, processes: int | None, progress: Progress | None) -> Seen:
        def told(n: int) -> None:
            if progress is not None and n > 1000:
                progress(f"reading {n:,} runs into the index")

        base = self.folder / f"base-{secrets.token_hex(6)}"
        with storage(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            try:
                seen, files, unfinished = rows_in_files(self.runs_dir, base, processes=processes, told=told)
            except BaseException:
                for half_made in self.folder.glob(f"{base.name}-*"):
                    half_made.unlink(missing_ok=True)
                raise
        self._switch(seen, [path.name for path in files], None, unfinished)
        return seen

    @contextlib.contextmanager
    def _writing(self, scratch: Path) -> Iterator[Database]:
        """A database to write with; the file `scratch` is gone afterwards."""
        try:
            with storage(self.folder), Database() as database:
                yield database
        finally:
            with contextlib.suppress(OSError):
                scratch.unlink(missing_ok=True)

    def _switch(self, seen: Seen, base: list[str], delta: str | None, unfinished: dict[str, str]) -> None:
        kept = self.folder / f"seen-{secrets.token_hex(6)}.bin"
        kept.write_bytes(pack([seen.names, seen.stamps.tobytes()]))
        self._write_note(
            {
                "columns": _COLUMNS_HASH,
                "base": base,
                "delta": delta,
                "seen": kept.name,
                "unfinished": unfinished,
                "stamps": [stamp for name in unfinished for stamp in seen.stamp(bisect_left(seen.names, name))],
                **_as_noted(seen),
            }
        )
        self._tidy({CURRENT, *base, kept.name, delta or ""})

    def _write_note(self, note: dict[str, Any]) -> None:
        write_atomic(self.folder / CURRENT, json.dumps(note).encode())

    def _tidy(self, keep: set[str]) -> None:
        """Take away what is no longer the index, once nobody can still be reading it."""
        for path in self.folder.iterdir():
            with contextlib.suppress(OSError):
                if (
                    path.name not in keep
                    and not path.name.startswith(".")
                    and path.stat().st_mtime < time.time() - _KEPT_S
                ):
                    shutil.rmtree(path) if path.is_dir() else path.unlink()

    def _seen(self) -> Seen | None:
        note = self._note()
        if note is None:
            return None
        try:
            names, data = unpack_seen((self.folder / note["seen"]).read_bytes())
            stamps = array("q")
            stamps.frombytes(data)
        except (OSError, Undecodable, ValueError):
            return None
        return Seen(names, stamps, int(note["folder_ns"])) if len(stamps) == 3 * len(names) else None


def _as_noted(seen: Seen) -> dict[str, Any]:
    settled = time.time_ns() - seen.folder_ns > _SETTLED_NS
    return {"runs": len(seen.names), "folder_ns": seen.folder_ns if settled else 0, "checked_at": time.time()}


def _differences(before: Seen, seen: Seen) -> tuple[list[str], list[str]]:
    """Runs that are new or changed, and runs that are gone."""
    if before.names == seen.names and before.stamps == seen.stamps:
        return [], []
    known = {name: before.stamp(at) for at, name in enumerate(before.names)}
    changed = [name for at, name in enumerate(seen.names) if known.get(name) != seen.stamp(at)]
    gone = sorted(set(before.names) - set(seen.names))
    return changed, gone


def runs_dir_of(path: Path) -> Path:
    """The folder of runs that a path means: a cell's, or the folder itself where runs lie in it.

    Raises:
        RunNotFound: the path is a folder with neither.
    """
    inside = path / "runs"
    if inside.is_dir() or not path.is_dir():
        return inside
    if any(child.name.startswith("run_") for child in path.iterdir()) or (path / FOLDER).is_dir():
        return path
    return inside
