"""Finds the gripper's tip: the middle between the two fingertips, at the height that the caller knows it to have.

Either by a printed marker on the gripper, or by the two finger pads: a pair of patches of the pads' colour, as far
apart as jaws can be, each of which may be seen edge-on or show its face. It doesn't know the arm. Where the tip should
about be and which way the tool points are hints that pick between patches and say which end is the tip; the figure
returned is measured in the picture.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from runs.schema.detection import Dropped, TipDetection
from runs.schema.geometry import TablePoint
from vision.calibration.view import View
from vision.cameras.protocol import Picture
from vision.detect.blobs import Blob, find_blobs
from vision.detect.colour import colour_model
from vision.detect.protocol import DetectSettings, Found, check_fits
from vision.markers import find_markers

FloatArray = NDArray[np.float64]

PAD_AREA_MM2 = (15.0, 900.0)
JAWS_MM = (8.0, 75.0)  # between the pads' ends
MAX_SHIFT_MM = 10.0  # of one pad's end along the other's
SEARCH_MM = 45.0  # round the hint
END_PX = 1.5  # outline points this near the foremost one make up a pad's end


def find_tip(
    image_bgr: Picture,
    view: View | None,
    settings: DetectSettings,
    *,
    height_y_m: float | None = None,
    near_xz_m: TablePoint | None = None,
    heading_deg: float | None = None,
) -> Found[TipDetection]:
    """The gripper's tip in one picture.

    Args:
        image_bgr: (h, w, 3) uint8; of the size that `view` was calibrated for.
        view: the calibrated camera, or None for pixels only (then only by marker).
        height_y_m: the tip's height over the table; without it no place on the table is given.
        near_xz_m: where the tip should about be, within 45 mm. Without it only a marker is looked for.
        heading_deg: which way the tool points on the table, from +x toward +z; the pads need it.
    Raises:
        WrongPictureSize: picture and view don't belong together.
        UnknownColour, UnknownDictionary: settings that name what isn't known.
    """
    check_fits(image_bgr, view)
    if settings.tip_marker_id is not None:
        return _by_marker(image_bgr, view, settings, height_y_m, near_xz_m)
    if view is None or near_xz_m is None or height_y_m is None or heading_deg is None:
        why = "finger pads can be told only with a calibration, a height, a place to look near and the tool's heading"
        return _nothing((0.0, 0.0), why)
    return _by_pads(image_bgr, view, settings, height_y_m, near_xz_m, heading_deg)


def _by_marker(
    image_bgr: Picture, view: View | None, settings: DetectSettings, height_y_m: float | None, near: TablePoint | None
) -> Found[TipDetection]:
    found = [m for m in find_markers(image_bgr, settings.tip_marker_dictionary) if m.id == settings.tip_marker_id]
    if len(found) != 1:
        return _nothing((0.0, 0.0), f"marker {settings.tip_marker_id} was seen {len(found)} times")
    tip = _tip(found[0].centre_px, 1.0, "marker", view, height_y_m)
    if near is not None and tip.xz_m is not None and np.hypot(*np.subtract(tip.xz_m, near)) * 1000 > SEARCH_MM:
        return _nothing(tip.centre_px, f"the marker is more than {SEARCH_MM:.0f} mm from where the tip should be")
    return Found(best=tip, accepted=(tip,), dropped=())


def _by_pads(
    image_bgr: Picture, view: View, settings: DetectSettings, height_y_m: float, near: TablePoint, heading_deg: float
) -> Found[TipDetection]:
    expected = view.table_to_pixel(near, height_y_m)
    mm_per_px = view.mm_per_px(near, height_y_m)
    if not np.isfinite(expected).all() or not view.sees(expected):
        return _nothing((0.0, 0.0), "the place where the tip should be is outside the picture")
    heading = np.deg2rad(heading_deg)
    ahead = view.table_to_pixel(np.asarray(near) + 0.01 * np.array([np.cos(heading), np.sin(heading)]), height_y_m)
    forward = (ahead - expected) / np.linalg.norm(ahead - expected)
    reach_px = int(1.6 * SEARCH_MM / mm_per_px)
    low = np.maximum(np.round(expected).astype(int) - reach_px, 0)
    high = np.minimum(np.round(expected).astype(int) + reach_px, view.size_px)
    window = np.ascontiguousarray(image_bgr[low[1] : high[1], low[0] : high[0]])
    blobs = find_blobs(window, colour_model(settings.tip_colour))
    found = [
        _end_px(blob, forward) + low
        for blob in blobs
        if PAD_AREA_MM2[0] <= blob.area_px * mm_per_px**2 <= PAD_AREA_MM2[1]
    ]
    pairs = [_pair(one, other, forward, expected, mm_per_px) for i, one in enumerate(found) for other in found[i + 1 :]]
    place = (float(expected[0]), float(expected[1]))
    best = max((pair for pair in pairs if pair is not None), key=lambda pair: pair[0], default=None)
    if best is None:
        return _nothing(place, f"no pair of finger pads among {len(blobs)} {settings.tip_colour} patches near there")
    score, (one, other) = best
    middle = (one + other) / 2
    centre = (float(middle[0]), float(middle[1]))
    if score < settings.score_limit:
        return _nothing(centre, f"score {score:.2f} below {settings.score_limit:.2f}")
    ends = ((float(one[0]), float(one[1])), (float(other[0]), float(other[1])))
    tip = _tip(centre, score, "fingers", view, height_y_m).model_copy(update={"ends_px": ends})
    return Found(best=tip, accepted=(tip,), dropped=())


def _end_px(blob: Blob, forward: FloatArray) -> FloatArray:
    """The foremost end of a patch: the mean of its outline where it reaches farthest along the tool."""
    along = blob.outline_px @ forward
    return np.asarray(blob.outline_px[along >= along.max() - END_PX].mean(axis=0), dtype=np.float64)


def _pair(
    one: FloatArray, other: FloatArray, forward: FloatArray, expected: FloatArray, mm_per_px: float
) -> tuple[float, tuple[FloatArray, FloatArray]] | None:
    """How well two ends make a pair of fingertips, and the two; None where they can't be one."""
    between = other - one
    shift_mm = abs(float(between @ forward)) * mm_per_px
    gap_mm = float(np.linalg.norm(between - (between @ forward) * forward)) * mm_per_px
    middle = (one + other) / 2
    off_mm = float(np.linalg.norm(middle - expected)) * mm_per_px
    if shift_mm > MAX_SHIFT_MM or not JAWS_MM[0] <= gap_mm <= JAWS_MM[1] or off_mm > SEARCH_MM:
        return None
    return (1 - shift_mm / (2 * MAX_SHIFT_MM)) * (1 - off_mm / (2 * SEARCH_MM)), (one, other)


def _tip(
    centre_px: tuple[float, float], score: float, method: str, view: View | None, height_y_m: float | None
) -> TipDetection:
    xz_m: TablePoint | None = None
    if view is not None and height_y_m is not None:
        x, z = view.pixel_to_table_xz_m(centre_px, height_y_m).tolist()
        xz_m = (x, z)
    return TipDetection(
        centre_px=centre_px,
        score=score,
        method="marker" if method == "marker" else "fingers",
        xz_m=xz_m,
        height_y_m=height_y_m,
    )


def _nothing(centre_px: tuple[float, float], reason: str) -> Found[TipDetection]:
    return Found(
        best=None, accepted=(), dropped=(Dropped(what="tip", centre_px=centre_px, area_px=0.0, reason=reason),)
    )
