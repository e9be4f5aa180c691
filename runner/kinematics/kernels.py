"""Kernels that all of kinematics shares: tool points, tool frames, the Jacobian, what a frame lacks to a target.

Machine code by way of `runner.compiled`; their twins in NumPy are in `fk.py` and `ik/dls.py`. They check nothing:
whoever calls them has.

An arm is given as `frames` (n + 1, 3, 4): each joint's frame at zero in the frame before it, turned so that the joint's
axis is z, and at the end the tool's in the last of them. Angles are radians, lengths metres.
"""

from __future__ import annotations

from math import atan2, floor, pi, sqrt

import numpy as np
from numpy.typing import NDArray

from runner.compiled import kernel

FloatArray = NDArray[np.float64]

DEGREE = pi / 180.0


@kernel("UniTuple(f8, 2)(f8)", fastmath={"contract"})
def sine_cosine(a: float) -> tuple[float, float]:
    """Both at once, to the last digit or two for angles of some thousand turns, in half the time of two calls.

    Source of the coefficients: Moshier, Cephes mathematical library, sin.c.
    """
    quarter = floor(a * (2.0 / pi) + 0.5)
    x = ((a - quarter * 1.5707962512969970) - quarter * 7.5497894158615964e-08) - quarter * 5.3903028581581191e-15
    z = x * x
    s = (1.58962301576546568060e-10 * z - 2.50507477628578072866e-8) * z + 2.75573136213857245213e-6
    s = ((s * z - 1.98412698295895385996e-4) * z + 8.33333333332211858878e-3) * z - 1.66666666666666307295e-1
    s = x + x * z * s
    c = (-1.13585365213876817300e-11 * z + 2.08757008419747316778e-9) * z - 2.75573141792967388112e-7
    c = ((c * z + 2.48015872888517045348e-5) * z - 1.38888888888730564116e-3) * z + 4.16666666666665929218e-2
    c = 1.0 - 0.5 * z + z * z * c
    turned = quarter - 4.0 * floor(0.25 * quarter)
    if turned - 2.0 * floor(0.5 * turned) == 1.0:
        s, c = c, -s
    return (-s, -c) if turned >= 2.0 else (s, c)


@kernel("b1(f8[:, :, ::1], f8[:, ::1], f8[:, ::1])", fastmath={"contract"})
def tool_points(frames: FloatArray, angles_deg: FloatArray, out: FloatArray) -> bool:
    """Tool points (N, 3) of poses (N, n), degrees: a vector is turned from the tip backwards.

    Returns:
        Whether all angles are finite.
    """
    n = angles_deg.shape[1]
    nought = 0.0
    for row in range(angles_deg.shape[0]):
        x, y, z = frames[n, 0, 3], frames[n, 1, 3], frames[n, 2, 3]
        for i in range(n - 1, -1, -1):
            a = angles_deg[row, i] * DEGREE
            nought += a - a  # stays nought but for what is not finite
            s, c = sine_cosine(a)
            u, v = c * x - s * y, s * x + c * y
            F = frames[i]
            x = F[0, 0] * u + F[0, 1] * v + F[0, 2] * z + F[0, 3]
            y = F[1, 0] * u + F[1, 1] * v + F[1, 2] * z + F[1, 3]
            z = F[2, 0] * u + F[2, 1] * v + F[2, 2] * z + F[2, 3]
        out[row, 0], out[row, 1], out[row, 2] = x, y, z
    return nought == 0.0


@kernel("void(f8[:, ::1], f8[:, ::1], f8, f8)", fastmath={"contract"})
def onward(T: FloatArray, F: FloatArray, c: float, s: float) -> None:
    """The frame T (3, 4) carried on in place by F, then turned about z by the angle of cosine c and sine s."""
    e, f, g, x0 = (
        F[0, 0],
        F[0, 1],
        F[0, 2],
        F[0, 3],
    )  # read before T is written to: for all a compiler knows, they share
    h, i, j, y0 = F[1, 0], F[1, 1], F[1, 2], F[1, 3]
    k, o, m, z0 = F[2, 0], F[2, 1], F[2, 2], F[2, 3]
    for row in range(3):
        a, b, d, t = T[row, 0], T[row, 1], T[row, 2], T[row, 3]
        x, y = a * e + b * h + d * k, a * f + b * i + d * o
        T[row, 0], T[row, 1] = x * c + y * s, y * c - x * s
        T[row, 2], T[row, 3] = a * g + b * j + d * m, a * x0 + b * y0 + d * z0 + t


@kernel("void(f8[:, :, ::1], f8[::1], f8[:, ::1], f8[:, ::1])", fastmath={"contract"})
def tool_frame_and_jacobian(frames: FloatArray, q: FloatArray, T: FloatArray, J: FloatArray) -> None:
    """The tool's frame T (3, 4) and the geometric Jacobian J (6, n) of one pose."""
    n = frames.shape[0] - 1
    for i in range(3):
        for k in range(4):
            T[i, k] = 1.0 if i == k else 0.0
    for j in range(n):
        s, c = sine_cosine(q[j])
        onward(T, frames[j], c, s)
        for i in range(3):  # the axis, and where it is until the tool's place is known
            J[3 + i, j], J[i, j] = T[i, 2], T[i, 3]
    onward(T, frames[n], 1.0, 0.0)
    for j in range(n):
        x, y, z = T[0, 3] - J[0, j], T[1, 3] - J[1, j], T[2, 3] - J[2, j]
        a, b, d = J[3, j], J[4, j], J[5, j]
        J[0, j], J[1, j], J[2, j] = b * z - d * y, d * x - a * z, a * y - b * x


@kernel("void(f8[:, :, ::1], f8[::1], f8[:, ::1])", fastmath={"contract"})
def tool_frame(frames: FloatArray, q: FloatArray, T: FloatArray) -> None:
    """The tool's frame T (3 or 4, 4; its first three rows) of one pose."""
    n = frames.shape[0] - 1
    for i in range(3):
        for k in range(4):
            T[i, k] = 1.0 if i == k else 0.0
    for j in range(n):
        s, c = sine_cosine(q[j])
        onward(T, frames[j], c, s)
    onward(T, frames[n], 1.0, 0.0)


@kernel("b1(f8[:, :, ::1], f8[:, ::1], f8[:, :, ::1])", fastmath={"contract"})
def tool_frames(frames: FloatArray, angles_deg: FloatArray, out: FloatArray) -> bool:
    """Tool frames (N, 4, 4) of poses (N, n), degrees; returns whether all angles are finite."""
    n = angles_deg.shape[1]
    q = np.empty(n)
    nought = 0.0
    for row in range(angles_deg.shape[0]):
        for i in range(n):
            q[i] = angles_deg[row, i] * DEGREE
            nought += q[i] - q[i]
        tool_frame(frames, q, out[row])
        out[row, 3, 0] = out[row, 3, 1] = out[row, 3, 2] = 0.0
        out[row, 3, 3] = 1.0
    return nought == 0.0


@kernel("void(Array(f8, 2, 'C', True), f8[:, ::1], f8[::1])")
def turn_left(goal: FloatArray, T: FloatArray, out: FloatArray) -> None:
    """The turn from the frame T (3, 4) to goal (3, 4) as axis × angle (3,), base frame; good up to half a turn."""
    x = y = z = trace = 0.0
    for k in range(3):  # goal · T transposed, its skew part and its trace
        x += goal[2, k] * T[1, k] - goal[1, k] * T[2, k]
        y += goal[0, k] * T[2, k] - goal[2, k] * T[0, k]
        z += goal[1, k] * T[0, k] - goal[0, k] * T[1, k]
        trace += goal[0, k] * T[0, k] + goal[1, k] * T[1, k] + goal[2, k] * T[2, k]
    x, y, z = 0.5 * x, 0.5 * y, 0.5 * z
    c, s = 0.5 * (trace - 1.0), sqrt(x * x + y * y + z * z)
    if s < 1e-4 and c < 0.0:  # about half a turn: the axis is in the symmetric part
        angle = atan2(s, c)
        best, column = -1.0, 0
        for i in range(3):
            d = 1.0 + goal[i, 0] * T[i, 0] + goal[i, 1] * T[i, 1] + goal[i, 2] * T[i, 2]
            if d > best:
                best, column = d, i
        length = 0.0
        for i in range(3):
            out[i] = goal[i, 0] * T[column, 0] + goal[i, 1] * T[column, 1] + goal[i, 2] * T[column, 2]
            out[i] += goal[column, 0] * T[i, 0] + goal[column, 1] * T[i, 1] + goal[column, 2] * T[i, 2]
            if i == column:
                out[i] += 2.0
            length += out[i] * out[i]
        scale = angle / sqrt(length)
        if out[0] * x + out[1] * y + out[2] * z < 0.0:
            scale = -scale
        out[0], out[1], out[2] = out[0] * scale, out[1] * scale, out[2] * scale
        return
    scale = atan2(s, c) / s if s > 1e-9 else 1.0
    out[0], out[1], out[2] = x * scale, y * scale, z * scale


@kernel("void(f8[:, ::1], f8[::1], i8)", fastmath={"contract"}, inline="always")
def eliminate(A: FloatArray, b: FloatArray, n: int) -> None:
    """The work of `solve_positive`, for n rows. Without a root, and each column's updates don't wait for each other."""
    for j in range(n):
        r = 1.0 / A[j, j] if A[j, j] > 1e-300 else 1e300
        A[j, j] = r
        t = b[j]
        for i in range(j + 1, n):
            f = A[i, j] * r
            b[i] -= f * t
            for k in range(j + 1, i + 1):
                A[i, k] -= f * A[k, j]
    for j in range(n - 1, -1, -1):
        t = b[j]
        for k in range(j + 1, n):
            t -= A[k, j] * b[k]
        b[j] = t * A[j, j]


@kernel("void(f8[:, ::1], f8[::1])", fastmath={"contract"}, inline="always")
def solve_positive(A: FloatArray, b: FloatArray) -> None:
    """A x = b for symmetric positive A (n, n), its lower half, in place: x comes back in b, A is used up."""
    if b.shape[0] == 6:
        eliminate(A, b, 6)  # its loops unroll then: a third of the time
    else:
        eliminate(A, b, b.shape[0])
