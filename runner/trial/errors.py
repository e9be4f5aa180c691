"""How a trial ends early: invalid, stopped by a person, or without what it needs."""

from __future__ import annotations

from typing import ClassVar

from runs.errors import Family, TrialcellError


class TrialError(TrialcellError):
    """Root of this package's errors."""


class InvalidStart(TrialError):
    """The scene is not one that a trial may start from; such a trial counts as neither success nor failure."""

    family: ClassVar[Family] = "invalid"


class Stopped(TrialError):
    """A person asked the trial to stop: after the motion in flight, at once, or by latching a stop."""

    def __init__(self, *, at_once: bool, by: str | None = None, why: str | None = None) -> None:
        self.at_once, self.by, self.why = at_once, by, why
        latched = "" if by is None else f" (latched by {by}: {why})"
        super().__init__("stopped by a person" + (" at once" if at_once else "") + latched)


class BlockLost(TrialError):
    """The gripper held the block and holds it no more, before it was let go."""


class PictureNotOfNow(TrialError):
    """A live camera's picture that can't have been taken now: nothing may be concluded from it."""

    family: ClassVar[Family] = "device"

    def __init__(self, camera: str, why: str) -> None:
        self.camera, self.why = camera, why
        super().__init__(
            f"camera {camera} is not to be trusted: {why}",
            next_step="look whether the arm stands as it says, plug the camera in again, then: trialcell doctor",
        )
