"""Forward kinematics: joint angles to the tool point and to every link, one pose or many at once.

Works in the arm's base frame, metres; `frames.py` carries results into the cell.
"""

from __future__ import annotations

import numpy as np

from runner.kinematics.errors import WrongJoints
from runner.kinematics.model import ArmModel, FloatArray

_BLOCK = 4096  # poses a pass: the working set stays in the cache


def checked_joints(angles_deg: FloatArray, arm: ArmModel) -> FloatArray:
    """The angles as float64, shape (..., n_joints).

    Raises:
        WrongJoints: another number of joints, or a value that is not finite.
    """
    q = np.asarray(angles_deg, dtype=np.float64)
    if q.ndim == 0 or q.shape[-1] != arm.n_joints:
        raise WrongJoints(f"{arm.name} has {arm.n_joints} joints, got an array of shape {q.shape}")
    if not np.isfinite(q).all():
        raise WrongJoints("joint angles must be finite numbers")
    return q


def link_poses(angles_deg: FloatArray, arm: ArmModel) -> FloatArray:
    """Every link's frame in the base frame, shape (..., n_joints + 1, 4, 4); the last is the tool point's."""
    q = np.radians(checked_joints(angles_deg, arm))
    shape = q.shape[:-1]
    q = q.reshape(-1, arm.n_joints)
    out = np.empty((len(q), arm.n_joints + 1, 4, 4))
    T = np.broadcast_to(np.eye(4), (len(q), 4, 4))
    for i in range(arm.n_joints):
        T = T @ arm.T_parent_joint[i] @ _turns(arm.axes[i], q[:, i])
        out[:, i] = T
    out[:, -1] = T @ arm.T_link_tcp
    return out.reshape(*shape, arm.n_joints + 1, 4, 4)


def tool_pose(angles_deg: FloatArray, arm: ArmModel) -> FloatArray:
    """The tool point's frame in the base frame, shape (..., 4, 4), metres."""
    return link_poses(angles_deg, arm)[..., -1, :, :]


def tool_points_m(angles_deg: FloatArray, arm: ArmModel) -> FloatArray:
    """The tool point in the base frame, shape (..., 3), metres; made for many poses.

    A vector is turned from the tip backwards, block by block: a third of the work of multiplying matrices.
    """
    q = checked_joints(angles_deg, arm)
    flat = np.radians(q.reshape(-1, arm.n_joints))
    out = np.empty((len(flat), 3))
    for start in range(0, len(flat), _BLOCK):
        part = flat[start : start + _BLOCK]
        x, y, z = (np.full(len(part), c) for c in arm.T_link_tcp[:3, 3])
        for i in reversed(range(arm.n_joints)):
            x, y, z = _turned(arm.axes[i], np.sin(part[:, i]), np.cos(part[:, i]), x, y, z)
            R, t = arm.T_parent_joint[i, :3, :3], arm.T_parent_joint[i, :3, 3]
            x, y, z = (R[r, 0] * x + R[r, 1] * y + R[r, 2] * z + t[r] for r in range(3))
        out[start : start + _BLOCK] = np.stack((x, y, z), axis=1)
    return out.reshape(*q.shape[:-1], 3)


def _turns(axis: FloatArray, angles: FloatArray) -> FloatArray:
    """Rotations about a unit axis, shape (k, 4, 4) (Rodrigues)."""
    K = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    s, c = np.sin(angles)[:, None, None], np.cos(angles)[:, None, None]
    T = np.zeros((len(angles), 4, 4))
    T[:, :3, :3] = np.eye(3) + s * K + (1 - c) * (K @ K)
    T[:, 3, 3] = 1.0
    return T


def _turned(
    axis: FloatArray, s: FloatArray, c: FloatArray, x: FloatArray, y: FloatArray, z: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    if axis[2] == 1.0:
        return c * x - s * y, s * x + c * y, z
    a, b, d = axis
    dot = (a * x + b * y + d * z) * (1 - c)
    return (
        c * x + s * (b * z - d * y) + a * dot,
        c * y + s * (d * x - a * z) + b * dot,
        c * z + s * (a * y - b * x) + d * dot,
    )


def tool_frames_and_jacobians(frames: FloatArray, q: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The tool's frames (N, 4, 4) and the geometric Jacobians (N, 6, n) at q (N, n), radians.

    Args:
        frames: see `frames_about_z`.
        q: not checked.
    """
    n = q.shape[1]
    c, s = np.cos(q)[:, :, None], np.sin(q)[:, :, None]
    local = np.empty((len(q), n + 1, 4, 4))
    local[:, :, 3] = (0.0, 0.0, 0.0, 1.0)
    local[:, :n, :3, 0] = c * frames[:n, :, 0] + s * frames[:n, :, 1]
    local[:, :n, :3, 1] = c * frames[:n, :, 1] - s * frames[:n, :, 0]
    local[:, :n, :3, 2:] = frames[:n, :, 2:]
    local[:, n, :3] = frames[n]
    for i in range(1, n + 1):
        np.matmul(local[:, i - 1], local[:, i], out=local[:, i])
    T = local[:, n]
    J = np.empty((len(q), 6, n))
    axis = np.swapaxes(local[:, :n, :3, 2], 1, 2)
    arm = T[:, :3, 3, None] - np.swapaxes(local[:, :n, :3, 3], 1, 2)
    J[:, 0] = axis[:, 1] * arm[:, 2] - axis[:, 2] * arm[:, 1]
    J[:, 1] = axis[:, 2] * arm[:, 0] - axis[:, 0] * arm[:, 2]
    J[:, 2] = axis[:, 0] * arm[:, 1] - axis[:, 1] * arm[:, 0]
    J[:, 3:] = axis
    return T, J


def rotation_vector(R: FloatArray) -> FloatArray:
    """The turn that each rotation (N, 3, 3) makes, as axis × angle in radians, shape (N, 3); good up to half a turn."""
    w = np.stack((R[:, 2, 1] - R[:, 1, 2], R[:, 0, 2] - R[:, 2, 0], R[:, 1, 0] - R[:, 0, 1]), axis=1) / 2.0
    s = np.sqrt((w * w).sum(axis=1))
    c = (R[:, 0, 0] + R[:, 1, 1] + R[:, 2, 2] - 1.0) / 2.0
    angle = np.arctan2(s, c)
    out = w * np.where(s > 1e-9, angle / np.maximum(s, 1e-9), 1.0)[:, None]
    half = (s < 1e-4) & (c < 0)  # about half a turn: the axis is in the symmetric part
    for i in np.flatnonzero(half):
        S = (R[i] + np.eye(3)) / 2.0
        axis = S[:, int(np.argmax(np.diag(S)))]
        axis = axis / np.linalg.norm(axis)
        out[i] = axis * angle[i] * (1.0 if axis @ w[i] >= 0 else -1.0)
    return out


def frames_about_z(arm: ArmModel) -> FloatArray:
    """The joints' frames turned so that every axis is z, then the tool in the last of them: (n_joints + 1, 3, 4)."""
    n = arm.n_joints
    frames = np.empty((n + 1, 3, 4))
    before = np.eye(4)
    for i, axis in enumerate(arm.axes):
        turned = np.eye(4)
        turned[:3, :3] = _with_z_along(axis)
        frames[i] = (before.T @ arm.T_parent_joint[i] @ turned)[:3]  # before only turns: its transpose undoes it
        before = turned
    frames[n] = (before.T @ arm.T_link_tcp)[:3]
    return frames


def _with_z_along(axis: FloatArray) -> FloatArray:
    helper = np.eye(3)[int(np.argmin(np.abs(axis)))]
    x = np.cross(helper, axis)
    x /= np.linalg.norm(x)
    return np.stack((x, np.cross(axis, x), axis), axis=1)
