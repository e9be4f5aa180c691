"""What can go wrong when the twin is set up or asked for something that it can't do."""

from __future__ import annotations

from typing import ClassVar

from runs.errors import Family, TrialcellError


class TwinError(TrialcellError):
    """Root of the twin's own errors."""


class ArmWithoutTwin(TwinError):
    """An arm file that lacks what physics needs."""

    family: ClassVar[Family] = "invalid"

    def __init__(self, arm: str, missing: str) -> None:
        self.arm, self.missing = arm, missing
        super().__init__(
            f"the arm {arm} can't be simulated: its file has no [{missing}]",
            next_step=f"add [{missing}] to the arm file, or use arm.model = mecharm270",
        )


class StartNotPossible(TwinError):
    """A start of block and box that can't be: they overlap, or no free place was found."""

    family: ClassVar[Family] = "invalid"

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(
            f"block and box can't start like this: {why}", next_step="choose other --block and --box places"
        )


class PhysicsDiverged(TwinError):
    """The simulation's numbers are no longer usable."""

    def __init__(self, time_s: float, what: str) -> None:
        self.time_s, self.what = time_s, what
        super().__init__(
            f"the twin's physics broke down at {time_s:.2f} s: {what}",
            next_step="a smaller twin.timestep_s usually helps",
        )


class ShuttleNotPossible(TwinError):
    """Points between which the tool can't go to and fro."""

    family: ClassVar[Family] = "usage"

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(why, next_step="choose other points with --a and --b, for example --a 0.04 0.18 0.16")
