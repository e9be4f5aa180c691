"""Has the camera moved since it was calibrated? Fixed marks on the table say so.

Compares where marks are with where they were; it never moves the calibration along.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from runs.schema.base import Record
from runs.schema.geometry import Pixel
from vision.cameras.protocol import Picture
from vision.markers import find_markers

MAX_MOVED_PX = 3.0
SCENE_SIZE = (48, 27)  # a picture as small as this still tells one desk from another
STRONG_EDGE = 60.0  # an edge counts no more than this, so that no single thing decides
OTHER_SCENE = 0.12  # two pictures less alike than this show another desk; that little even another table top leaves


class Mark(Record):
    """A marker that stays where it is: its number and where its middle was when the plane was calibrated."""

    id: int
    centre_px: Pixel


@dataclass(frozen=True, slots=True)
class Drift:
    """How far each mark seen has moved, which are missing, and what that means.

    `problem` None is all well. `camera_moved`: most marks in sight moved, so nothing found on the table can be trusted.
    """

    moved_px: dict[int, float]
    missing: tuple[int, ...]
    problem: str | None
    camera_moved: bool


def marks_in(
    image_bgr: Picture, *, dictionary: str = "DICT_4X4_50", ids: Sequence[int] | None = None
) -> tuple[Mark, ...]:
    """The markers in a picture as marks to hold later pictures against; `ids` None takes all, else only those."""
    return tuple(
        Mark(id=marker.id, centre_px=marker.centre_px)
        for marker in find_markers(image_bgr, dictionary)
        if ids is None or marker.id in ids
    )


def scene_of(image_bgr: Picture, *, but_px: NDArray[np.float64] | None = None) -> str:
    """What a picture looks like as a whole, as a text to be kept: its brightness, 48 by 27.

    Args:
        but_px: corners (k, 2) of what won't be there later, such as a board; it is left out.
    """
    grey = np.maximum(cv2.cvtColor(image_bgr, cv2.COLOR_BGR2GRAY), 1)
    small = np.asarray(cv2.resize(grey, SCENE_SIZE, interpolation=cv2.INTER_AREA), dtype=np.uint8)
    if but_px is not None:
        share = np.array(SCENE_SIZE) / (image_bgr.shape[1], image_bgr.shape[0])
        hull = cv2.convexHull((but_px * share).astype(np.float32).reshape(-1, 1, 2))
        left_out = np.zeros_like(small)
        cv2.fillConvexPoly(left_out, np.round(hull).astype(np.int32), 255)
        small[cv2.dilate(left_out, np.ones((5, 5), np.uint8)) > 0] = 0
    return base64.b64encode(small.tobytes()).decode()


def likeness(image_bgr: Picture, scene: str) -> float:
    """How much a picture's edges are where those of a scene that was kept were: 1 the same, about 0 another.

    Light changes edges less than brightness, and things that were moved are small.

    Raises:
        ValueError: the text is no scene.
    """
    wide, high = SCENE_SIZE
    raw = np.frombuffer(base64.b64decode(scene), dtype=np.uint8)
    if raw.size != wide * high:
        raise ValueError(f"a scene of {raw.size} points, not {wide * high}")
    then = raw.reshape(high, wide)
    now = np.frombuffer(base64.b64decode(scene_of(image_bgr)), dtype=np.uint8).reshape(high, wide)
    known = cv2.erode((then > 0).astype(np.uint8), np.ones((3, 3), np.uint8)) > 0
    a, b = _edges(then)[:, known].ravel(), _edges(now)[:, known].ravel()
    length = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(a @ b) / length if length > 0 else 0.0


def _edges(grey: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Edges across and down, (2, h, w)."""
    across = cv2.Sobel(grey.astype(np.float64), cv2.CV_64F, 1, 0)
    down = cv2.Sobel(grey.astype(np.float64), cv2.CV_64F, 0, 1)
    return np.asarray(np.clip(np.stack((across, down)), -STRONG_EDGE, STRONG_EDGE), dtype=np.float64)


def check_drift(
    image_bgr: Picture, marks: Sequence[Mark], *, dictionary: str = "DICT_4X4_50", limit_px: float = MAX_MOVED_PX
) -> Drift:
    """Where the marks are now against where they were.

    Marks may be hidden by the arm; with none in sight nothing can be said, and that is a problem too. One mark that
    moved alone was pushed; when most moved, it was the camera.
    """
    now = {marker.id: marker.centre_px for marker in find_markers(image_bgr, dictionary)}
    moved = {
        mark.id: float(np.hypot(now[mark.id][0] - mark.centre_px[0], now[mark.id][1] - mark.centre_px[1]))
        for mark in marks
        if mark.id in now
    }
    missing = tuple(mark.id for mark in marks if mark.id not in now)
    far = [number for number, px in moved.items() if px > limit_px]
    camera_moved = bool(far) and 2 * len(far) >= len(moved)
    problem = None
    if not marks:
        problem = (
            "no marks were kept at calibration, so drift can't be seen; put markers on the table and calibrate again"
        )
    elif not moved:
        problem = f"none of the {len(marks)} marks is in sight; clear the view and look again"
    elif camera_moved:
        problem = (
            f"{len(far)} of {len(moved)} marks moved by up to {max(moved.values()):.1f} px (allowed {limit_px:.1f}): "
            "the camera or the table moved since the plane was calibrated"
        )
    elif far:
        problem = f"mark {', '.join(map(str, far))} was moved by up to {max(moved.values()):.1f} px; put it back"
    return Drift(moved_px=moved, missing=missing, problem=problem, camera_moved=camera_moved)
