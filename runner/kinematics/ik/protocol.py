"""What every inverse kinematics solver takes and gives back, so that one can stand in for another.

Only shapes and words; the solvers are in the modules beside this one. A solver never says it is there when it is not:
`IkResult` carries what is left over.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from math import inf
from typing import Protocol

import numpy as np

from runner.kinematics.errors import BadTarget, OutsideLimits
from runner.kinematics.model import ArmModel, FloatArray, frozen

_GOLDEN = 0.6180339887498949  # golden ratio's fraction
_ORTHOGONAL = 1e-6
FARTHEST_M = 20.0  # no arm on a table reaches farther; a larger number is millimetres by mistake


class IkStatus(StrEnum):
    """How a search ended."""

    CONVERGED = "converged"  # within the tolerances, inside the limits
    STALLED = "stalled"  # no step makes it better: out of reach, or against a limit; the pose is the nearest found
    MAX_STEPS = "max_steps"  # steps ran out while it still got better


@dataclass(frozen=True, slots=True, eq=False)
class IkTarget:
    """Where the tool point must be, and how it must stand if that is asked for.

    The weights say what a radian and a metre are worth to each other while the two can't both be had:
    `rotation_weight_m` is the distance that counts as much as one radian.
    """

    position_m: FloatArray  # (3,), base frame
    rotation: FloatArray | None = None  # (3, 3), tool frame in the base frame; None: any
    position_weight: float = 1.0
    rotation_weight_m: float = 0.1
    frame: FloatArray = field(init=False, repr=False)  # (3, 4): rotation (nought where none is asked for) and position

    def __post_init__(self) -> None:
        """Refuse what is no place.

        Raises:
            BadTarget: wrong shape, not finite, or so far off that it must be millimetres.
        """
        position = np.asarray(self.position_m, dtype=np.float64)
        if position.shape != (3,) or not _is_place(*position.tolist()):
            self._refuse_position(position)
        frame = np.zeros((3, 4))
        frame[:, 3] = position
        if self.rotation is not None:
            rotation = np.asarray(self.rotation, dtype=np.float64)
            if rotation.shape != (3, 3) or not _turns(*rotation.tolist()):
                self._refuse_rotation(rotation)
            frame[:, :3] = rotation
        if not (0.0 < self.position_weight < inf and 0.0 < self.rotation_weight_m < inf):
            raise BadTarget(f"weights are positive numbers, got {self.position_weight!r}, {self.rotation_weight_m!r}")
        object.__setattr__(self, "frame", frozen(frame))
        object.__setattr__(self, "position_m", frame[:, 3])
        if self.rotation is not None:
            object.__setattr__(self, "rotation", frame[:, :3])

    def _refuse_position(self, position: FloatArray) -> None:
        if position.shape != (3,) or not np.isfinite(position).all():
            raise BadTarget(f"a target is three finite numbers in metres, got {self.position_m!r}")
        raise BadTarget(
            f"the target {position.tolist()} is farther than {FARTHEST_M:g} m", next_step="give metres, not mm"
        )

    def _refuse_rotation(self, rotation: FloatArray) -> None:
        if rotation.shape != (3, 3) or not np.isfinite(rotation).all():
            raise BadTarget("a target's rotation is a finite 3 × 3 matrix")
        raise BadTarget("a target's rotation must be orthogonal and right-handed")


def _is_place(x: float, y: float, z: float) -> bool:
    """Whether three numbers are finite and no millimetres. In plain numbers: a target is checked in every solve."""
    return abs(x) <= FARTHEST_M and abs(y) <= FARTHEST_M and abs(z) <= FARTHEST_M


def _turns(a: list[float], b: list[float], c: list[float]) -> bool:
    """Whether three rows make a rotation; not if a number is not finite."""
    x = a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]
    return (
        abs(a[0] * a[0] + a[1] * a[1] + a[2] * a[2] - 1.0) < _ORTHOGONAL
        and abs(b[0] * b[0] + b[1] * b[1] + b[2] * b[2] - 1.0) < _ORTHOGONAL
        and abs(a[0] * b[0] + a[1] * b[1] + a[2] * b[2]) < _ORTHOGONAL
        and abs(x[0] - c[0]) + abs(x[1] - c[1]) + abs(x[2] - c[2]) < _ORTHOGONAL
    )


@dataclass(frozen=True, slots=True, eq=False)
class IkResult:
    """The pose found and how far it is from the target."""

    angles_deg: FloatArray  # (n_joints,), read-only, inside the limits
    residual_mm: float
    residual_deg: float  # 0 where no rotation was asked for
    steps: int
    status: IkStatus

    @property
    def converged(self) -> bool:
        """Whether the target is reached within the tolerances."""
        return self.status is IkStatus.CONVERGED


@dataclass(frozen=True, slots=True, eq=False)
class JointLimits:
    """The box that a solver stays in, degrees."""

    min_deg: FloatArray  # (n_joints,)
    max_deg: FloatArray  # (n_joints,)

    @classmethod
    def of(cls, arm: ArmModel, *, margin_deg: float = 0.0, max_deg: dict[int, float] | None = None) -> JointLimits:
        """The arm file's limits less a margin, with lower upper limits for some joints (by index)."""
        lo, hi = arm.min_deg + margin_deg, arm.max_deg - margin_deg
        for joint, limit in (max_deg or {}).items():
            hi[joint] = min(hi[joint], limit)
        return cls(frozen(lo), frozen(hi))

    def spread(self, number: int) -> FloatArray:
        """The number-th of poses that lie far from each other and from the limits, shape (n_joints,)."""
        n = len(self.min_deg)
        share = (0.5 + number * _GOLDEN ** (1.0 + np.arange(n) / n)) % 1.0
        return np.asarray(self.min_deg + (0.1 + 0.8 * share) * (self.max_deg - self.min_deg))

    def hold(self, angles_deg: FloatArray, *, slack_deg: float = 1e-9) -> bool:
        """Whether every angle is inside."""
        return bool(np.all((angles_deg >= self.min_deg - slack_deg) & (angles_deg <= self.max_deg + slack_deg)))

    def refuse_outside(self, angles_deg: FloatArray, arm: ArmModel) -> None:
        """Let pass only angles (..., n_joints) that are inside.

        Raises:
            OutsideLimits: the error names the joint and its value.
        """
        if self.hold(angles_deg, slack_deg=1e-6):
            return
        out = (angles_deg < self.min_deg - 1e-6) | (angles_deg > self.max_deg + 1e-6)
        where = tuple(int(i) for i in np.argwhere(out)[0])
        joint = where[-1]
        lo, hi = float(self.min_deg[joint]), float(self.max_deg[joint])
        raise OutsideLimits(arm.data.joint[joint].name, float(angles_deg[where]), lo, hi)


def checked_poses(T_base_tool: FloatArray) -> FloatArray:
    """Tool frames (N, 4, 4) in the base frame, as float64, contiguous, a copy.

    Raises:
        BadTarget: wrong shape, not finite, millimetres by the look of it, or a rotation that is none.
    """
    T = np.array(T_base_tool, dtype=np.float64, order="C")
    if T.ndim != 3 or T.shape[1:] != (4, 4) or not np.isfinite(T).all():
        raise BadTarget(f"targets are (N, 4, 4) finite frames, got an array {T.shape}")
    if len(T) and np.abs(T[:, :3, 3]).max() > FARTHEST_M:
        raise BadTarget(f"a target is farther than {FARTHEST_M:g} m", next_step="give metres, not mm")
    R = T[:, :3, :3]
    if np.abs(R @ np.swapaxes(R, 1, 2) - np.eye(3)).max(initial=0.0) > 1e-6 or (np.linalg.det(R) < 0).any():
        raise BadTarget("a target's rotation must be orthogonal and right-handed")
    return T


class IkSolver(Protocol):
    """One way to solve. Deterministic: the same arguments give the same answer to the last bit."""

    def solve(self, target: IkTarget, start_deg: FloatArray) -> IkResult:
        """The pose for one target, searched from `start_deg`, shape (n_joints,)."""
        ...

    def solve_batch(self, targets: Sequence[IkTarget], starts_deg: FloatArray) -> list[IkResult]:
        """One pose for each target, each from its own row of `starts_deg`, shape (N, n_joints)."""
        ...
