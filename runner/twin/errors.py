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
            next_step=f"add [{missing}] to its arm file, or use arm.model = mecharm270 or mycobot_280",
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


class AnotherWorld(TwinError):
    """A state that was put by does not fit this twin."""

    family: ClassVar[Family] = "invalid"

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(f"the state that was put by is another twin's: {why}", next_step="begin in a new world")


class ShuttleNotPossible(TwinError):
    """Points between which the tool can't go to and fro."""

    family: ClassVar[Family] = "usage"

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(why, next_step="choose other points with --a and --b, for example --a 0.04 0.18 0.16")


class AddressTaken(TwinError):
    """A port that the twin should listen on and can't."""

    family: ClassVar[Family] = "usage"

    def __init__(self, address: str, why: str) -> None:
        self.address, self.why = address, why
        super().__init__(
            f"can't listen on {address}: {why}", next_step="choose another port, or 0 for any that is free"
        )


class NoPseudoTerminal(TwinError):
    """The system has no pseudo-terminals to give."""

    family: ClassVar[Family] = "usage"

    def __init__(self) -> None:
        super().__init__("this system has no pseudo-terminal to give", next_step="serve over TCP: --tcp 0")


class TwinGone(TwinError):
    """A served twin that no longer answers on its control port."""

    family: ClassVar[Family] = "device"

    def __init__(self, address: str, why: str) -> None:
        self.address, self.why = address, why
        super().__init__(
            f"the served twin at {address} does not answer: {why}",
            next_step="start it again: trialcell twin serve",
        )


class UnknownFault(TwinError):
    """A fault that the twin does not know."""

    family: ClassVar[Family] = "usage"

    def __init__(self, name: str, hint: str) -> None:
        self.name = name
        super().__init__(f"the twin knows no fault {name!r}", next_step=hint)
