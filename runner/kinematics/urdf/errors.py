"""What can go wrong between a URDF and an arm."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from runner.kinematics.errors import KinematicsError


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
