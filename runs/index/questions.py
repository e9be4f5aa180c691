"""Questions over the runs of one or many cells, answered from their indexes: list, statistics, queue, comparison, SQL.

Every answer is about the folders as they were when `refresh` last looked; nothing here decides what stands.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runs.comparison import Difference, difference, paired_difference
from runs.errors import RecordError
from runs.index.database import Database, IndexDamaged, quoted
from runs.index.row import COLUMNS, NESTED, STAGES
from runs.index.select import GROUPS, Selection, order_of, sql_of
from runs.index.store import Progress, Refreshed, RunIndex, runs_dir_of
from runs.queue import DEFAULT_SHARE, draw
from runs.statistics import Rate, exact_rate

SESSION = "session"
"""Runs of a cell that follow one another; a group like those of `GROUPS`, but nothing that one run knows of itself."""

SESSION_PAUSE_MIN = 30
"""After a pause longer than this another session begins."""

RESULTS = ("completed", "failed", "unjudged", "invalid", "refused", "stopped", "crashed")


@dataclass(frozen=True, slots=True)
class Page:
    """Some rows of a list, how many there are in all, and how many of each result."""

    rows: list[dict[str, Any]]
    total: int
    results: dict[str, int]


@dataclass(frozen=True, slots=True)
class Group:
    """Runs that have something in common. `success` is over completed and failed, `first_attempt` as well.

    Figures are medians over the runs that have them, None where none has; `tip_high_mm` is the 90th percentile.
    `units_per_h` is blocks placed in an hour of trials on the arm's clock, whatever came between the trials.
    """

    key: str | None
    n: int
    results: dict[str, int]
    success: Rate
    first_attempt: Rate
    tip_dx_mm: float | None
    tip_dz_mm: float | None
    tip_mm: float | None
    tip_high_mm: float | None
    tips: int
    duration_s: float | None
    attempts: float | None
    units_per_h: float | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two sets, and the pairs among them that share a start. `paired_by` is "seed", "square" or None."""

    first: Group
    second: Group
    difference: Difference | None
    paired_by: str | None
    pairs: int
    undecided_pairs: int
    both: int
    only_first: int
    only_second: int
    neither: int
    paired: Difference | None


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
        self._opened: list[object] = []
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
        marks = ", ".join("?" * len(ids))
        found = self._rows(f"SELECT cell, run_id, {wanted} FROM runs WHERE run_id IN ({marks or 'NULL'})", ids)
        by_id = {(row["cell"], row["run_id"]): row for row in found}
        rows = [by_id[row["cell"], row["run_id"]] for row in some]
        counted = self._rows(
            f"SELECT result, count(*) AS n FROM ({query}) GROUP BY result ORDER BY n DESC, min(number)", values
        )
        results = {row["result"]: row["n"] for row in counted}
        return Page(rows if sort is not None else rows[::-1], sum(results.values()), results)

    def stats(self, by: str | None, selection: Selection, *, agents: bool = False) -> list[Group]:
        """Groups of runs that moved, in the order of their keys; one group of them all without `by`.

        Args:
            agents: count what agents did as well; it counts too where the selection or `by` asks for agents.

        Raises:
            BadSelection
        """
        query, values = selection.sql()
        if by == SESSION:
            key, query = SESSION, _with_sessions(query)
        else:
            key = "NULL" if by is None else f"CAST({sql_of(by)} AS VARCHAR)"
        trials = "NOT dry_run" if agents or by == "agent" else selection.of_trials
        return [_group(row) for row in self._rows(f"{_group_sql(key, query, trials)} ORDER BY key NULLS LAST", values)]

    def queue(
        self, selection: Selection, *, share: float = DEFAULT_SHARE, seed: int = 0, limit: int | None = None
    ) -> tuple[list[dict[str, Any]], int]:
        """The steps that a person should look at, the most doubtful first, as `runs.queue` says; and how many.

        Args:
            share, seed: see `runs.queue.queue`.
            limit: at most so many; all by default.
        """
        query, values = selection.sql()
        steps = " UNION ALL ".join(
            f"SELECT cell, run_id, '{stage}' AS stage, {stage}_doubt AS doubt, {stage}_reasons AS reasons, "
            f"{stage}_blind_reasons AS blind_reasons, "
            f"{stage}_word AS word, {stage}_confidence AS confidence, {stage}_by AS judge, {stage}_image AS image, "
            f"{stage}_lot AS lot FROM chosen WHERE {stage}_doubt IS NOT NULL"
            for stage in STAGES
        )
        drawn = (
            "lot IS NULL OR lot < ?" if seed == 0 else "lot IS NULL OR (cell, run_id, stage) IN (SELECT * FROM drawn)"
        )
        head = f"WITH chosen AS ({query}), steps AS ({steps})"
        if seed == 0:
            values = [*values, share]
        else:
            self._draw(f"{head} SELECT cell, run_id, stage FROM steps WHERE lot IS NOT NULL", values, share, seed)
        most = f" LIMIT {int(limit)}" if limit is not None else ""
        rows = self._rows(
            f"{head} SELECT *, count(*) OVER () AS total FROM steps WHERE {drawn} "
            f"ORDER BY doubt DESC, coalesce(confidence, 0), run_id, stage{most}",
            values,
        )
        total = rows[0]["total"] if rows else 0
        names = ("cell", "run_id", "stage", "doubt", "reasons", "blind_reasons", "word", "confidence", "judge", "image")
        return [{name: row[name] for name in names} | {"drawn": row["lot"] is not None} for row in rows], total

    def _draw(self, query: str, values: Sequence[Any], share: float, seed: int) -> None:
        """Put the steps that another seed draws into a table."""
        found = [row for row in self._rows(query, values) if draw(seed, row["run_id"], row["stage"]) < share]
        database = self._open()
        database.do("CREATE OR REPLACE TEMP TABLE drawn (cell VARCHAR, run_id VARCHAR, stage VARCHAR)")
        columns = [[row[name] for row in found] for name in ("cell", "run_id", "stage")]
        database.do(
            "INSERT INTO drawn SELECT unnest(?::VARCHAR[]), unnest(?::VARCHAR[]), unnest(?::VARCHAR[])", columns
        )

    def compare(self, first: Selection, second: Selection) -> Comparison:
        """Two sets of runs, paired where a run of each has the same seed; else by the squares of block and box.

        Of several with the same start the oldest goes with the oldest. What isn't decided on both sides is no pair.

        Raises:
            BadSelection
        """
        one, two = self.stats(None, first), self.stats(None, second)
        nobody = _group({"key": None, "n": 0})
        a, b = (one or [nobody])[0], (two or [nobody])[0]
        apart = difference((a.success.successes, a.success.n), (b.success.successes, b.success.n))
        for how, keys in (("seed", ("seed",)), ("square", ("pick_key", "place_key"))):
            counts = self._pairs(first, second, keys)
            if counts["pairs"]:
                four = (counts["both"], counts["only_first"], counts["only_second"], counts["neither"])
                undecided = counts["pairs"] - sum(four)
                return Comparison(a, b, apart, how, sum(four), undecided, *four, paired_difference(*four))
        return Comparison(a, b, apart, None, 0, 0, 0, 0, 0, 0, None)

    def _pairs(self, first: Selection, second: Selection, keys: Sequence[str]) -> dict[str, int]:
        named = ", ".join(keys)
        known = " AND ".join(f"{key} IS NOT NULL" for key in keys)
        sides, values = [], []
        for selection in (first, second):
            query, some = selection.sql()
            values += some
            sides.append(
                f"(SELECT {named}, result, row_number() OVER (PARTITION BY {named} ORDER BY started, run_id) AS turn "
                f"FROM ({query}) WHERE {selection.of_trials} AND {known})"
            )
        yes, no = "result = 'completed'", "result = 'failed'"
        return self._rows(
            "SELECT count(*) AS pairs, "
            f"count(*) FILTER (a.{yes} AND b.{yes}) AS both, count(*) FILTER (a.{yes} AND b.{no}) AS only_first, "
            f"count(*) FILTER (a.{no} AND b.{yes}) AS only_second, count(*) FILTER (a.{no} AND b.{no}) AS neither "
            f"FROM {sides[0]} a JOIN {sides[1]} b USING ({named}, turn)",
            values,
        )[0]

    def sql(self, text: str, *, limit: int = 1000) -> tuple[list[str], list[tuple[Any, ...]], bool]:
        """A person's own question in SQL; see `Database.ask`. It can only look, and only at the index.

        Raises:
            BadQuestion: in the database's own words.
        """
        self._rows("SELECT 1 FROM runs LIMIT 1")  # a damaged index shows and is mended here
        database = self._open()
        if not self._locked:
            database.lock()
            self._locked = True
        return database.ask(text, limit)

    def unreadable(self, selection: Selection | None = None) -> list[dict[str, Any]]:
        """Runs that can't be read, each with its cell and what is wrong."""
        query, values = (selection or Selection()).sql()
        return self._rows(
            f"SELECT cell, run_id, problem FROM ({query}) WHERE state = 'unreadable' ORDER BY cell, number", values
        )

    def stream(
        self, selection: Selection, columns: Sequence[str] | None, *, table: str = "runs"
    ) -> Iterator[dict[str, Any]]:
        """These columns (all by default) of the selected runs, or of a table of what they hold, the oldest run first.

        Raises:
            BadSelection
        """
        query, values = selection.sql()
        wanted = ", ".join(f'"{name}"' for name in columns) if columns is not None else "*"
        source = f"SELECT {wanted} FROM ({query})"
        if table != "runs":
            inner = f"SELECT cell, run_id, started, number, unnest({table}) AS one FROM ({query})"
            source = f"SELECT cell, run_id, {NESTED[table]} FROM ({inner})"
        self._rows("SELECT 1 FROM runs LIMIT 1")  # a damaged index shows and is mended here
        yield from self._open().stream(f"{source} ORDER BY started NULLS LAST, cell, number", values)

    def _rows(self, sql: str, values: Sequence[Any] = ()) -> list[dict[str, Any]]:
        try:
            return self._open().rows(sql, values)
        except IndexDamaged:
            for index in self.indexes:
                index.rebuild()
            return self._open().rows(sql, values)

    def _open(self) -> Database:
        """A database in which `runs` and the tables of its nested columns are the indexes as they are now."""
        files = []
        for index in self.indexes:
            if index.files() is None:
                index.refresh()
            files.append(index.files())
        if self._database is not None and files == self._opened:
            return self._database
        if self._database is not None:
            self._database.close()
        database = Database()
        parts = []
        for number, (label, found) in enumerate(zip(self.labels, files, strict=True)):
            if found is None:
                raise RecordError("the index can't be made", next_step="free space in the system's temporary folder")
            parts.append(f"SELECT {quoted(label)} AS cell, * FROM ({found.open_in(database, f'cell_{number}')})")
        database.do(f"CREATE VIEW runs AS {' UNION ALL '.join(parts)}")
        for name, of_each in NESTED.items():
            inner = f"SELECT cell, run_id, unnest({name}) AS one FROM runs"
            database.do(f"CREATE VIEW {name} AS SELECT cell, run_id, {of_each} FROM ({inner})")
        self._database, self._opened, self._locked = database, list(files), False
        return database


def _with_sessions(query: str) -> str:
    """The runs of a query with the start of their session: what has no longer pause than `SESSION_PAUSE_MIN` in it."""
    by_time = "OVER (PARTITION BY cell ORDER BY started, number)"
    pause = f"started - lag(started) {by_time} <= INTERVAL {SESSION_PAUSE_MIN} MINUTE"
    begun = (
        f"SELECT *, CASE WHEN {pause} THEN NULL ELSE strftime(started, '%Y-%m-%d %H:%M') END AS begun FROM ({query})"
    )
    return f"SELECT *, last_value(begun IGNORE NULLS) {by_time} AS {SESSION} FROM ({begun})"


def _group_sql(key: str, query: str, trials: str) -> str:
    counts = ", ".join(f"count(*) FILTER (result = '{result}') AS {result}" for result in RESULTS)
    return (
        f"SELECT {key} AS key, count(*) AS n, {counts}, count(*) FILTER (first_attempt) AS first_attempt, "
        "median(tip_dx_mm) AS tip_dx_mm, median(tip_dz_mm) AS tip_dz_mm, median(tip_dist_mm) AS tip_mm, "
        "quantile_cont(tip_dist_mm, 0.9) AS tip_high_mm, count(tip_dist_mm) AS tips, median(duration_s) AS duration_s, "
        "sum(duration_s) AS clock_s, "
        f"avg(attempts) FILTER (attempts > 0) AS attempts FROM ({query}) WHERE {trials} GROUP BY ALL"
    )


def _group(row: dict[str, Any]) -> Group:
    results = {result: row[result] for result in RESULTS if row.get(result)}
    decided = results.get("completed", 0) + results.get("failed", 0)
    return Group(
        key=row["key"],
        n=row["n"],
        results=results,
        success=exact_rate(results.get("completed", 0), decided),
        first_attempt=exact_rate(row.get("first_attempt", 0), decided),
        tip_dx_mm=row.get("tip_dx_mm"),
        tip_dz_mm=row.get("tip_dz_mm"),
        tip_mm=row.get("tip_mm"),
        tip_high_mm=row.get("tip_high_mm"),
        tips=row.get("tips", 0),
        duration_s=row.get("duration_s"),
        attempts=row.get("attempts"),
        units_per_h=results.get("completed", 0) * 3600 / row["clock_s"] if row.get("clock_s") else None,
    )


__all__ = ["GROUPS", "Comparison", "Group", "ManyRuns", "Page"]
