"""What every inverse kinematics solver takes and gives back, so that one can stand in for another.

Only shapes and words; the solvers are in the modules beside this one. A solver never says it is there when it is not:
`IkResult` carries what is left over.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import inf
from struct import Struct
from typing import NamedTuple, NoReturn, Protocol, Self

import numpy as np

from runner.kinematics.errors import BadTarget, OutsideLimits
from runner.kinematics.model import ArmModel, FloatArray, frozen

_GOLDEN = 0.6180339887498949  # golden ratio's fraction
_ORTHOGONAL = 1e-6
FARTHEST_M = 20.0  # no arm on a table reaches farther; a larger number is millimetres by mistake
_packed = Struct("12d").pack


class IkStatus(StrEnum):
    """How a search ended."""

    CONVERGED = "converged"  # within the tolerances, inside the limits
    STALLED = "stalled"  # no step makes it better: out of reach, or against a limit; the pose is the nearest found
    MAX_STEPS = "max_steps"  # steps ran out while it still got better


class _Goal(NamedTuple):
    """What the kernels take of a target. A tuple: a target is made for every solve, and nothing frozen is quicker."""

    frame: FloatArray  # (3, 4), read-only: rotation (nought where none is asked for) and position
    position_weight: float
    rotation_weight_m: float
    turn_weight_m: float  # the weight of the rotation, 0 where none is asked for


class IkTarget(_Goal):
    """Where the tool point must be, and how it must stand if that is asked for.

    The weights say what a radian and a metre are worth to each other while the two can't both be had:
    `rotation_weight_m` is the distance that counts as much as one radian.
    """

    __slots__ = ()

    def __new__(
        cls,
        position_m: FloatArray,
        rotation: FloatArray | None = None,
        position_weight: float = 1.0,
        rotation_weight_m: float = 0.1,
    ) -> Self:
        """Refuse what is no place.

        Args:
            position_m: (3,), base frame.
            rotation: (3, 3), tool frame in the base frame; None: any.
            position_weight: of a metre.
            rotation_weight_m: of a radian.

        Raises:
            BadTarget: wrong shape, not finite, or so far off that it must be millimetres.
        """
        position = np.asarray(position_m, np.float64)
        if position.shape != (3,):
            _refuse_position(position)
        x, y, z = position.tolist()
        if not (abs(x) <= FARTHEST_M and abs(y) <= FARTHEST_M and abs(z) <= FARTHEST_M):
            _refuse_position(position)
        if not (0.0 < position_weight < inf and 0.0 < rotation_weight_m < inf):
            raise BadTarget(f"weights are positive numbers, got {position_weight!r}, {rotation_weight_m!r}")
        if rotation is None:
            numbers, turn_weight_m = _packed(0.0, 0.0, 0.0, x, 0.0, 0.0, 0.0, y, 0.0, 0.0, 0.0, z), 0.0
        else:
            turn = np.asarray(rotation, np.float64)
            if turn.shape != (3, 3):
                _refuse_rotation(turn)
            a, b, c = turn.tolist()
            if not _turns(a, b, c):
                _refuse_rotation(turn)
            numbers, turn_weight_m = _packed(*a, x, *b, y, *c, z), rotation_weight_m
        frame = np.ndarray((3, 4), np.float64, numbers)  # on bytes, so nobody can write to it
        return cls._make((frame, position_weight, rotation_weight_m, turn_weight_m))

    @property
    def position_m(self) -> FloatArray:
        """The place, shape (3,), base frame, read-only."""
        return self.frame[:, 3]

    @property
    def rotation(self) -> FloatArray | None:
        """The tool's frame in the base frame, shape (3, 3), read-only; None where any will do."""
        return self.frame[:, :3] if self.turn_weight_m else None

    def __eq__(self, other: object) -> bool:
        """Whether it is the same object: arrays have no one answer."""
        return self is other

    def __hash__(self) -> int:
        """By identity, as it is compared."""
        return id(self)


def _refuse_position(position: FloatArray) -> NoReturn:
    if position.shape != (3,) or not np.isfinite(position).all():
        raise BadTarget(f"a target is three finite numbers in metres, got {position!r}")
    raise BadTarget(f"the target {position.tolist()} is farther than {FARTHEST_M:g} m", next_step="give metres, not mm")


def _refuse_rotation(rotation: FloatArray) -> NoReturn:
    if rotation.shape != (3, 3) or not np.isfinite(rotation).all():
        raise BadTarget("a target's rotation is a finite 3 × 3 matrix")
    raise BadTarget("a target's rotation must be orthogonal and right-handed")


def _turns(a: list[float], b: list[float], c: list[float]) -> bool:
    """Whether three rows make a rotation; not if one is not finite. In plain numbers: quickest for so few."""
    (a0, a1, a2), (b0, b1, b2), (c0, c1, c2) = a, b, c
    return (
        abs(a0 * a0 + a1 * a1 + a2 * a2 - 1.0) < _ORTHOGONAL
        and abs(b0 * b0 + b1 * b1 + b2 * b2 - 1.0) < _ORTHOGONAL
        and abs(a0 * b0 + a1 * b1 + a2 * b2) < _ORTHOGONAL
        and abs(a1 * b2 - a2 * b1 - c0) + abs(a2 * b0 - a0 * b2 - c1) + abs(a0 * b1 - a1 * b0 - c2) < _ORTHOGONAL
    )


class IkResult(NamedTuple):
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

    def __eq__(self, other: object) -> bool:
        """Whether it is the same object: arrays have no one answer."""
        return self is other

    def __hash__(self) -> int:
        """By identity, as it is compared."""
        return id(self)


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
