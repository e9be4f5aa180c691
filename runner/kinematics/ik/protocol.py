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
_F8, _WEIGHTS, _LAST_ROW = np.dtype(np.float64), (1.0, 0.1, 0.1), [0.0, 0.0, 0.0, 1.0]
_packed, _new = Struct("12d").pack, tuple.__new__


class IkStatus(StrEnum):
    """How a search ended."""

    CONVERGED = "converged"  # within the tolerances, inside the limits
    STALLED = "stalled"  # no step makes it better: out of reach, or against a limit; the pose is the nearest found
    MAX_STEPS = "max_steps"  # steps ran out while it still got better


class _ByIdentity:
    """For tuples that hold arrays, which have no one answer to whether they are equal."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        """Whether it is the same object."""
        return self is other

    def __ne__(self, other: object) -> bool:
        """Whether it is another object."""
        return self is not other

    def __hash__(self) -> int:
        """By identity, as it is compared."""
        return id(self)


class _Goal(NamedTuple):
    """What the kernels take of a target. A tuple: a target is made for every solve, and nothing frozen is quicker."""

    frame: FloatArray  # (3, 4), read-only: rotation (nought where none is asked for) and position
    position_weight: float
    rotation_weight_m: float
    turn_weight_m: float  # the weight of the rotation, 0 where none is asked for


class IkTarget(_ByIdentity, _Goal):
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
        position = np.asarray(position_m, _F8)
        if position.shape != (3,):
            _refuse_position(position, position_m)
        x, y, z = position.tolist()
        if not (abs(x) <= FARTHEST_M and abs(y) <= FARTHEST_M and abs(z) <= FARTHEST_M):
            _refuse_position(position, position_m)
        if not (0.0 < position_weight < inf and 0.0 < rotation_weight_m < inf):
            raise BadTarget(f"weights are positive numbers, got {position_weight!r}, {rotation_weight_m!r}")
        if rotation is None:
            numbers, turn_weight_m = _packed(0.0, 0.0, 0.0, x, 0.0, 0.0, 0.0, y, 0.0, 0.0, 0.0, z), 0.0
        else:
            turn = np.asarray(rotation, _F8)
            if turn.shape != (3, 3):
                _refuse_rotation(turn)
            a, b, c = turn.tolist()
            if not _turns(*a, *b, *c):
                _refuse_rotation(turn)
            numbers, turn_weight_m = _packed(*a, x, *b, y, *c, z), rotation_weight_m
        # on bytes, so that nobody can write to it
        return _new(cls, (np.ndarray((3, 4), _F8, numbers), position_weight, rotation_weight_m, turn_weight_m))

    @classmethod
    def of_frame(cls, T_base_tool: FloatArray) -> Self:
        """The whole pose that a tool frame (4, 4) in the base frame stands for, at the usual weights.

        Raises:
            BadTarget: no such frame, not finite, or so far off that it must be millimetres.
        """
        T = np.asarray(T_base_tool, _F8)
        if T.shape != (4, 4):
            raise BadTarget(f"a tool's frame is a finite 4 × 4 matrix, got an array {T.shape}")
        (a, b, c, x), (d, e, f, y), (g, h, i, z), last = T.tolist()
        if not (abs(x) <= FARTHEST_M and abs(y) <= FARTHEST_M and abs(z) <= FARTHEST_M):
            _refuse_position(T[:3, 3], T[:3, 3])
        if not _turns(a, b, c, d, e, f, g, h, i):
            _refuse_rotation(T[:3, :3])
        if last != _LAST_ROW and not np.allclose(last, _LAST_ROW, rtol=0.0, atol=_ORTHOGONAL):
            raise BadTarget(f"the last row of a tool's frame is 0, 0, 0, 1, got {last}")
        return _new(cls, (np.ndarray((3, 4), _F8, _packed(a, b, c, x, d, e, f, y, g, h, i, z)), *_WEIGHTS))

    @property
    def position_m(self) -> FloatArray:
        """The place, shape (3,), base frame, read-only."""
        return self.frame[:, 3]

    @property
    def rotation(self) -> FloatArray | None:
        """The tool's frame in the base frame, shape (3, 3), read-only; None where any will do."""
        return self.frame[:, :3] if self.turn_weight_m else None


def _refuse_position(position: FloatArray, given: FloatArray) -> NoReturn:
    if position.shape != (3,) or not np.isfinite(position).all():
        raise BadTarget(f"a target is three finite numbers in metres, got {given!r}")
    raise BadTarget(f"the target {position.tolist()} is farther than {FARTHEST_M:g} m", next_step="give metres, not mm")


def _refuse_rotation(rotation: FloatArray) -> NoReturn:
    if rotation.shape != (3, 3) or not np.isfinite(rotation).all():
        raise BadTarget("a target's rotation is a finite 3 × 3 matrix")
    raise BadTarget("a target's rotation must be orthogonal and right-handed")


def _turns(a: float, b: float, c: float, d: float, e: float, f: float, g: float, h: float, i: float) -> bool:
    """Whether a matrix, row by row, is a rotation; not if a number is not finite. Plain numbers: quickest for nine."""
    return (
        abs(a * a + b * b + c * c - 1.0) < _ORTHOGONAL
        and abs(d * d + e * e + f * f - 1.0) < _ORTHOGONAL
        and abs(a * d + b * e + c * f) < _ORTHOGONAL
        and abs(b * f - c * e - g) + abs(c * d - a * f - h) + abs(a * e - b * d - i) < _ORTHOGONAL
    )


class _Found(NamedTuple):
    angles_deg: FloatArray  # (n_joints,), read-only, inside the limits
    residual_mm: float
    residual_deg: float  # 0 where no rotation was asked for
    steps: int
    status: IkStatus


class IkResult(_ByIdentity, _Found):
    """The pose found and how far it is from the target."""

    __slots__ = ()

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
