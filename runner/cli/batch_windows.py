"""The beginning of a batch held against its end, in words and as an object: `batch status --window`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rich.table import Table
from rich.text import Text

from runner.cli.batch_view import rate_in_words
from runs.batch_state import BatchState
from runs.batch_windows import Window, scenes_by, windows
from runs.statistics import Median


def windows_told(state: BatchState, size: int) -> tuple[dict[str, Any], list[Any]]:
    """The first and the last `size` finished starts, and who brought about all of them."""
    made = scenes_by(state)
    told: dict[str, Any] = {"starts_by": made, "windows": None}
    words: list[Any] = [Text("starts made by: " + (", ".join(f"{who} {n}" for who, n in made.items()) or "nobody yet"))]
    found = windows(state, size)
    if found is None:
        return told, words
    told["windows"] = {"size": size, "first": asdict(found[0]), "last": asdict(found[1])}
    table = Table("without a fault", *(f"starts {each.first} to {each.last}" for each in found), box=None)
    for name, row in _rows(*found):
        table.add_row(name, *row)
    return told, [*words, table]


def _rows(first: Window, last: Window) -> list[tuple[str, list[str]]]:
    both = (first, last)
    rows = [
        ("success on the first attempt", [rate_in_words(each.first_attempt) for each in both]),
        ("success", [rate_in_words(each.success) for each in both]),
        ("ended otherwise", [", ".join(f"{n} {word}" for word, n in each.apart.items()) or "0" for each in both]),
        ("tip off, as measured", [_median(each.tip_mm) for each in both]),
    ]
    if any(each.truth_tip_mm.n for each in both):
        rows.append(("tip off, as the twin knows", [_median(each.truth_tip_mm) for each in both]))
    rows.append(("with a fault, left out", [str(each.with_fault) for each in both]))
    return rows


def _median(one: Median) -> str:
    """`1.8 mm (1.6 … 2.0), n 198`."""
    if one.value is None:
        return "nothing measured"
    limits = "" if one.low is None or one.high is None else f" ({one.low:.1f} … {one.high:.1f})"
    return f"{one.value:.1f} mm{limits}, n {one.n}"
