"""Finds the gripper's tip: the middle between the two fingertips, at the height that the caller knows it to have.

Either by a printed marker on the gripper, or by the two finger pads: a pair of narrow, parallel patches of the pads'
colour, as far apart as jaws can be. It doesn't know the arm. Where the tip should about be is a hint that picks between
candidates and between a pad's two ends; the figure returned is measured in the picture.
"""

from __future__ import annotations

from dataclasses import dataclass

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

PAD_LENGTH_MM = (8.0, 45.0)
PAD_WIDTH_MM = (1.5, 16.0)
JAWS_MM = (2.0, 75.0)  # between the pads' middles
MAX_ANGLE_DEG = 18.0  # between the pads
MAX_SHIFT_MM = 12.0  # of one pad along the other
SEARCH_MM = 45.0  # round the hint


@dataclass(frozen=True, slots=True, eq=False)
class _Pad:
    """A patch that may be a finger pad: its axis (unit, px), and its two ends (2, 2) px."""

    blob: Blob
    axis: FloatArray
    ends_px: FloatArray

    @property
    def middle_px(self) -> FloatArray:
        return np.asarray(self.ends_px.mean(axis=0), dtype=np.float64)


def find_tip(
    image_bgr: Picture,
    view: View | None,
    settings: DetectSettings,
    *,
    height_y_m: float | None = None,
    near_xz_m: TablePoint | None = None,
) -> Found[TipDetection]:
    """The gripper's tip in one picture.

    Args:
        image_bgr: (h, w, 3) uint8; of the size that `view` was calibrated for.
        view: the calibrated camera, or None for pixels only (then only by marker).
        height_y_m: the tip's height over the table; without it no place on the table is given.
        near_xz_m: where the tip should about be, within 45 mm. Without it only a marker is looked for.
    Raises:
        WrongPictureSize: picture and view don't belong together.
        UnknownColour, UnknownDictionary: settings that name what isn't known.
    """
    check_fits(image_bgr, view)
    if settings.tip_marker_id is not None:
        return _by_marker(image_bgr, view, settings, height_y_m, near_xz_m)
    if view is None or near_xz_m is None or height_y_m is None:
        return _nothing(
            (0.0, 0.0), "finger pads can be told only with a calibration, a height and a place to look near"
        )
    return _by_pads(image_bgr, view, settings, height_y_m, near_xz_m)


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
    image_bgr: Picture, view: View, settings: DetectSettings, height_y_m: float, near: TablePoint
) -> Found[TipDetection]:
    expected = view.table_to_pixel(near, height_y_m)
    mm_per_px = view.mm_per_px(near, height_y_m)
    if not np.isfinite(expected).all() or not view.sees(expected):
        return _nothing((0.0, 0.0), "the place where the tip should be is outside the picture")
    reach_px = int(1.6 * SEARCH_MM / mm_per_px)
    low = np.maximum(np.round(expected).astype(int) - reach_px, 0)
    high = np.minimum(np.round(expected).astype(int) + reach_px, view.size_px)
    window = np.ascontiguousarray(image_bgr[low[1] : high[1], low[0] : high[0]])
    blobs = find_blobs(window, colour_model(settings.tip_colour))
    pads = [pad for pad in (_as_pad(blob, low.astype(np.float64), mm_per_px) for blob in blobs) if pad is not None]
    best: tuple[float, FloatArray] | None = None
    for i, one in enumerate(pads):
        for other in pads[i + 1 :]:
            pair = _as_pair(one, other, expected, mm_per_px)
            if pair is not None and (best is None or pair[0] > best[0]):
                best = pair
    place = (float(expected[0]), float(expected[1]))
    if best is None:
        return _nothing(place, f"no pair of finger pads among {len(blobs)} {settings.tip_colour} patches near there")
    score, middle = best
    if score < settings.score_limit:
        return _nothing((float(middle[0]), float(middle[1])), f"score {score:.2f} below {settings.score_limit:.2f}")
    tip = _tip((float(middle[0]), float(middle[1])), score, "fingers", view, height_y_m)
    return Found(best=tip, accepted=(tip,), dropped=())


def _as_pad(blob: Blob, corner: FloatArray, mm_per_px: float) -> _Pad | None:
    _, (long_px, short_px), angle_deg = blob.rectangle
    length_mm, width_mm = long_px * mm_per_px, short_px * mm_per_px
    if not (PAD_LENGTH_MM[0] <= length_mm <= PAD_LENGTH_MM[1] and PAD_WIDTH_MM[0] <= width_mm <= PAD_WIDTH_MM[1]):
        return None
    if blob.solidity < 0.7 or long_px < 1.25 * short_px:
        return None
    axis = np.array([np.cos(np.deg2rad(angle_deg)), np.sin(np.deg2rad(angle_deg))])
    middle = np.array(blob.centre_px)
    along = (blob.outline_px - middle) @ axis
    ends = np.stack([middle + axis * np.percentile(along, q) for q in (2, 98)])
    return _Pad(blob, axis, ends + corner)


def _as_pair(one: _Pad, other: _Pad, expected: FloatArray, mm_per_px: float) -> tuple[float, FloatArray] | None:
    """How well two patches make a pair of pads, and the middle between those ends that are nearer the hint."""
    turn_deg = float(np.rad2deg(np.arccos(np.clip(abs(one.axis @ other.axis), 0, 1))))
    if turn_deg > MAX_ANGLE_DEG:
        return None
    axis = one.axis + np.sign(one.axis @ other.axis) * other.axis
    axis /= np.linalg.norm(axis)
    between = other.middle_px - one.middle_px
    shift_mm = abs(float(between @ axis)) * mm_per_px
    gap_mm = float(np.hypot(*(between - (between @ axis) * axis))) * mm_per_px
    if shift_mm > MAX_SHIFT_MM or not JAWS_MM[0] <= gap_mm <= JAWS_MM[1]:
        return None
    ends_one = one.ends_px[np.argsort(one.ends_px @ axis)]
    ends_other = other.ends_px[np.argsort(other.ends_px @ axis)]
    middles = (ends_one + ends_other) / 2
    off_mm = np.hypot(*(middles - expected).T) * mm_per_px
    nearer = int(np.argmin(off_mm))
    if off_mm[nearer] > SEARCH_MM:
        return None
    lengths = [float(np.hypot(*(pad.ends_px[1] - pad.ends_px[0]))) for pad in (one, other)]
    alike = min(lengths) / max(lengths)
    score = (1 - turn_deg / (2 * MAX_ANGLE_DEG)) * (1 - shift_mm / (2 * MAX_SHIFT_MM)) * alike**0.5
    score *= 1 - off_mm[nearer] / (3 * SEARCH_MM)
    return float(score), middles[nearer]


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
