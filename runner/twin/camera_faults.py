"""What goes wrong with cameras, a class each. It changes what the twin's camera hands out and nothing else.

When a fault begins is the business of the firmware's `faults.py`, which knows the names of all faults; nothing of the
runner knows of them.
"""

from __future__ import annotations

from dataclasses import replace
from math import cos, pi, sin
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from runner.twin.camera import TwinCamera
from runner.twin.shading import light_for
from runner.twin.streams import stream
from vision.calibration.view import View
from vision.errors import CameraUnavailable

MOVED_MM = 5.0
_OTHER_PLACE_M, _OTHER_LOOKS_AT_M, _OTHER_WIDE_DEG = (0.55, 0.60, 0.45), (0.0, 0.05, 0.18), 60.0
_BLACK_SIGMA = 1.5  # what a covered sensor still shows, of 255


class CameraFault:
    """One fault of the camera. Subclasses override what they change."""

    name: ClassVar[str]
    row: ClassVar[int | None] = None  # in the collection of what owners report; None: not in it
    what: ClassVar[str]

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def begins(self, camera: TwinCamera) -> None:
        """Its moment has come."""

    def sees(self, picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """What is handed out for the picture that a sound camera would give, (h, w, 3).

        Raises:
            CameraUnavailable: nothing is.
        """
        return picture


class Buffered(CameraFault):
    """Nobody empties the camera's buffer."""

    name, row, what = "camera-buffered", 23, "each picture is the one that lay in the buffer since the one before"
    _waiting: NDArray[np.uint8] | None = None

    def begins(self, camera: TwinCamera) -> None:
        """From here on the buffer fills as soon as a picture was taken out."""
        self._camera = camera

    def sees(self, picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """What was there then."""
        waited, self._waiting = self._waiting, self._camera.capture()
        return picture if waited is None else waited


class Unplugged(CameraFault):
    """The cable is out."""

    name, what = "camera-unplugged", "the camera gives no picture any more"

    def sees(self, picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Nothing."""
        raise CameraUnavailable("twin", "it gave no picture")


class Black(CameraFault):
    """Something covers the lens."""

    name, what = "camera-black", "the pictures are black"

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self._rng = stream(seed, "black")

    def sees(self, picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """The sensor's own noise."""
        noise = self._rng.normal(0.0, _BLACK_SIGMA, picture.shape)
        return np.asarray(np.clip(noise, 0, 255), np.uint8)


class Frozen(CameraFault):
    """The camera hangs and goes on giving its last picture."""

    name, what = "camera-frozen", "the camera gives the same picture again and again"
    _last: NDArray[np.uint8] | None = None

    def sees(self, picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """The first one since it hangs."""
        if self._last is None:
            self._last = picture
        return self._last


class Moved(CameraFault):
    """Somebody has knocked against the camera."""

    name, what = "camera-moved", f"the camera is moved by {MOVED_MM:g} mm, along the table, any way"

    def begins(self, camera: TwinCamera) -> None:
        """It looks the same way from beside where it was."""
        way, view = stream(self.seed, "camera nudge").uniform(0.0, 2 * pi), camera.view
        nudge_m = np.array((cos(way), sin(way), 0.0)) * MOVED_MM / 1000.0  # a view has its points as (x, z, y)
        camera.look_from(replace(view, t_camera_cell_m=view.t_camera_cell_m - view.R_camera_cell @ nudge_m))


class OtherLight(CameraFault):
    """Another lamp is switched on."""

    name, what = "camera-other-light", "another lamp, elsewhere and of another colour, lights the table"

    def begins(self, camera: TwinCamera) -> None:
        """The light of another seed."""
        other = int(stream(self.seed, "other light").integers(2**31))
        camera.light_up(light_for(other, camera.light.lamp_m[1]))


class OtherIndex(CameraFault):
    """The system has numbered its cameras anew, and another one answers."""

    name, what = "camera-other-index", "the pictures come from another camera, which looks at the desk from the side"

    def begins(self, camera: TwinCamera) -> None:
        """It looks from where that one stands."""
        camera.look_from(
            View.looking_at(_OTHER_PLACE_M, _OTHER_LOOKS_AT_M, size_px=camera.view.size_px, width_deg=_OTHER_WIDE_DEG)
        )


EVERY_CAMERA_FAULT: tuple[type[CameraFault], ...] = (
    Buffered, Unplugged, Black, Frozen, Moved, OtherLight, OtherIndex,
)  # fmt: skip
