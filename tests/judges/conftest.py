"""A desk of the twin's for judges to look at: block and box put anywhere, the arm out of sight, the truth beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from judges.protocol import Evidence, LabelledPicture
from runner.config import Config
from runner.rig import detect_settings
from runner.twin.setup import Twin, build_twin
from runner.twin.world import Resting, Truth
from runs.schema.motion import GripReading
from vision.cameras.protocol import Picture

AWAY = (0.0, -0.35)


class Desk:
    """The twin's table with the arm turned to the back."""

    def __init__(self) -> None:
        self.config = Config()
        self.twin: Twin = build_twin(self.config, seed=5)
        self.settings = detect_settings(self.config)
        self.twin.arm.send_path(np.array([[150.0, 0, 0, 0, 0, -30.0]]), speed_percent=100)
        self.twin.clock.sleep(5.0)

    def picture(
        self,
        block: tuple[float, float] | None,
        box: tuple[float, float] | None,
        *,
        yaws: tuple[float, float] = (20.0, 10.0),
        above_m: float = 0.0,
    ) -> Picture:
        """Put block and box there (None: out of sight), let them come to rest, look."""
        world = self.twin.world
        world.put_box(Resting(box or (AWAY[0], AWAY[1] - 0.2), yaws[1]))
        world.put_block(Resting(block or AWAY, yaws[0]), above_m=above_m)
        self.twin.clock.sleep(1.5)
        return self.twin.camera.read().image_bgr

    @property
    def truth(self) -> Truth:
        """How things are on the desk now."""
        return self.twin.truth()


@pytest.fixture(scope="session")
def desk() -> Iterator[Desk]:
    made = Desk()
    yield made
    made.twin.close()


@pytest.fixture(scope="session")
def start_picture(desk) -> Picture:
    """Block on the right, box on the left: what a trial starts from."""
    return desk.picture((0.20, 0.20), (-0.18, 0.20))


@pytest.fixture
def grip() -> Callable[[bool | None], GripReading]:
    """A gripper's reading that says held, empty or nothing."""

    def make(holding: bool | None) -> GripReading:
        words = {True: "the jaws hold something 30.0 mm wide", False: "the jaws have closed on nothing"}
        value = {True: 55.0, False: 20.0}.get(holding)
        opening = {True: 30.0, False: 8.0}.get(holding)
        reason = words.get(holding, "the gripper gave no answer")
        return GripReading(value=value, opening_mm=opening, holding=holding, reason=reason)

    return make


@pytest.fixture
def evidence(desk) -> Callable[..., Evidence]:
    """`evidence("place", before, after, grip=…)`; `view=None` for pixels only."""

    def make(stage, before, after, *, grip=None, calibrated=True) -> Evidence:
        pictures = [] if before is None else [LabelledPicture("before", "before", before)]
        pictures += [] if after is None else [LabelledPicture("after", "after", after)]
        view = desk.twin.view if calibrated else None
        return Evidence(stage=stage, pictures=tuple(pictures), grip=grip, settings=desk.settings, view=view)

    return make
