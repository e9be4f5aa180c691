"""Kernels of a nearly spherical wrist: from a target and one turn of the fourth joint to all the others.

Machine code by way of `runner.compiled`; the twins in NumPy are in `wrist_numpy`. They check nothing. `k` are an arm's
constants, `t` is what `see_target` makes of a target; `closed_rows` names their rows.
"""

from __future__ import annotations

from math import atan2, cos, pi, sqrt

import numpy as np
from numpy.typing import NDArray

from runner.compiled import kernel
from runner.kinematics.ik.closed_rows import (
    A1,
    DOUBT,
    KAPPA_OFFSET_SIGN,
    P1,
    P2,
    ROUGH_SLACK_RAD,
    W_TOOL,
    D,
    F,
    G,
    L,
    M,
    N,
    S,
    V,
    X,
    Y,
)
from runner.kinematics.kernels import sine_cosine

FloatArray = NDArray[np.float64]


@kernel("void(f8[:, ::1], Array(f8, 2, 'C', True), f8[:, ::1])")
def see_target(k: FloatArray, T: FloatArray, t: FloatArray) -> None:
    """Fill t (12, 3) from the tool's frame T (3 or 4, 4)."""
    b = np.empty(3)
    v = np.empty(3)
    for what in range(4):
        row = W_TOOL + what
        for i in range(3):
            b[i] = T[i, 0] * k[row, 0] + T[i, 1] * k[row, 1] + T[i, 2] * k[row, 2]
            if what == 0:
                b[i] += T[i, 3] - k[P2, i]
        for i in range(3):
            v[i] = k[F + i, 0] * b[0] + k[F + i, 1] * b[1] + k[F + i, 2] * b[2]
            if what == 0:
                v[i] -= k[P1, i]
        along = k[A1, 0] * v[0] + k[A1, 1] * v[1] + k[A1, 2] * v[2]
        for i in range(3):
            t[3 * what, i] = k[A1, i] * along
            t[3 * what + 1, i] = v[i] - k[A1, i] * along
            if what == 0:
                t[0, i] += k[P1, i]
        t[3 * what + 2, 0] = k[A1, 2] * v[1] - k[A1, 1] * v[2]
        t[3 * what + 2, 1] = k[A1, 0] * v[2] - k[A1, 2] * v[0]
        t[3 * what + 2, 2] = k[A1, 1] * v[0] - k[A1, 0] * v[1]


@kernel("UniTuple(f8, 11)(f8[:, ::1], f8[:, ::1], f8, f8, f8, f8)", fastmath={"contract"}, forceinline=True)
def arm_at(
    k: FloatArray, t: FloatArray, shoulder: float, elbow: float, c4: float, s4: float
) -> tuple[float, float, float, float, float, float, float, float, float, float, float]:
    """The first three joints that bring the wrist's centre there, for one turn of the fourth (0, 0: a centred wrist).

    Returns:
        How much room the shoulder and the elbow have (negative: none, and what follows is the nearest), cosine and sine
        of joints 1, 2 and 3, and the last axis seen from link 3.
    """
    gx = k[G, 0] + k[G + 1, 0] * c4 + k[G + 2, 0] * s4
    gy = k[G, 1] + k[G + 1, 1] * c4 + k[G + 2, 1] * s4
    gz = k[G, 2] + k[G + 1, 2] * c4 + k[G + 2, 2] * s4
    a, b = t[V + 1, 2], t[V + 2, 2]
    rho = max(sqrt(a * a + b * b), 1e-12)
    a, b = a / rho, b / rho
    x = (k[L, 2] + gz - t[V, 2]) / rho
    room1 = 1.0 - x * x
    x = min(max(x, -1.0), 1.0)
    y = shoulder * sqrt(max(room1, k[DOUBT, 1]))
    c1, s1 = a * x - b * y, b * x + a * y
    px = t[V, 0] + t[V + 1, 0] * c1 + t[V + 2, 0] * s1
    py = t[V, 1] + t[V + 1, 1] * c1 + t[V + 2, 1] * s1
    lx, ly = k[L, 0], k[L, 1]
    a, b = lx * gx + ly * gy, ly * gx - lx * gy
    rho = max(sqrt(a * a + b * b), 1e-12)
    a, b = a / rho, b / rho
    x = 0.5 * (px * px + py * py - lx * lx - ly * ly - gx * gx - gy * gy) / rho
    room2 = 1.0 - x * x
    x = min(max(x, -1.0), 1.0)
    y = elbow * sqrt(max(room2, k[DOUBT, 1]))
    c3, s3 = a * x - b * y, b * x + a * y
    zx, zy = lx + gx * c3 - gy * s3, ly + gx * s3 + gy * c3
    a, b = zx * px + zy * py, zx * py - zy * px
    rho = max(sqrt(a * a + b * b), 1e-12)
    c2, s2 = a / rho, b / rho
    dx = t[D, 0] + t[D + 1, 0] * c1 + t[D + 2, 0] * s1
    dy = t[D, 1] + t[D + 1, 1] * c1 + t[D + 2, 1] * s1
    dz = t[D, 2] + t[D + 1, 2] * c1 + t[D + 2, 2] * s1
    c, s = c2 * c3 - s2 * s3, s2 * c3 + c2 * s3
    return room1, room2, c1, s1, c2, s2, c3, s3, c * dx + s * dy, c * dy - s * dx, dz


@kernel("UniTuple(f8, 2)(f8[:, ::1], f8[:, ::1], f8, f8, f8)", fastmath={"contract"})
def room_and_lack(k: FloatArray, t: FloatArray, shoulder: float, elbow: float, q4: float) -> tuple[float, float]:
    """The least room at one turn of the fourth joint, and what the fifth axis lacks there to fit the last."""
    s, c = sine_cosine(q4)
    room1, room2, _, _, _, _, _, _, x, y, z = arm_at(k, t, shoulder, elbow, c, s)
    lack = (k[S, 0] + k[S + 1, 0] * c + k[S + 2, 0] * s) * x + (k[S, 1] + k[S + 1, 1] * c + k[S + 2, 1] * s) * y
    lack += (k[S, 2] + k[S + 1, 2] * c + k[S + 2, 2] * s) * z - k[KAPPA_OFFSET_SIGN, 0]
    return min(room1, room2) + k[DOUBT, 1], lack


@kernel("void(f8[::1], f8[::1], f8[:, ::1])")
def see_limits(lo: FloatArray, hi: FloatArray, gates: FloatArray) -> None:
    """Fill gates (6, 3): cosine and sine of each joint's middle, and the least cosine inside, some slack taken in."""
    for i in range(6):
        middle, half = 0.5 * (lo[i] + hi[i]), 0.5 * (hi[i] - lo[i]) + ROUGH_SLACK_RAD
        gates[i, 1], gates[i, 0] = sine_cosine(middle)
        gates[i, 2] = cos(half) if half < pi else -2.0


@kernel("b1(f8[:, ::1], i8, f8, f8, f8)", fastmath={"contract"}, forceinline=True)
def shut_out(gates: FloatArray, joint: int, c: float, s: float, slack: float) -> bool:
    """Whether a joint whose cosine and sine are these is outside its limits by more than a slack, radians."""
    return bool(c * gates[joint, 0] + s * gates[joint, 1] < gates[joint, 2] - slack)


@kernel("b1(f8[:, ::1], f8[:, ::1], f8[:, ::1], f8, f8, f8, f8[::1])", fastmath={"contract"})
def joints_at(
    k: FloatArray, t: FloatArray, gates: FloatArray, shoulder: float, elbow: float, q4: float, q: FloatArray
) -> bool:
    """All six joints, radians, once the fourth is known; False, and q is not to be used, if one is shut out."""
    s, c = sine_cosine(q4)
    _, _, c1, s1, c2, s2, c3, s3, dx, dy, dz = arm_at(k, t, shoulder, elbow, c, s)
    turned_s3 = k[KAPPA_OFFSET_SIGN, 2] * s3
    if shut_out(gates, 0, c1, s1, 0.0) or shut_out(gates, 1, c2, s2, 0.0) or shut_out(gates, 2, c3, turned_s3, 0.0):
        return False
    along = (k[N, 0] + k[N + 1, 0] * c + k[N + 2, 0] * s) * dx + (k[N, 1] + k[N + 1, 1] * c + k[N + 2, 1] * s) * dy
    along += (k[N, 2] + k[N + 1, 2] * c + k[N + 2, 2] * s) * dz
    across = (k[M, 0] + k[M + 1, 0] * c + k[M + 2, 0] * s) * dx + (k[M, 1] + k[M + 1, 1] * c + k[M + 2, 1] * s) * dy
    across += (k[M, 2] + k[M + 1, 2] * c + k[M + 2, 2] * s) * dz
    length = sqrt(along * along + across * across)
    if shut_out(gates, 3, c, s, 0.0) or along * gates[4, 0] + across * gates[4, 1] < gates[4, 2] * length:
        return False
    q[0], q[1], q[2], q[3], q[4] = atan2(s1, c1), atan2(s2, c2), atan2(turned_s3, c3), q4, atan2(across, along)
    ex, ey = k[S, 0] + k[S + 1, 0] * c + k[S + 2, 0] * s, k[S, 1] + k[S + 1, 1] * c + k[S + 2, 1] * s
    ez = k[S, 2] + k[S + 1, 2] * c + k[S + 2, 2] * s
    c23, s23 = c2 * c3 - s2 * s3, s2 * c3 + c2 * s3
    ex, ey = c23 * ex - s23 * ey, s23 * ex + c23 * ey  # the fifth axis before the first joint turns
    x = ex * (t[X, 0] + t[X + 1, 0] * c1 + t[X + 2, 0] * s1) + ey * (t[X, 1] + t[X + 1, 1] * c1 + t[X + 2, 1] * s1)
    y = ex * (t[Y, 0] + t[Y + 1, 0] * c1 + t[Y + 2, 0] * s1) + ey * (t[Y, 1] + t[Y + 1, 1] * c1 + t[Y + 2, 1] * s1)
    x += ez * (t[X, 2] + t[X + 1, 2] * c1 + t[X + 2, 2] * s1)
    y += ez * (t[Y, 2] + t[Y + 1, 2] * c1 + t[Y + 2, 2] * s1)
    q[5] = atan2(-y, x)
    return True
