"""Pictures of the table square by square: states with signs, or numbers with a colour bar. Units, scales, legends.

Colours stay apart for colour-blind eyes (Okabe & Ito; cividis for numbers), and states have a sign besides. Draws what
it is given and computes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

import cv2
import numpy as np
from numpy.typing import NDArray

from runner.pictures.canvas import INK, LINE_GREY, SOFT_INK, Canvas
from runner.table.region import Square
from vision.overlay import Bgr

Picture = NDArray[np.uint8]

EMPTY: Bgr = (240, 238, 236)
_SIDE = 24.0  # of a square in the picture
_LEFT, _RIGHT, _TOP, _BELOW, _FOOT = 66.0, 34.0, 64.0, 54.0, 66.0
_HEAD = 58.0
_STEPS = (1.0, 2.0, 5.0, 10.0, 15.0, 20.0, 30.0, 50.0)  # of a colour bar's ticks


@dataclass(frozen=True, slots=True)
class Sign:
    """How squares of one state look: a colour and a sign: dot, ring, triangle, cross, block or nothing."""

    name: str
    colour: Bgr
    sign: str
    ink: Bgr = INK


@dataclass(frozen=True, slots=True)
class StatePanel:
    """A map of states."""

    title: str
    states: Mapping[Square, int]  # which of the signs
    signs: Sequence[Sign]


@dataclass(frozen=True, slots=True)
class ValuePanel:
    """A map of numbers; squares that are missing have none."""

    title: str
    unit: str
    values: Mapping[Square, float]
    span: tuple[float, float]
    log: bool = False


Panel = StatePanel | ValuePanel


def draw_panels(
    heading: str, panels: Sequence[Panel], xs_mm: Sequence[int], zs_mm: Sequence[int], *, columns: int = 2,
    note: str = "",
) -> Picture:  # fmt: skip
    """Panels over the same squares, side by side. z upwards, x to the right.

    Args:
        heading: of the picture.
        panels: in order, row by row.
        xs_mm: centres of the squares.
        zs_mm: the same.
        columns: panels in a row.
        note: a line under all.
    """
    xs, zs = sorted(xs_mm), sorted(zs_mm)
    columns = min(columns, len(panels))
    width = max(_LEFT + len(xs) * _SIDE + _RIGHT, 420.0)
    height = _TOP + len(zs) * _SIDE + _BELOW + _FOOT
    rows = ceil(len(panels) / columns)
    canvas = Canvas(round(columns * width), round(_HEAD + rows * height + (34 if note else 6)))
    room = canvas.width - _LEFT - _RIGHT
    size = min(21.0, 21.0 * room / canvas.text_width(heading, size=21, weight=600))
    canvas.text((_LEFT, 36), heading, size=size, weight=600)
    for i, panel in enumerate(panels):
        _draw(canvas, panel, ((i % columns) * width + _LEFT, _HEAD + (i // columns) * height + _TOP), xs, zs)
    if note:
        canvas.text((_LEFT, canvas.height - 16), note, size=14, colour=SOFT_INK)
    return canvas.finished()


def to_png(picture: Picture) -> bytes:
    """The picture as a PNG file's content."""
    done, data = cv2.imencode(".png", picture, [cv2.IMWRITE_PNG_COMPRESSION, 9])
    assert done, "OpenCV writes PNG"
    return bytes(data)


def _draw(canvas: Canvas, panel: Panel, at: tuple[float, float], xs: list[int], zs: list[int]) -> None:
    left, top = at
    wide, high = len(xs) * _SIDE, len(zs) * _SIDE
    unit = "" if isinstance(panel, StatePanel) or not panel.unit else f", {panel.unit}"
    title = panel.title + unit
    canvas.text((left, top - 18), title, size=17, weight=600)
    for i, x in enumerate(xs):
        for j, z in enumerate(zs):
            corner = (left + i * _SIDE, top + (len(zs) - 1 - j) * _SIDE)
            _square(canvas, corner, panel, (x, z))
    canvas.line([(left, top), (left, top + high), (left + wide, top + high)], SOFT_INK, 1.2)
    _axes(canvas, at, xs, zs)
    foot = top + high + _BELOW + 14
    if isinstance(panel, StatePanel):
        _legend(canvas, (left, foot), panel)
    else:
        _bar(canvas, (left, foot), panel, min(wide, 300.0))


def _square(canvas: Canvas, corner: tuple[float, float], panel: Panel, square: Square) -> None:
    if isinstance(panel, StatePanel):
        sign = panel.signs[panel.states[square]] if square in panel.states else None
        _area(canvas, corner, EMPTY if sign is None else sign.colour)
        if sign is not None:
            _put_sign(canvas, (corner[0] + _SIDE / 2, corner[1] + _SIDE / 2), sign, _SIDE * 0.24)
        return
    value = panel.values.get(square)
    _area(canvas, corner, EMPTY if value is None else _colour(_share(value, panel)))


def _area(canvas: Canvas, corner: tuple[float, float], colour: Bgr, side: float = _SIDE) -> None:
    x, y = corner
    x1, y1 = x + side - 1, y + side - 1
    canvas.area([(x + 1, y + 1), (x1, y + 1), (x1, y1), (x + 1, y1)], colour)


def _put_sign(canvas: Canvas, centre: tuple[float, float], sign: Sign, size: float) -> None:
    x, y = centre
    if sign.sign == "dot":
        canvas.disc(centre, size * 0.55, sign.ink)
    elif sign.sign == "ring":
        canvas.ring(centre, size, sign.ink, 1.6)
    elif sign.sign == "triangle":
        tip = [(x, y - size), (x + size, y + size * 0.8), (x - size, y + size * 0.8)]
        canvas.line(tip, sign.ink, 1.6, closed=True)
    elif sign.sign == "cross":
        canvas.line([(x - size, y - size), (x + size, y + size)], sign.ink, 1.6)
        canvas.line([(x - size, y + size), (x + size, y - size)], sign.ink, 1.6)
    elif sign.sign == "block":
        canvas.area([(x - size, y - size), (x + size, y - size), (x + size, y + size), (x - size, y + size)], sign.ink)


def _axes(canvas: Canvas, at: tuple[float, float], xs: list[int], zs: list[int]) -> None:
    left, top = at
    high = len(zs) * _SIDE
    for i, x in enumerate(xs):
        if _ticked(i, len(xs)):
            u = left + (i + 0.5) * _SIDE
            canvas.line([(u, top + high), (u, top + high + 4)], SOFT_INK, 1.0)
            canvas.text((u, top + high + 19), str(x), size=13, colour=SOFT_INK, align="centre")
    for j, z in enumerate(zs):
        if _ticked(j, len(zs)):
            v = top + (len(zs) - 0.5 - j) * _SIDE
            canvas.line([(left - 4, v), (left, v)], SOFT_INK, 1.0)
            canvas.text((left - 8, v + 5), str(z), size=13, colour=SOFT_INK, align="right")
    canvas.text((left + len(xs) * _SIDE / 2, top + high + 38), "x, mm", size=14, align="centre")
    canvas.text((left - 8, top - 6), "z, mm", size=14, align="right")


def _ticked(i: int, count: int) -> bool:
    every = 1 if count <= 6 else 2 if count <= 16 else 4
    return i % every == 0


def _legend(canvas: Canvas, at: tuple[float, float], panel: StatePanel) -> None:
    x, y = at
    counts = np.bincount(list(panel.states.values()), minlength=len(panel.signs))
    begin = x
    for sign, count in zip(panel.signs, counts, strict=True):
        words = f"{sign.name} {count}"
        needed = 24 + canvas.text_width(words, size=14) + 16
        if x + needed > begin + 380:
            x, y = begin, y + 24
        _area(canvas, (x, y - 13), sign.colour, 18.0)
        canvas.line([(x, y - 13), (x + 18, y - 13), (x + 18, y + 5), (x, y + 5)], LINE_GREY, 1.0, closed=True)
        _put_sign(canvas, (x + 9, y - 4), sign, 4.5)
        canvas.text((x + 24, y + 1), words, size=14)
        x += needed


def _bar(canvas: Canvas, at: tuple[float, float], panel: ValuePanel, width: float) -> None:
    left, y = at
    steps = 100
    for i in range(steps):
        x0, x1 = left + width * i / steps, left + width * (i + 1) / steps + 0.5
        canvas.area([(x0, y - 12), (x1, y - 12), (x1, y), (x0, y)], _colour((i + 0.5) / steps))
    for value in _bar_ticks(panel):
        u = left + width * _share(value, panel)
        canvas.line([(u, y), (u, y + 4)], SOFT_INK, 1.0)
        canvas.text((u, y + 19), _said(value), size=13, colour=SOFT_INK, align="centre")
    x = left + width + 26
    _area(canvas, (x, y - 14), EMPTY, 18.0)
    canvas.text((x + 24, y), "none", size=14)


def _bar_ticks(panel: ValuePanel) -> list[float]:
    lo, hi = panel.span
    if panel.log:
        return [10.0**k for k in range(ceil(log10(lo)), floor(log10(hi)) + 1)]
    step = next((s for s in _STEPS if (hi - lo) / s <= 6), (hi - lo) / 5)
    return [lo + step * k for k in range(floor((hi - lo) / step + 1e-9) + 1)]


def _said(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 or value == round(value) else f"{value:.1f}"


def _share(value: float, panel: ValuePanel) -> float:
    lo, hi = panel.span
    if panel.log:
        value, lo, hi = log10(max(value, lo)), log10(lo), log10(hi)
    return min(1.0, max(0.0, (value - lo) / max(hi - lo, 1e-12)))


def _colour(share: float) -> Bgr:
    b, g, r = (int(c) for c in _PALETTE[round(share * 255)])
    return b, g, r


_PALETTE: Picture = np.asarray(
    cv2.applyColorMap(np.arange(256, dtype=np.uint8).reshape(-1, 1), cv2.COLORMAP_CIVIDIS)[:, 0], dtype=np.uint8
)
