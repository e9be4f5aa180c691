"""Runs that have something in common as one group: its SQL, and what an answer to that says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from runs.statistics import Rate, exact_rate

SESSION = "session"
"""Runs of a cell that follow one another; a group like those of `GROUPS`, but nothing that one run knows of itself."""

SESSION_PAUSE_MIN = 30
"""After a pause longer than this another session begins."""

RESULTS = ("completed", "failed", "unjudged", "invalid", "refused", "stopped", "crashed")


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


def with_sessions(query: str) -> str:
    """The runs of a query with the start of their session: what has no longer pause than `SESSION_PAUSE_MIN` in it."""
    by_time = "OVER (PARTITION BY cell ORDER BY started, number)"
    pause = f"started - lag(started) {by_time} <= INTERVAL {SESSION_PAUSE_MIN} MINUTE"
    begun = (
        f"SELECT *, CASE WHEN {pause} THEN NULL ELSE strftime(started, '%Y-%m-%d %H:%M') END AS begun FROM ({query})"
    )
    return f"SELECT *, last_value(begun IGNORE NULLS) {by_time} AS {SESSION} FROM ({begun})"


def group_sql(key: str, query: str, trials: str) -> str:
    """Groups of the runs of a query, of those that `trials` keeps, by the expression `key`."""
    counts = ", ".join(f"count(*) FILTER (result = '{result}') AS {result}" for result in RESULTS)
    return (
        f"SELECT {key} AS key, count(*) AS n, {counts}, count(*) FILTER (first_attempt) AS first_attempt, "
        "median(tip_dx_mm) AS tip_dx_mm, median(tip_dz_mm) AS tip_dz_mm, count(tip_dist_mm) AS tips, "
        "quantile_cont(tip_dist_mm, [0.5, 0.9]) AS tip_dist_mm, median(duration_s) AS duration_s, "
        "sum(duration_s) AS clock_s, "
        f"avg(attempts) FILTER (attempts > 0) AS attempts FROM ({query}) WHERE {trials} GROUP BY ALL"
    )


def group_of(row: dict[str, Any]) -> Group:
    results = {result: row[result] for result in RESULTS if row.get(result)}
    decided = results.get("completed", 0) + results.get("failed", 0)
    tip_mm, tip_high_mm = row.get("tip_dist_mm") or (None, None)
    return Group(
        key=row["key"],
        n=row["n"],
        results=results,
        success=exact_rate(results.get("completed", 0), decided),
        first_attempt=exact_rate(row.get("first_attempt", 0), decided),
        tip_dx_mm=row.get("tip_dx_mm"),
        tip_dz_mm=row.get("tip_dz_mm"),
        tip_mm=tip_mm,
        tip_high_mm=tip_high_mm,
        tips=row.get("tips", 0),
        duration_s=row.get("duration_s"),
        attempts=row.get("attempts"),
        units_per_h=results.get("completed", 0) * 3600 / row["clock_s"] if row.get("clock_s") else None,
    )
