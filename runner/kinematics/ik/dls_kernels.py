"""Kernels of damped least squares: one search, and many with their restarts.

Machine code by way of `runner.compiled`; the twin in NumPy is `dls_numpy`, and `dls` says how the method goes. They
check nothing. Joints are radians, errors metres and radians.
"""

from __future__ import annotations

from math import degrees, radians

import numpy as np
from numpy.typing import NDArray

from runner.compiled import kernel
from runner.kinematics.ik.dls_settings import (
    CONVERGED,
    DAMPING_DOWN,
    DAMPING_UP,
    FIRST_DAMPING,
    LARGEST_STEP_RAD,
    LEAST_DAMPING,
    MAX_STEPS,
    REFUSED,
    STALL_GAIN,
    STALL_STEPS,
    STALLED,
    START_SLACK_DEG,
)
from runner.kinematics.kernels import solve_positive, tool_frame_and_jacobian, turn_left

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@kernel("f8(f8[:, :, ::1], f8[::1], Array(f8, 2, 'C', True), f8, f8, f8[:, ::1], f8[:, ::1], f8[::1])")
def look(
    frames: FloatArray,
    q: FloatArray,
    goal: FloatArray,
    w_m: float,
    w_rad: float,
    T: FloatArray,
    J: FloatArray,
    e: FloatArray,
) -> float:
    """Fill the tool's frame T, the Jacobian J, what is left to the goal e (6,); returns the weighted, squared error."""
    tool_frame_and_jacobian(frames, q, T, J)
    cost = 0.0
    for i in range(3):
        e[i] = goal[i, 3] - T[i, 3]
        cost += (w_m * e[i]) ** 2
        e[3 + i] = 0.0
    if w_rad > 0.0:
        turn_left(goal, T, e[3:])
        for i in range(3, 6):
            cost += (w_rad * e[i]) ** 2
    return cost


@kernel("void(f8[::1], f8[:, ::1], f8[::1], f8, f8, f8, f8[::1], f8[::1], f8[::1], f8[:, :, ::1], f8[:, ::1])")
def step_inside(
    q: FloatArray,
    J: FloatArray,
    e: FloatArray,
    w_m: float,
    w_rad: float,
    damping: float,
    lo: FloatArray,
    hi: FloatArray,
    out: FloatArray,
    room: FloatArray,
    rows: FloatArray,
) -> None:
    """The next pose: a damped step in which joints that would leave their limits stop at them and the rest make up.

    room (2, n, n) and rows (4, n) are room to work.
    """
    n = q.shape[0]
    H, A = room[0], room[1]
    g, fixed, free, dq = rows[0], rows[1], rows[2], rows[3]
    a, b = w_m * w_m, w_rad * w_rad
    for i in range(n):
        t = 0.0
        for m in range(3):
            t += a * J[m, i] * e[m] + b * J[3 + m, i] * e[3 + m]
        g[i] = t
        fixed[i] = 0.0
        free[i] = 0.0 if (q[i] <= lo[i] and t < 0.0) or (q[i] >= hi[i] and t > 0.0) else 1.0
        for j in range(i + 1):
            t = 0.0
            for m in range(3):
                t += a * J[m, i] * J[m, j] + b * J[3 + m, i] * J[3 + m, j]
            H[i, j] = t
            H[j, i] = t
    for _ in range(n):
        for i in range(n):
            dq[i] = fixed[i]
            if free[i] > 0.0:
                t = g[i]
                for j in range(n):
                    t -= H[i, j] * fixed[j]
                dq[i] = t
            for j in range(i + 1):
                A[i, j] = H[i, j] * free[i] * free[j]
            A[i, i] = H[i, i] + damping if free[i] > 0.0 else 1.0
        solve_positive(A, dq)
        largest = 0.0
        for i in range(n):
            largest = max(largest, abs(dq[i]))
        scale = min(1.0, LARGEST_STEP_RAD / max(largest, 1e-12))
        left = False
        for i in range(n):
            x = q[i] + dq[i] * scale
            out[i] = min(max(x, lo[i]), hi[i])
            if free[i] > 0.0 and out[i] != x:
                fixed[i], free[i], left = out[i] - q[i], 0.0, True
        if not left:
            break


@kernel(
    "Tuple((f8, i8, i8))(f8[:, :, ::1], f8[::1], f8[::1], f8[::1],"
    " Array(f8, 2, 'C', True), f8, f8, f8, f8, i8, f8[::1], f8[:, :, ::1], f8[:, ::1])"
)
def search(
    frames: FloatArray,
    lo: FloatArray,
    hi: FloatArray,
    q: FloatArray,
    goal: FloatArray,
    w_m: float,
    w_rad: float,
    near_m: float,
    near_rad: float,
    max_steps: int,
    left: FloatArray,
    room: FloatArray,
    rows: FloatArray,
) -> tuple[float, int, int]:
    """One attempt from q, in place; left (2,) becomes what is left, metres and radians.

    room (2, n, n) and rows (4, n) are room to work.

    Returns:
        The weighted, squared error, the steps, and how it ended.
    """
    n = q.shape[0]
    T, other = np.empty((3, 4)), np.empty((3, 4))
    J, K = np.empty((6, n)), np.empty((6, n))
    e, f = np.empty(6), np.empty(6)
    new = np.empty(n)
    cost = look(frames, q, goal, w_m, w_rad, T, J, e)
    damping, slow, steps, status = FIRST_DAMPING, 0, 0, MAX_STEPS
    while True:
        far, turn = e[0] ** 2 + e[1] ** 2 + e[2] ** 2, e[3] ** 2 + e[4] ** 2 + e[5] ** 2
        if far <= near_m * near_m and turn <= near_rad * near_rad:
            status = CONVERGED
            break
        if slow >= STALL_STEPS:
            status = STALLED
            break
        if steps == max_steps:
            break
        step_inside(q, J, e, w_m, w_rad, damping * cost + 1e-12, lo, hi, new, room, rows)
        tried = look(frames, new, goal, w_m, w_rad, other, K, f)
        steps += 1
        slow = slow + 1 if not tried < cost or cost - tried < STALL_GAIN * cost else 0
        if tried < cost:
            damping = max(damping * DAMPING_DOWN, LEAST_DAMPING)
            cost = tried
            for i in range(n):
                q[i] = new[i]
            T, other = other, T
            J, K = K, J
            e, f = f, e
        else:
            damping *= DAMPING_UP
    left[0], left[1] = np.sqrt(far), np.sqrt(turn)
    return cost, steps, status


@kernel(
    "UniTuple(i8, 2)(f8[:, :, ::1], f8[::1], f8[::1], f8[::1], Array(f8, 2, 'C', True), f8, f8, f8, f8, f8, i8,"
    " f8[:, ::1], f8[::1])"
)
def search_one(
    frames: FloatArray,
    min_deg: FloatArray,
    max_deg: FloatArray,
    angles_deg: FloatArray,
    goal: FloatArray,
    w_m: float,
    w_rad: float,
    near_m: float,
    near_rad: float,
    first_near_m: float,
    max_steps: int,
    spread: FloatArray,
    left: FloatArray,
) -> tuple[int, int]:
    """One target from its start, in place, degrees; then from the rows of spread (radians) until one reaches it.

    goal (3, 4); w_rad is 0 where no rotation is asked for; first_near_m is 0 for no first phase; left (2,) becomes what
    is left, metres and radians. Of several attempts that miss, the one with the least error stands.

    Returns:
        The steps, and how it ended; `REFUSED` for a start that is no number or outside.
    """
    n = angles_deg.shape[0]
    lo, hi, q = np.empty(n), np.empty(n), np.empty(n)
    for i in range(n):
        if not (min_deg[i] - START_SLACK_DEG <= angles_deg[i] <= max_deg[i] + START_SLACK_DEG):
            return 0, REFUSED
        lo[i], hi[i] = radians(min_deg[i]), radians(max_deg[i])
        q[i] = min(max(radians(angles_deg[i]), lo[i]), hi[i])
    room, rows = np.empty((2, n, n)), np.empty((4, n))
    again, miss = np.empty(n), np.empty(2)
    steps = 0
    if first_near_m > 0.0:
        _, steps, _ = search(frames, lo, hi, q, goal, w_m, 0.0, first_near_m, 1.0, max_steps, left, room, rows)
    cost, more, status = search(frames, lo, hi, q, goal, w_m, w_rad, near_m, near_rad, max_steps, left, room, rows)
    steps += more
    for attempt in range(spread.shape[0]):
        if status == CONVERGED:
            break
        for i in range(n):
            again[i] = spread[attempt, i]
        other, more, word = search(
            frames, lo, hi, again, goal, w_m, w_rad, near_m, near_rad, max_steps, miss, room, rows
        )
        steps += more
        if word == CONVERGED or other < cost:
            cost, status = other, word
            left[0], left[1] = miss[0], miss[1]
            for i in range(n):
                q[i] = again[i]
    for i in range(n):
        angles_deg[i] = min(max(degrees(q[i]), min_deg[i]), max_deg[i])
    return steps, status


@kernel(
    "void(f8[:, :, ::1], f8[::1], f8[::1], f8[:, ::1], f8[:, :, ::1], f8[:, ::1], f8, f8, f8, i8,"
    " f8[:, ::1], f8[:, ::1], i8[::1], i8[::1])"
)
def search_many(
    frames: FloatArray,
    min_deg: FloatArray,
    max_deg: FloatArray,
    angles_deg: FloatArray,
    goals: FloatArray,
    weights: FloatArray,
    near_m: float,
    near_rad: float,
    first_near_m: float,
    max_steps: int,
    spread: FloatArray,
    left: FloatArray,
    steps: IntArray,
    status: IntArray,
) -> None:
    """The same for N targets: starts (N, n), goals (N, 3, 4), weights (N, 2), left (N, 2)."""
    for row in range(angles_deg.shape[0]):
        w_m, w_rad, q = weights[row, 0], weights[row, 1], angles_deg[row]
        steps[row], status[row] = search_one(
            *(frames, min_deg, max_deg, q, goals[row], w_m, w_rad, near_m, near_rad, first_near_m, max_steps),
            *(spread, left[row]),
        )
