"""Two sets of runs beside each other: which run is in which, and how those with the same start pair off, as SQL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from runs.comparison import Difference
from runs.index.database import quoted
from runs.index.groups import Group
from runs.index.select import Selection


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


def marked(first: Selection, second: Selection) -> tuple[str, list[Any]]:
    """The runs that moved and are in one of two sets at least, with `in_a` and `in_b`, as SQL and its values."""
    (in_a, of_a), (in_b, of_b) = first.holds(), second.holds()
    in_a, in_b = (f"coalesce(({held}) AND {of.of_trials}, false)" for held, of in ((in_a, first), (in_b, second)))
    marked = f"SELECT *, {in_a} AS in_a, {in_b} AS in_b FROM runs"
    return f"SELECT * FROM ({marked}) WHERE in_a OR in_b", [*of_a, *of_b]


def pairs_sql(query: str, keys: Sequence[str], cells: Sequence[str]) -> str:
    """How the pairs of two marked sets went, in one row; of each start every side's runs are put in order and paired.

    A run that is in both sets would be held against itself, so it is in no pair. The order is that of time, then of
    `cells`, then of their numbers; how they went has no say in it. A run is one number of 127 bits for that (a third of
    the time that putting rows in order takes): 59 of its time, 11 of its cell, 50 of its number, and in the two lowest
    how it went.
    """
    known = " AND ".join(f"{key} IS NOT NULL" for key in keys)
    cell = f"list_position([{', '.join(quoted(label) for label in cells)}], cell)" if len(cells) > 1 else "0"
    place = f"{cell}::BIGINT * {1 << 52} + number * 4"  # a run's name holds numbers below 2 ** 50
    went = "CASE result WHEN 'completed' THEN 1 WHEN 'failed' THEN 2 ELSE 0 END"
    one = f"coalesce(epoch_us(started), 0)::HUGEINT * {1 << 68} + ({place} + {went})"
    sides = ", ".join(f"list_sort(list({one}) FILTER ({side})) AS {side}" for side in ("in_a", "in_b"))
    starts = f"SELECT {sides} FROM ({query}) WHERE {known} AND in_a <> in_b GROUP BY {', '.join(keys)}"
    paired = "SELECT unnest(list_zip(in_a, in_b, true)) AS pair FROM starts"
    went = f"SELECT pair[1] & 3 AS a, pair[2] & 3 AS b FROM ({paired})"
    return (
        f"WITH starts AS ({starts}), went AS ({went}) SELECT count(*) AS pairs, "
        "count(*) FILTER (a = 1 AND b = 1) AS both, count(*) FILTER (a = 1 AND b = 2) AS only_first, "
        "count(*) FILTER (a = 2 AND b = 1) AS only_second, count(*) FILTER (a = 2 AND b = 2) AS neither FROM went"
    )
