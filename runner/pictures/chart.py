"""Curves over steps on a logarithmic scale: error against iteration, attempts side by side.

Draws into a frame of a `Canvas`; knows no arm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

import numpy as np

from runner.kinematics.model import FloatArray
from runner.pictures.canvas import INK, LINE_GREY, SOFT_INK, Canvas, Point
from runner.pictures.perspective import round_step
from vision.overlay import WHITE, Bgr

Frame = tuple[float, float, float, float]  # left, top, width, height


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """One quantity: its values for each attempt, and below which it is good enough."""

    name: str
    unit: str
    values: Sequence[FloatArray]
    tolerance: float
    colour: Bgr
    square: bool  # markers: squares, else discs, so that curves differ without colour too


def draw_curves(canvas: Canvas, frame: Frame, curves: Sequence[Curve], *, chosen: int) -> None:
    """The curves, their tolerances and a legend.

    Args:
        chosen: the attempt to be drawn strong; others are pale.
    """
    left, top, width, height = frame
    lowest, highest = _decades(curves, chosen)
    lengths = [len(values) for values in curves[0].values]
    steps = sum(lengths) - 1 if lengths else 0

    def at(step: float, value: float) -> Point:
        share = (log10(max(value, 10.0**lowest)) - lowest) / (highest - lowest)
        return left + width * step / max(steps, 1), top + height * (1.0 - share)

    for decade in range(lowest, highest + 1):
        y = at(0, 10.0**decade)[1]
        canvas.line([(left, y), (left + width, y)], LINE_GREY, 1.0)
        if (highest - lowest) <= 7 or (decade - lowest) % 2 == 0:
            canvas.text((left - 8, y + 5), _power(decade), size=14, colour=SOFT_INK, align="right")
    step = max(1, round(round_step(max(steps, 1), 6)))
    for tick in range(0, steps + 1, step):
        x = at(tick, 1)[0]
        canvas.line([(x, top + height), (x, top + height + 5)], SOFT_INK, 1.0)
        canvas.text((x, top + height + 21), str(tick), size=14, colour=SOFT_INK, align="centre")
    canvas.line([(left, top), (left, top + height), (left + width, top + height)], SOFT_INK, 1.2)
    canvas.text((left + width / 2, top + height + 42), "step", size=15, align="centre")
    ends = np.cumsum(lengths)
    for end in ends[:-1]:
        x = at(float(end) - 0.5, 1)[0]
        canvas.dashed((x, top), (x, top + height), SOFT_INK, 1.0, on=2, off=4)
    for curve in curves:
        y = at(0, curve.tolerance)[1]
        canvas.dashed((left, y), (left + width, y), curve.colour, 1.4)
        for number, values in enumerate(curve.values):
            begin = int(ends[number]) - lengths[number]
            points = [at(begin + i, float(v)) for i, v in enumerate(values)]
            _curve(canvas, points, curve, strong=number == chosen, marked=steps <= 40)
    _legend(canvas, left, top - 14, curves)


def _curve(canvas: Canvas, points: list[Point], curve: Curve, *, strong: bool, marked: bool) -> None:
    b, g, r = curve.colour
    colour = curve.colour if strong else (b + (255 - b) * 6 // 10, g + (255 - g) * 6 // 10, r + (255 - r) * 6 // 10)
    if len(points) > 1:
        canvas.line(points, colour, 2.4 if strong else 1.6)
    for point in points if marked else points[-1:]:
        if marked or strong:
            _marker(canvas, point, colour, square=curve.square)


def _marker(canvas: Canvas, at: Point, colour: Bgr, *, square: bool) -> None:
    for radius, tone in ((5.0, WHITE), (3.8, colour)):
        if square:
            x, y, h = at[0], at[1], radius * 0.88
            canvas.area([(x - h, y - h), (x + h, y - h), (x + h, y + h), (x - h, y + h)], tone)
        else:
            canvas.disc(at, radius, tone)


def _legend(canvas: Canvas, left: float, base: float, curves: Sequence[Curve]) -> None:
    x = left
    for curve in curves:
        canvas.line([(x, base - 5), (x + 26, base - 5)], curve.colour, 2.4)
        _marker(canvas, (x + 13, base - 5), curve.colour, square=curve.square)
        words = f"{curve.name}, {curve.unit}"
        canvas.text((x + 33, base), words, size=14, colour=INK)
        x += 33 + canvas.text_width(words, size=14) + 26
    canvas.dashed((x, base - 5), (x + 26, base - 5), SOFT_INK, 1.4)
    canvas.text((x + 33, base), "good enough", size=14, colour=INK)


def _power(decade: int) -> str:
    return f"{10.0**decade:.{max(0, -decade)}f}"


def _decades(curves: Sequence[Curve], chosen: int) -> tuple[int, int]:
    """Whole powers of ten round the values, down to where the chosen attempt ends or three below a tolerance."""
    values = np.concatenate([np.concatenate(list(curve.values)) for curve in curves])
    tolerance = min(curve.tolerance for curve in curves)
    end = min(float(curve.values[chosen][-1]) for curve in curves)
    lowest = max(floor(log10(max(min(end, tolerance * 0.5), 1e-300))), floor(log10(tolerance)) - 3)
    highest = ceil(log10(max(float(values.max()), tolerance) * 1.0001))
    return lowest, max(highest, lowest + 1)
