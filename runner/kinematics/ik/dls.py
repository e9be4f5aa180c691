"""Inverse kinematics by damped least squares on the geometric Jacobian, one target or thousands at once.

Levenberg–Marquardt with a damping that shrinks with the error (Sugihara 2011, "Solvability-unconcerned inverse
kinematics by the Levenberg–Marquardt method") and inside the joint limits by an active set: a joint that stands at a
limit and would leave it is taken out of the step, and the others make up for it. NumPy alone. Moves nothing, never
clips afterwards, and says how far it got.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from runner.kinematics.errors import BadTarget
from runner.kinematics.fk import checked_joints, frames_about_z, rotation_vector, tool_frames_and_jacobians
from runner.kinematics.ik.protocol import IkResult, IkStatus, IkTarget, JointLimits
from runner.kinematics.model import ArmModel, FloatArray, frozen

__all__ = ["DampedLeastSquares", "IkBatch", "rotation_vector"]

BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]

_BLOCK = 1024  # targets a pass: the working set stays in the cache
_FIRST_DAMPING = 0.3  # times the squared error
_LARGEST_STEP_RAD = 0.6
_STALL_STEPS = 4
_STALL_GAIN = 1e-5  # of the cost, in one step
_SEED_STEP = 0.6180339887498949  # golden ratio's fraction: restarts spread evenly and are the same each time


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


@dataclass(frozen=True, slots=True, eq=False)
class _Goals:
    """Targets as arrays: positions (N, 3), rotations (N, 3, 3), row weights (N, 6)."""

    position_m: FloatArray
    rotation: FloatArray
    weights: FloatArray
    turned: BoolArray  # (N,) whether a rotation was asked for

    def take(self, rows: IntArray | slice) -> _Goals:
        return _Goals(self.position_m[rows], self.rotation[rows], self.weights[rows], self.turned[rows])


@dataclass(slots=True, eq=False)
class _State:
    """Where the search of some targets stands."""

    q: FloatArray  # (N, n) radians
    error: FloatArray  # (N, 6) metres and radians, unweighted
    J: FloatArray  # (N, 6, n)
    cost: FloatArray  # (N,) weighted, squared

    def take(self, rows: IntArray | BoolArray) -> _State:
        return _State(self.q[rows], self.error[rows], self.J[rows], self.cost[rows])


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
    ) -> None:
        """Store the settings.

        Args:
            arm: with the tool that is mounted.
            limits: where the joints may be; the arm file's if not given.
            tolerance_m: a target nearer than this is reached, and
            tolerance_deg: turned by less than this, where a rotation is asked for.
            max_steps: of one attempt.
            restarts: further attempts from spread poses, for targets that the first did not reach.
        """
        self.arm = arm
        self.limits = limits or JointLimits.of(arm)
        self.tolerance_m, self.tolerance_deg = tolerance_m, tolerance_deg
        self.max_steps, self.restarts = max_steps, restarts
        self._lo, self._hi = np.radians(self.limits.min_deg), np.radians(self.limits.max_deg)
        self._frames = frames_about_z(arm)

    def solve(self, target: IkTarget, start_deg: FloatArray) -> IkResult:
        """The pose for one target, searched from `start_deg`.

        Raises:
            WrongJoints: `start_deg` is not one finite number a joint.
            OutsideLimits: `start_deg` breaks a limit; the error names the joint.
        """
        return self.solve_many(*_arrays([target]), np.asarray(start_deg, dtype=float)[None]).result(0)

    def solve_batch(self, targets: Sequence[IkTarget], starts_deg: FloatArray) -> list[IkResult]:
        """One pose for each target, each from its own row of `starts_deg`, shape (N, n_joints).

        Raises:
            WrongJoints, OutsideLimits: see `solve`.
            BadTarget: not as many starts as targets.
        """
        if not targets:
            return []
        batch = self.solve_many(*_arrays(targets), starts_deg)
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
        starts = checked_joints(starts_deg, self.arm)
        goals = _goals(position_m, rotation, weights)
        if starts.ndim != 2 or len(starts) != len(goals.position_m):
            raise BadTarget(f"{len(goals.position_m)} targets need as many starts, got an array {starts.shape}")
        self.limits.refuse_outside(starts, self.arm)
        q0 = np.clip(np.radians(starts), self._lo, self._hi)
        parts = [
            self._attempts(goals.take(slice(i, i + _BLOCK)), q0[i : i + _BLOCK]) for i in range(0, len(q0), _BLOCK)
        ]
        if not parts:
            n = self.arm.n_joints
            return IkBatch(np.empty((0, n)), np.empty(0), np.empty(0), np.empty(0, np.int64), np.empty(0, object))
        q, error, steps, status = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        return IkBatch(
            frozen(np.clip(np.degrees(q), self.limits.min_deg, self.limits.max_deg)),
            frozen(np.linalg.norm(error[:, :3], axis=1) * 1000.0),
            frozen(np.degrees(np.linalg.norm(error[:, 3:], axis=1))),
            steps,
            status,
        )

    def jacobian(self, angles_deg: FloatArray) -> FloatArray:
        """The geometric Jacobian at poses (N, n_joints), shape (N, 6, n_joints): metres and radians a radian."""
        return tool_frames_and_jacobians(self._frames, np.radians(checked_joints(angles_deg, self.arm)))[1]

    def _attempts(self, goals: _Goals, q0: FloatArray) -> tuple[FloatArray, FloatArray, IntArray, NDArray[np.object_]]:
        state, steps, status = self._search(goals, q0)
        for attempt in range(self.restarts):
            left = np.flatnonzero(status != IkStatus.CONVERGED)
            if not len(left):
                break
            again, more, word = self._search(goals.take(left), self._spread(len(left), attempt))
            steps[left] += more
            better = (word == IkStatus.CONVERGED) | (again.cost < state.cost[left])
            rows = left[better]
            for name in ("q", "error", "cost"):
                getattr(state, name)[rows] = getattr(again, name)[better]
            status[rows] = word[better]
        return state.q, state.error, steps, status

    def _spread(self, count: int, attempt: int) -> FloatArray:
        """The same pose for every target of an attempt, far from those of the other attempts."""
        n = self.arm.n_joints
        root = _SEED_STEP ** (1.0 + np.arange(n) / n)
        share = (0.5 + (attempt + 1) * root) % 1.0
        return np.tile(self._lo + (0.1 + 0.8 * share) * (self._hi - self._lo), (count, 1))

    def _search(self, goals: _Goals, q0: FloatArray) -> tuple[_State, IntArray, NDArray[np.object_]]:
        """One attempt for each target. Rows that are done leave the working set."""
        state = self._evaluate(goals, q0)
        out_steps = np.zeros(len(q0), dtype=np.int64)
        status = np.full(len(q0), IkStatus.MAX_STEPS, dtype=object)
        final = _State(state.q.copy(), state.error.copy(), state.J, state.cost.copy())
        rows = np.arange(len(q0))
        damping, slow = np.full(len(q0), _FIRST_DAMPING), np.zeros(len(q0), dtype=np.int64)
        for step in range(self.max_steps + 1):
            done, stuck = self._reached(state, goals), slow >= _STALL_STEPS
            ended = done | stuck
            if ended.any() or step == self.max_steps:
                status[rows[stuck]], status[rows[done]] = IkStatus.STALLED, IkStatus.CONVERGED
                leave = ended if step < self.max_steps else np.ones(len(rows), dtype=bool)
                at = rows[leave]
                final.q[at], final.error[at], final.cost[at] = state.q[leave], state.error[leave], state.cost[leave]
                out_steps[at] = step
                keep = ~leave
                rows, damping, slow = rows[keep], damping[keep], slow[keep]
                goals, state = goals.take(np.flatnonzero(keep)), state.take(keep)
                if not len(rows):
                    break
            tried = self._evaluate(goals, self._stepped(state, goals, damping))
            better = tried.cost < state.cost
            little = ~better | (state.cost - tried.cost < _STALL_GAIN * state.cost)
            slow = np.where(little, slow + 1, 0)
            damping = np.where(better, np.maximum(damping * 0.3, 1e-9), damping * 8.0)
            if better.all():
                state = tried
            else:
                for name in ("q", "error", "J", "cost"):
                    new, old = getattr(tried, name), getattr(state, name)
                    setattr(state, name, np.where(better.reshape(-1, *[1] * (new.ndim - 1)), new, old))
        return final, out_steps, status

    def _reached(self, state: _State, goals: _Goals) -> BoolArray:
        near = (state.error[:, :3] ** 2).sum(axis=1) <= self.tolerance_m**2
        turned = (state.error[:, 3:] ** 2).sum(axis=1) <= np.radians(self.tolerance_deg) ** 2
        return np.asarray(near & (turned | ~goals.turned))

    def _stepped(self, state: _State, goals: _Goals, damping: FloatArray) -> FloatArray:
        """The next pose of each row: a damped step in which joints that would leave their limits stop at them."""
        J = state.J * goals.weights[:, :, None]
        e = state.error * goals.weights
        JT = np.swapaxes(J, 1, 2)
        gradient = (JT @ e[:, :, None])[:, :, 0]
        H = JT @ J
        n = H.shape[1]
        extra = (damping * state.cost + 1e-12)[:, None]
        free = ~(((state.q <= self._lo) & (gradient < 0)) | ((state.q >= self._hi) & (gradient > 0)))
        fixed = np.zeros_like(state.q)  # what joints that stop at a limit go
        for _ in range(n):
            right = np.where(free, gradient - (H @ fixed[:, :, None])[:, :, 0], fixed)
            A = H * (free[:, :, None] & free[:, None, :])
            A[:, range(n), range(n)] = np.where(free, A[:, range(n), range(n)] + extra, 1.0)
            dq = np.linalg.solve(A, right[:, :, None])[:, :, 0]
            largest = np.abs(dq).max(axis=1, keepdims=True)
            dq *= np.minimum(1.0, _LARGEST_STEP_RAD / np.maximum(largest, 1e-12))
            goal = state.q + dq
            out = free & ((goal < self._lo) | (goal > self._hi))
            if not out.any():
                break
            fixed = np.where(out, np.clip(goal, self._lo, self._hi) - state.q, fixed)
            free &= ~out
        return np.asarray(np.clip(goal, self._lo, self._hi))

    def _evaluate(self, goals: _Goals, q: FloatArray) -> _State:
        T, J = tool_frames_and_jacobians(self._frames, q)
        error = np.zeros((len(q), 6))
        error[:, :3] = goals.position_m - T[:, :3, 3]
        if goals.turned.all():
            error[:, 3:] = rotation_vector(goals.rotation @ np.swapaxes(T[:, :3, :3], 1, 2))
        elif goals.turned.any():
            t = goals.turned
            error[t, 3:] = rotation_vector(goals.rotation[t] @ np.swapaxes(T[t, :3, :3], 1, 2))
        return _State(q, error, J, ((error * goals.weights) ** 2).sum(axis=1))


def _arrays(targets: Sequence[IkTarget]) -> tuple[FloatArray, FloatArray, FloatArray]:
    none = np.full((3, 3), np.nan)
    return (
        np.stack([t.position_m for t in targets]),
        np.stack([none if t.rotation is None else t.rotation for t in targets]),
        np.array([(t.position_weight, t.rotation_weight_m) for t in targets]),
    )


def _goals(position_m: FloatArray, rotation: FloatArray | None, weights: FloatArray | None) -> _Goals:
    position = np.asarray(position_m, dtype=np.float64)
    if position.ndim != 2 or position.shape[1] != 3 or not np.isfinite(position).all():
        raise BadTarget(f"targets are (N, 3) finite metres, got an array {position.shape}")
    n = len(position)
    rotations = np.full((n, 3, 3), np.nan) if rotation is None else np.asarray(rotation, dtype=np.float64)
    rotations = np.broadcast_to(rotations, (n, 3, 3))
    turned = np.isfinite(rotations).all(axis=(1, 2))
    pair = np.broadcast_to(np.array([1.0, 0.1]) if weights is None else weights, (n, 2))
    rows = np.repeat(pair, 3, axis=1)
    rows[~turned, 3:] = 0.0
    return _Goals(position, rotations, rows, turned)
