"""Pictures over the table, seen from above: success, tip error and corrections square by square, one trial's places.

x to the right and z away from the base, as in the cell; the base is at the bottom. Squares are those of the cell keys.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import cos, hypot, pi, sin

from runs.corrections.table import SQUARE_MM
from runs.report.drawing import XY, Disc, Drawing, Label, Path, Rect
from runs.report.palette import HEATS
from runs.statistics import Rate

_KEY = re.compile(r"(pick|place)_x(-?\d+)_z(-?\d+)")


def square_of(key: str | None) -> tuple[int, int] | None:
    """The middle of the square of a cell key, mm; None for no key."""
    match = _KEY.fullmatch(key or "")
    return (int(match[2]), int(match[3])) if match else None


@dataclass(frozen=True, slots=True)
class Table:
    """A drawing over the table and the way from millimetres to its pixels."""

    drawing: Drawing
    scale: float
    left_mm: float
    top_mm: float

    def at(self, x_mm: float, z_mm: float) -> XY:
        """Pixels of a point on the table."""
        return (x_mm - self.left_mm) * self.scale + _LEFT, (self.top_mm - z_mm) * self.scale + _TOP

    def square(self, x_mm: float, z_mm: float) -> tuple[float, float, float]:
        """Upper left corner and side of a square, pixels."""
        x, y = self.at(x_mm - SQUARE_MM / 2, z_mm + SQUARE_MM / 2)
        return x, y, SQUARE_MM * self.scale


_LEFT, _TOP, _RIGHT, _BOTTOM = 34.0, 20.0, 10.0, 28.0


def table(title: str, points_mm: Iterable[XY], *, width: float = 560.0) -> Table:
    """The table with rings round the base and a scale, wide enough for all the points."""
    points = [*points_mm, (-60.0, 0.0), (60.0, 100.0)]
    left, right = min(x for x, _ in points) - 25, max(x for x, _ in points) + 25
    bottom, top = min(0.0, *(z for _, z in points)) - 20, max(z for _, z in points) + 25
    scale = min((width - _LEFT - _RIGHT) / (right - left), 1.6)
    wide, high = (right - left) * scale + _LEFT + _RIGHT, (top - bottom) * scale + _TOP + _BOTTOM
    drawing = Drawing(round(wide), round(high), title)
    made = Table(drawing, scale, left, top)
    for r in range(100, 500, 100):
        ring = [(r * cos(a * pi / 90), r * sin(a * pi / 90)) for a in range(91)]
        shown = [(left <= x <= right and bottom <= z <= top, made.at(x, z)) for x, z in ring]
        for seen, arc in groupby(shown, key=lambda each: each[0]):
            points_of_arc = [point for _, point in arc]
            if seen and len(points_of_arc) > 1:
                drawing.add(Path(points_of_arc, "line", 1.0, dashed=True))
    x0, y0 = made.at(0, 0)
    base = 45 * scale
    drawing.add(Rect(x0 - base, y0 - base / 2, 2 * base, base * 0.72, "faint", "line", radius=3))
    drawing.add(Label((x0, y0 + 4), "base", 10, "quiet", "middle"))
    _scale(made, left, right, bottom, top)
    return made


def _scale(made: Table, left: float, right: float, bottom: float, top: float) -> None:
    drawing = made.drawing
    floor = drawing.height - _BOTTOM
    for x in range(int(left // 100) * 100, int(right) + 1, 100):
        if x >= left:
            u = made.at(x, 0)[0]
            drawing.line((u, floor), (u, floor + 4), "quiet")
            drawing.add(Label((u, floor + 14), f"{x}".replace("-", "−"), 10, "quiet", "middle"))
    for z in range(int(bottom // 100) * 100, int(top) + 1, 100):
        if z >= bottom:
            v = made.at(0, z)[1]
            drawing.line((_LEFT - 4, v), (_LEFT, v), "quiet")
            drawing.add(Label((_LEFT - 7, v + 3.5), f"{z}".replace("-", "−"), 10, "quiet", "end"))
    drawing.add(Label((drawing.width, drawing.height - 2), "x, mm", 10, "quiet", "end"))
    drawing.add(Label((0, 9), "z, mm", 10, "quiet"))


def success_map(squares: Sequence[tuple[str, int, Rate]], title: str, *, width: float = 560.0) -> Drawing:
    """Each square filled from below as far as trials there succeeded, with how many there were.

    Args:
        squares: cell key, runs, and the rate over the decided ones.
    """
    known = [(square_of(key), n, rate) for key, n, rate in squares]
    made = table(title, [square for square, _, _ in known if square is not None], width=width)
    for square, n, rate in known:
        if square is None:
            continue
        x, y, side = made.square(*square)
        told = f"x {square[0]}, z {square[1]} mm: {n} runs, " + (
            "none decided"
            if rate.rate is None
            else f"{rate.successes} of {rate.n} succeeded ({rate.low:.0%} to {rate.high:.0%})"
        )
        if rate.rate is None:
            made.drawing.add(Rect(x + 1, y + 1, side - 2, side - 2, "faint", "quiet", dashed=True, told=told))
        else:
            inside = side - 2
            made.drawing.add(Rect(x + 1, y + 1, inside, inside, "bad_soft", "bad", 0.8, told=told))
            filled = inside * rate.rate
            made.drawing.add(Rect(x + 1, y + 1 + inside - filled, inside, filled, "heat2", None, told=told))
            if rate.rate == 1:
                made.drawing.add(Rect(x + 1, y + 1, inside, inside, None, "good", 0.8))
        size = min(10.0, side * 0.45, side * 1.5 / len(str(n)))
        made.drawing.add(Label((x + side / 2, y + side / 2 + size * 0.36), str(n), size, "ink", "middle"))
    return made.drawing


def heat_map(values_mm: Sequence[tuple[str, float, int]], title: str, *, width: float = 560.0) -> Drawing:
    """Each square in a tone by its figure, with the figure, mm. From 0 to the largest, in equal steps."""
    known = [(square_of(key), value, n) for key, value, n in values_mm]
    made = table(title, [square for square, _, _ in known if square is not None], width=width)
    most = max((value for _, value, _ in known), default=1.0) or 1.0
    for square, value, n in known:
        if square is None:
            continue
        x, y, side = made.square(*square)
        step = min(HEATS - 1, int(value / most * HEATS))
        told = f"x {square[0]}, z {square[1]} mm: {value:.1f} mm, median of {n}"
        made.drawing.add(Rect(x + 1, y + 1, side - 2, side - 2, f"heat{step}", None, told=told))
        text = f"{value:.0f}" if value >= 10 else f"{value:.1f}"
        size = min(10.0, side * 0.42)
        tone = "on_strong" if step >= 4 else "ink"
        made.drawing.add(Label((x + side / 2, y + side / 2 + size * 0.36), text, size, tone, "middle"))
    return made.drawing


ARROW_SCALE = 5
"""Arrows of millimetres are drawn so many times as long as they would be on the table."""


@dataclass(frozen=True, slots=True)
class Arrow:
    """A vector at a square. `solid` is a correction that is used, else one still too thinly known, or a measurement."""

    key: str
    dx_mm: float
    dz_mm: float
    n: int
    solid: bool
    spread_mm: float | None = None


def arrow_map(arrows: Sequence[Arrow], title: str, what: str, *, width: float = 560.0) -> Drawing:
    """An arrow from the middle of each square, `ARROW_SCALE` times as long as on the table.

    Where the spread is known, n stands beside the square and a ring as wide as the spread lies round the arrow's head.
    """
    known = [(square_of(arrow.key), arrow) for arrow in arrows]
    ends = [
        (square[0] + arrow.dx_mm * ARROW_SCALE, square[1] + arrow.dz_mm * ARROW_SCALE)
        for square, arrow in known
        if square is not None
    ]
    made = table(title, [*(square for square, _ in known if square is not None), *ends], width=width)
    for square, arrow in known:
        if square is None:
            continue
        start = made.at(*square)
        end = made.at(square[0] + arrow.dx_mm * ARROW_SCALE, square[1] + arrow.dz_mm * ARROW_SCALE)
        told = (
            f"x {square[0]}, z {square[1]} mm: {what} ({arrow.dx_mm:+.1f}, {arrow.dz_mm:+.1f}) mm, "
            f"{hypot(arrow.dx_mm, arrow.dz_mm):.1f} mm, n = {arrow.n}"
        ) + ("" if arrow.spread_mm is None else f", spread {arrow.spread_mm:.1f} mm")
        tone = "good" if arrow.solid else "quiet"
        made.drawing.add(Disc(start, 2.4, tone if arrow.solid else "panel", tone, told=told))
        made.drawing.arrow(start, end, tone, 1.7 if arrow.solid else 1.1, told)
        if arrow.spread_mm is not None:
            radius = arrow.spread_mm * ARROW_SCALE * made.scale
            made.drawing.add(Disc(end, radius, None, "quiet", 0.7, told=told))
            made.drawing.add(Label((start[0] - 4, start[1] - 4), str(arrow.n), 8, "quiet", "end"))
    _key_arrow(made)
    return made.drawing


def _key_arrow(made: Table) -> None:
    x = _LEFT + 8
    length = 5 * ARROW_SCALE * made.scale
    made.drawing.arrow((x, _TOP + 8), (x + length, _TOP + 8), "ink", 1.2)
    made.drawing.add(Label((x + length + 6, _TOP + 12), "5 mm", 10, "quiet"))


@dataclass(frozen=True, slots=True)
class Place:
    """A named point of one trial, metres; `shape` is block, box, target or tip."""

    name: str
    xz_m: tuple[float, float]
    shape: str
    outline_xz_m: Sequence[tuple[float, float]] = ()


def trial_map(places: Sequence[Place], title: str, *, width: float = 460.0) -> Drawing:
    """Where block and box were seen, what was aimed at and where the tip was."""
    points = [(x * 1000, z * 1000) for place in places for x, z in (place.xz_m, *place.outline_xz_m)]
    made = table(title, points, width=width)
    for place in places:
        x, y = made.at(place.xz_m[0] * 1000, place.xz_m[1] * 1000)
        told = f"{place.name}: x {place.xz_m[0] * 1000:.1f}, z {place.xz_m[1] * 1000:.1f} mm"
        outline = [made.at(px * 1000, pz * 1000) for px, pz in place.outline_xz_m]
        if outline:
            made.drawing.add(Path(outline, "quiet", 1.2, "faint", closed=True, told=told))
        if place.shape == "block":
            made.drawing.add(Rect(x - 8, y - 8, 16, 16, "bad_soft", "bad", 1.4, told=told))
        elif place.shape == "box" and not outline:
            made.drawing.add(Rect(x - 30, y - 30, 60, 60, "faint", "quiet", 1.2, told=told))
        elif place.shape == "target":
            made.drawing.line((x - 6, y), (x + 6, y), "good", 1.6)
            made.drawing.line((x, y - 6), (x, y + 6), "good", 1.6)
        elif place.shape == "tip":
            made.drawing.add(Disc((x, y), 4.0, "panel", "violet", 1.6, told=told))
    return made.drawing
