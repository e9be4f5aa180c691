"""The board before the twin's camera as a person holds it on the bench: twelve tilted places, one flat on the table.

Only shows and takes pictures. What the pictures say is worked out in `lens.py` and `plane.py`, which get nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from math import cos, radians, sin

import numpy as np

from runner.kinematics.model import FloatArray
from runner.twin.setup import BoardPlace, Twin
from vision.cameras.protocol import Picture

Progress = Callable[[str], None]

# x, height, z of the board's middle (m); its tilt, the direction it tilts to, its turn (deg)
_PLACES = (
    (0.00, 0.42, 0.20, 24.0, 0.0, 0.0),
    (-0.13, 0.40, 0.25, 28.0, 60.0, 15.0),
    (0.13, 0.40, 0.15, 26.0, 120.0, -20.0),
    (-0.12, 0.38, 0.14, 30.0, 180.0, 90.0),
    (0.12, 0.38, 0.26, 28.0, 240.0, 80.0),
    (0.00, 0.30, 0.30, 26.0, 300.0, 5.0),
    (-0.26, 0.15, 0.30, 27.0, 30.0, 10.0),
    (0.26, 0.15, 0.30, 27.0, 150.0, -10.0),
    (-0.26, 0.15, 0.08, 27.0, 210.0, 25.0),
    (0.26, 0.15, 0.08, 27.0, 330.0, -25.0),
    (-0.05, 0.30, 0.10, 30.0, 90.0, 45.0),
    (0.07, 0.34, 0.20, 18.0, 270.0, -45.0),
)


def tilted_views(twin: Twin, count: int, progress: Progress | None = None) -> list[tuple[str, Picture]]:
    """Pictures of the board at that many tilted places; it is put away afterwards."""
    pictures = []
    try:
        for number in range(count):
            if progress is not None:
                progress(f"lens: view {number + 1} of {count}")
            twin.show_board(_held(*_PLACES[number % len(_PLACES)], step=number // len(_PLACES)))
            pictures.append((f"view {number + 1}", twin.camera.read().image_bgr))
    finally:
        twin.hide_board()
    return pictures


def flat_view(twin: Twin) -> Picture:
    """A picture of the board flat on the table where the settings say; it is put away afterwards."""
    try:
        twin.show_board(twin.board_flat())
        return twin.camera.read().image_bgr
    finally:
        twin.hide_board()


def _held(
    x: float, y: float, z: float, tilt_deg: float, toward_deg: float, turn_deg: float, *, step: int
) -> BoardPlace:
    turn = radians(turn_deg + 17.0 * step)
    along = np.array([cos(turn), 0.0, sin(turn)])
    up = np.array([-sin(turn), 0.0, cos(turn)])
    axis = np.array([cos(radians(toward_deg)), 0.0, sin(radians(toward_deg))])
    a, b = (_tilted(v, axis, radians(tilt_deg)) for v in (along, up))
    return BoardPlace((x, y, z), (a[0], a[1], a[2]), (b[0], b[1], b[2]))


def _tilted(v: FloatArray, axis: FloatArray, angle: float) -> FloatArray:
    return np.asarray(v * cos(angle) + np.cross(axis, v) * sin(angle) + axis * (axis @ v) * (1 - cos(angle)))
