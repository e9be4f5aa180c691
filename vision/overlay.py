"""Drawings for people: what was found, over the picture it was found in. Nothing reads them back.

Colours are from Okabe and Ito's palette, which stays apart for colour-blind eyes, drawn with a dark rim so that they
show on any ground; labels stand on dark plates beside what they name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from runs.schema.detection import BlockDetection, BoxDetection, Dropped, TipDetection
from vision.cameras.protocol import Picture

Bgr = tuple[int, int, int]

# Okabe & Ito (2008), Color Universal Design; blue, green, red order.
SKY_BLUE: Bgr = (233, 180, 86)
ORANGE: Bgr = (0, 159, 230)
GREEN: Bgr = (115, 158, 0)
YELLOW: Bgr = (66, 228, 240)
VERMILLION: Bgr = (0, 94, 213)
GREY: Bgr = (170, 170, 170)
DARK: Bgr = (25, 25, 25)
WHITE: Bgr = (255, 255, 255)

BLOCK_COLOUR, BOX_COLOUR, INSIDE_COLOUR, TIP_COLOUR = YELLOW, SKY_BLUE, ORANGE, GREEN
FONT = cv2.FONT_HERSHEY_SIMPLEX
SHIFT = 4  # OpenCV draws at sixteenths of a pixel


@dataclass(slots=True)
class _Pen:
    """A copy of the picture that is drawn on; line and letter sizes follow the picture's."""

    image: NDArray[np.uint8]
    plates: list[tuple[int, int, int, int]]  # taken: x, y, width, height

    @property
    def unit(self) -> float:
        return float(max(0.6, max(self.image.shape[:2]) / 1280.0))

    def polygon(self, points: Sequence[tuple[float, float]], colour: Bgr, *, thin: bool = False) -> None:
        at = [np.round(np.asarray(points, dtype=np.float64) * 2**SHIFT).astype(np.int32).reshape(-1, 1, 2)]
        width = max(1, round((1.2 if thin else 2.2) * self.unit))
        cv2.polylines(self.image, at, True, DARK, width + max(2, round(2 * self.unit)), cv2.LINE_AA, SHIFT)
        cv2.polylines(self.image, at, True, colour, width, cv2.LINE_AA, SHIFT)

    def cross(self, px: tuple[float, float], colour: Bgr) -> None:
        arm = round(7 * self.unit)
        u, v = round(px[0]), round(px[1])
        width = max(1, round(1.6 * self.unit))
        for tone, more in ((DARK, max(2, round(2 * self.unit))), (colour, 0)):
            cv2.line(self.image, (u - arm, v), (u + arm, v), tone, width + more, cv2.LINE_AA)
            cv2.line(self.image, (u, v - arm), (u, v + arm), tone, width + more, cv2.LINE_AA)

    def ring(self, px: tuple[float, float], colour: Bgr) -> None:
        centre = (round(px[0]), round(px[1]))
        width = max(1, round(1.6 * self.unit))
        for tone, more in ((DARK, max(2, round(2 * self.unit))), (colour, 0)):
            cv2.circle(self.image, centre, round(9 * self.unit), tone, width + more, cv2.LINE_AA)

    def label(self, px: tuple[float, float], lines: Sequence[str], colour: Bgr) -> None:
        """Lines of text on a dark plate right of a point, or where there is room beside the other plates."""
        scale, step = 0.52 * self.unit, round(20 * self.unit)
        width = max(cv2.getTextSize(line, FONT, scale, max(1, round(self.unit)))[0][0] for line in lines)
        w, h = width + round(14 * self.unit), step * len(lines) + round(8 * self.unit)
        height, full = self.image.shape[:2]
        x, y = self._free_place(px, (w, h), (full, height))
        plate = self.image[y : y + h, x : x + w]
        plate[:] = (0.25 * plate + 0.75 * np.array(DARK)).astype(np.uint8)
        cv2.rectangle(self.image, (x, y), (x + round(3 * self.unit), y + h - 1), colour, cv2.FILLED)
        for i, line in enumerate(lines):
            at = (x + round(9 * self.unit), y + round(4 * self.unit) + step * (i + 1) - round(6 * self.unit))
            cv2.putText(self.image, line, at, FONT, scale, WHITE, max(1, round(self.unit)), cv2.LINE_AA)
        self.plates.append((x, y, w, h))

    def keep_free(self, outlines: Sequence[Sequence[tuple[float, float]]]) -> None:
        """Keep labels off what they are about, where there is room elsewhere."""
        for outline in outlines:
            low, high = np.min(outline, axis=0), np.max(outline, axis=0)
            self.plates.append((int(low[0]), int(low[1]), int(high[0] - low[0]) + 1, int(high[1] - low[1]) + 1))

    def _free_place(self, px: tuple[float, float], size: tuple[int, int], full: tuple[int, int]) -> tuple[int, int]:
        gap = round(16 * self.unit)
        (w, h), (u, v) = size, (round(px[0]), round(px[1]))
        wanted = [(u + gap, v - h // 2), (u - gap - w, v - h // 2), (u - w // 2, v + gap), (u - w // 2, v - gap - h)]
        places = [(int(np.clip(x, 0, max(full[0] - w, 0))), int(np.clip(y, 0, max(full[1] - h, 0)))) for x, y in wanted]
        free = [p for p in places if not any(_overlap((*p, w, h), other) for other in self.plates)]
        return (free or places)[0]


def _overlap(one: tuple[int, int, int, int], other: tuple[int, int, int, int]) -> bool:
    (a, b, c, d), (e, f, g, i) = one, other
    return a < e + g and e < a + c and b < f + i and f < b + d


def draw_overlay(
    image_bgr: Picture,
    *,
    blocks: Sequence[BlockDetection] = (),
    box: BoxDetection | None = None,
    tip: TipDetection | None = None,
    dropped: Sequence[Dropped] = (),
) -> Picture:
    """A copy of a picture (h, w, 3) with what was found drawn on it: outlines, centres, places in mm, scores.

    The first block is labelled in full, the others by score; things dropped get a grey cross and their reason's start.
    """
    pen = _Pen(image_bgr.copy(), [])
    for lost in dropped:
        if lost.centre_px != (0.0, 0.0):
            pen.cross(lost.centre_px, GREY)
    pen.keep_free([*(block.outline_px for block in blocks), *([box.corners_px] if box is not None else [])])
    if box is not None:
        pen.polygon(box.corners_px, BOX_COLOUR)
        pen.polygon(box.inside_px, INSIDE_COLOUR, thin=True)
        pen.cross(box.centre_px, BOX_COLOUR)
    for block in blocks:
        pen.polygon(block.outline_px, BLOCK_COLOUR)
        pen.cross(block.centre_px, BLOCK_COLOUR)
    if tip is not None:
        pen.ring(tip.centre_px, TIP_COLOUR)
        pen.cross(tip.centre_px, TIP_COLOUR)
    if box is not None:
        pen.label(_right_of(box.corners_px), _words("box", box), BOX_COLOUR)
    for i, block in enumerate(blocks):
        text = _words(f"{block.colour} block", block) if i == 0 else [f"{block.colour} {block.score:.2f}"]
        pen.label(_right_of(block.outline_px), text, BLOCK_COLOUR)
    if tip is not None:
        pen.label(tip.centre_px, _words("tip", tip), TIP_COLOUR)
    for lost in dropped:
        if lost.centre_px != (0.0, 0.0):
            pen.label(lost.centre_px, [f"no {lost.what}: {lost.reason.split(':')[0][:40]}"], GREY)
    return pen.image


def strip(pictures: Sequence[tuple[str, Picture]], *, height_px: int = 360, gap_px: int = 6) -> Picture:
    """Labelled pictures side by side, all `height_px` high, on one dark band.

    Raises:
        ValueError: there are no pictures.
    """
    if not pictures:
        raise ValueError("a strip needs at least one picture")
    bar = round(height_px * 0.1)
    tiles: list[NDArray[Any]] = []
    for i, (label, image) in enumerate(pictures):
        width = max(1, round(image.shape[1] * height_px / image.shape[0]))
        small = cv2.resize(image, (width, height_px), interpolation=cv2.INTER_AREA)
        tile = np.full((height_px + bar, width, 3), DARK, np.uint8)
        tile[bar:] = small
        scale = bar / 42
        while scale > 0.2 and cv2.getTextSize(label, FONT, scale, 1)[0][0] > width - 12:
            scale *= 0.94
        cv2.putText(tile, label, (6, round(bar * 0.7)), FONT, scale, WHITE, max(1, round(bar / 30)), cv2.LINE_AA)
        if i:
            tiles.append(np.full((height_px + bar, gap_px, 3), DARK, np.uint8))
        tiles.append(tile)
    return np.concatenate(tiles, axis=1)


def _right_of(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Right of the middle of an outline."""
    pixels = np.asarray(points, dtype=np.float64)
    return float(pixels[:, 0].max()), float(pixels[:, 1].mean())


def _words(name: str, thing: BlockDetection | BoxDetection | TipDetection) -> list[str]:
    """What a label says: name and score, place in mm, yaw and size as far as known."""
    lines = [f"{name}  {thing.score:.2f}"]
    if thing.xz_m is not None:
        spread = "" if thing.spread_mm is None else f" ±{thing.spread_mm:.1f}"
        lines.append(f"x {thing.xz_m[0] * 1000:+.1f}  z {thing.xz_m[1] * 1000:+.1f}{spread} mm")
        if isinstance(thing, TipDetection):
            lines.append(f"height {1000 * (thing.height_y_m or 0.0):.0f} mm")
        elif thing.yaw_deg is not None:
            size = thing.size_mm
            across = size[0] if isinstance(size, tuple) else size
            lines.append(f"yaw {thing.yaw_deg:+.1f}°" + ("" if across is None else f"  side {across:.1f} mm"))
    else:
        lines.append(f"({thing.centre_px[0]:.1f}, {thing.centre_px[1]:.1f}) px")
    return lines
