"""Coloured blobs in a picture: found small on a shrunken copy, then outlined in a window of the full picture.

Where a blob ends is decided in its own window, halfway between the blob and what surrounds it, so that warm, cold and
dim light need no settings. Knows nothing of shapes or sizes: what a blob is, the detectors decide.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.cameras.protocol import Picture
from vision.detect.colour import ColourModel, Map, colour_map
from vision.levels import percentile, strongest

FloatArray = NDArray[np.float64]

COARSE_SIDE_PX = 480  # long side of the shrunken copy at most
SMALL_WINDOW_PX = 160  # windows up to this size are doubled for a finer outline
MIN_CORE_PX = 6  # pixels of the shrunken copy that must surely be of the colour
MAX_BLOBS = 60
OUTLINE_POINTS = 160  # of a patch that was put together
JOINED_SOLIDITY = 0.87
JOINED_ASPECT = 1.5
DIM_BELOW_LEVEL = 170.0  # of the brightest pixels


@dataclass(frozen=True, slots=True, eq=False)
class Blob:
    """One connected patch of the colour, pixels of the full picture, holes filled.

    `outline_px` (N, 2) runs along the patch's true edge (half a pixel outside its outermost pixels' centres).
    `strength` is how much the patch is of the colour and `contrast` how much more so than what is round it, both 0…1.
    """

    outline_px: FloatArray
    hull_px: FloatArray
    centre_px: tuple[float, float]
    area_px: float
    strength: float
    contrast: float
    touches_border: bool

    @property
    def solidity(self) -> float:
        """Area over the area of the hull: 1 for a convex patch."""
        return self.area_px / max(float(cv2.contourArea(self.hull_px.astype(np.float32))), 1e-9)

    @property
    def rectangle(self) -> tuple[tuple[float, float], tuple[float, float], float]:
        """The smallest rectangle round it: centre, sides in px (long, short), direction of the long side in degrees."""
        (u, v), (w, h), angle = cv2.minAreaRect(self.hull_px.astype(np.float32))
        if w < h:
            w, h, angle = h, w, angle + 90.0
        return (u, v), (w, h), (angle + 90.0) % 180.0 - 90.0


def find_blobs(image_bgr: Picture, model: ColourModel, *, balance: bool = False) -> list[Blob]:
    """All patches of a colour, the largest first. Patches of a few pixels and thin lines are left out.

    `balance` takes the brightest part of the picture for white first: for pale things under coloured or dim light.
    """
    height, width = image_bgr.shape[:2]
    shrink = shrink_for((width, height))
    small = shrunken(image_bgr, shrink)
    gains = white_gains(small) if balance else exposure_gains(small)
    small_map = colour_map(balanced(small, gains), model)
    core = (small_map >= round(255 * model.core)).astype(np.uint8)
    core = _opened(_closed(core, 3), 2)
    _, labels, stats, _ = cv2.connectedComponentsWithStats(core, connectivity=4)
    order = 1 + np.argsort(-stats[1:, cv2.CC_STAT_AREA])
    blobs: list[Blob] = []
    for label in order[:MAX_BLOBS]:
        if stats[label, cv2.CC_STAT_AREA] < MIN_CORE_PX:
            break
        seed = (labels == label).astype(np.uint8)
        for blob in _outlines(image_bgr, model, gains, seed, stats[label], shrink):
            if not any(_same(blob, other) for other in blobs):
                blobs.append(blob)
    return sorted(_joined(blobs), key=lambda blob: -blob.area_px)


def _joined(blobs: list[Blob]) -> list[Blob]:
    """Pieces that a wire or a line cut a patch into, put together: squarer and fuller together than apart."""
    rest = list(blobs)
    at = 0
    while at < len(rest):
        for other in rest[at + 1 :]:
            whole = _union(rest[at], other)
            if whole is not None:
                rest = [blob for blob in rest if blob is not rest[at] and blob is not other]
                rest.append(whole)
                at = -1
                break
        at += 1
    return rest


def _union(one: Blob, other: Blob) -> Blob | None:
    """The two as one patch, if they look like two pieces of one."""
    hull = cv2.convexHull(np.concatenate([one.hull_px, other.hull_px]).astype(np.float32))
    full = float(cv2.contourArea(hull))
    if one.area_px + other.area_px < JOINED_SOLIDITY * full or min(one.contrast, other.contrast) < 0.2:
        return None
    _, (w, h), _ = cv2.minAreaRect(hull)
    aspects = [long_px / max(short_px, 1e-9) for _, (long_px, short_px), _ in (one.rectangle, other.rectangle)]
    if max(w, h) > JOINED_ASPECT * min(w, h) or max(w, h) / min(w, h) > max(aspects):
        return None
    moments = cv2.moments(hull)
    corners = hull.reshape(-1, 2).astype(np.float64)
    larger = one if one.area_px >= other.area_px else other
    return Blob(
        outline_px=_along(corners, OUTLINE_POINTS),
        hull_px=corners,
        centre_px=(moments["m10"] / moments["m00"], moments["m01"] / moments["m00"]),
        area_px=full,
        strength=larger.strength,
        contrast=larger.contrast,
        touches_border=one.touches_border or other.touches_border,
    )


def _along(polygon_px: FloatArray, count: int) -> FloatArray:
    """`count` points (count, 2) spread evenly along a closed polygon."""
    closed = np.concatenate([polygon_px, polygon_px[:1]])
    at = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(closed, axis=0).T))])
    where = np.linspace(0, at[-1], count, endpoint=False)
    return np.stack([np.interp(where, at, closed[:, 0]), np.interp(where, at, closed[:, 1])], axis=1)


def shrink_for(size_px: tuple[int, int]) -> int:
    """By how much a picture is shrunk for a first look."""
    return max(1, -(-max(size_px) // COARSE_SIDE_PX))


def shrunken(image: NDArray[np.uint8], shrink: int) -> NDArray[np.uint8]:
    """Every `shrink` × `shrink` pixels averaged into one; what is over at the right and below is left off."""
    if shrink == 1:
        return image
    height, width = image.shape[0] // shrink, image.shape[1] // shrink
    whole = image[: height * shrink, : width * shrink]
    return np.asarray(cv2.resize(whole, (width, height), interpolation=cv2.INTER_AREA), dtype=np.uint8)


def white_gains(image_bgr: Picture) -> FloatArray:
    """Factors (3,) that make the brightest part of a picture a light grey, each at most 3."""
    bright = np.array([percentile(channel, 99.5) for channel in image_bgr.reshape(-1, 3)[::2].T])
    return np.asarray(np.clip(235.0 / np.maximum(bright, 1.0), 1.0, 3.0))


def exposure_gains(image_bgr: Picture) -> FloatArray | None:
    """One factor for all three channels that brings a dim picture to normal light, at most 3; None for one that is."""
    bright = percentile(strongest(image_bgr[::2, ::2]), 99.5)
    return np.full(3, min(DIM_BELOW_LEVEL / max(bright, 1.0), 3.0)) if bright < DIM_BELOW_LEVEL else None


def balanced(image_bgr: Picture, gains: FloatArray | None) -> Picture:
    """The picture with each channel multiplied; itself without factors."""
    if gains is None:
        return image_bgr
    return np.asarray(np.minimum(image_bgr * gains.astype(np.float32), 255.0), dtype=np.uint8)


def _outlines(
    image_bgr: Picture,
    model: ColourModel,
    gains: FloatArray | None,
    seed: Map,
    stats: NDArray[np.int32],
    shrink: int,
) -> list[Blob]:
    """The blobs that grow from one seed of the shrunken copy; none if it has no edge of its own."""
    height, width = image_bgr.shape[:2]
    x, y, w, h = (int(v) for v in stats[:4])
    margin = 3 + max(w, h) // 2
    x0, y0 = max((x - margin) * shrink, 0), max((y - margin) * shrink, 0)
    x1, y1 = min((x + w + margin) * shrink, width), min((y + h + margin) * shrink, height)
    window = balanced(np.ascontiguousarray(image_bgr[y0:y1, x0:x1]), gains)
    weights = cv2.GaussianBlur(colour_map(window, model), (3, 3), 0)
    zoom = 2 if max(window.shape[:2]) <= SMALL_WINDOW_PX else 1
    if zoom > 1:
        weights = cv2.resize(weights, None, fx=zoom, fy=zoom, interpolation=cv2.INTER_LINEAR)
    seed_here = _seed_in_window(seed, (x0, y0, x1, y1), shrink, weights.shape)
    strength = float(np.median(weights[seed_here > 0])) if seed_here.any() else 0.0
    reach = max(3, round(0.35 * np.sqrt(seed_here.sum())))
    ring = cv2.dilate(seed_here, np.ones((2 * reach + 1,) * 2, np.uint8))
    inner = cv2.dilate(seed_here, np.ones((2 * (reach // 2) + 1,) * 2, np.uint8))
    around = weights[(ring > 0) & (inner == 0)]
    ground = min(float(np.percentile(around, 75)), 0.5 * strength) if around.size else 0.0
    mask = (weights > (strength + ground) / 2).astype(np.uint8)
    kernel = 2 * max(1, round(0.02 * np.sqrt(seed_here.sum()))) + 1
    mask = _closed(_opened(mask, 3), kernel)
    _, labels = cv2.connectedComponents(mask, connectivity=4)
    hits = np.bincount(labels[(seed_here > 0) & (labels > 0)].ravel(), minlength=1)
    blobs: list[Blob] = []
    for label in np.flatnonzero(hits > 0.2 * max(int(hits.max()), 1)):
        contours, _ = cv2.findContours((labels == label).astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
        contour = max(contours, key=cv2.contourArea)
        blob = _as_blob(contour, mask.shape, (x0, y0), zoom, (strength, ground), (width, height))
        if blob is not None:
            blobs.append(blob)
    return blobs


def _opened(mask: Map, kernel: int) -> Map:
    """Without what is thinner than the kernel."""
    return np.asarray(cv2.morphologyEx(mask, cv2.MORPH_OPEN, np.ones((kernel, kernel), np.uint8)), dtype=np.uint8)


def _closed(mask: Map, kernel: int) -> Map:
    """With gaps narrower than the kernel filled."""
    return np.asarray(cv2.morphologyEx(mask, cv2.MORPH_CLOSE, np.ones((kernel, kernel), np.uint8)), dtype=np.uint8)


def _seed_in_window(seed: Map, window: tuple[int, int, int, int], shrink: int, shape: tuple[int, ...]) -> Map:
    """The seed of the shrunken copy, enlarged to the window's grid."""
    x0, y0, x1, y1 = window
    part = seed[y0 // shrink : -(-y1 // shrink), x0 // shrink : -(-x1 // shrink)]
    return np.asarray(cv2.resize(part, (shape[1], shape[0]), interpolation=cv2.INTER_NEAREST), dtype=np.uint8)


def _as_blob(
    contour: NDArray[Any],
    shape: tuple[int, ...],
    corner: tuple[int, int],
    zoom: int,
    levels: tuple[float, float],
    picture: tuple[int, int],
) -> Blob | None:
    filled = cv2.drawContours(np.zeros(shape, np.uint8), [contour], -1, 1, cv2.FILLED)
    moments = cv2.moments(filled, binaryImage=True)
    if moments["m00"] < 9 or len(contour) < 8:
        return None

    def to_picture(px: FloatArray) -> FloatArray:
        return np.asarray((px + 0.5) / zoom - 0.5 + corner, dtype=np.float64)

    centre = to_picture(np.array([moments["m10"], moments["m01"]]) / moments["m00"])
    outline = to_picture(contour.reshape(-1, 2).astype(np.float64))
    low, high = outline.min(axis=0), outline.max(axis=0)
    touches = bool((low < 1.5).any() or high[0] > picture[0] - 2.5 or high[1] > picture[1] - 2.5)
    outline = _moved_out(outline, 0.5 / zoom)
    hull = cv2.convexHull(outline.astype(np.float32)).reshape(-1, 2).astype(np.float64)
    return Blob(
        outline_px=outline,
        hull_px=hull,
        centre_px=(float(centre[0]), float(centre[1])),
        area_px=moments["m00"] / zoom**2,
        strength=levels[0] / 255,
        contrast=(levels[0] - levels[1]) / 255,
        touches_border=touches,
    )


def _moved_out(outline: FloatArray, by_px: float) -> FloatArray:
    """A closed outline moved outward along its normals, which are smoothed over a few points."""
    ahead = np.roll(outline, -3, axis=0) - np.roll(outline, 3, axis=0)
    length = np.maximum(np.linalg.norm(ahead, axis=1, keepdims=True), 1e-9)
    normal = np.stack([ahead[:, 1], -ahead[:, 0]], axis=1) / length
    x, y = outline[:, 0], outline[:, 1]
    turning = float(np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y))
    return np.asarray(outline + (by_px if turning > 0 else -by_px) * normal, dtype=np.float64)


def _same(one: Blob, other: Blob) -> bool:
    """Whether two seeds grew into the same blob."""
    near = np.hypot(one.centre_px[0] - other.centre_px[0], one.centre_px[1] - other.centre_px[1])
    return bool(near < 0.25 * np.sqrt(min(one.area_px, other.area_px))) or (
        cv2.pointPolygonTest(other.outline_px.astype(np.float32), one.centre_px, False) > 0
        and one.area_px < other.area_px
    )
