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


@kernel("void(f8[::1], f8[:, ::1], f8[::1], f8, f8, f8, f8[::1], f8[::1], f8[::1], f8[:, ::1])", fastmath={"contract"})
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
) -> None:
    """The next pose: a damped step in which joints that would leave their limits stop at them and the rest make up.

    room (2 n + 4, n) is room to work.
    """
    n = q.shape[0]
    H, A, g, fixed, free, dq = room[:n], room[n : 2 * n], room[2 * n], room[2 * n + 1], room[2 * n + 2], room[2 * n + 3]
    a, b = w_m * w_m, w_rad * w_rad
    for i in range(n):
        x, y, z = a * J[0, i], a * J[1, i], a * J[2, i]
        u, v, w = b * J[3, i], b * J[4, i], b * J[5, i]
        t = x * e[0] + y * e[1] + z * e[2] + u * e[3] + v * e[4] + w * e[5]
        g[i], fixed[i] = t, 0.0
        free[i] = 0.0 if (q[i] <= lo[i] and t < 0.0) or (q[i] >= hi[i] and t > 0.0) else 1.0
        for j in range(i + 1):
            t = x * J[0, j] + y * J[1, j] + z * J[2, j] + u * J[3, j] + v * J[4, j] + w * J[5, j]
            H[i, j] = t
            H[j, i] = t
    for turn in range(n):
        for i in range(n):
            dq[i] = g[i] if free[i] > 0.0 else fixed[i]
            if free[i] > 0.0 and turn > 0:
                for j in range(n):
                    dq[i] -= H[i, j] * fixed[j]
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
    "Tuple((f8, f8, f8, i8, i8))(f8[:, :, ::1], f8[::1], f8[::1], f8[::1],"
    " Array(f8, 2, 'C', True), f8, f8, f8, f8, i8, f8[:, ::1], f8[:, ::1], f8[::1])"
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
    room: FloatArray,
    T: FloatArray,
    lacks: FloatArray,
) -> tuple[float, float, float, int, int]:
    """One attempt from q, in place.

    room (2 n + 17, n), T (3, 4) and lacks (12,) are room to work.

    Returns:
        The weighted, squared error, what is left in metres and radians, the steps, and how it ended.
    """
    n = q.shape[0]
    e, f, J, K, new, rest = lacks[:6], lacks[6:], room[:6], room[6:12], room[12], room[13:]
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
        step_inside(q, J, e, w_m, w_rad, damping * cost + 1e-12, lo, hi, new, rest)
        tried = look(frames, new, goal, w_m, w_rad, T, K, f)
        steps += 1
        slow = slow + 1 if not tried < cost or cost - tried < STALL_GAIN * cost else 0
        if tried < cost:
            damping = max(damping * DAMPING_DOWN, LEAST_DAMPING)
            cost = tried
            for i in range(n):
                q[i] = new[i]
            for i in range(6):
                e[i] = f[i]
                for j in range(n):
                    J[i, j] = K[i, j]
        else:
            damping *= DAMPING_UP
    return cost, np.sqrt(far), np.sqrt(turn), steps, status


@kernel("Tuple((f8, f8, i8, i8))(f8[::1], f8[::1], Array(f8, 2, 'C', True), f8, f8)")
def search_one(
    constants: FloatArray, angles_deg: FloatArray, goal: FloatArray, w_m: float, w_rad: float
) -> tuple[float, float, int, int]:
    """One target from its start, in place, degrees; then from each restart's pose until one reaches it.

    `constants` are laid out in `dls_settings`; goal (3, 4); w_rad is 0 where no rotation is asked for; a first near of
    0 is no first phase. Of several attempts that miss, the one with the least error stands.

    Returns:
        What is left, metres and radians, the steps, and how it ended; `REFUSED` for a start that is no number or
        outside.
    """
    n = angles_deg.shape[0]
    at, restarts = HEAD + 4 * n, HEAD + 4 * n + 12 * (n + 1)
    min_deg, max_deg, lo, hi = (
        constants[HEAD : HEAD + n],
        constants[HEAD + n : HEAD + 2 * n],
        constants[HEAD + 2 * n : HEAD + 3 * n],
        constants[HEAD + 3 * n : at],
    )
    frames = constants[at:restarts].reshape((n + 1, 3, 4))
    near_m, near_rad, first_near_m = constants[NEAR_M], constants[NEAR_RAD], constants[FIRST_NEAR_M]
    max_steps = int(constants[STEPS_A_TRY])
    space = np.empty(24 + n * (2 * n + 19))  # one piece: taking many costs more than a step
    T, lacks = space[:12].reshape((3, 4)), space[12:24]
    rows = space[24:].reshape((2 * n + 19, n))
    q, again, room = rows[0], rows[1], rows[2:]
    for i in range(n):
        if not (min_deg[i] - START_SLACK_DEG <= angles_deg[i] <= max_deg[i] + START_SLACK_DEG):
            return 0.0, 0.0, 0, REFUSED
        q[i] = min(max(radians(angles_deg[i]), lo[i]), hi[i])
    steps = 0
    if first_near_m > 0.0:
        _, _, _, steps, _ = search(frames, lo, hi, q, goal, w_m, 0.0, first_near_m, 1.0, max_steps, room, T, lacks)
    cost, far, turn, more, status = search(
        frames, lo, hi, q, goal, w_m, w_rad, near_m, near_rad, max_steps, room, T, lacks
    )
    steps += more
    for first in range(restarts, constants.shape[0], n):
        if status == CONVERGED:
            break
        for i in range(n):
            again[i] = constants[first + i]
        other, off, turned, more, word = search(
            frames, lo, hi, again, goal, w_m, w_rad, near_m, near_rad, max_steps, room, T, lacks
        )
        steps += more
        if word == CONVERGED or other < cost:
            cost, far, turn, status = other, off, turned, word
            for i in range(n):
                q[i] = again[i]
    for i in range(n):
        angles_deg[i] = min(max(degrees(q[i]), min_deg[i]), max_deg[i])
    return far, turn, steps, status


@kernel("void(f8[::1], f8[:, ::1], f8[:, :, ::1], f8[:, ::1], f8[:, ::1], i8[::1], i8[::1])")
def search_many(
    constants: FloatArray,
    angles_deg: FloatArray,
    goals: FloatArray,
    weights: FloatArray,
    left: FloatArray,
    steps: IntArray,
    status: IntArray,
) -> None:
    """The same for N targets: starts (N, n), goals (N, 3, 4), weights (N, 2), left (N, 2)."""
    for row in range(angles_deg.shape[0]):
        left[row, 0], left[row, 1], steps[row], status[row] = search_one(
            constants, angles_deg[row], goals[row], weights[row, 0], weights[row, 1]
        )
