"""A sheet to draw on: smooth lines, discs, areas and letters, in points of the finished picture.

Knows shapes and colours only. Lines are drawn at a multiple of the size and averaged down; letters come last, on top.
Colours are from Okabe and Ito's palette, which stays apart for colour-blind eyes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.overlay import SHIFT, WHITE, Bgr

Point = tuple[float, float]
FloatArray = NDArray[np.float64]
Align = Literal["left", "centre", "right"]

# The rest of the palette of Okabe & Ito (2008), and greys; blue, green, red order.
BLUE: Bgr = (178, 114, 0)
PURPLE: Bgr = (167, 121, 204)
INK: Bgr = (40, 36, 33)
SOFT_INK: Bgr = (110, 104, 100)
LINE_GREY: Bgr = (222, 218, 214)
SHELL_GREY: Bgr = (236, 234, 232)

_FINE = 2  # lines are drawn at this multiple of the size


@dataclass(frozen=True, slots=True)
class _Letters:
    at: Point
    text: str
    size: float
    colour: Bgr
    weight: int
    halo: bool


def mixed(colour: Bgr, other: Bgr, share: float) -> Bgr:
    """A colour with that share of another in it."""
    b, g, r = (round((1 - share) * a + share * b) for a, b in zip(colour, other, strict=True))
    return b, g, r


@cache
def _font() -> cv2.FontFace:
    return cv2.FontFace("sans")


class Canvas:
    """A white sheet of that many pixels. (0, 0) is the top left corner."""

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self._image = np.full((height * _FINE, width * _FINE, 3), 255, dtype=np.uint8)
        self._letters: list[_Letters] = []

    def line(
        self, points: Sequence[Point] | FloatArray, colour: Bgr, width: float = 1.0, *, closed: bool = False
    ) -> None:
        """A line through points, with round ends."""
        thick = max(1, round(width * _FINE))
        cv2.polylines(self._image, [_fixed(points)], closed, colour, thick, cv2.LINE_AA, SHIFT)

    def dashed(self, a: Point, b: Point, colour: Bgr, width: float = 1.0, *, on: float = 6.0, off: float = 4.0) -> None:
        """A dashed straight line."""
        start, end = np.array(a, dtype=float), np.array(b, dtype=float)
        length = float(np.linalg.norm(end - start))
        for at in np.arange(0.0, length, on + off):
            share = np.array([[at], [min(at + on, length)]]) / max(length, 1e-9)
            self.line(start + share * (end - start), colour, width)

    def disc(self, at: Point, radius: float, colour: Bgr) -> None:
        """A filled disc."""
        u, v = _fixed([at])[0, 0]
        cv2.circle(self._image, (int(u), int(v)), _sub(radius), colour, cv2.FILLED, cv2.LINE_AA, SHIFT)

    def ring(self, at: Point, radius: float, colour: Bgr, width: float = 1.5) -> None:
        """A circle."""
        u, v = _fixed([at])[0, 0]
        thick = max(1, round(width * _FINE))
        cv2.circle(self._image, (int(u), int(v)), _sub(radius), colour, thick, cv2.LINE_AA, SHIFT)

    def area(self, points: Sequence[Point] | FloatArray, colour: Bgr) -> None:
        """A filled polygon."""
        cv2.fillPoly(self._image, [_fixed(points)], colour, cv2.LINE_AA, SHIFT)

    def arrow(self, a: Point, b: Point, colour: Bgr, width: float = 2.0, *, head: float = 9.0) -> None:
        """A line from a to b with a filled head at b; no head where the line is shorter than it."""
        start, end = np.array(a, dtype=float), np.array(b, dtype=float)
        along = end - start
        length = float(np.linalg.norm(along))
        if length < head * 0.8:
            self.line([a, b], colour, width)
            return
        along /= length
        across = np.array([-along[1], along[0]])
        foot = end - along * head
        self.line(np.stack((start, foot)), colour, width)
        self.area(np.stack((end, foot + across * head * 0.42, foot - across * head * 0.42)), colour)

    def text(
        self,
        at: Point,
        text: str,
        *,
        size: float = 15.0,
        colour: Bgr = INK,
        weight: int = 400,
        align: Align = "left",
        halo: bool = False,
    ) -> None:
        """Letters, their base line at `at`. With `halo` they stand on a white rim and can be read on anything."""
        shift = {"left": 0.0, "centre": 0.5, "right": 1.0}[align] * self.text_width(text, size=size, weight=weight)
        self._letters.append(_Letters((at[0] - shift, at[1]), text, size, colour, weight, halo))

    def text_width(self, text: str, *, size: float = 15.0, weight: int = 400) -> float:
        """How wide the letters will be."""
        box = cv2.getTextSize((self.width, self.height), text, (0, 0), _font(), round(size), weight)
        return float(box[2])

    def finished(self) -> NDArray[np.uint8]:
        """The picture: blue, green, red, uint8, shape (height, width, 3)."""
        fine = self._image
        image = np.asarray(cv2.resize(fine, (self.width, self.height), interpolation=cv2.INTER_AREA), dtype=np.uint8)
        for one in self._letters:
            if one.halo:
                self._put_rim(image, one)
            cv2.putText(image, one.text, (round(one.at[0]), round(one.at[1])), one.colour, *self._font_of(one))
        return image

    def crowding(self, at: Point, width: float, size: float) -> float:
        """How much of letters that begin at a point would lie on others or off the sheet, square pixels."""
        x0, y0, x1, y1 = at[0], at[1] - size, at[0] + width, at[1] + 0.3 * size
        area = (x1 - x0) * (y1 - y0)
        inside = max(0.0, min(x1, self.width) - max(x0, 0)) * max(0.0, min(y1, self.height) - max(y0, 0))
        lost = area - inside
        for one in self._letters:
            wide = min(x1, one.at[0] + self.text_width(one.text, size=one.size, weight=one.weight)) - max(x0, one.at[0])
            high = min(y1, one.at[1] + 0.3 * one.size) - max(y0, one.at[1] - one.size)
            lost += max(0.0, wide) * max(0.0, high)
        return lost

    def _font_of(self, one: _Letters) -> tuple[cv2.FontFace, int, int]:
        return _font(), round(one.size), one.weight

    def _put_rim(self, image: NDArray[np.uint8], one: _Letters) -> None:
        """White round the letters."""
        wide, high = round(self.text_width(one.text, size=one.size, weight=one.weight)) + 16, round(one.size * 2)
        left, top = round(one.at[0]) - 8, round(one.at[1] - one.size * 1.4)
        x0, y0, x1, y1 = max(left, 0), max(top, 0), min(left + wide, self.width), min(top + high, self.height)
        if x0 >= x1 or y0 >= y1:
            return
        mask = np.zeros((high, wide, 3), dtype=np.uint8)
        font, size, weight = self._font_of(one)
        cv2.putText(mask, one.text, (8, round(one.at[1]) - top), WHITE, font, size, min(900, weight + 300))
        rim = cv2.dilate(mask, np.ones((3, 3), np.uint8))[y0 - top : y1 - top, x0 - left : x1 - left] / 255.0
        image[y0:y1, x0:x1] = np.round(image[y0:y1, x0:x1] * (1.0 - rim) + 255.0 * rim).astype(np.uint8)


def _sub(length: float) -> int:
    sub: int = round(length * _FINE * 2**SHIFT)
    return max(1, sub)


def _fixed(points: Sequence[Point] | FloatArray) -> NDArray[np.int32]:
    """Pixel centres of the fine picture in fractions, as OpenCV wants them."""
    fine = np.asarray(points, dtype=np.float64).reshape(-1, 1, 2) * _FINE - 0.5
    return np.asarray(np.round(np.clip(fine, -30_000, 30_000) * 2**SHIFT), dtype=np.int32)
