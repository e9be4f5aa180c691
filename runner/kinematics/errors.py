"""What can go wrong between joint angles and places."""

from __future__ import annotations

from typing import ClassVar

from runs.errors import Family, TrialcellError


class KinematicsError(TrialcellError):
    """Root of this package's errors."""

    family: ClassVar[Family] = "usage"


class UnknownArm(KinematicsError):
    """No arm of that name ships with the program and no file of that path exists."""

    def __init__(self, name: str, known: list[str]) -> None:
        self.name, self.known = name, known
        super().__init__(f"no arm called {name!r}", next_step=f"one of: {', '.join(known)}, or the path of an arm file")


class BadArmFile(KinematicsError):
    """An arm file that can't be used."""

    def __init__(self, path: str, why: str) -> None:
        self.path, self.why = path, why
        super().__init__(f"arm file {path}: {why}")


class WrongJoints(KinematicsError):
    """Angles that are not one finite number a joint."""

    def __init__(self, why: str) -> None:
        super().__init__(why)


class OutsideLimits(KinematicsError):
    """A start or goal outside the joint limits."""

    def __init__(self, joint: str, value_deg: float, lo_deg: float, hi_deg: float) -> None:
        self.joint, self.value_deg, self.lo_deg, self.hi_deg = joint, value_deg, lo_deg, hi_deg
        super().__init__(f"{joint} at {value_deg:.2f}° is outside {lo_deg:g}…{hi_deg:g}°")


class NoGripper(KinematicsError):
    """An arm whose file says nothing of a gripper, asked for one."""

    def __init__(self, arm: str) -> None:
        self.arm = arm
        super().__init__(f"{arm} has no gripper", next_step="give its arm file a [gripper] section")


class OutsideOpening(KinematicsError):
    """A gap that the jaws can't have."""

    def __init__(self, opening_mm: float, narrowest_mm: float, widest_mm: float) -> None:
        self.opening_mm, self.narrowest_mm, self.widest_mm = opening_mm, narrowest_mm, widest_mm
        span = f"{narrowest_mm:.1f}…{widest_mm:.1f} mm"
        super().__init__(f"the jaws can't be {opening_mm:.1f} mm apart: they have {span}")


class BadTarget(KinematicsError):
    """A target that is no place: not finite, of the wrong shape, or in millimetres by the look of it."""

    def __init__(self, why: str, *, next_step: str | None = None) -> None:
        self.why = why
        super().__init__(why, next_step=next_step)


class NoClosedForm(KinematicsError):
    """An arm whose geometry has no closed form here."""

    def __init__(self, arm: str, why: str) -> None:
        self.arm, self.why = arm, why
        super().__init__(f"no closed form for {arm}: {why}", next_step="take the solver dls: it serves any arm")
