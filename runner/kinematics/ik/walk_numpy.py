"""The twins in NumPy of `walk_kernels`, for many pairs at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from runner.kinematics.ik.closed_rows import ALL_BUT, DOUBT, ROOT_RAD, SAMPLES, STEPS
from runner.kinematics.ik.wrist_numpy import Pairs, room_and_lack
from runner.kinematics.model import FloatArray

IntArray = NDArray[np.int64]

_GOLDEN = 0.6180339887498949
_WIDTH = 2.0 * np.pi / SAMPLES


def roots_around(p: Pairs) -> list[tuple[IntArray, FloatArray]]:
    """As `roots_around`: of which pair, and the turn."""
    row, left, right = _stretches(p)
    point = left == right
    found = [(row[point], left[point])]
    row, left, right = row[~point], left[~point], right[~point]
    if len(row):
        found += [(row[i], x) for i, x in _roots_between(p.take(row), left, right)]
    return found


def _stretches(p: Pairs) -> tuple[IntArray, FloatArray, FloatArray]:
    """As `stretches`: of which pair, from where to where."""
    at = np.arange(SAMPLES + 1.0) * _WIDTH
    room, _ = room_and_lack(p.spread(), at[None, :-1])
    whole = np.asarray((room >= 0.0).all(axis=1))
    begin = np.argmax(room < 0.0, axis=1)
    x = begin[:, None] * _WIDTH + at
    room = np.take_along_axis(room, (begin[:, None] + np.arange(SAMPLES + 1)) % SAMPLES, axis=1)
    has = room >= 0.0
    up, i = np.nonzero(~has[:, :-1] & has[:, 1:])
    left = _edge(p.take(up), x[up, i + 1], x[up, i])
    down, i = np.nonzero(has[:, :-1] & ~has[:, 1:])  # as many, row by row, as a row begins and ends without room
    right = _edge(p.take(down), x[down, i], x[down, i + 1])
    before, after = np.roll(room[:, :-1], 1, axis=1), room[:, 1:]
    humps = ~whole[:, None] & (before < 0.0) & (room[:, :-1] < 0.0) & (after < 0.0)
    row, i = np.nonzero(humps & (room[:, :-1] > before) & (room[:, :-1] >= after))
    some = p.take(row)
    peak = _highest(some, x[row, i] - _WIDTH, x[row, i + 1], np.zeros(len(row)))
    most, _ = room_and_lack(some, peak)
    real = most >= 0.0
    narrow_left, narrow_right = peak.copy(), peak.copy()
    if real.any():
        there = some.take(real)
        narrow_left[real] = _edge(there, peak[real], x[row, i][real] - _WIDTH)
        narrow_right[real] = _edge(there, peak[real], x[row, i + 1][real])
    near = most > -ALL_BUT
    everywhere = np.flatnonzero(whole)
    rows = np.concatenate((up, row[near], everywhere))
    lefts = np.concatenate((left, narrow_left[near], np.zeros(len(everywhere))))
    rights = np.concatenate((right, narrow_right[near], np.full(len(everywhere), 2.0 * np.pi)))
    return rows, lefts, rights


def _roots_between(p: Pairs, left: FloatArray, right: FloatArray) -> list[tuple[IntArray, FloatArray]]:
    """As `roots_between`: of which stretch, and the turn."""
    whole = right - left > 2.0 * np.pi - 1e-9
    steps = np.where(whole, SAMPLES + 1, 8 + ((right - left) / _WIDTH).astype(np.int64))[:, None]
    i = np.arange(int(steps.max()) + 1)[None]
    uneven = left[:, None] + (right - left)[:, None] * (0.5 - 0.5 * np.cos(np.pi * np.minimum(i, steps) / steps))
    x = np.where(whole[:, None], left[:, None] + i * _WIDTH, uneven)
    _, h = room_and_lack(p.spread(), x)
    size, sign, within = np.abs(h), h > 0.0, i <= steps
    cross = (sign[:, :-1] != sign[:, 1:]) & within[:, 1:]
    row, j = np.nonzero(cross)
    found = [(row, _crossing(p.take(row), x[row, j], x[row, j + 1], h[row, j], h[row, j + 1]))]
    dip = (size[:, 1:-1] <= size[:, :-2]) & (size[:, 1:-1] <= size[:, 2:]) & within[:, 2:]
    dip &= (sign[:, :-2] == sign[:, 1:-1]) & ~cross[:, 1:]
    row, j = np.nonzero(dip)
    found += _touching(p, row, x[row, j], x[row, j + 2], h[row, j], h[row, j + 2])
    for end, inner in ((0, 1), (-1, -2)):
        rows = np.flatnonzero(~whole)
        at = np.zeros(len(rows), dtype=np.int64) + end if end == 0 else steps[rows, 0]
        to = at + (inner - end)
        a, b, ha, hb = x[rows, at], x[rows, to], h[rows, at], h[rows, to]
        _, near = room_and_lack(p.take(rows), a + 1e-6 * (b - a))
        ok = (np.abs(near) < np.abs(ha)) & ((ha > 0.0) == (hb > 0.0))
        if end == 0:
            found += _touching(p, rows[ok], a[ok], b[ok], ha[ok], hb[ok])
        else:
            found += _touching(p, rows[ok], b[ok], a[ok], hb[ok], ha[ok])
    return found


def _touching(
    p: Pairs, row: IntArray, a: FloatArray, c: FloatArray, ha: FloatArray, hc: FloatArray
) -> list[tuple[IntArray, FloatArray]]:
    """As `_touching`."""
    if not len(row):
        return []
    some = p.take(row)
    peak = _highest(some, a, c, np.where(ha > 0.0, -1.0, 1.0))
    _, h = room_and_lack(some, peak)
    two = (h > 0.0) != (ha > 0.0)
    one = ~two & (np.abs(h) < p.k[DOUBT, 0])
    found = [(row[one], peak[one])]
    if two.any():
        there, a, c, ha, hc, peak, h = some.take(two), a[two], c[two], ha[two], hc[two], peak[two], h[two]
        found += [(row[two], _crossing(there, a, peak, ha, h)), (row[two], _crossing(there, peak, c, h, hc))]
    return found


def _edge(p: Pairs, inside: FloatArray, outside: FloatArray) -> FloatArray:
    for _ in range(STEPS):
        middle = 0.5 * (inside + outside)
        if ((middle == inside) | (middle == outside)).all():
            break
        has = room_and_lack(p, middle)[0] >= 0.0
        inside, outside = np.where(has, middle, inside), np.where(has, outside, middle)
    return inside


def _crossing(p: Pairs, a: FloatArray, b: FloatArray, ha: FloatArray, hb: FloatArray) -> FloatArray:
    moved = np.full(len(a), np.inf)
    for _ in range(STEPS):
        span = hb - ha
        go = (moved >= ROOT_RAD) & (hb != 0.0) & (span != 0.0)
        if not go.any():
            break
        x = np.where(go, (a * hb - b * ha) / np.where(go, span, 1.0), b)
        h = np.where(go, room_and_lack(p, x)[1], hb)
        swap = go & ((h > 0.0) != (hb > 0.0))
        a, ha = np.where(swap, b, a), np.where(swap, hb, np.where(go, 0.5 * ha, ha))
        moved, b, hb = np.where(go, np.abs(x - b), moved), x, h
    return b


def _highest(p: Pairs, a: FloatArray, b: FloatArray, sign: FloatArray) -> FloatArray:
    def value(x: FloatArray) -> FloatArray:
        room, lack = room_and_lack(p, x)
        return np.where(sign == 0.0, room, sign * lack)

    x, y = b - _GOLDEN * (b - a), a + _GOLDEN * (b - a)
    fx, fy = value(x), value(y)
    for _ in range(40):
        low = fx > fy
        a, b = np.where(low, a, x), np.where(low, y, b)
        new = np.where(low, b - _GOLDEN * (b - a), a + _GOLDEN * (b - a))
        f = value(new)
        x, y, fx, fy = np.where(low, new, y), np.where(low, x, new), np.where(low, f, fy), np.where(low, fx, f)
    return np.where(fx > fy, x, y)
