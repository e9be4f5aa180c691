"""A drawing as a PNG, in the light palette. It draws nothing that the SVG has not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import dist

import cv2
import numpy as np
from numpy.typing import NDArray

from runs.report.drawing import XY, Disc, Drawing, Label, Path, Rect
from runs.report.palette import LIGHT

_SHIFT = 4
_FINE = 3
"""Pixels of the PNG for one of the drawing."""

_FONT = cv2.FONT_HERSHEY_DUPLEX
_FONT_PX = 22.0
"""Height of the font at scale one, from the baseline to the top of a capital letter, as OpenCV draws it."""

_PLAIN = str.maketrans({"−": "-", "–": "-", "·": ".", "±": "+/-", "°": " deg", "×": "x", "…": "...", "’": "'"})
"""OpenCV's own fonts know ASCII alone."""


def png(drawing: Drawing) -> bytes:
    """The drawing as the bytes of a PNG."""
    size = (round(drawing.height * _FINE), round(drawing.width * _FINE), 3)
    image = np.full(size, _bgr("ground"), dtype=np.uint8)
    for shape in drawing.shapes:
        match shape:
            case Rect():
                x, y, right, bottom = shape.x, shape.y, shape.x + shape.width, shape.y + shape.height
                corners = ((x, y), (right, y), (right, bottom), (x, bottom))
                _path(image, Path(corners, shape.stroke, shape.stroke_width, shape.fill, True, shape.dashed))
            case Path():
                _path(image, shape)
            case Disc():
                _disc(image, shape)
            case Label():
                _label(image, shape)
    return bytes(cv2.imencode(".png", image)[1].tobytes())


def _bgr(tone: str) -> tuple[int, int, int]:
    text = LIGHT[tone].lstrip("#")
    return int(text[4:6], 16), int(text[2:4], 16), int(text[0:2], 16)


def _points(points: tuple[XY, ...]) -> NDArray[np.int32]:
    scaled = np.asarray(points, dtype=np.float64) * _FINE * 2**_SHIFT
    whole: NDArray[np.int32] = np.round(scaled).astype(np.int32).reshape(-1, 1, 2)
    return whole


def _path(image: NDArray[np.uint8], path: Path) -> None:
    points = tuple(path.points)
    if path.fill is not None:
        cv2.fillPoly(image, [_points(points)], _bgr(path.fill), cv2.LINE_AA, _SHIFT)
    if path.stroke is None or path.width <= 0:
        return
    width = max(1, round(path.width * _FINE))
    closed = (*points, points[0]) if path.closed else points
    pieces = _dashes(closed) if path.dashed else [closed]
    for piece in pieces:
        cv2.polylines(image, [_points(tuple(piece))], False, _bgr(path.stroke), width, cv2.LINE_AA, _SHIFT)


_DASH, _GAP = 4.0, 3.0


def _dashes(points: Sequence[XY]) -> Iterator[tuple[XY, ...]]:
    """A line cut into dashes that run on round its corners."""
    left, on = _DASH, True
    piece: list[XY] = [points[0]]
    for a, b in pairwise(points):
        length, at = dist(a, b), 0.0
        while length - at > left:
            at += left
            corner = (a[0] + (b[0] - a[0]) * at / length, a[1] + (b[1] - a[1]) * at / length)
            if on:
                yield (*piece, corner)
            piece, on = [corner], not on
            left = _DASH if on else _GAP
        left -= length - at
        piece.append(b)
    if on:
        yield tuple(piece)


def _disc(image: NDArray[np.uint8], disc: Disc) -> None:
    centre = (round(disc.centre[0] * _FINE * 2**_SHIFT), round(disc.centre[1] * _FINE * 2**_SHIFT))
    radius = round(disc.radius * _FINE * 2**_SHIFT)
    if disc.fill is not None:
        cv2.circle(image, centre, radius, _bgr(disc.fill), -1, cv2.LINE_AA, _SHIFT)
    if disc.stroke is not None:
        width = max(1, round(disc.stroke_width * _FINE))
        cv2.circle(image, centre, radius, _bgr(disc.stroke), width, cv2.LINE_AA, _SHIFT)


def _label(image: NDArray[np.uint8], label: Label) -> None:
    text = label.text.translate(_PLAIN).encode("ascii", "replace").decode()
    scale = label.size * 0.72 * _FINE / _FONT_PX
    thick = max(1, round(label.size * _FINE / 22 * (1.6 if label.bold else 1.0)))
    (width, height), below = cv2.getTextSize(text, _FONT, scale, thick)
    if width <= 0:
        return
    plate = np.zeros((height + below + 4, width + 4), dtype=np.uint8)
    cv2.putText(plate, text, (2, height + 2), _FONT, scale, 255, thick, cv2.LINE_AA)
    back = {"start": 0.0, "middle": width / 2, "end": float(width)}[label.anchor]
    x, y = label.at[0] * _FINE, label.at[1] * _FINE
    left, top = (x - back - 2, y - height - 2)
    if label.turned:
        plate = np.ascontiguousarray(np.rot90(plate))
        left, top = (x - height - 2, y - width + back - 2)
    _blend(image, plate, round(left), round(top), _bgr(label.tone))


def _blend(image: NDArray[np.uint8], plate: NDArray[np.uint8], left: int, top: int, bgr: tuple[int, int, int]) -> None:
    x0, y0 = max(0, left), max(0, top)
    x1, y1 = min(image.shape[1], left + plate.shape[1]), min(image.shape[0], top + plate.shape[0])
    if x1 <= x0 or y1 <= y0:
        return
    share = plate[y0 - top : y1 - top, x0 - left : x1 - left, None].astype(np.float64) / 255
    part = image[y0:y1, x0:x1]
    part[:] = np.round(part * (1 - share) + np.asarray(bgr) * share).astype(np.uint8)
