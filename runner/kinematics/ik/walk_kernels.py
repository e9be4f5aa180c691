"""Kernels that look all round the fourth joint's turn for branches, where those of a centred wrist are no safe guess.

Machine code by way of `runner.compiled`; the twins in NumPy are in `walk_numpy`. They check nothing. `k`, `t`: see
`wrist_kernels`.
"""

from __future__ import annotations

from math import cos, pi

import numpy as np
from numpy.typing import NDArray

from runner.compiled import kernel
from runner.kinematics.ik.closed_rows import ALL_BUT, DOUBT, ROOT_RAD, SAMPLES, STEPS
from runner.kinematics.ik.wrist_kernels import room_and_lack

FloatArray = NDArray[np.float64]


@kernel("f8(f8[:, ::1], f8[:, ::1], f8, f8, f8, f8)")
def edge(k: FloatArray, t: FloatArray, shoulder: float, elbow: float, inside: float, outside: float) -> float:
    """Where the room ends between a turn that has room and one that has none; the last that has (Illinois)."""
    a, b = outside, inside
    ra, _ = room_and_lack(k, t, shoulder, elbow, a)
    rb, _ = room_and_lack(k, t, shoulder, elbow, b)
    for _ in range(STEPS):
        if rb == ra:
            break
        x = (a * rb - b * ra) / (rb - ra)
        near = abs(x - b) < ROOT_RAD
        r, _ = room_and_lack(k, t, shoulder, elbow, x)
        if (r >= 0.0) != (rb >= 0.0):
            a, ra = b, rb
        else:
            ra *= 0.5
        b, rb = x, r
        if near:
            break
    step = ROOT_RAD if inside > outside else -ROOT_RAD
    while rb < 0.0 and abs(b - outside) < abs(inside - outside):
        b += step
        step *= 2.0
        rb, _ = room_and_lack(k, t, shoulder, elbow, b)
    return b if rb >= 0.0 else inside


@kernel("f8(f8[:, ::1], f8[:, ::1], f8, f8, f8, f8, f8, f8)")
def crossing(
    k: FloatArray, t: FloatArray, shoulder: float, elbow: float, a: float, b: float, ha: float, hb: float
) -> float:
    """Where the lack is nothing between two turns with unlike signs (regula falsi, Illinois)."""
    for _ in range(STEPS):
        x = (a * hb - b * ha) / (hb - ha)
        _, h = room_and_lack(k, t, shoulder, elbow, x)
        if h == 0.0 or abs(x - b) < ROOT_RAD:
            return x
        if (h > 0.0) != (hb > 0.0):
            a, ha = b, hb
        else:
            ha *= 0.5
        b, hb = x, h
    return b


@kernel("f8(f8[:, ::1], f8[:, ::1], f8, f8, f8, f8, f8)")
def highest(k: FloatArray, t: FloatArray, shoulder: float, elbow: float, a: float, b: float, sign: float) -> float:
    """Between a and b the turn with most room (sign 0), or with the largest lack times the sign (golden section)."""
    ratio = 0.6180339887498949
    x, y = b - ratio * (b - a), a + ratio * (b - a)
    room, lack = room_and_lack(k, t, shoulder, elbow, x)
    fx = room if sign == 0.0 else sign * lack
    room, lack = room_and_lack(k, t, shoulder, elbow, y)
    fy = room if sign == 0.0 else sign * lack
    for _ in range(40):
        if fx > fy:
            b, y, fy = y, x, fx
            x = b - ratio * (b - a)
            room, lack = room_and_lack(k, t, shoulder, elbow, x)
            fx = room if sign == 0.0 else sign * lack
        else:
            a, x, fx = x, y, fy
            y = a + ratio * (b - a)
            room, lack = room_and_lack(k, t, shoulder, elbow, y)
            fy = room if sign == 0.0 else sign * lack
    return x if fx > fy else y


@kernel("i8(f8[:, ::1], f8[:, ::1], f8, f8, f8[:, ::1], f8[::1])")
def stretches(k: FloatArray, t: FloatArray, shoulder: float, elbow: float, ends: FloatArray, lacks: FloatArray) -> int:
    """Where on the fourth joint's turn there is room, into ends (n, 2), radians; returns how many.

    A stretch that is all but there comes as a point. The whole turn is one stretch of 2π, and lacks (SAMPLES,)
    holds what was seen on it.
    """
    width = 2.0 * pi / SAMPLES
    begin, whole = 0.0, True
    for i in range(SAMPLES):  # begin where there is no room, if there is such a place
        room, lacks[i] = room_and_lack(k, t, shoulder, elbow, i * width)
        if room < 0.0:
            begin, whole = i * width, False
            break
    if whole:
        ends[0, 0], ends[0, 1] = 0.0, 2.0 * pi
        return 1
    count, left, x = 0, 0.0, begin
    room, _ = room_and_lack(k, t, shoulder, elbow, begin)
    before, _ = room_and_lack(k, t, shoulder, elbow, begin - width)
    for i in range(1, SAMPLES + 1):
        there = begin + i * width
        room_there, _ = room_and_lack(k, t, shoulder, elbow, there)
        if room < 0.0 <= room_there:
            left = edge(k, t, shoulder, elbow, there, x)
        elif room_there < 0.0 <= room:
            ends[count, 0], ends[count, 1] = left, edge(k, t, shoulder, elbow, x, there)
            count += 1
        elif (
            before < 0.0 and room_there < 0.0 and room > before and room >= room_there
        ):  # a narrow one between samples?
            peak = highest(k, t, shoulder, elbow, x - width, there, 0.0)
            most, _ = room_and_lack(k, t, shoulder, elbow, peak)
            if most > -ALL_BUT:
                ends[count, 0] = ends[count, 1] = peak
                if most >= 0.0:
                    ends[count, 0] = edge(k, t, shoulder, elbow, peak, x - width)
                    ends[count, 1] = edge(k, t, shoulder, elbow, peak, there)
                count += 1
        if count == ends.shape[0]:
            break
        before, x, room = room, there, room_there
    return count


@kernel("i8(f8[:, ::1], f8[:, ::1], f8, f8, f8, f8, f8, f8, f8[::1], i8)")
def touching(
    k: FloatArray,
    t: FloatArray,
    shoulder: float,
    elbow: float,
    a: float,
    c: float,
    ha: float,
    hc: float,
    roots: FloatArray,
    count: int,
) -> int:
    """The roots between two turns where the lack has one sign and comes near nothing between: two, one or none."""
    if count + 2 > roots.shape[0]:
        return count
    peak = highest(k, t, shoulder, elbow, a, c, -1.0 if ha > 0.0 else 1.0)
    _, h = room_and_lack(k, t, shoulder, elbow, peak)
    if (h > 0.0) != (ha > 0.0):
        roots[count] = crossing(k, t, shoulder, elbow, a, peak, ha, h)
        roots[count + 1] = crossing(k, t, shoulder, elbow, peak, c, h, hc)
        return count + 2
    if abs(h) < k[DOUBT, 0]:
        roots[count] = peak
        return count + 1
    return count


@kernel("i8(f8[:, ::1], f8[:, ::1], f8, f8, f8, f8, f8[::1], f8[::1], i8)")
def roots_between(
    k: FloatArray,
    t: FloatArray,
    shoulder: float,
    elbow: float,
    left: float,
    right: float,
    lacks: FloatArray,
    roots: FloatArray,
    count: int,
) -> int:
    """Every turn of the fourth joint between two that fits, added to `count` roots; doubtful ones too.

    The walk is even in an angle whose cosine is the place, so that it is close where the room ends: there the lack
    runs like a square root. The whole turn has no ends and is walked evenly, a step farther than round.
    """
    whole = right - left > 2.0 * pi - 1e-9
    steps = SAMPLES + 1 if whole else 8 + int((right - left) * SAMPLES / (2.0 * pi))
    a = b = c = ha = hb = hc = 0.0
    for i in range(steps + 1):
        share = i / SAMPLES if whole else 0.5 - 0.5 * cos(pi * i / steps)
        c = left + (right - left) * share
        if whole:
            hc = lacks[i % SAMPLES]
        else:
            _, hc = room_and_lack(k, t, shoulder, elbow, c)
        if i > 0 and (hc > 0.0) != (hb > 0.0):
            if count < roots.shape[0]:
                roots[count] = crossing(k, t, shoulder, elbow, b, c, hb, hc)
                count += 1
        elif i > 1 and abs(hb) <= abs(ha) and abs(hb) <= abs(hc) and (ha > 0.0) == (hb > 0.0):
            count = touching(k, t, shoulder, elbow, a, c, ha, hc, roots, count)
        elif i in (1, steps) and not whole:  # a touch between the end and the sample beside it?
            end, inner, h_end = (b, c, hb) if i == 1 else (c, b, hc)
            _, h = room_and_lack(k, t, shoulder, elbow, end + 1e-6 * (inner - end))
            if abs(h) < abs(h_end):
                count = touching(k, t, shoulder, elbow, b, c, hb, hc, roots, count)
        a, b, ha, hb = b, c, hb, hc
    return count


@kernel("i8(f8[:, ::1], f8[:, ::1], f8, f8, f8[::1])")
def roots_around(k: FloatArray, t: FloatArray, shoulder: float, elbow: float, roots: FloatArray) -> int:
    """Every turn of the fourth joint that fits, all round; doubtful ones too, for the polish to judge."""
    ends, lacks = np.empty((8, 2)), np.empty(SAMPLES)
    count = 0
    for i in range(stretches(k, t, shoulder, elbow, ends, lacks)):
        if ends[i, 0] == ends[i, 1] and count < roots.shape[0]:
            roots[count] = ends[i, 0]
            count += 1
        elif ends[i, 0] < ends[i, 1]:
            count = roots_between(k, t, shoulder, elbow, ends[i, 0], ends[i, 1], lacks, roots, count)
    return count
