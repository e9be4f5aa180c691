"""What one picture shows of a step: every patch of the block's colour, where it lies against the box, how high it is.

A rule of geometry does most of it: seen from above, nothing that is lower than the rim can cover the rim, and nothing
outside the box can show inside its opening. A patch that crosses the rim's inner edge belongs to something that is on
the rim, leans over it or hangs above. It measures and sorts; the verdict is made elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import cv2
import numpy as np
from numpy.typing import NDArray

from judges.cube import CubeFit, fit_cube
from runs.schema.detection import BoxDetection
from vision.calibration.view import View
from vision.cameras.protocol import Picture
from vision.detect.blobs import Blob, find_blobs
from vision.detect.box import find_box
from vision.detect.colour import colour_model
from vision.detect.inside import inside_by
from vision.detect.protocol import DetectSettings

FloatArray = NDArray[np.float64]
Where = Literal["in_opening", "outside", "across"]

FRAGMENT = 0.55  # a patch whose side is below this share of the block's is a piece of it at most
TOO_LARGE = 1.75
MIN_CONTRAST = 0.2
CLEAN_INLIERS = 0.85  # of the outline on a cube's silhouette: a whole cube, level, in plain sight
CUT_PX = 2.2  # a point of the outline this near to the rim's inner edge may be cut off by it
CUT_MM = 6.0  # so much of the outline along that edge: the wall may hide part of the block
HIDDEN_MM = 10.0  # a cube that seems to lie this far below the table is hidden in part
UNMEASURED_MM = 7.0  # a height that is less certain than this tells nothing
ABOVE_FLOOR_MM = 23.0  # what a wall hides can't have its lowest face this high
MOST_SEEN = 0.96  # of a cube that is said to be hidden in part
LEAST_SEEN = 0.35  # of the outline must be left for a fit
CROSSED_MM = 1.3  # rim and patch are each known to about half of it: blocks on the floor stay within 0.5
PAD_GAP = 0.15  # of the block's side, between it and a pad that touches it
HEIGHT_BIAS_MM = 5.0  # light and ground move a patch's edge by a fraction of a pixel
PLACE_BIAS_MM = 1.0
_ZOOM = 2
_PER_EDGE = 8


@dataclass(frozen=True, slots=True, eq=False)
class Rim:
    """The box in the picture: the opening at the rim's inner edge and the rim's outer edge, (n, 2) px each."""

    box: BoxDetection
    opening_px: FloatArray
    outer_px: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Sighting:
    """One patch of the block's colour that may be the block or a piece of it.

    `cube` is None for patches too small or too large to be one. `over_mm` is how far the patch reaches out of the
    opening, `into_mm` how far into it; `cut` tells that a wall hides part of it, which only happens below the rim, and
    `doubtful` that one may do so unnoticed, so that it may be higher than it looks.
    """

    blob: Blob
    xz_m: tuple[float, float]
    side_mm: float
    cube: CubeFit | None
    where: Where | None  # None without a box
    over_mm: float
    into_mm: float
    inside_mm: float | None  # the cube's centre against the inner walls, positive inside
    cut: bool
    doubtful: bool

    @property
    def clean(self) -> bool:
        """Whether it is a whole cube in plain sight, but for what a wall hides."""
        return self.cube is not None and self.cube.inliers >= CLEAN_INLIERS

    @property
    def height_mm(self) -> float:
        """Height of the lowest face over the table; NaN where no cube could be laid on."""
        return float("nan") if self.cube is None else self.cube.height_mm

    @property
    def height_sigma_mm(self) -> float:
        """Uncertainty of the height, 1 σ."""
        return float("inf") if self.cube is None else float(np.hypot(self.cube.height_sigma_mm, HEIGHT_BIAS_MM))

    @property
    def xz_sigma_mm(self) -> float:
        """Uncertainty of the place, 1 σ."""
        return float("inf") if self.cube is None else float(np.hypot(self.cube.xz_sigma_mm, PLACE_BIAS_MM))


@dataclass(frozen=True, slots=True, eq=False)
class Sight:
    """One picture: the box, the patches that may be blocks, and the pieces that are too small for one."""

    image_bgr: Picture
    rim: Rim | None
    blocks: tuple[Sighting, ...]
    fragments: tuple[Sighting, ...]
    no_box: str


def look_at(image_bgr: Picture, view: View, settings: DetectSettings) -> Sight:
    """Box and patches of one calibrated picture.

    Raises:
        WrongPictureSize, UnknownColour
    """
    boxes = find_box(image_bgr, view, settings)
    rim = None if boxes.best is None else _rim(boxes.best, view, settings)
    found = [
        _sighting(b, view, settings, rim)
        for b in find_blobs(image_bgr, colour_model(settings.colour, settings.learned))
    ]
    seen = [s for s in found if s is not None]
    blocks = tuple(s for s in seen if s.side_mm >= FRAGMENT * settings.block_side_mm)
    fragments = tuple(s for s in seen if s.side_mm < FRAGMENT * settings.block_side_mm)
    return Sight(image_bgr, rim, blocks, fragments, boxes.dropped[0].reason if boxes.dropped else "nothing like it")


def _rim(box: BoxDetection, view: View, settings: DetectSettings) -> Rim | None:
    """Both edges of the rim with points along them, for a lens bends straight lines."""
    if box.inside_xz_m is None or box.xz_m is None:
        return None
    inner, centre = np.array(box.inside_xz_m), np.array(box.xz_m)
    yaw = np.deg2rad(box.yaw_deg or 0.0)
    turn = np.array([[np.cos(yaw), np.sin(yaw)], [-np.sin(yaw), np.cos(yaw)]])
    half = np.array(settings.box_outer_mm) / 2000.0
    outer = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * half @ turn + centre
    height_m = settings.box_wall_height_mm / 1000.0
    return Rim(box, view.table_to_pixel(_along(inner), height_m), view.table_to_pixel(_along(outer), height_m))


def _along(corners: FloatArray) -> FloatArray:
    share = np.linspace(0.0, 1.0, _PER_EDGE, endpoint=False)[:, None]
    sides = zip(corners, np.roll(corners, -1, axis=0), strict=True)
    return np.concatenate([a + share * (b - a) for a, b in sides])


def _sighting(blob: Blob, view: View, settings: DetectSettings, rim: Rim | None) -> Sighting | None:
    """A patch as what it may be; None for what lies elsewhere, is cut by the picture's edge or hardly coloured."""
    side_m = settings.block_side_mm / 1000.0
    at = view.pixel_to_table_xz_m(blob.centre_px, side_m / 2)
    if not np.isfinite(at).all() or blob.contrast < MIN_CONTRAST:
        return None
    xz_m = (float(at[0]), float(at[1]))
    if settings.region is not None and not settings.region.holds(*xz_m):
        return None
    mm_per_px = view.mm_per_px(xz_m, side_m / 2)
    side_mm = float(np.sqrt(blob.area_px)) * mm_per_px
    where, over_mm, into_mm, touches, clear_px = _against(blob, rim, mm_per_px)
    cube, cut, doubtful = None, False, False
    if FRAGMENT <= side_mm / settings.block_side_mm <= TOO_LARGE:
        floor_m = settings.box_wall_mm / 1000.0
        cube, cut, doubtful = _cube(blob, clear_px, view, side_m, xz_m, where, touches, floor_m)
        xz_m = cube.xz_m
    inside_mm = None
    if rim is not None and rim.box.inside_xz_m is not None and cube is not None:
        inside_mm = inside_by(rim.box.inside_xz_m, cube.xz_m) * 1000.0
    return Sighting(blob, xz_m, side_mm, cube, where, over_mm, into_mm, inside_mm, cut, doubtful)


def _cube(
    blob: Blob,
    clear_px: FloatArray,
    view: View,
    side_m: float,
    near_xz_m: tuple[float, float],
    where: Where | None,
    touches: bool,
    floor_m: float,
) -> tuple[CubeFit, bool, bool]:
    """The cube that a patch shows, whether a wall hides part of it, and whether its height is in doubt.

    A patch that runs along the rim's inner edge may be cut off there, and then looks smaller, so lower, than it is. So
    the part of the outline that is clear of the edge is looked at too, and the higher of the two answers counts. Only
    where the whole outline is no cube's, or so small a one that it had to lie below the table, is it surely cut: that
    happens below the rim alone, and the clear part decides, with the floor's height where it tells none.
    """
    if where == "outside" and touches:
        return fit_cube(clear_px, view, side_m, near_xz_m), True, False
    whole = fit_cube(blob.outline_px, view, side_m, near_xz_m)
    if where != "in_opening" or not touches:
        return whole, False, False
    if len(clear_px) < LEAST_SEEN * len(blob.outline_px):
        return whole, False, True
    part = fit_cube(clear_px, view, side_m, near_xz_m)
    if whole.inliers >= CLEAN_INLIERS and whole.height_mm >= -HIDDEN_MM:
        if part.height_sigma_mm > UNMEASURED_MM:
            return whole, False, True
        return (part if part.height_mm > whole.height_mm else whole), False, False
    if part.height_sigma_mm > UNMEASURED_MM or part.height_mm > ABOVE_FLOOR_MM:
        part = fit_cube(clear_px, view, side_m, near_xz_m, height_m=floor_m)
    seen = blob.area_px / float(cv2.contourArea(part.hull_px.astype(np.float32)))
    return (part, True, False) if seen <= MOST_SEEN else (whole, False, True)


def _against(blob: Blob, rim: Rim | None, mm_per_px: float) -> tuple[Where | None, float, float, bool, FloatArray]:
    """Where a patch lies against the rim, and the part of its outline that no wall can have cut."""
    if rim is None:
        return None, 0.0, 0.0, False, blob.outline_px
    opening = rim.opening_px.astype(np.float32)
    inner = np.array([cv2.pointPolygonTest(opening, (float(u), float(v)), True) for u, v in blob.outline_px])
    over_mm, into_mm = max(0.0, -float(inner.min())) * mm_per_px, max(0.0, float(inner.max())) * mm_per_px
    where: Where = "across"
    if over_mm <= CROSSED_MM:
        where = "in_opening"
    elif into_mm <= CROSSED_MM:
        where = "outside"
    by_edge = np.abs(inner) < CUT_PX
    if where != "in_opening":
        outer = rim.outer_px.astype(np.float32)
        off = np.array([cv2.pointPolygonTest(outer, (float(u), float(v)), True) for u, v in blob.outline_px])
        by_edge = np.abs(off) < CUT_PX if where == "outside" else np.zeros(len(inner), bool)
    step_px = np.hypot(*(np.roll(blob.outline_px, -1, axis=0) - blob.outline_px).T)
    cut = float(step_px[by_edge].sum()) * mm_per_px >= CUT_MM
    return where, over_mm, into_mm, cut, blob.outline_px[~by_edge] if cut else blob.outline_px


def between_pads(sighting: Sighting, image_bgr: Picture, view: View, settings: DetectSettings) -> bool:
    """Whether a finger pad touches the patch in the picture: a patch of the pads' colour, smaller than the block."""
    side_px = settings.block_side_mm / view.mm_per_px(sighting.xz_m, settings.block_side_mm / 1000.0)
    centre = np.array(sighting.blob.centre_px)
    low = np.maximum(np.rint(centre - 1.8 * side_px).astype(int), 0)
    high = np.minimum(np.rint(centre + 1.8 * side_px).astype(int), [image_bgr.shape[1], image_bgr.shape[0]])
    window = np.ascontiguousarray(image_bgr[low[1] : high[1], low[0] : high[0]])
    block = sighting.blob.hull_px.astype(np.float32)
    for pad in find_blobs(window, colour_model(settings.tip_colour)):
        if pad.area_px < 0.7 * sighting.blob.area_px:
            near = [-cv2.pointPolygonTest(block, (float(u), float(v)), True) for u, v in pad.outline_px + low]
            if min(near) < PAD_GAP * side_px:
                return True
    return False
