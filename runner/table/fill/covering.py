"""Proof that no joint angles whatever bring the tool point into a ring round the base axis, at any tilt and heading.

The box of all joint angles is halved until each piece is shown to stay outside: the tool point of a piece differs
from that of its middle by the Jacobian's share plus at most half the lengths times the squared angles, so a piece whose
bound misses the ring holds no pose in it. Nothing is sampled, so nothing can slip through between samples. Finds none.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from runner.kinematics.fk import tool_points_m
from runner.kinematics.ik.dls import DampedLeastSquares
from runner.kinematics.ik.protocol import JointLimits
from runner.kinematics.model import ArmModel, FloatArray

_SLOPES = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0, 2.0)  # how radius and height are weighed against each other
_PASS = 16_384  # pieces at a time
MOST_PIECES = 2_000_000


@dataclass(frozen=True, slots=True)
class Ring:
    """Radii from the base axis and heights over the base's origin, metres."""

    radius_m: tuple[float, float]
    height_m: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Covering:
    """How the proof went."""

    ring: Ring
    proved: bool  # False: not within the number of pieces, which says nothing
    pieces: int  # of the joint space, looked at in all


def no_pose_in_ring(arm: ArmModel, limits: JointLimits, ring: Ring, *, most_pieces: int = MOST_PIECES) -> Covering:
    """Try to prove that a ring is empty.

    Args:
        arm: with its tool; its first joint turns about the base axis, which moves no point out of a ring.
        limits: the box of joint angles.
        ring: where the tool point must not be.
        most_pieces: after so many it is given up.

    Source: branch and bound on Taylor's theorem; the second derivative of the tool point by joints i ≤ j is
    `axis_i × (axis_j × (p - p_j))`, never longer than the tool point is from joint j's axis.
    """
    active = _joints_that_count(arm)
    beyond = _levers_m(arm)[active]
    bend = beyond[np.maximum.outer(np.arange(len(active)), np.arange(len(active)))]
    corners = np.array(list(product((-1.0, 1.0), repeat=len(active)))).T
    solver = DampedLeastSquares(arm, limits=limits)
    lo, hi = np.radians(limits.min_deg), np.radians(limits.max_deg)
    middle, half = ((lo + hi) / 2.0)[active][None], ((hi - lo) / 2.0)[active][None]
    pieces = 0
    while len(middle):
        pieces += len(middle)
        if pieces > most_pieces:
            return Covering(ring, False, pieces)
        left = [
            _may_hold(middle[i : i + _PASS], half[i : i + _PASS], active, solver, bend, corners, ring)
            for i in range(0, len(middle), _PASS)
        ]
        keep = np.concatenate(left)
        middle, half = middle[keep], half[keep].copy()
        widest, row = (half * beyond).argmax(axis=1), np.arange(len(half))
        half[row, widest] /= 2.0
        other = middle.copy()
        other[row, widest] += half[row, widest]
        middle[row, widest] -= half[row, widest]
        middle, half = np.concatenate((middle, other)), np.concatenate((half, half))
    return Covering(ring, True, pieces)


def straight_reach_m(arm: ArmModel, height_m: tuple[float, float]) -> float:
    """The largest radius at heights over the base's origin that the lengths of the links allow, whatever the limits."""
    shoulder = arm.T_parent_joint[0, :3, 3] + arm.T_parent_joint[1, :3, 3]
    length = float(_lengths_beyond_m(arm)[1])
    below = max(height_m[0] - shoulder[2], shoulder[2] - height_m[1], 0.0)
    return float(np.hypot(*shoulder[:2]) + np.sqrt(max(0.0, length**2 - below**2)))


def _joints_that_count(arm: ArmModel) -> list[int]:
    """Joints that change the tool point's radius or height: not the first, nor one whose axis it lies on."""
    levers = _levers_m(arm)
    return [i for i in range(1, arm.n_joints) if levers[i] > 1e-9]


def _levers_m(arm: ArmModel) -> FloatArray:
    """How far the tool point can be from each joint's axis at most, shape (n_joints,); of the last joint just that."""
    lengths = _lengths_beyond_m(arm)
    lengths[-1] = np.linalg.norm(np.cross(arm.axes[-1], arm.T_link_tcp[:3, 3]))
    return lengths


def _lengths_beyond_m(arm: ArmModel) -> FloatArray:
    """How far the tool point can be from each joint's origin, shape (n_joints,)."""
    steps = np.append(np.linalg.norm(arm.T_parent_joint[1:, :3, 3], axis=1), np.linalg.norm(arm.T_link_tcp[:3, 3]))
    return np.asarray(np.cumsum(steps[::-1])[::-1].copy())


def _may_hold(
    middle: FloatArray,
    half: FloatArray,
    active: list[int],
    solver: DampedLeastSquares,
    bend: FloatArray,
    corners: FloatArray,
    ring: Ring,
) -> FloatArray:
    """Which pieces are not shown to stay outside, shape (k,) of bool."""
    angles = np.zeros((len(middle), solver.arm.n_joints))
    angles[:, active] = middle
    degrees = np.degrees(angles)
    point = tool_points_m(degrees, solver.arm)
    slope = solver.jacobian(degrees)[:, :3, active]
    error = 0.5 * np.einsum("ki,ij,kj->k", half, bend, half)
    moved = (slope * half[:, None, :]) @ corners  # (k, 3, corners): the linear share, largest at a corner
    height = point[:, 2, None] + moved[:, 2]
    most = np.hypot(point[:, 0, None] + moved[:, 0], point[:, 1, None] + moved[:, 1])  # convex: largest at a corner
    radius = np.hypot(point[:, 0], point[:, 1])
    out = point[:, :2] / np.maximum(radius, 1e-9)[:, None]
    least = radius[:, None] + (out[:, :, None] * moved[:, :2]).sum(axis=1)  # never more than the radius
    (r0, r1), (h0, h1) = ring.radius_m, ring.height_m
    outside = (height.max(axis=1) + error < h0) | (height.min(axis=1) - error > h1)
    for s in _SLOPES:
        slack = np.hypot(1.0, s) * error
        outside |= (most - s * height).max(axis=1) + slack < r0 - s * h1
        outside |= (most + s * height).max(axis=1) + slack < r0 + s * h0
        outside |= (least + s * height).min(axis=1) - slack > r1 + s * h1
        outside |= (least - s * height).min(axis=1) - slack > r1 - s * h0
    return np.asarray(~outside)
