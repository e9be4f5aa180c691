"""The cells that a review page is about: their runs by index, opened one by one, and who has seen what of them.

Answers come from the index; it is looked after at most once a second, however many ask. One question at a time goes to
the database, the others wait their turn. Nothing is written here.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from runner.review.errors import NotThere
from runs.errors import RunNotFound
from runs.index.questions import ManyRuns, Page
from runs.index.select import Selection
from runs.index.store import runs_dir_of
from runs.queue import DEFAULT_SHARE
from runs.schema.verdict import JudgedStage
from runs.store import RUN_ID, RunStore, StoredRun, open_folder

QUEUE_AT_ONCE = 500
"""So many steps of the queue a page gets; the others move up."""

_FRESH_S = 1.0
_KEPT_RUNS = 24
_MOST_SESSIONS = 500

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CellOfPage:
    """A cell as the page names it: by its number in what was asked for."""

    number: int
    label: str
    folder: Path
    runs_dir: Path

    @property
    def store(self) -> RunStore:
        """Its runs."""
        return RunStore(self.runs_dir)


class Records:
    """The runs of these cells. Use it in a `with`; safe to use from many threads."""

    def __init__(self, folders: Sequence[Path], *, share: float = DEFAULT_SHARE) -> None:
        """`share` of the confident steps are in the queue too, see `runs.queue`."""
        self._share = share
        self._many = ManyRuns(folders)
        self.cells = [
            CellOfPage(number, label, (runs_dir := runs_dir_of(folder)).parent, runs_dir)
            for number, (label, folder) in enumerate(zip(self._many.labels, folders, strict=True))
        ]
        self._number = {cell.label: cell.number for cell in self.cells}
        self._turn = threading.Lock()
        self._looked_at = float("-inf")
        self._kept: OrderedDict[tuple[Path, tuple[Any, ...]], StoredRun] = OrderedDict()
        self._keeping = threading.Lock()

    def __enter__(self) -> Records:
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Let go of the index."""
        with self._turn:
            self._many.close()

    def number_of(self, label: str) -> int:
        """The number of the cell with this label, as rows of the index name it."""
        return self._number[label]

    def cell(self, number: int) -> CellOfPage:
        """The cell of that number.

        Raises:
            NotThere
        """
        if not 0 <= number < len(self.cells):
            raise NotThere(f"there is no cell {number} here")
        return self.cells[number]

    def ask(self, question: Callable[[ManyRuns], T]) -> T:
        """The answer of the index, brought up to date first."""
        with self._asking() as many:
            return question(many)

    def changed(self) -> None:
        """Something was just written: the next question looks at the folders again."""
        self._looked_at = float("-inf")

    def opened(self, number: int, run_id: str) -> StoredRun:
        """A run of a cell by its whole name, read anew where one of its files changed.

        Raises:
            NotThere: no run of that name.
            NotARunLog, NewerThanUs, AppendedUnreadable: it can't be read.
        """
        folder = self.cell(number).runs_dir / run_id
        if RUN_ID.fullmatch(run_id) is None or not folder.is_dir():
            raise NotThere(f"there is no run {run_id!r} here")
        key = (folder, _stamp(folder))
        with self._keeping:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        try:
            stored = open_folder(folder)
        except RunNotFound:
            raise NotThere(f"there is no run {run_id!r} here") from None
        with self._keeping:
            if stored.entry.state != "running":
                self._kept[key] = stored
            while len(self._kept) > _KEPT_RUNS:
                self._kept.popitem(last=False)
        return stored

    def queue(self) -> tuple[list[dict[str, Any]], int]:
        """The most doubtful steps, the most doubtful first, and how many there are in all."""
        return self.ask(lambda many: many.queue(Selection(), share=self._share, limit=QUEUE_AT_ONCE))

    def unreadable(self) -> list[dict[str, Any]]:
        """Runs that can't be read, each with what is wrong."""
        return self.ask(lambda many: many.unreadable())

    def listed(self, selection: Selection, *, page: int, size: int, sort: str | None = None) -> Page:
        """Runs, a page of them.

        Raises:
            BadSelection
        """
        return self.ask(lambda many: many.listed(selection, sort=sort, page=page, size=size))

    @contextmanager
    def _asking(self) -> Iterator[ManyRuns]:
        with self._turn:
            if time.monotonic() - self._looked_at > _FRESH_S:
                self._many.refresh()
                self._looked_at = time.monotonic()
            yield self._many


_FILES = ("run.json", "events.jsonl", "rulings.jsonl", "rejudged.jsonl")


def _stamp(folder: Path) -> tuple[Any, ...]:
    """What changes whenever a run's log does."""
    stamps: list[Any] = []
    for name in _FILES:
        try:
            found = (folder / name).stat()
            stamps.append((found.st_mtime_ns, found.st_size, found.st_ino))
        except OSError:
            stamps.append(None)
    return tuple(stamps)


Seen = tuple[int, str, JudgedStage]


class WhoSawWhat:
    """For each browser, of which steps it was shown what a judge or a person had said: those are no longer blind.

    It lives as long as the server; a browser that comes again with nothing known of it begins anew.
    """

    def __init__(self) -> None:
        self._seen: OrderedDict[str, set[Seen]] = OrderedDict()
        self._turn = threading.Lock()

    def has_seen(self, session: str, step: Seen) -> bool:
        """Whether this browser was shown a word on that step."""
        with self._turn:
            return step in self._seen.get(session, ())

    def saw(self, session: str, steps: Iterable[Seen]) -> None:
        """This browser is being shown words on these steps."""
        with self._turn:
            self._seen.setdefault(session, set()).update(steps)
            self._seen.move_to_end(session)
            while len(self._seen) > _MOST_SESSIONS:
                self._seen.popitem(last=False)
