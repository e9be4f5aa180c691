"""The closed form in NumPy: the twin of `closed_kernels`, for when machine code is not at hand.

The same method, so that it gives the same answers but for the last digits; many targets go through each step at once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from runner.kinematics.fk import rotation_vector, tool_frames_and_jacobians
from runner.kinematics.ik.closed_rows import (
    DOUBT,
    FRAMES_AT,
    KAPPA_OFFSET_SIGN,
    MARGIN,
    MAX_AT,
    MIN_AT,
    NEAR_M,
    NEAR_RAD,
    REFUSED,
    ROUGH_SLACK_RAD,
    SAME_RAD,
    SLACK_RAD,
    START_SLACK_DEG,
    G,
    L,
    S,
    V,
)
from runner.kinematics.ik.walk_numpy import roots_around
from runner.kinematics.ik.wrist_numpy import Pairs, arm_at, joints_at, room_and_lack, see_targets
from runner.kinematics.model import FloatArray

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


def branches(constants: FloatArray, start_deg: FloatArray, goal: FloatArray, most: int, out: FloatArray) -> int:
    """The `most` nearest branches of one target into out (most, 8), as the kernel of that name."""
    counts = np.zeros(1, dtype=np.int64)
    branches_of_many(constants, start_deg[None], goal[None], most, out, counts)
    return int(counts[0])


def branches_of_many(
    constants: FloatArray, starts_deg: FloatArray, goals: FloatArray, most: int, out: FloatArray, counts: IntArray
) -> int:
    """The same for many, as the kernel of that name, but for one start that is refused all are."""
    k, frames = constants[:FRAMES_AT].reshape(25, 3), constants[FRAMES_AT:MIN_AT].reshape(7, 3, 4)
    min_deg, max_deg = constants[MIN_AT:MAX_AT], constants[MAX_AT:]
    if not ((starts_deg >= min_deg - START_SLACK_DEG) & (starts_deg <= max_deg + START_SLACK_DEG)).all():
        counts[:] = REFUSED
        return 0
    lo, hi, starts = np.radians(min_deg), np.radians(max_deg), np.radians(starts_deg)
    n = len(goals)
    target = np.repeat(np.arange(n), 4)
    sides = np.array([1.0, -1.0])
    pairs = Pairs(k, see_targets(k, goals)[:, :, target], np.tile(np.repeat(sides, 2), n), np.tile(sides, 2 * n))
    pair, q4 = _roots(pairs, starts[target, 3])
    order = np.argsort(pair, kind="stable")
    pair, q4 = pair[order], q4[order]
    q, row = joints_at(pairs.take(pair), q4), target[pair]
    q, ok = _inside(q, lo, hi, starts[row], ROUGH_SLACK_RAD)
    q, row = q[ok], row[ok]
    q, left = _polished(frames, goals[row], q)
    q, ok = _inside(q, lo, hi, starts[row], SLACK_RAD)
    ok &= (left[:, 0] < NEAR_M) & (left[:, 1] < NEAR_RAD)
    q, left, row = _in_order(np.clip(q[ok], lo, hi), left[ok], row[ok], starts, most)
    counts[:] = np.bincount(row, minlength=n)
    out[: len(row), :6], out[: len(row), 6:] = np.clip(np.degrees(q), min_deg, max_deg), left
    return len(row)


def _in_order(
    q: FloatArray, left: FloatArray, row: IntArray, starts: FloatArray, most: int
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Each target's branches together, the nearest to its start first, the same one once, the `most` nearest."""
    place = np.arange(len(row)) - np.searchsorted(row, row)
    width = int(place.max(initial=-1)) + 1
    padded = np.full((len(starts), width, 6), np.nan)
    padded[row, place] = q
    apart = np.abs(padded[:, :, None] - padded[:, None])
    same = (np.minimum(apart, np.abs(apart - 2.0 * np.pi)).max(axis=3) < SAME_RAD) & np.tri(width, k=-1, dtype=bool)
    fresh = ~same.any(axis=2)[row, place]
    q, left, row = q[fresh], left[fresh], row[fresh]
    order = np.lexsort((((q - starts[row]) ** 2).sum(axis=1), row))
    q, left, row = q[order], left[order], row[order]
    fits = np.arange(len(row)) - np.searchsorted(row, row) < most
    return q[fits], left[fits], row[fits]


def _inside(
    q: FloatArray, lo: FloatArray, hi: FloatArray, starts: FloatArray, slack: float
) -> tuple[FloatArray, BoolArray]:
    x = q - 2.0 * np.pi * np.round((q - starts) / (2.0 * np.pi))
    x = x + 2.0 * np.pi * ((x < lo - slack).astype(float) - (x > hi + slack))
    return x, np.asarray(((x >= lo - slack) & (x <= hi + slack)).all(axis=1))


def _polished(frames: FloatArray, goals: FloatArray, q: FloatArray) -> tuple[FloatArray, FloatArray]:
    """As `polish`: the joints after Newton steps and what is left over, (C, 2) metres and radians."""
    q, left, rows = q.copy(), np.empty((len(q), 2)), np.arange(len(q))
    weights = np.repeat([1.0, 0.01], 3)
    for step in range(13):
        T, J = tool_frames_and_jacobians(frames, q[rows])
        goal = goals[rows]
        e = np.concatenate(
            (goal[:, :3, 3] - T[:, :3, 3], rotation_vector(goal[:, :3, :3] @ np.swapaxes(T[:, :3, :3], 1, 2))), axis=1
        )
        far, turn = (e[:, :3] ** 2).sum(axis=1), (e[:, 3:] ** 2).sum(axis=1)
        left[rows] = np.sqrt(np.stack((far, turn), axis=1))
        go = ~((far < 1e-24) & (turn < 1e-22)) & (far + turn <= 4.0)
        if not go.any() or step == 12:
            break
        rows, J, e, far, turn = rows[go], J[go], e[go], far[go], turn[go]
        JT = np.swapaxes(J, 1, 2) * weights
        H = JT @ J
        H[:, range(6), range(6)] += (1e-3 * (far + 0.01 * turn) + 1e-18)[:, None]
        q[rows] += np.linalg.solve(H, JT @ e[:, :, None])[:, :, 0]
    return q, left


def _roots(p: Pairs, start4: FloatArray) -> tuple[IntArray, FloatArray]:
    """Every turn of the fourth joint that fits: of which pair, and the turn."""
    roots, good, walk = _roots_nearby(p, start4)
    pair, side = np.nonzero(good)
    found = [(pair, roots[pair, side])]
    rows = np.flatnonzero(walk)
    if len(rows):
        found += [(rows[i], x) for i, x in roots_around(p.take(rows))]
    return np.concatenate([i for i, _ in found]), np.concatenate([x for _, x in found])


def _roots_nearby(p: Pairs, start4: FloatArray) -> tuple[FloatArray, BoolArray, BoolArray]:
    """As `roots_nearby`: two turns a pair (B, 2), which of them hold (B, 2), and which pairs need the walk (B,)."""
    k, t = p.k, p.t
    offset = float(k[KAPPA_OFFSET_SIGN, 1] + k[DOUBT, 2])
    rho = np.maximum(np.hypot(t[V + 1, 2], t[V + 2, 2]), 1e-12)
    upper, fore = float(np.hypot(*k[L, :2])), float(np.hypot(*k[G, :2]))
    nought = np.zeros(len(rho))
    room1, room2, *_, x, y, z = arm_at(p, nought, nought)
    cos1, cos2, spare1 = np.sqrt(1.0 - room1), np.sqrt(1.0 - room2), offset / rho
    sine1 = np.sqrt(np.maximum(room1, 1e-18))
    grown = float(np.hypot(k[G, :2] @ k[G + 1, :2], k[G, :2] @ k[G + 2, :2])) + offset * offset
    reach = (upper + fore) * offset * (cos1 + spare1) / sine1
    spare2 = (reach + grown) / (upper * fore) + cos2 * grown / (fore * fore)
    none = cos1 > 1.0 + 1.01 * spare1
    walk = ~none & (cos1 > 1.0 - 2.0 * spare1)
    none |= ~walk & (cos2 > 1.0 + 1.5 * spare2)
    walk |= ~none & (cos2 > 1.0 - 2.0 * spare2)
    shift = spare1 / sine1 + 3.0 * spare2 / np.sqrt(np.maximum(room2, 1e-18)) + 2.0 * offset / fore
    a, b = (k[S + i, 0] * x + k[S + i, 1] * y + k[S + i, 2] * z for i in (1, 2))
    swing = np.hypot(a, b)
    any_turn = ~none & ~walk & (swing < 1e-9) & (offset == 0.0)
    walk |= ~none & (swing < MARGIN * shift)
    wanted = (k[KAPPA_OFFSET_SIGN, 0] - k[S, 0] * x - k[S, 1] * y - k[S, 2] * z) / np.maximum(swing, 1e-300)
    none |= ~walk & (np.abs(wanted) > 1.0 + 2.0 * shift / np.maximum(swing, 1e-300))
    steep = np.sqrt(np.maximum(1.0 - wanted * wanted, 0.0))
    walk |= ~none & (steep * swing < MARGIN * shift)
    walk &= ~any_turn
    half = np.arctan2(steep, wanted)[:, None] * np.array([-1.0, 1.0])
    guess = np.arctan2(b, a)[:, None] + half
    slope = (steep * swing)[:, None] * np.array([1.0, -1.0])
    near = ~none & ~walk & ~any_turn
    roots = _secant(p.spread(), guess, np.where(slope == 0.0, np.inf, slope))
    walk |= near & ~(np.abs(roots - guess) < 0.5).all(axis=1)
    good = np.repeat((near & ~walk)[:, None], 2, axis=1)
    roots[any_turn, 0], good[any_turn, 0] = start4[any_turn], True
    return roots, good, walk


def _secant(p: Pairs, x0: FloatArray, slope: FloatArray) -> FloatArray:
    _, h0 = room_and_lack(p, x0)
    x1 = x0 - h0 / slope
    for _ in range(8):
        go = np.abs(x1 - x0) >= 1e-13
        if not go.any():
            break
        _, h1 = room_and_lack(p, x1)
        go &= h1 != h0
        step = np.where(go, h1 * (x1 - x0) / np.where(go, h1 - h0, 1.0), 0.0)
        x0, h0, x1 = np.where(go, x1, x0), np.where(go, h1, h0), x1 - step
        x0 = np.where(go, x0, x1)
    return x1
