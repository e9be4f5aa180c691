"""Inverse kinematics by damped least squares on the geometric Jacobian: any arm, one target or thousands at once.

Levenberg–Marquardt with a damping that shrinks with the error and adapts to how a step went (Sugihara 2011,
"Solvability-unconcerned inverse kinematics by the Levenberg–Marquardt method"), inside the joint limits by an active
set: a joint that stands at a limit and would leave it is taken out of the step, and the others make up for it. A
target that the first attempt misses may be tried again from poses spread over the limits, the same ones each time.
Out of reach, the pose with the least weighted error stands. Moves nothing, never clips afterwards, and says how far it
got.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import degrees, radians

import numpy as np
from numpy.typing import NDArray

from runner.compiled import kernels
from runner.kinematics.errors import BadTarget
from runner.kinematics.fk import checked_joints, frames_about_z, rotation_vector, tool_frames_and_jacobians
from runner.kinematics.ik import dls_numpy
from runner.kinematics.ik.dls_settings import REFUSED
from runner.kinematics.ik.protocol import FARTHEST_M, IkResult, IkStatus, IkTarget, JointLimits
from runner.kinematics.model import ArmModel, FloatArray, frozen
from runner.kinematics.threads import in_blocks

__all__ = ["FOR_SURE", "DampedLeastSquares", "IkBatch", "rotation_vector"]

KERNELS = "runner.kinematics.ik.dls_kernels"
FOR_SURE = 100
"""Restarts that leave no reachable target of a six-axis arm out, but for one or two in ten thousand."""

BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]

_BLOCK = 512  # targets a pass: the working set stays in the cache
_FIRST_NEAR_M = 0.01  # so near the first of two phases brings the point
_STATUS = (IkStatus.CONVERGED, IkStatus.STALLED, IkStatus.MAX_STEPS)  # as the kernels number them
_WEIGHTS = (1.0, 0.1)
_F8, _new = np.dtype(np.float64), tuple.__new__  # what a single solve can't spare the time to look up


@dataclass(frozen=True, slots=True, eq=False)
class IkBatch:
    """What became of N targets; arrays are read-only, rows as the targets."""

    angles_deg: FloatArray  # (N, n_joints)
    residual_mm: FloatArray  # (N,)
    residual_deg: FloatArray  # (N,), 0 where no rotation was asked for
    steps: IntArray  # (N,)
    status: NDArray[np.object_]  # (N,) of IkStatus

    @property
    def converged(self) -> BoolArray:
        """Which targets are reached, shape (N,)."""
        return np.asarray(self.status == IkStatus.CONVERGED)

    def result(self, i: int) -> IkResult:
        """One row as a single solver gives it."""
        return IkResult(
            frozen(self.angles_deg[i].copy()),
            float(self.residual_mm[i]),
            float(self.residual_deg[i]),
            int(self.steps[i]),
            self.status[i],
        )


class DampedLeastSquares:
    """The solver for one arm inside one set of limits. Thread-safe: it keeps no state between calls."""

    def __init__(
        self,
        arm: ArmModel,
        *,
        limits: JointLimits | None = None,
        tolerance_m: float = 1e-5,
        tolerance_deg: float = 0.01,
        max_steps: int = 80,
        restarts: int = 0,
        position_first: bool = False,
    ) -> None:
        """Store the settings.

        Args:
            arm: with the tool that is mounted.
            limits: where the joints may be; the arm file's if not given.
            tolerance_m: a target nearer than this is reached, and
            tolerance_deg: turned by less than this, where a rotation is asked for.
            max_steps: of one attempt.
            restarts: further attempts from spread poses, for targets that the first did not reach.
            position_first: in two phases: the point to within a centimetre, then point and rotation.
        """
        self.arm = arm
        self.limits = limits or JointLimits.of(arm)
        self.tolerance_m, self.tolerance_deg = tolerance_m, tolerance_deg
        self.max_steps, self.restarts, self.position_first = max_steps, restarts, position_first
        self._shape = (arm.n_joints,)
        self._frames = frames_about_z(arm)
        box_deg = np.array([self.limits.min_deg, self.limits.max_deg])
        box = np.radians(box_deg)
        first_near_m = max(_FIRST_NEAR_M, tolerance_m) if position_first else 0.0
        head = (tolerance_m, radians(tolerance_deg), first_near_m, float(max_steps))
        parts = (np.array(head), box_deg, box, self._frames, _spread(restarts, box[0], box[1]))
        self._constants = np.concatenate([part.ravel() for part in parts])

    def solve(self, target: IkTarget, start_deg: FloatArray) -> IkResult:
        """The pose for one target, searched from `start_deg`.

        Raises:
            WrongJoints: `start_deg` is not one finite number a joint.
            OutsideLimits: `start_deg` breaks a limit; the error names the joint.
        """
        q = np.array(start_deg, _F8)
        goal, w_m, _, w_rad = target
        if q.shape != self._shape:
            self._checked(q, None)
        far, turn, steps, status = (kernels(KERNELS) or dls_numpy).search_one(self._constants, q, goal, w_m, w_rad)
        if status == REFUSED:
            self._checked(q, None)
        return _new(IkResult, (frozen(q), far * 1e3, degrees(turn), steps, _STATUS[status]))

    def solve_batch(self, targets: Sequence[IkTarget], starts_deg: FloatArray) -> list[IkResult]:
        """One pose for each target, each from its own row of `starts_deg`, shape (N, n_joints).

        Raises:
            WrongJoints, OutsideLimits: see `solve`.
            BadTarget: not as many starts as targets.
        """
        if not targets:
            return []
        goals, weights = _arrays(targets)
        batch = self._run(goals, weights, self._checked(starts_deg, len(targets)))
        return [batch.result(i) for i in range(len(targets))]

    def solve_many(
        self,
        position_m: FloatArray,
        rotation: FloatArray | None,
        weights: FloatArray | None,
        starts_deg: FloatArray,
    ) -> IkBatch:
        """The same for arrays, without an object a target.

        Args:
            position_m: (N, 3), base frame.
            rotation: (N, 3, 3) or one (3, 3) for all; NaN where a row asks for none; None where no row does.
            weights: (N, 2): position weight, rotation weight in metres a radian; None: 1 and 0.1.
            starts_deg: (N, n_joints), inside the limits.

        Raises:
            WrongJoints, OutsideLimits, BadTarget: see `solve_batch`.
        """
        goals, pair = _goals(position_m, rotation, weights)
        return self._run(goals, pair, self._checked(starts_deg, len(goals)))

    def jacobian(self, angles_deg: FloatArray) -> FloatArray:
        """The geometric Jacobian at poses (N, n_joints), shape (N, 6, n_joints): metres and radians a radian."""
        return tool_frames_and_jacobians(self._frames, np.radians(checked_joints(angles_deg, self.arm)))[1]

    def _checked(self, starts_deg: FloatArray, count: int | None) -> FloatArray:
        """The starts: one row a target, or a single one for no count."""
        starts = checked_joints(starts_deg, self.arm)
        if starts.shape[:-1] != (() if count is None else (count,)):
            raise BadTarget(f"{count or 'one'} targets need as many starts, got an array {starts.shape}")
        self.limits.refuse_outside(starts, self.arm)
        return starts

    def _run(self, goals: FloatArray, weights: FloatArray, starts_deg: FloatArray) -> IkBatch:
        """Goals (N, 3, 4), weights (N, 2), the second 0 where no rotation is asked for."""
        n = len(goals)
        q = np.array(starts_deg, order="C")
        left, steps, status = np.empty((n, 2)), np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
        code = kernels(KERNELS) or dls_numpy

        def work(rows: slice) -> None:
            code.search_many(
                *(self._constants, q[rows], goals[rows], weights[rows]),
                *(left[rows], steps[rows], status[rows]),
            )

        in_blocks(n, _BLOCK, work)
        words = np.empty(n, dtype=object)
        for number, word in enumerate(_STATUS):
            words[status == number] = word
        return IkBatch(frozen(q), frozen(left[:, 0] * 1000.0), frozen(np.degrees(left[:, 1])), steps, words)


def _spread(count: int, lo: FloatArray, hi: FloatArray) -> FloatArray:
    """That many poses all over the limits, (count, n), radians: the R sequence, the outermost parts from the 20th on.

    Source: Roberts (2018), The unreasonable effectiveness of quasirandom sequences.
    """
    n = len(lo)
    ratio = 1.0
    for _ in range(60):
        ratio = (1.0 + ratio) ** (1.0 / (n + 1))
    i = np.arange(1, count + 1)[:, None]
    share = (0.5 + i * ratio ** -np.arange(1.0, n + 1.0)) % 1.0
    spare = np.where(i <= 20, 0.1, 0.0)
    return np.asarray(lo + (spare + (1.0 - 2.0 * spare) * share) * (hi - lo))


def _arrays(targets: Sequence[IkTarget]) -> tuple[FloatArray, FloatArray]:
    goals, weights = np.stack([target.frame for target in targets]), np.empty((len(targets), 2))
    for i, target in enumerate(targets):
        weights[i, 0] = target.position_weight
        weights[i, 1] = target.turn_weight_m
    return goals, weights


def _goals(
    position_m: FloatArray, rotation: FloatArray | None, weights: FloatArray | None
) -> tuple[FloatArray, FloatArray]:
    position = np.asarray(position_m, dtype=np.float64)
    if position.ndim != 2 or position.shape[1] != 3 or not np.isfinite(position).all():
        raise BadTarget(f"targets are (N, 3) finite metres, got an array {position.shape}")
    if np.abs(position).max(initial=0.0) > FARTHEST_M:
        raise BadTarget(f"a target is farther than {FARTHEST_M:g} m", next_step="give metres, not mm")
    n = len(position)
    goals = np.zeros((n, 3, 4))
    goals[:, :, 3] = position
    pair = np.empty((n, 2))
    pair[:] = _WEIGHTS if weights is None else weights
    if not (np.isfinite(pair) & (pair > 0.0)).all():
        raise BadTarget("weights are positive numbers")
    turned = np.zeros(n, dtype=bool)
    if rotation is not None:
        rotations = np.broadcast_to(np.asarray(rotation, dtype=np.float64), (n, 3, 3))
        turned = np.asarray(np.isfinite(rotations).all(axis=(1, 2)))
        goals[turned, :, :3] = rotations[turned]
    pair[~turned, 1] = 0.0
    return goals, pair
