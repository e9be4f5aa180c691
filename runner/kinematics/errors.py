"""What can go wrong between joint angles and places."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
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


class NoShells(KinematicsError):
    """An arm whose file says nothing of its links' size, where something is to be kept clear of them."""

    def __init__(self, arm: str) -> None:
        self.arm = arm
        super().__init__(
            f"{arm} has no collision shapes, so no path of it can be checked",
            next_step="add [[shape]] capsules and boxes round its links to its arm file",
        )


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


class BadUrdf(KinematicsError):
    """A file that is no URDF, or a URDF that says something that makes no sense."""

    def __init__(self, path: Path, why: str, next_step: str) -> None:
        self.path, self.why = path, why
        super().__init__(f"{path}: {why}", next_step=next_step)


class JointNotUsable(KinematicsError):
    """A URDF's joint on the way from base to tip that an arm of this program can't have."""

    def __init__(self, path: Path, joint: str, why: str, next_step: str) -> None:
        self.path, self.joint, self.why = path, joint, why
        super().__init__(f"{path}: {f'joint {joint!r}: ' if joint else ''}{why}", next_step=next_step)


class ChooseLink(KinematicsError):
    """A URDF that leaves open where the arm begins or ends, or a named link that is not there."""

    def __init__(self, path: Path, option: str, why: str, candidates: Sequence[str]) -> None:
        self.path, self.option, self.candidates = path, option, tuple(candidates)
        shown = " or ".join(candidates[:8]) + (" …" if len(candidates) > 8 else "")
        super().__init__(f"{path}: {why}", next_step=f"name one: {option} {shown}")
