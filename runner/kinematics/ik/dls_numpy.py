"""Damped least squares in NumPy: the twin of `dls_kernels`, for when machine code is not at hand.

The same method, so that it gives the same answers but for the last digits; many targets go through each step at once,
and those that are done leave.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from runner.kinematics.fk import rotation_vector, tool_frames_and_jacobians
from runner.kinematics.ik.dls_settings import (
    CONVERGED,
    DAMPING_DOWN,
    DAMPING_UP,
    FIRST_DAMPING,
    FIRST_NEAR_M,
    HEAD,
    LARGEST_STEP_RAD,
    LEAST_DAMPING,
    MAX_STEPS,
    NEAR_M,
    NEAR_RAD,
    REFUSED,
    STALL_GAIN,
    STALL_STEPS,
    STALLED,
    START_SLACK_DEG,
    STEPS_A_TRY,
)
from runner.kinematics.model import FloatArray

BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]


def search_one(
    constants: FloatArray, angles_deg: FloatArray, goal: FloatArray, w_m: float, w_rad: float
) -> tuple[float, float, int, int]:
    """One target from its start, in place, degrees; as the kernel of that name."""
    left, steps, status = np.zeros((1, 2)), np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    search_many(constants, angles_deg[None], goal[None], np.array([[w_m, w_rad]]), left, steps, status)
    return float(left[0, 0]), float(left[0, 1]), int(steps[0]), int(status[0])


def search_many(
    constants: FloatArray,
    angles_deg: FloatArray,
    goals: FloatArray,
    weights: FloatArray,
    left: FloatArray,
    steps: IntArray,
    status: IntArray,
) -> None:
    """The same for N targets; as the kernel of that name, but for one start that is refused all are."""
    n = angles_deg.shape[1]
    min_deg, max_deg, lo, hi = constants[HEAD : HEAD + 4 * n].reshape(4, n)
    at, restarts = HEAD + 4 * n, HEAD + 4 * n + 12 * (n + 1)
    frames, spread = constants[at:restarts].reshape(n + 1, 3, 4), constants[restarts:].reshape(-1, n)
    near_m, near_rad, first_near_m = constants[NEAR_M], constants[NEAR_RAD], constants[FIRST_NEAR_M]
    max_steps = int(constants[STEPS_A_TRY])
    if not ((angles_deg >= min_deg - START_SLACK_DEG) & (angles_deg <= max_deg + START_SLACK_DEG)).all():
        status[:] = REFUSED
        return
    q = np.minimum(np.maximum(np.radians(angles_deg), lo), hi)
    steps[:] = 0
    if first_near_m > 0.0:
        first = _Task(frames, lo, hi, first_near_m, 1.0, max_steps)
        _, _, steps[:], _ = _searched(first, q, goals, weights * np.array([1.0, 0.0]))
    task = _Task(frames, lo, hi, near_m, near_rad, max_steps)
    cost, left[:], more, status[:] = _searched(task, q, goals, weights)
    steps += more
    for start in spread:
        missed = np.flatnonzero(status != CONVERGED)
        if not len(missed):
            break
        again = np.tile(start, (len(missed), 1))
        other, miss, more, word = _searched(task, again, goals[missed], weights[missed])
        steps[missed] += more
        better = (word == CONVERGED) | (other < cost[missed])
        rows = missed[better]
        q[rows], left[rows], status[rows], cost[rows] = again[better], miss[better], word[better], other[better]
    angles_deg[:] = np.minimum(np.maximum(np.degrees(q), min_deg), max_deg)


@dataclass(frozen=True, slots=True, eq=False)
class _Task:
    frames: FloatArray
    lo: FloatArray
    hi: FloatArray
    near_m: float
    near_rad: float
    max_steps: int


@dataclass(slots=True, eq=False)
class _State:
    """Where the search of some targets stands."""

    q: FloatArray  # (N, n) radians
    error: FloatArray  # (N, 6) metres and radians, unweighted
    J: FloatArray  # (N, 6, n)
    cost: FloatArray  # (N,) weighted, squared

    def take(self, rows: BoolArray) -> _State:
        return _State(self.q[rows], self.error[rows], self.J[rows], self.cost[rows])

    def where(self, better: BoolArray, tried: _State) -> _State:
        """The tried one where it is better."""
        if better.all():
            return tried
        b = better[:, None]
        return _State(
            np.where(b, tried.q, self.q),
            np.where(b, tried.error, self.error),
            np.where(b[:, :, None], tried.J, self.J),
            np.where(better, tried.cost, self.cost),
        )


def _searched(
    task: _Task, q: FloatArray, goals: FloatArray, weights: FloatArray
) -> tuple[FloatArray, FloatArray, IntArray, IntArray]:
    """One attempt for each target, q in place: the costs, what is left (N, 2), the steps, and how it ended."""
    n = len(q)
    six = np.repeat(weights, 3, axis=1)
    state = _look(task, q, goals, six)
    cost, left = np.empty(n), np.empty((n, 2))
    out_steps, status = np.zeros(n, dtype=np.int64), np.full(n, MAX_STEPS)
    rows, damping, slow = np.arange(n), np.full(n, FIRST_DAMPING), np.zeros(n, dtype=np.int64)
    for step in range(task.max_steps + 1):
        off = np.sqrt((state.error.reshape(-1, 2, 3) ** 2).sum(axis=2))
        done, stuck = (off[:, 0] <= task.near_m) & (off[:, 1] <= task.near_rad), slow >= STALL_STEPS
        leave = done | stuck if step < task.max_steps else np.ones(len(rows), dtype=bool)
        if leave.any():
            at = rows[leave]
            status[rows[stuck]], status[rows[done]] = STALLED, CONVERGED
            q[at], left[at], cost[at], out_steps[at] = state.q[leave], off[leave], state.cost[leave], step
            keep = ~leave
            rows, damping, slow, state = rows[keep], damping[keep], slow[keep], state.take(keep)
            goals, six = goals[keep], six[keep]
            if not len(rows):
                break
        tried = _look(task, _stepped(task, state, six, damping), goals, six)
        better = tried.cost < state.cost
        slow = np.where(~better | (state.cost - tried.cost < STALL_GAIN * state.cost), slow + 1, 0)
        damping = np.where(better, np.maximum(damping * DAMPING_DOWN, LEAST_DAMPING), damping * DAMPING_UP)
        state = state.where(better, tried)
    return cost, left, out_steps, status


def _look(task: _Task, q: FloatArray, goals: FloatArray, weights: FloatArray) -> _State:
    T, J = tool_frames_and_jacobians(task.frames, q)
    error = np.zeros((len(q), 6))
    error[:, :3] = goals[:, :3, 3] - T[:, :3, 3]
    turned = weights[:, 3] > 0.0
    if turned.all():
        error[:, 3:] = rotation_vector(goals[:, :3, :3] @ np.swapaxes(T[:, :3, :3], 1, 2))
    elif turned.any():
        error[turned, 3:] = rotation_vector(goals[turned, :3, :3] @ np.swapaxes(T[turned, :3, :3], 1, 2))
    return _State(q, error, J, ((error * weights) ** 2).sum(axis=1))


def _stepped(task: _Task, state: _State, weights: FloatArray, damping: FloatArray) -> FloatArray:
    """The next pose of each row: a damped step in which joints that would leave their limits stop at them."""
    J = state.J * weights[:, :, None]
    JT = np.swapaxes(J, 1, 2)
    gradient = (JT @ (state.error * weights)[:, :, None])[:, :, 0]
    H = JT @ J
    n = H.shape[1]
    extra = (damping * state.cost + 1e-12)[:, None]
    free = ~(((state.q <= task.lo) & (gradient < 0)) | ((state.q >= task.hi) & (gradient > 0)))
    fixed = np.zeros_like(state.q)  # what joints that stop at a limit go
    for _ in range(n):
        right = np.where(free, gradient - (H @ fixed[:, :, None])[:, :, 0], fixed)
        A = H * (free[:, :, None] & free[:, None, :])
        A[:, range(n), range(n)] = np.where(free, A[:, range(n), range(n)] + extra, 1.0)
        dq = np.linalg.solve(A, right[:, :, None])[:, :, 0]
        largest = np.abs(dq).max(axis=1, keepdims=True)
        dq *= np.minimum(1.0, LARGEST_STEP_RAD / np.maximum(largest, 1e-12))
        goal = state.q + dq
        held = np.minimum(np.maximum(goal, task.lo), task.hi)
        out = free & (held != goal)
        if not out.any():
            break
        fixed = np.where(out, held - state.q, fixed)
        free &= ~out
    return held
