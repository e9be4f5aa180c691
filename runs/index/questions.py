"""Questions over the runs of one or many cells, answered from their indexes: list, statistics, queue, comparison, SQL.

Every answer is about the folders as they were when `refresh` last looked; nothing here decides what stands.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from runs.comparison import difference, paired_difference
from runs.errors import RecordError
from runs.index.compared import Comparison, marked, pairs_sql
from runs.index.database import Database, IndexDamaged, quoted
from runs.index.doubtful import as_doubtful, is_drawn, put_drawn
from runs.index.groups import SESSION, Group, group_of, group_sql, with_sessions
from runs.index.select import Selection, order_of, sql_of
from runs.index.shape import COLUMNS, NESTED, STAGES
from runs.index.store import Files, Progress, Refreshed, RunIndex, runs_dir_of
from runs.queue import DEFAULT_SHARE

P = ParamSpec("P")
T = TypeVar("T")


def _of_one_index(question: Callable[Concatenate[ManyRuns, P], T]) -> Callable[Concatenate[ManyRuns, P], T]:
    """A question of several queries: all are asked of the same files, whatever another process makes of the index.

    Where the index turns out to be damaged it is made again, and the whole question asked once more.
    """

    @wraps(question)
    def answered(many: ManyRuns, /, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            many._open()
            return question(many, *args, **kwargs)
        except IndexDamaged:
            for index in many.indexes:
                index.rebuild()
            many._open()
            return question(many, *args, **kwargs)

    return answered


@dataclass(frozen=True, slots=True)
class Page:
    """Some rows of a list, how many there are in all, and how many of each result."""

    rows: list[dict[str, Any]]
    total: int
    results: dict[str, int]


class ManyRuns:
    """The runs of these cells (or folders of runs). Use it in a `with`. Making one touches no disk."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self.folders = [Path(folder) for folder in folders]
        self.indexes = [RunIndex(runs_dir_of(folder)) for folder in self.folders]
        names = [folder.resolve().name for folder in self.folders]
        self.labels = [
            name if names.count(name) == 1 else str(folder) for name, folder in zip(names, self.folders, strict=True)
        ]
        self._database: Database | None = None
        self._opened: list[Files] = []
        self._locked = False

    def __enter__(self) -> ManyRuns:
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Let go of the database and of indexes that were for this process alone."""
        if self._database is not None:
            self._database.close()
            self._database = None
        for index in self.indexes:
            index.close()

    def refresh(self, *, full: bool = False, progress: Progress | None = None) -> list[Refreshed]:
        """Bring every index up to date, see `RunIndex.refresh`."""
        return [index.refresh(full=full, progress=progress) for index in self.indexes]

    def runs_dir(self, cell: str) -> Path:
        """The folder of runs of the cell with this label."""
        return self.indexes[self.labels.index(cell)].runs_dir

    @_of_one_index
    def listed(
        self,
        selection: Selection,
        *,
        sort: str | None = None,
        page: int = 1,
        size: int = 50,
        columns: Sequence[str] = (),
    ) -> Page:
        """Runs in an order, a page of them: by default the newest page, and in it the newest last.

        Args:
            sort: a name of `select.NAMES`, with a minus in front for the largest first.
            page: from 1.
            columns: which; all without the nested ones by default.

        Raises:
            BadSelection
        """
        query, values = selection.sql()
        wanted = ", ".join(columns or ["cell", *(f'"{name}"' for name in COLUMNS if name not in NESTED)])
        order = f"{order_of(sort) if sort is not None else 'started DESC NULLS LAST'}, number DESC"
        some = self._rows(
            f"SELECT cell, run_id FROM ({query}) ORDER BY {order} LIMIT {int(size)} OFFSET {(page - 1) * size}", values
        )
        ids = [row["run_id"] for row in some]  # first which, then all of them: most columns of most runs stay unread
        found = self._rows(f"SELECT cell, run_id, {wanted} FROM runs WHERE {_among(ids)}", ids)
        by_id = {(row["cell"], row["run_id"]): row for row in found}
        rows = [by_id[row["cell"], row["run_id"]] for row in some]
        counted = self._rows(
            f"SELECT result, count(*) AS n FROM ({query}) GROUP BY result ORDER BY n DESC, min(number)", values
        )
        results = {row["result"]: row["n"] for row in counted}
        return Page(rows if sort is not None else rows[::-1], sum(results.values()), results)

    @_of_one_index
    def stats(self, by: str | None, selection: Selection, *, agents: bool = False) -> list[Group]:
        """Groups of runs that moved, in the order of their keys; one group of them all without `by`.

        Args:
            agents: count what agents did as well; it counts too where the selection or `by` asks for agents.

        Raises:
            BadSelection
        """
        query, values = selection.sql()
        if by == SESSION:
            key, query = SESSION, with_sessions(query)
        else:
            key = "NULL" if by is None else f"CAST({sql_of(by)} AS VARCHAR)"
        trials = "NOT dry_run" if agents or by == "agent" else selection.of_trials
        return [group_of(row) for row in self._rows(f"{group_sql(key, query, trials)} ORDER BY key NULLS LAST", values)]

    @_of_one_index
    def queue(
        self, selection: Selection, *, share: float = DEFAULT_SHARE, seed: int = 0, limit: int | None = None
    ) -> tuple[list[dict[str, Any]], int]:
        """The steps that a person should look at, the most doubtful first, as `runs.queue` says; and how many.

        Args:
            share, seed: see `runs.queue.queue`.
            limit: at most so many; all by default.
        """
        query, values = selection.sql()
        if seed != 0:
            put_drawn(self._opened_database(), query, values, share, seed)
        counts = {
            stage: f"{stage}_doubt IS NOT NULL AND ({stage}_lot IS NULL OR {is_drawn(stage, seed)})" for stage in STAGES
        }
        names = ("doubt", "confidence", "lot", "reasons", "blind_reasons", "word", "by", "image")
        steps = " UNION ALL ".join(
            f"SELECT cell, run_id, '{stage}' AS stage, {', '.join(f'{stage}_{name} AS {name}' for name in names)} "
            f"FROM chosen WHERE {counts[stage]}"
            for stage in STAGES
        )
        values = [*values, *([share] * len(STAGES) if seed == 0 else [])]
        most = f" LIMIT {int(limit)}" if limit is not None else ""
        order = "ORDER BY doubt DESC, coalesce(confidence, 0), run_id, stage"
        found = self._rows(f"WITH chosen AS ({query}), steps AS ({steps}) SELECT * FROM steps {order}{most}", values)
        total = len(found)
        if limit is not None and total == limit:
            counted = " + ".join(f"count(*) FILTER ({counts[stage]})" for stage in STAGES)
            total = self._rows(f"WITH chosen AS ({query}) SELECT {counted} AS n FROM chosen", values)[0]["n"]
        return [as_doubtful(row) for row in found], total

    @_of_one_index
    def compare(self, first: Selection, second: Selection) -> Comparison:
        """Two sets of runs, paired where a run of each has the same seed; else by the squares of block and box.

        Of several with the same start the oldest goes with the oldest. What isn't decided on both sides is no pair.

        Raises:
            BadSelection
        """
        query, values = marked(first, second)
        a, b = self._sides(first, second, query, values)
        apart = difference((a.success.successes, a.success.n), (b.success.successes, b.success.n))
        for how, keys in (("seed", ("seed",)), ("square", ("pick_key", "place_key"))):
            counts = self._rows(pairs_sql(query, keys, self.labels), values)[0]
            if counts["pairs"]:
                four = (counts["both"], counts["only_first"], counts["only_second"], counts["neither"])
                undecided = counts["pairs"] - sum(four)
                return Comparison(a, b, apart, how, sum(four), undecided, *four, paired_difference(*four))
        return Comparison(a, b, apart, None, 0, 0, 0, 0, 0, 0, None)

    def _sides(self, first: Selection, second: Selection, query: str, values: Sequence[Any]) -> tuple[Group, Group]:
        """The groups of two marked sets: in one look at the runs where none is in both."""
        both_marks = group_sql("in_a::INTEGER + 2 * in_b::INTEGER", query, "true")
        found = {row["key"]: row for row in self._rows(both_marks, values)}
        if 3 in found:
            for side, selection in ((1, first), (2, second)):
                some, of_them = selection.sql()
                found[side] = self._rows(group_sql(str(side), some, selection.of_trials), of_them)[0]
        a, b = (group_of(found.get(side, {"n": 0}) | {"key": None}) for side in (1, 2))
        return a, b

    @_of_one_index
    def sql(self, text: str, *, limit: int = 1000) -> tuple[list[str], list[tuple[Any, ...]], bool]:
        """A person's own question in SQL; see `Database.ask`. It can only look, and only at the index.

        Raises:
            BadQuestion: in the database's own words.
        """
        self._rows("SELECT 1 FROM runs LIMIT 1")  # a damaged index shows here
        database = self._opened_database()
        if not self._locked:
            database.lock([path for files in self._opened for path in files.all])
            self._locked = True
        return database.ask(text, limit)

    @_of_one_index
    def unreadable(self, selection: Selection | None = None) -> list[dict[str, Any]]:
        """Runs that can't be read, each with its cell and what is wrong."""
        query, values = (selection or Selection()).sql()
        return self._rows(
            f"SELECT cell, run_id, problem FROM ({query}) WHERE state = 'unreadable' ORDER BY cell, number", values
        )

    def stream(
        self, selection: Selection, columns: Sequence[str] | None, *, table: str = "runs", trials: bool = False
    ) -> Iterator[dict[str, Any]]:
        """These columns (all by default) of the selected runs, or of a table of what they hold, the oldest run first.

        Args:
            trials: without what counts in no rate: dry runs, and agents' sittings unless the selection asks for them.

        Raises:
            BadSelection
        """
        query, values = selection.sql()
        if trials:
            query = f"SELECT * FROM ({query}) WHERE {selection.of_trials}"
        wanted = ", ".join(f'"{name}"' for name in columns) if columns is not None else "*"
        source = f"SELECT {wanted} FROM ({query})"
        if table != "runs":
            inner = f"SELECT cell, run_id, started, number, unnest({table}) AS one FROM ({query})"
            source = f"SELECT cell, run_id, one.* FROM ({inner})"
        self._look()
        yield from self._opened_database().stream(f"{source} ORDER BY started NULLS LAST, cell, number", values)

    @_of_one_index
    def _look(self) -> None:
        """A damaged index shows and is mended here."""
        self._rows("SELECT 1 FROM runs LIMIT 1")

    def _rows(self, sql: str, values: Sequence[Any] = ()) -> list[dict[str, Any]]:
        return self._opened_database().rows(sql, values)

    def _opened_database(self) -> Database:
        assert self._database is not None, "asked outside of a question"
        return self._database

    def _open(self) -> None:
        """See to a database in which `runs` and the tables of its nested columns are the indexes as they are now."""
        files = [self._files_of(index) for index in self.indexes]
        if self._database is not None and files == self._opened:
            return
        if self._database is not None:
            self._database.close()
        database = Database()
        parts = [
            f"SELECT {quoted(label)} AS cell, * FROM ({found.sql()})"
            for label, found in zip(self.labels, files, strict=True)
        ]
        database.do(f"CREATE VIEW runs AS {' UNION ALL '.join(parts)}")
        for name in NESTED:
            inner = f"SELECT cell, run_id, unnest({name}) AS one FROM runs"
            database.do(f"CREATE VIEW {name} AS SELECT cell, run_id, one.* FROM ({inner})")
        self._database, self._opened, self._locked = database, files, False

    @staticmethod
    def _files_of(index: RunIndex) -> Files:
        if index.files() is None:
            index.refresh()
        files = index.files()
        if files is None:
            raise RecordError("the index can't be made", next_step="free space in the system's temporary folder")
        return files


def _among(run_ids: Collection[str]) -> str:
    """The condition that a run is one of these; its values are the names."""
    return f"run_id IN ({', '.join('?' * len(run_ids)) or 'NULL'})"
