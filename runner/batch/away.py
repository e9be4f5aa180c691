"""A session on another machine: what it needs to take along, how it is run there, and what it brings home.

Everything is bytes, so no file system is shared. What was not brought home has never been: of a machine that is lost in
the middle of a session nothing is left but the time. Knows nothing of how machines are reached.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import ClassVar

from runner.batch.pause import Pause
from runner.batch.run import cells_of
from runner.batch.session import Halt, Session
from runner.batch.world_kept import WorldFile
from runner.cell import open_cell
from runs.batch_records import BatchEvent, BatchPlan, Called, ResetEnded, TrialEnded, TrialStarted
from runs.batches import BatchFolder, BatchStore
from runs.errors import Family, TrialcellError
from runs.events import RUN_FILE
from runs.store import RunStore, run_name

_LEFT_AT_HOME = ("runs", "batches", "archive")
Files = Mapping[str, bytes]


class AnotherVersion(TrialcellError):
    """The program on a machine of the cluster is not the one here."""

    family: ClassVar[Family] = "usage"

    def __init__(self, there: str, here: str) -> None:
        self.there, self.here = there, here
        super().__init__(
            f"a machine of the cluster has trialcell {there}, this one {here}",
            next_step=f"install trialcell {here} on all of them",
        )


@dataclass(frozen=True, slots=True)
class Luggage:
    """The cell as it stands at the beginning of a round, by path below its folder, and when each file was written."""

    files: Files
    written_ns: Mapping[str, int]
    version: str

    @classmethod
    def of(cls, cell: Path) -> Luggage:
        """All that a trial needs of the cell; no runs, no batches."""
        paths = [path for path in _below(cell) if path.relative_to(cell).parts[0] not in _LEFT_AT_HOME]
        names = {path.relative_to(cell).as_posix(): path for path in paths if path.suffix != ".lock"}
        return cls(
            {name: path.read_bytes() for name, path in names.items()},
            {name: path.stat().st_mtime_ns for name, path in names.items()},
            version("trialcell"),
        )

    def unpack(self, cell: Path) -> None:
        """The cell, there."""
        for name, data in self.files.items():
            (cell / name).parent.mkdir(parents=True, exist_ok=True)
            (cell / name).write_bytes(data)
            os.utime(cell / name, ns=(self.written_ns[name],) * 2)


@dataclass(frozen=True, slots=True)
class Order:
    """One session: which starts, what the batch has told so far, and numbers of runs and resets that nobody else has.

    `events`: of earlier rounds, what they were taught. `run_names`: of runs that these starts have had already.
    `clock_s`: the arm's clock over all that is at home by now, seconds.
    """

    plan: BatchPlan
    starts: tuple[int, ...]
    events: tuple[BatchEvent, ...]
    run_names: tuple[str, ...]
    runs_after: int
    resets_after: int
    clock_s: float


@dataclass(frozen=True, slots=True)
class Brought:
    """What a session brings home: its events, the folders of its runs and resets by name, and how it ended."""

    events: tuple[BatchEvent, ...]
    runs: Mapping[str, Files]
    resets: Mapping[str, Files]
    answer: Halt | TrialcellError | None


class AwaySession:
    """Runs sessions where it is made, each in a folder of its own that is gone afterwards."""

    def __init__(self) -> None:
        self._pause: Pause | None = None
        self._asked: list[bool] = []  # to stop: whether at once

    def is_there(self) -> bool:
        """Whether it has come to be."""
        return True

    def run(self, luggage: Luggage, order: Order) -> Brought:
        """One session, to its end or to where it was told to stop."""
        if luggage.version != version("trialcell"):
            return Brought((), {}, {}, AnotherVersion(version("trialcell"), luggage.version))
        with tempfile.TemporaryDirectory(prefix="trialcell_") as scratch:
            cell = Path(scratch)
            luggage.unpack(cell)
            batch = BatchStore(cell).create(order.plan)
            for event in order.events:
                batch.add(event)
            for name in (*order.run_names, _nobodys(order.runs_after)):
                (cell / "runs" / name).mkdir(parents=True)
            (batch.resets_dir / _nobodys(order.resets_after)).mkdir(parents=True)
            self._pause = Pause(batch)
            for now in self._asked:
                self._pause.ask(now=now)
            with self._pause.watching(signals=False):
                answer = self._run(cell, batch, order)
            self._pause = None
            told = tuple(batch.events()[len(order.events) :])
            return Brought(told, _folders(RunStore(cell / "runs")), _folders(RunStore(batch.resets_dir)), answer)

    def _run(self, cell: Path, batch: BatchFolder, order: Order) -> Halt | TrialcellError | None:
        plan, pause = order.plan, self._pause
        assert pause is not None
        try:
            cells = cells_of(open_cell(cell), plan)
            session = Session(cells, batch, plan, pause, elsewhere_s=order.clock_s)
            return session.run([plan.starts[index] for index in order.starts])
        except TrialcellError as error:
            return error

    def stop(self, *, now: bool) -> None:
        """Stop after the trial under way, or at once. May come from another thread."""
        self._asked.append(now)
        pause = self._pause
        if pause is not None:
            pause.ask(now=now)


def bring_home(brought: Brought, batch: BatchFolder, runs: RunStore) -> None:
    """Take in what a session brought, event by event: a run or a reset is there before it is told that it ended.

    Raises:
        StorageUnwritable: not all of it is in; what is not is due again.
    """
    resets, plan = RunStore(batch.resets_dir), batch.plan()
    begun = {event.start for event in brought.events if isinstance(event, (TrialStarted, ResetEnded))}
    for session in {plan.starts[start].session for start in begun}:
        WorldFile(batch, session).forget()  # one that was put by here is older than what comes home
    for told in brought.events:
        event = told
        if isinstance(event, TrialEnded):
            _take_in(runs, event.run_id, brought.runs)
        elif isinstance(event, ResetEnded):
            _take_in(resets, event.log, brought.resets)
        elif isinstance(event, Called) and event.picture is not None:
            there = Path(event.picture)
            event = event.model_copy(update={"picture": str(batch.resets_dir / there.parent.name / there.name)})
        batch.add(event)


def _take_in(store: RunStore, name: str, folders: Mapping[str, Files]) -> None:
    files = dict(folders[name])
    with tempfile.TemporaryDirectory(prefix=".home_", dir=store.runs_dir.parent) as scratch:
        log = files.pop(RUN_FILE)
        for file, data in files.items():
            (Path(scratch) / file).write_bytes(data)
        store.adopt(name, log, {file: Path(scratch) / file for file in files})


def _nobodys(number: int) -> str:
    """The name of a run of that number that never was, from which numbers go on."""
    return run_name(number, datetime.fromtimestamp(0, UTC))


def _folders(store: RunStore) -> dict[str, Files]:
    return {
        entry.run_id: {path.name: path.read_bytes() for path in _files_of(entry.folder)}
        for entry in store.list()
        if entry.state == "complete"
    }


def _files_of(folder: Path) -> Iterable[Path]:
    return (path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))


def _below(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file())
