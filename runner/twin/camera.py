"""The twin's camera: pictures like a real one's, through vision's `Camera` protocol.

A still scene is cast once, and its captures differ in noise alone. It knows nothing of detection, and tells nothing of
where things are: vision gets pictures and calibrates itself from the rendered board.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from runner.twin.render import Renderer
from runner.twin.shading import Light, Sensor
from runner.twin.textures import Decal, Pixels
from runner.twin.world import World
from vision.calibration.view import View
from vision.cameras.protocol import Frame, utc_now_iso

_STILL_M = 2e-5  # nothing moved farther: a fortieth of a pixel
_STILL_TURN = 4e-4


class TwinCamera:
    """Looks at a `World` from a fixed place."""

    def __init__(self, world: World, view: View, board: Pixels) -> None:
        self._world, self._view = world, view
        self._renderer = Renderer(world, view, board)
        self._snapshot = world.new_snapshot()
        self._seq = 0
        self._board_shown = False
        self._taken: tuple[np.ndarray, np.ndarray, bool] | None = None
        self._picture: NDArray[np.uint8] | None = None

    def begin(self, light: Light, decals: Sequence[Decal], seed: int) -> None:
        """A new trial's light, desk and noise."""
        self._renderer.begin(light, decals, seed)
        self._sensor = Sensor(self._view.size_px, seed)
        self._taken = None

    @property
    def name(self) -> str:
        """How people call it."""
        return "twin"

    @property
    def index(self) -> int | str | None:
        """The system knows nothing of it."""
        return None

    @property
    def size_px(self) -> tuple[int, int]:
        """(width, height)."""
        return self._view.size_px

    @property
    def replays(self) -> bool:
        """It looks at what is there now."""
        return False

    def put_back(self) -> None:
        """Nothing to do: the next picture is taken anew."""

    def read(self) -> Frame:
        """A picture of the scene as it is now."""
        frame = Frame(self._sensor.capture(self._now()), utc_now_iso(), self._seq, self.name)
        self._seq += 1
        return frame

    def noiseless(self, *, full: bool = False) -> NDArray[np.uint8]:
        """The picture of now without noise, cast anew; `full` uses nothing that is kept. For tests and benchmarks."""
        self._world.take(self._snapshot)
        self._taken = None
        return self._renderer.developed(self._snapshot, board_shown=self._board_shown, full=full)

    def board_is_shown(self, shown: bool) -> None:
        """Whether the calibration board is in the scene."""
        self._board_shown = shown

    def close(self) -> None:
        """Nothing to let go of."""

    def _now(self) -> NDArray[np.uint8]:
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
