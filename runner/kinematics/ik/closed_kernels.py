"""Kernels of the closed form: every branch of one target, or of many.

Machine code by way of `runner.compiled`; the twin in NumPy is `closed_numpy`, and `closed` says how the method goes.
They check nothing and sort nothing out but branches outside the limits. `k`, `t`: see `wrist_kernels`.
"""

from __future__ import annotations

from math import atan2, degrees, pi, radians, sqrt

import numpy as np
from numpy.typing import NDArray

from runner.compiled import kernel
from runner.kinematics.ik.closed_rows import (
    CLOSE_RAD2,
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
    SLOTS,
    START_SLACK_DEG,
    G,
    L,
    S,
    V,
)
from runner.kinematics.ik.walk_kernels import roots_around
from runner.kinematics.ik.wrist_kernels import arm_at, joints_at, room_and_lack, see_limits, see_target, shut_out
from runner.kinematics.kernels import solve_positive, tool_frame, tool_frame_and_jacobian, turn_left

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@kernel("b1(f8[:, :, ::1], Array(f8, 2, 'C', True), f8[::1], f8[:, ::1], f8[:, ::1], f8[:, ::1], f8[::1])")
def polish(
    frames: FloatArray, goal: FloatArray, q: FloatArray, T: FloatArray, J: FloatArray, H: FloatArray, g: FloatArray
) -> bool:
    """Damped Newton steps on the arm's own model, in place; whether they end at the target.

    q (8,) takes what is left over behind the joints: metres and radians. T, J, H, g are room to work.
    """
    for step in range(13):
        if step == 0:
            tool_frame(frames, q, T)  # an arm whose fifth and sixth axes meet is there already
        else:
            tool_frame_and_jacobian(frames, q, T, J)
        turn_left(goal, T, g[3:])
        far = turn = 0.0
        for i in range(3):
            g[i] = goal[i, 3] - T[i, 3]
            far += g[i] * g[i]
            turn += g[3 + i] * g[3 + i]
        q[6], q[7] = sqrt(far), sqrt(turn)
        if far < 1e-24 and turn < 1e-22:
            return True
        if far + turn > 4.0 or step == 12:
            break
        if step == 0:
            tool_frame_and_jacobian(frames, q, T, J)
        damping = 1e-3 * (far + 0.01 * turn) + 1e-18
        for i in range(6):
            for j in range(i + 1):
                h = 0.0
                for m in range(6):
                    h += J[m, i] * J[m, j] * (1.0 if m < 3 else 0.01)
                H[i, j] = h
            H[i, i] += damping
        for i in range(6):
            h = 0.0
            for m in range(6):
                h += J[m, i] * g[m] * (1.0 if m < 3 else 0.01)
            J[0, i] = h  # column i is used up
        for i in range(6):
            g[i] = J[0, i]
        solve_positive(H, g)
        for i in range(6):
            q[i] += g[i]
    return bool(q[6] < NEAR_M and q[7] < NEAR_RAD)


@kernel("b1(f8[::1], f8[::1], f8[::1], f8[::1], f8)")
def brought_inside(q: FloatArray, lo: FloatArray, hi: FloatArray, start: FloatArray, slack: float) -> bool:
    """Take whole turns off in place, so that each joint is inside and as near to the start as it can be."""
    for i in range(6):
        x = q[i] - 2.0 * pi * np.round((q[i] - start[i]) / (2.0 * pi))
        if x < lo[i] - slack:
            x += 2.0 * pi
        elif x > hi[i] + slack:
            x -= 2.0 * pi
        if x < lo[i] - slack or x > hi[i] + slack:
            return False
        q[i] = x
    return True


@kernel("i8(f8[:, ::1], f8[:, ::1], f8[:, ::1], f8, f8, f8, f8[::1])", fastmath={"contract"})
def roots_nearby(
    k: FloatArray, t: FloatArray, gates: FloatArray, shoulder: float, elbow: float, start4: float, roots: FloatArray
) -> int:
    """The two turns of the fourth joint near those of a centred wrist; -1 where that is no safe guess.

    None where the first three joints are outside their limits whatever the fourth does. A wrist that is centred indeed
    and stretched out takes any turn: the start's, then.
    """
    offset = k[KAPPA_OFFSET_SIGN, 1] + k[DOUBT, 2]
    rho = max(sqrt(t[V + 1, 2] ** 2 + t[V + 2, 2] ** 2), 1e-12)
    upper, fore = sqrt(k[L, 0] ** 2 + k[L, 1] ** 2), sqrt(k[G, 0] ** 2 + k[G, 1] ** 2)
    room1, room2, c1, s1, c2, s2, c3, s3, x, y, z = arm_at(k, t, shoulder, elbow, 0.0, 0.0)
    # how far the offset can turn the shoulder's and the elbow's cosine, and link 3
    cos1, cos2 = sqrt(1.0 - room1), sqrt(1.0 - room2)
    spare1 = offset / rho
    if cos1 > 1.0 + 1.01 * spare1:
        return 0
    if cos1 > 1.0 - 2.0 * spare1:
        return -1
    sine1 = sqrt(max(room1, 1e-18))
    along = k[G, 0] * k[G + 1, 0] + k[G, 1] * k[G + 1, 1], k[G, 0] * k[G + 2, 0] + k[G, 1] * k[G + 2, 1]
    grown = sqrt(along[0] ** 2 + along[1] ** 2) + offset * offset
    reach = (upper + fore) * offset * (cos1 + spare1) / sine1
    spare2 = (reach + grown) / (upper * fore) + cos2 * grown / (fore * fore)
    if cos2 > 1.0 + 1.5 * spare2:
        return 0
    if cos2 > 1.0 - 2.0 * spare2:
        return -1
    shift = spare1 / sine1 + 3.0 * spare2 / sqrt(max(room2, 1e-18)) + 2.0 * offset / fore
    if shut_out(gates, 0, c1, s1, shift) or shut_out(gates, 1, c2, s2, shift):
        return 0
    if shut_out(gates, 2, c3, k[KAPPA_OFFSET_SIGN, 2] * s3, shift):
        return 0
    a = k[S + 1, 0] * x + k[S + 1, 1] * y + k[S + 1, 2] * z
    b = k[S + 2, 0] * x + k[S + 2, 1] * y + k[S + 2, 2] * z
    swing = sqrt(a * a + b * b)
    wanted = k[KAPPA_OFFSET_SIGN, 0] - k[S, 0] * x - k[S, 1] * y - k[S, 2] * z
    if swing < 1e-9 and offset == 0.0:
        roots[0] = start4
        return 1
    if swing < MARGIN * shift:
        return -1
    wanted /= swing
    if abs(wanted) > 1.0 + 2.0 * shift / swing:
        return 0
    steep = sqrt(max(1.0 - wanted * wanted, 0.0))
    if steep * swing < MARGIN * shift:
        return -1
    middle, half = atan2(b, a), atan2(steep, wanted)
    x0, y0, slope = middle - half, middle + half, steep * swing
    _, f0 = room_and_lack(k, t, shoulder, elbow, x0)
    _, g0 = room_and_lack(k, t, shoulder, elbow, y0)
    x1 = x0 - f0 / slope if slope != 0.0 else x0
    y1 = y0 + g0 / slope if slope != 0.0 else y0
    dx, dy = x1 - x0, y1 - y0
    before = 1.0
    for _ in range(8):  # both at once: neither waits for the other
        step = max(abs(dx), abs(dy))
        if step * before < CLOSE_RAD2:  # what a secant step leaves is about the last two steps' product
            break
        before = step
        _, f1 = room_and_lack(k, t, shoulder, elbow, x1)
        _, g1 = room_and_lack(k, t, shoulder, elbow, y1)
        dx = -f1 * dx / (f1 - f0) if f1 != f0 else 0.0
        dy = -g1 * dy / (g1 - g0) if g1 != g0 else 0.0
        f0, g0, x1, y1 = f1, g1, x1 + dx, y1 + dy
    roots[0], roots[1] = x1, y1
    if not (abs(x1 - middle + half) < 0.5 and abs(y1 - middle - half) < 0.5):
        return -1
    return 2


@kernel("i8(f8[::1], f8[::1], f8[:, ::1], f8[::1], i8)")
def put_in_order(q: FloatArray, start: FloatArray, out: FloatArray, far: FloatArray, found: int) -> int:
    """Put a pose among those found, the nearest to the start first; returns how many there are then."""
    total = 0.0
    for i in range(6):
        total += (q[i] - start[i]) ** 2
    row = found
    while row > 0 and far[row - 1] > total:
        far[row] = far[row - 1]
        out[row] = out[row - 1]
        row -= 1
    far[row] = total
    out[row] = q
    return found + 1


@kernel("i8(f8[::1], f8[::1], f8[::1], f8[::1], f8[:, ::1], f8[::1], i8)")
def kept(
    q: FloatArray, lo: FloatArray, hi: FloatArray, start: FloatArray, out: FloatArray, far: FloatArray, found: int
) -> int:
    """Put a branch among those found, unless it is there; returns how many there are then."""
    for row in range(found):
        largest = 0.0
        for i in range(6):
            d = abs(out[row, i] - q[i])
            largest = max(largest, min(d, abs(d - 2.0 * pi)))
        if largest < SAME_RAD:
            return found
    if found == SLOTS:
        return found
    for i in range(6):
        q[i] = min(max(q[i], lo[i]), hi[i])
    return put_in_order(q, start, out, far, found)


@kernel("i8(f8[::1], f8[:, ::1], Array(f8, 3, 'C', True), i8, f8[:, ::1], i8[::1])")
def branches_of_many(
    constants: FloatArray, starts_deg: FloatArray, goals: FloatArray, most: int, out: FloatArray, counts: IntArray
) -> int:
    """Every branch inside the limits, or the `most` nearest, of goals (N, 3 or 4, 4) from starts (N, 6).

    `constants` are laid out in `closed_rows`; a goal is the tool's frame. Into out (N · most, 8) goes one target's
    after the other's, nearest to the start first: six joints, degrees, and what is left over, metres and radians. Into
    counts (N,) goes how many each has; `REFUSED` for a start that is no number or outside.

    Returns:
        How many rows of `out` are filled.
    """
    k, frames = constants[:FRAMES_AT].reshape((25, 3)), constants[FRAMES_AT:MIN_AT].reshape((7, 3, 4))
    min_deg, max_deg = constants[MIN_AT:MAX_AT], constants[MAX_AT : MAX_AT + 6]
    room = np.empty(170 + 48 * SLOTS)  # one piece, as taking many costs more than a branch
    t, T, J, H = (
        room[:36].reshape((12, 3)),
        room[36:48].reshape((3, 4)),
        room[48:84].reshape((6, 6)),
        room[84:120].reshape((6, 6)),
    )
    g, lo, hi, start, q = room[120:126], room[126:132], room[132:138], room[138:144], room[144:152]
    gates, rest = room[152:170].reshape((6, 3)), room[170:]
    roots, far, rough_far = rest[: 2 * SLOTS], rest[2 * SLOTS : 3 * SLOTS], rest[3 * SLOTS : 7 * SLOTS]
    rough, best = rest[7 * SLOTS : 39 * SLOTS].reshape((4 * SLOTS, 8)), rest[40 * SLOTS :].reshape((SLOTS, 8))
    for i in range(6):
        lo[i], hi[i] = radians(min_deg[i]), radians(max_deg[i])
    see_limits(lo, hi, gates)
    filled = 0
    for target in range(goals.shape[0]):
        goal, counts[target] = goals[target], 0
        for i in range(6):
            start[i] = starts_deg[target, i]
            if not (min_deg[i] - START_SLACK_DEG <= start[i] <= max_deg[i] + START_SLACK_DEG):
                counts[target] = REFUSED
            start[i] = radians(start[i])
        if counts[target] == REFUSED:
            continue
        see_target(k, goal, t)
        n = 0
        for pair in range(4):
            shoulder, elbow = 1.0 - 2.0 * (pair // 2), 1.0 - 2.0 * (pair % 2)
            count = roots_nearby(k, t, gates, shoulder, elbow, start[3], roots)
            if count < 0:
                count = roots_around(k, t, shoulder, elbow, roots)
            for i in range(count):
                fits = joints_at(k, t, gates, shoulder, elbow, roots[i], q)
                if fits and n < rough.shape[0] and brought_inside(q, lo, hi, start, ROUGH_SLACK_RAD):
                    n = put_in_order(q, start, rough, rough_far, n)
        found = 0
        for i in range(n):
            if found >= most:
                break
            q[:] = rough[i]
            if polish(frames, goal, q, T, J, H, g) and brought_inside(q, lo, hi, start, SLACK_RAD):
                found = kept(q, lo, hi, start, best, far, found)
        for row in range(found):
            for i in range(6):
                out[filled, i] = min(max(degrees(best[row, i]), min_deg[i]), max_deg[i])
            out[filled, 6], out[filled, 7] = best[row, 6], best[row, 7]
            filled += 1
        counts[target] = found
    return filled


@kernel("i8(f8[::1], f8[::1], Array(f8, 2, 'C', True), i8, f8[:, ::1])")
def branches(constants: FloatArray, start_deg: FloatArray, goal: FloatArray, most: int, out: FloatArray) -> int:
    """The same for one goal (3 or 4, 4) and start (6,), into out (most, 8); returns how many, or `REFUSED`."""
    counts = np.empty(1, dtype=np.int64)
    branches_of_many(constants, start_deg.reshape((1, 6)), goal.reshape((1, goal.shape[0], 4)), most, out, counts)
    return int(counts[0])
