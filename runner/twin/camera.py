"""The twin's camera: pictures like a real one's, through vision's `Camera` protocol.

A still scene is cast once, and its captures differ in noise alone. It knows nothing of detection, and tells nothing of
where things are: vision gets pictures and calibrates itself from the rendered board. What may befall a camera is in
`camera_faults.py`; here it only has its moment.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from runner.twin.render import Renderer
from runner.twin.shading import Light, Sensor
from runner.twin.textures import Decal, Pixels
from runner.twin.world import World
from vision.calibration.view import View
from vision.cameras.protocol import Frame, utc_now_iso

Pixels8 = NDArray[np.uint8]

_STILL_M = 2e-5  # nothing moved farther: a fortieth of a pixel
_STILL_TURN = 4e-4


class Trouble(Protocol):
    """What may befall a camera."""

    name: ClassVar[str]

    def begins(self, camera: TwinCamera) -> None:
        """Its moment has come."""

    def sees(self, picture: Pixels8) -> Pixels8:
        """What is handed out for the picture that a sound camera would give; may raise what a camera does."""


class TwinCamera:
    """Looks at a `World` from a fixed place."""

    def __init__(self, world: World, view: View, board: Pixels) -> None:
        self._world, self._board = world, board
        self._home = view, Renderer(world, view, board)
        self.view, self._renderer = self._home
        self._snapshot = world.new_snapshot()
        self._seq = 0
        self._board_shown = False
        self._taken: tuple[np.ndarray, np.ndarray, bool] | None = None
        self._picture: Pixels8 | None = None

    def begin(self, light: Light, decals: Sequence[Decal], seed: int) -> None:
        """A new trial's light, desk and noise, in front of a camera that is sound and stands where it belongs."""
        self.view, self._renderer = self._home
        self._desk = tuple(decals), seed
        self._sensor = Sensor(self.view.size_px, seed)
        self.trouble(())
        self.light_up(light)

    def light_up(self, light: Light) -> None:
        """Another light from the next picture on."""
        self.light = light
        self._renderer.begin(light, *self._desk)
        self._taken = None

    def look_from(self, view: View) -> None:
        """Another place and direction from the next picture on, until the next trial begins."""
        self.view, self._renderer = view, Renderer(self._world, view, self._board)
        self.light_up(self.light)

    def trouble(self, to_come: Sequence[tuple[float, Trouble]]) -> None:
        """What is to befall it, each at its second of the twin's time; replaces what was said before."""
        self._to_come = list(to_come)
        self._here: list[Trouble] = []

    @property
    def name(self) -> str:
        """How people call it."""
        return "twin"

    @property
    def index(self) -> int | str | None:
        """The system knows nothing of it."""
        return None

    @property
    def befallen(self) -> list[str]:
        """Names of the troubles that have begun."""
        return [trouble.name for trouble in self._here]

    @property
    def size_px(self) -> tuple[int, int]:
        """(width, height)."""
        return self.view.size_px

    @property
    def replays(self) -> bool:
        """It looks at what is there now."""
        return False

    def put_back(self) -> None:
        """Nothing to do: the next picture is taken anew."""

    def read(self) -> Frame:
        """A picture of the scene as it is now, or what trouble makes of it."""
        now_s = self._world.now_s
        for at_s, trouble in [due for due in self._to_come if due[0] <= now_s]:
            self._to_come.remove((at_s, trouble))
            self._here.append(trouble)
            trouble.begins(self)
        picture = self.capture()
        for trouble in self._here:
            picture = trouble.sees(picture)
        frame = Frame(picture, utc_now_iso(), self._seq, self.name)
        self._seq += 1
        return frame

    def capture(self) -> Pixels8:
        """What a sound camera sees now, (h, w, 3)."""
        return self._sensor.capture(self._now())

    def noiseless(self, *, full: bool = False) -> Pixels8:
        """The picture of now without noise, cast anew; `full` uses nothing that is kept. For tests and benchmarks."""
        self._world.take(self._snapshot)
        self._taken = None
        return self._renderer.developed(self._snapshot, board_shown=self._board_shown, full=full)

    def board_is_shown(self, shown: bool) -> None:
        """Whether the calibration board is in the scene."""
        self._board_shown = shown

    def close(self) -> None:
        """Nothing to let go of."""

    def _now(self) -> Pixels8:
        self._world.take(self._snapshot)
        places, turns = self._snapshot.geom_place_m, self._snapshot.geom_turn
        if self._taken is not None and self._picture is not None:
            before, turned, shown = self._taken
            still = np.abs(places - before).max() < _STILL_M and np.abs(turns - turned).max() < _STILL_TURN
            if still and shown == self._board_shown:
                return self._picture
        self._picture = self._renderer.developed(self._snapshot, board_shown=self._board_shown)
        self._taken = places, turns, self._board_shown
        return self._picture
