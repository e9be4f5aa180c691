"""Has the camera moved since it was calibrated? Fixed marks on the table say so.

Compares where marks are with where they were; it never moves the calibration along.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from runs.schema.base import Record
from runs.schema.geometry import Pixel
from vision.cameras.protocol import Picture
from vision.markers import find_markers

MAX_MOVED_PX = 3.0


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
