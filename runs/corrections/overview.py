"""What stands in a cell's corrections, for people: square by square, what changed between two points, points by name.

Pure functions over states and history lines; they decide nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from math import hypot
from statistics import fmean, median

from runs.corrections.history import HistoryLine, State
from runs.corrections.model import CorrectionModel
from runs.corrections.table import CorrectionTable
from runs.errors import NoSuchPoint


@dataclass(frozen=True, slots=True)
class SquareView:
    """A square: what is subtracted there in the mean of its lessons, mm, from how many, and how far they lie apart.

    `applied` is False where the square is known too thinly to be used.
    """

    key: str
    dx_mm: float
    dz_mm: float
    n: int
    spread_mm: float | None
    applied: bool

    @property
    def size_mm(self) -> float:
        """Length of the correction."""
        return hypot(self.dx_mm, self.dz_mm)


def squares(table: CorrectionTable, model: CorrectionModel | None) -> list[SquareView]:
    """Every square that has lessons, by its key: what the model says there, or their plain mean without a model."""
    found = []
    for key, lessons in sorted(table.cells.items()):
        mean = table.mean_mm(key)
        assert mean is not None
        dx, dz, n = mean
        apart = [hypot(one.uncorrected_mm[0] - dx, one.uncorrected_mm[1] - dz) for one in lessons]
        spread = median(apart) if n > 1 else None
        applied = False
        if model is not None:
            uses = [model.apply(one.phase, one.xz_m, one.way)[1] for one in lessons]
            applied = any(use.applied for use in uses)
            dx = fmean(use.dx_mm or 0.0 for use in uses)
            dz = fmean(use.dz_mm or 0.0 for use in uses)
        found.append(SquareView(key, dx, dz, n, spread, applied))
    return found


@dataclass(frozen=True, slots=True)
class SquareDiff:
    """A square at two points in time; None where it was not known."""

    key: str
    before: SquareView | None
    after: SquareView | None

    @property
    def moved_mm(self) -> float:
        """By how much the correction there changed; what is not applied counts as none."""
        there = [(s.dx_mm, s.dz_mm) if s is not None and s.applied else (0.0, 0.0) for s in (self.before, self.after)]
        return hypot(there[1][0] - there[0][0], there[1][1] - there[0][1])


def changes(
    before: State, after: State, models: tuple[CorrectionModel | None, CorrectionModel | None]
) -> list[SquareDiff]:
    """Squares that have other lessons or another correction at two points, those that moved most first."""
    old = {square.key: square for square in squares(before.table, models[0])}
    new = {square.key: square for square in squares(after.table, models[1])}
    pairs = [SquareDiff(key, old.get(key), new.get(key)) for key in sorted({*old, *new})]
    return sorted((pair for pair in pairs if pair.before != pair.after), key=lambda pair: -pair.moved_mm)


def point_of(text: str, lines: Sequence[HistoryLine]) -> int:
    """The line of the history that a person means: a number, `now`, `now-2` (two lines ago), or a time in UTC.

    Raises:
        NoSuchPoint: no line is meant by that.
    """
    last = len(lines)
    match = re.fullmatch(r"(now)?(-?\d+)?", text)
    if match is None or not text:
        return _at_time(text, lines)
    number = int(match[2] or 0) + (last if match[1] else 0)
    if not 0 <= number <= last:
        raise NoSuchPoint(text, last)
    return number


def _at_time(text: str, lines: Sequence[HistoryLine]) -> int:
    """The last line up to a time; a day alone counts with all of it."""
    try:
        datetime.fromisoformat(text)
    except ValueError:
        raise NoSuchPoint(text, len(lines)) from None
    wanted = text.replace(" ", "T").removesuffix("Z")
    return sum(line.at[: len(wanted)] <= wanted for line in lines)
