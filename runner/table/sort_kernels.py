"""The sorting of the lookup's index, compiled, in four rounds. Its twin in NumPy, in `index.py`, gives the same bits.

A table goes strip by strip of cells first, so that the nearest caches hold what is sorted at a time. Each round takes a
share of the rows, or of the strips, so that threads can take one each. Rows must be finite; nothing here checks it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from runner.compiled import kernel

_FROZEN = "Array(float64, 2, 'C', readonly=True)"  # a table's own columns are read-only
_FROZEN_BITS = "Array(uint64, 2, 'C', readonly=True)"
_BLOCK = 1024  # rows whose joints, one column after the other, stay in the nearest cache


@kernel("void(Array(float64, 1, 'C', readonly=True), int64[::1], float64[:])")
def _widen(values: Any, forbidden: Any, span: Any) -> None:
    """Widen a span to the values that aren't forbidden; few blocks have one outside it, and others are done quickly."""
    least, most = span[0], span[1]
    beyond = np.int64(0)
    for i in range(len(values)):
        beyond += (np.int64(values[i] < least) | np.int64(values[i] > most)) & np.int64(forbidden[i] == 0)
    if beyond == 0:
        return
    for i in range(len(values)):
        if forbidden[i] == 0:
            least, most = min(least, values[i]), max(most, values[i])
    span[0], span[1] = least, most


@kernel(
    f"void({_FROZEN}, float64[:, ::1], float64, float64[:, ::1], int64, int64,"
    " uint8[::1], uint64[:, ::1], float64[:, ::1], int64[::1])"
)
def judge(
    columns: Any,
    limits: Any,
    j1_safe_max_deg: float,
    scale: Any,
    begin: int,
    end: int,
    kinds: Any,
    steps: Any,
    span: Any,
    tally: Any,
) -> None:
    """First round of sorting a table, a share of its rows: which are usable, and their angles in coarse steps.

    Args:
        columns: of the table, (3 + n_joints, N), metres and degrees.
        limits: (2, n_joints): lower and upper ones of the joints, degrees.
        j1_safe_max_deg, scale: as in `index.py`.
        begin, end: the share.
        kinds: (N,), written: 0 usable, 1 j1 unsafe, 2 outside the limits.
        steps: (words, N), written where a row is usable: eight joints a word.
        span: (2, 3), written: the least and the greatest x, y, z of the usable rows, infinite where there is none.
        tally: (3,), written: how many rows of each kind.
    """
    span[0], span[1], tally[:] = math.inf, -math.inf, 0
    n_joints = scale.shape[1]
    # As wide as an angle, so that the processor takes several at a time.
    forbidden, word = np.empty(_BLOCK, dtype=np.int64), np.empty(_BLOCK, dtype=np.uint64)
    for a in range(begin, end, _BLOCK):
        b = min(a + _BLOCK, end)
        forbidden[:] = 0
        for w in range(steps.shape[0]):
            word[:] = 0
            for j in range(8 * w, min(8 * w + 8, n_joints)):
                angle, shift = columns[3 + j, a:b], np.uint64(8 * (j - 8 * w))
                lo, hi, start, per_deg = limits[0, j], limits[1, j], scale[0, j], scale[1, j]
                safe = j1_safe_max_deg if j == 1 else math.inf
                for i in range(len(angle)):
                    v = angle[i]
                    forbidden[i] |= (np.int64(v < lo) | np.int64(v > hi)) << 1 | np.int64(v > safe)
                    word[i] |= np.uint64(np.uint32(np.int32((v - start) * per_deg))) << shift
            steps[w, a:b] = word[: b - a]
        kind = kinds[a:b]
        unsafe, outside = np.int64(0), np.int64(0)
        for i in range(len(kind)):
            kind[i] = min(forbidden[i], 2)
            unsafe += np.int64(forbidden[i] == 1)
            outside += np.int64(forbidden[i] > 1)
        tally[0] += len(kind) - unsafe - outside
        tally[1] += unsafe
        tally[2] += outside
        for c in range(3):
            _widen(columns[c, a:b], forbidden, span[:, c])


@kernel(f"void({_FROZEN}, uint8[::1], float64[::1], int64, int64, int64[::1], float64[::1], int64[::1])")
def strips(columns: Any, kinds: Any, grid: Any, begin: int, end: int, tally: Any, heights: Any, at: Any) -> None:
    """Second round: how many usable rows of a share lie in each strip of cells along x, and all heights by kind.

    Args:
        columns, kinds, begin, end: as before.
        grid: of the index.
        tally: (nz + 1,), added to; the last one counts the rows that aren't usable.
        heights: (N,), written.
        at: (3,): where this share's heights of each kind begin; moved on.
    """
    z0, cell, nz = grid[1], grid[3], tally.shape[0] - 1
    strip = np.empty(_BLOCK, dtype=np.int32)
    for a in range(begin, end, _BLOCK):
        b = min(a + _BLOCK, end)
        y, z, kind = columns[1, a:b], columns[2, a:b], kinds[a:b]
        for i in range(len(z)):
            strip[i] = np.int32((z[i] - z0) / cell)
        for i in range(len(z)):
            heights[at[kind[i]]] = y[i]
            at[kind[i]] += 1
            tally[nz if kind[i] else strip[i]] += 1


@kernel(
    f"void({_FROZEN}, {_FROZEN_BITS}, uint8[::1], uint64[:, ::1], float64[::1], int64, int64,"
    " int64[::1], uint64[:, ::1])"
)
def spread(
    columns: Any, bits: Any, kinds: Any, steps: Any, grid: Any, begin: int, end: int, at: Any, parts: Any
) -> None:
    """Third round: the usable rows of a share strip by strip, each as one run of words.

    Args:
        columns, kinds, steps, grid, begin, end: as before.
        bits: `columns`, as words.
        at: (nz,): where this share's rows of each strip begin; moved on.
        parts: (usable, 4 + words), written: point, bin within the strip and row, coarse angles.
    """
    x0, z0, y0, cell, tall = grid[0], grid[1], grid[2], grid[3], grid[4]
    nb, n_words = np.int32(grid[7]), steps.shape[0]
    strip, inner = np.empty(_BLOCK, dtype=np.int32), np.empty(_BLOCK, dtype=np.int32)
    for a in range(begin, end, _BLOCK):
        b = min(a + _BLOCK, end)
        x, y, z = columns[0, a:b], columns[1, a:b], columns[2, a:b]
        for i in range(len(x)):
            strip[i] = np.int32((z[i] - z0) / cell)
            inner[i] = np.int32(np.int32((x[i] - x0) / cell) * nb + np.int32((y[i] - y0) / tall))
        for i in range(a, b):
            if kinds[i] != 0:
                continue
            to = at[strip[i - a]]
            at[strip[i - a]] = to + 1
            parts[to, 0], parts[to, 1], parts[to, 2] = bits[0, i], bits[1, i], bits[2, i]
            parts[to, 3] = np.uint64(np.uint64(inner[i - a]) << np.uint64(32)) | np.uint64(i)
            for w in range(n_words):
                parts[to, 4 + w] = steps[w, i]


@kernel("void(uint64[:, ::1], int64[::1], int64, int64, int64, uint64[:, ::1], uint64[:, ::1], int32[::1], int32[::1])")
def settle(
    parts: Any, heads: Any, bins: int, first: int, last: int, points: Any, coarse: Any, rows: Any, starts: Any
) -> None:
    """Last round: the rows of some strips into their bins, in the table's order inside each.

    Args:
        parts: as before.
        heads: (nz + 1,): where each strip begins.
        bins: how many a strip has.
        first, last: the strips, the last one not included.
        points, coarse: of the index, as words, written.
        rows, starts: of the index, written; the end of the last bin isn't.
    """
    at = np.empty(bins, dtype=np.int32)
    for strip in range(first, last):
        at[:] = 0
        for k in range(heads[strip], heads[strip + 1]):
            at[parts[k, 3] >> np.uint64(32)] += 1
        total = np.int32(heads[strip])
        for b in range(bins):
            here = at[b]
            at[b] = starts[strip * bins + b] = total
            total += here
        for k in range(heads[strip], heads[strip + 1]):
            b = parts[k, 3] >> np.uint64(32)
            to = at[b]
            at[b] = to + 1
            points[to, 0], points[to, 1], points[to, 2] = parts[k, 0], parts[k, 1], parts[k, 2]
            rows[to] = np.int32(parts[k, 3] & np.uint64(0x7FFFFFFF))
            for w in range(coarse.shape[1]):
                coarse[to, w] = parts[k, 4 + w]
