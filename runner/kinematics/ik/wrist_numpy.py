"""The twins in NumPy of `wrist_kernels`, for many targets at once.

Arrays `k` and `t` are as there, `t` with one more dimension for the targets, shape (12, 3, B).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from runner.kinematics.ik.closed_rows import A1, DOUBT, KAPPA_OFFSET_SIGN, P1, P2, W_TOOL, D, F, G, L, M, N, S, V, X, Y
from runner.kinematics.model import FloatArray

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Targets with a shoulder's and an elbow's side, one in each place of the arrays."""

    k: FloatArray  # (25, 3)
    t: FloatArray  # (12, 3, B)
    shoulder: FloatArray  # (B,)
    elbow: FloatArray  # (B,)

    def take(self, rows: IntArray | BoolArray) -> Pairs:
        return Pairs(self.k, self.t[:, :, rows], self.shoulder[rows], self.elbow[rows])

    def spread(self) -> Pairs:
        """Ready to be asked about several turns each, shape (B, any)."""
        return Pairs(self.k, self.t[..., None], self.shoulder[:, None], self.elbow[:, None])


def see_targets(k: FloatArray, goals: FloatArray) -> FloatArray:
    """What `see_target` makes of goals (N, 3 or 4, 4), shape (12, 3, N)."""
    vectors = np.einsum("nij,wj->win", goals[:, :3, :3], k[W_TOOL : W_TOOL + 4])
    vectors[0] += (goals[:, :3, 3] - k[P2]).T
    vectors = np.einsum("ij,wjn->win", k[F : F + 3], vectors)
    vectors[0] -= k[P1, :, None]
    axis = k[A1]
    t = np.empty((4, 3, 3, len(goals)))
    t[:, 0] = np.einsum("i,wn->win", axis, np.einsum("i,win->wn", axis, vectors))
    t[:, 1] = vectors - t[:, 0]
    t[:, 2] = -np.cross(axis, vectors, axisb=1, axisc=1)
    t[0, 0] += k[P1, :, None]
    return t.reshape(12, 3, len(goals))


def turned(k: FloatArray, group: int, c: FloatArray, s: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """A vector that the fourth joint turns."""
    x, y, z = (k[group, i] + k[group + 1, i] * c + k[group + 2, i] * s for i in range(3))
    return x, y, z


def arm_at(p: Pairs, c4: FloatArray, s4: FloatArray) -> tuple[FloatArray, ...]:
    """As `arm_at`: room of shoulder and elbow, cosines and sines of joints 1 to 3, the last axis seen from link 3."""
    k, t = p.k, p.t
    gx, gy, gz = turned(k, G, c4, s4)
    a, b = t[V + 1, 2], t[V + 2, 2]
    rho = np.maximum(np.hypot(a, b), 1e-12)
    a, b = a / rho, b / rho
    x = (k[L, 2] + gz - t[V, 2]) / rho
    room1 = 1.0 - x * x
    x = np.minimum(np.maximum(x, -1.0), 1.0)
    y = p.shoulder * np.sqrt(np.maximum(room1, k[DOUBT, 1]))
    c1, s1 = a * x - b * y, b * x + a * y
    px, py = (t[V, i] + t[V + 1, i] * c1 + t[V + 2, i] * s1 for i in range(2))
    lx, ly = k[L, 0], k[L, 1]
    a, b = lx * gx + ly * gy, ly * gx - lx * gy
    rho = np.maximum(np.hypot(a, b), 1e-12)
    a, b = a / rho, b / rho
    x = 0.5 * (px * px + py * py - lx * lx - ly * ly - gx * gx - gy * gy) / rho
    room2 = 1.0 - x * x
    x = np.minimum(np.maximum(x, -1.0), 1.0)
    y = p.elbow * np.sqrt(np.maximum(room2, k[DOUBT, 1]))
    c3, s3 = a * x - b * y, b * x + a * y
    zx, zy = lx + gx * c3 - gy * s3, ly + gx * s3 + gy * c3
    a, b = zx * px + zy * py, zx * py - zy * px
    rho = np.maximum(np.hypot(a, b), 1e-12)
    c2, s2 = a / rho, b / rho
    dx, dy, dz = (t[D, i] + t[D + 1, i] * c1 + t[D + 2, i] * s1 for i in range(3))
    c, s = c2 * c3 - s2 * s3, s2 * c3 + c2 * s3
    return room1, room2, c1, s1, c2, s2, c3, s3, c * dx + s * dy, c * dy - s * dx, dz


def room_and_lack(p: Pairs, q4: FloatArray) -> tuple[FloatArray, FloatArray]:
    c, s = np.cos(q4), np.sin(q4)
    room1, room2, *_, x, y, z = arm_at(p, c, s)
    ex, ey, ez = turned(p.k, S, c, s)
    return np.minimum(room1, room2) + p.k[DOUBT, 1], ex * x + ey * y + ez * z - p.k[KAPPA_OFFSET_SIGN, 0]


def joints_at(p: Pairs, q4: FloatArray) -> FloatArray:
    """As `joints_at`: all joints (B, 6) once the fourth is known."""
    k, t = p.k, p.t
    c, s = np.cos(q4), np.sin(q4)
    _, _, c1, s1, c2, s2, c3, s3, dx, dy, dz = arm_at(p, c, s)
    nx, ny, nz = turned(k, N, c, s)
    mx, my, mz = turned(k, M, c, s)
    ex, ey, ez = turned(k, S, c, s)
    c23, s23 = c2 * c3 - s2 * s3, s2 * c3 + c2 * s3
    ex, ey = c23 * ex - s23 * ey, s23 * ex + c23 * ey
    fx, fy, fz = (t[X, i] + t[X + 1, i] * c1 + t[X + 2, i] * s1 for i in range(3))
    hx, hy, hz = (t[Y, i] + t[Y + 1, i] * c1 + t[Y + 2, i] * s1 for i in range(3))
    q5 = np.arctan2(mx * dx + my * dy + mz * dz, nx * dx + ny * dy + nz * dz)
    q6 = np.arctan2(-(ex * hx + ey * hy + ez * hz), ex * fx + ey * fy + ez * fz)
    q3 = k[KAPPA_OFFSET_SIGN, 2] * np.arctan2(s3, c3)
    return np.stack((np.arctan2(s1, c1), np.arctan2(s2, c2), q3, q4, q5, q6), axis=1)
