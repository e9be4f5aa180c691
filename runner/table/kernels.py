"""The lookup's search and the sorting of its index, compiled. `nearest.py` and `index.py` do the same in NumPy.

Arrays as in `index.py`. A question comes as `ask`: x, z, y from, y up to, reach (metres); reference and tolerance of j3
and of j5, tolerance of all joints (degrees); then the reference joints. A filter that isn't asked for has an infinite
tolerance.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from runner.compiled import kernel

_SLACK_M = 1e-9  # a row may lie that far outside the cell that it was sorted into, by rounding
_J3, _J5, _ALL, _REF = 5, 7, 9, 10  # where the filters stand in `ask`
_SLACK_DEG = 1e-6  # far more than the rounding of an angle's difference
_LEAST, _MOST, _SURE_LEAST, _SURE_MOST = 0, 1, 2, 3  # columns of a sieve
_EVERY = 3  # the row of a sieve that joins all filters
_TOPS = np.uint64(0x8080808080808080)  # the bit of each coarse angle that none of them uses
_FROZEN = "Array(float64, 2, 'C', readonly=True)"  # a table's own columns are read-only; others are taken as well
_FROZEN_BITS = "Array(uint64, 2, 'C', readonly=True)"
_BLOCK = 1024  # rows whose joints, one column after the other, stay in the nearest cache


@kernel("float64(float64, float64, float64)")
def _outside(value: float, lo: float, hi: float) -> float:
    """How far a value is outside a span, less the slack."""
    gap = max(lo - value, value - hi) - _SLACK_M
    return max(gap, 0.0)


@kernel("int64(float64, float64, float64, int64)")
def _cell_of(value: float, start: float, size: float, n: int) -> int:
    """The number of a value's cell, the nearest one for a value outside."""
    return int(min(max(math.floor((value - start) / size), 0.0), n - 1.0))


@kernel("boolean(uint64, uint64, uint64)", inline="always")
def _between(word: Any, least: Any, most: Any) -> Any:
    """Whether all eight coarse angles of a word are between two others, at once; see `_sieve_of`."""
    return ((word | _TOPS) - least) & ((most | _TOPS) - word) & _TOPS == _TOPS


@kernel("int64(float64, float64[:, ::1], int64)")
def _step_of(angle_deg: float, scale: Any, joint: int) -> int:
    """The coarse step of any angle; -1 and 128 for those below and above all steps."""
    return int(min(max(math.floor((angle_deg - scale[0, joint]) * scale[1, joint]), -1.0), 128.0))


@kernel("void(uint64[:, ::1], int64, int64, int64, int64)")
def _raise(sieve: Any, row: int, column: int, joint: int, step: int) -> None:
    """Raise one joint's part of a lower bound to a step, where it is below it."""
    shift = np.uint64(8 * joint)
    before = np.int64((sieve[row, column] >> shift) & np.uint64(127))
    sieve[row, column] += np.uint64(max(int(step - before), 0)) << shift


@kernel("void(uint64[:, ::1], int64, int64, int64, int64)")
def _lower(sieve: Any, row: int, column: int, joint: int, step: int) -> None:
    """Lower one joint's part of an upper bound to a step, where it is above it."""
    shift = np.uint64(8 * joint)
    before = np.int64((sieve[row, column] >> shift) & np.uint64(127))
    sieve[row, column] -= np.uint64(max(int(before - step), 0)) << shift


@kernel("void(uint64[:, ::1], int64, int64, float64, float64, float64[:, ::1])")
def _narrow(sieve: Any, f: int, joint: int, ref_deg: float, tol_deg: float, scale: Any) -> None:
    """Let one joint through a filter of the sieve, and through the row of all filters, only near its reference."""
    least = max(_step_of(ref_deg - tol_deg - _SLACK_DEG, scale, joint), 0)
    most = min(_step_of(ref_deg + tol_deg + _SLACK_DEG, scale, joint), 127)
    sure_least = _step_of(ref_deg - tol_deg + _SLACK_DEG, scale, joint) + 1
    sure_most = _step_of(ref_deg + tol_deg - _SLACK_DEG, scale, joint) - 1
    if sure_least > 127 or sure_most < 0:
        sure_least, sure_most = 127, 0  # never sure
    for row in (f, _EVERY):
        _raise(sieve, row, _LEAST, joint, min(least, 127))
        _lower(sieve, row, _MOST, joint, max(most, 0))
        _raise(sieve, row, _SURE_LEAST, joint, sure_least)
        _lower(sieve, row, _SURE_MOST, joint, sure_most)


@kernel("uint64[:, ::1](float64[::1], float64[:, ::1])")
def _sieve_of(ask: Any, scale: Any) -> Any:
    """Coarse bounds of each filter by joints, and of all: what isn't between the first two fails, what is between the
    last two passes, and in between the exact angles decide. Joints beyond the eighth are always for those to decide.
    """
    n = scale.shape[1]
    sieve = np.zeros((4, 4), dtype=np.uint64)
    sieve[:, _MOST] = ~_TOPS
    sieve[:, _SURE_MOST] = ~_TOPS
    if ask[_J3 + 1] < math.inf:
        _narrow(sieve, 0, 3, ask[_J3], ask[_J3 + 1], scale)
    if ask[_J5 + 1] < math.inf:
        _narrow(sieve, 1, 5, ask[_J5], ask[_J5 + 1], scale)
    if ask[_ALL] < math.inf:
        for j in range(min(n, 8)):
            _narrow(sieve, 2, j, ask[_REF + j], ask[_ALL], scale)
        if n > 8:
            sieve[2:, _SURE_LEAST], sieve[2:, _SURE_MOST] = np.uint64(127), np.uint64(0)
    return sieve


@kernel(f"int64({_FROZEN}, int64, float64[::1])")
def _filters_passed(joints: Any, row: int, ask: Any) -> int:
    """How many of the three filters by joints a row passes before the first that it fails, by its exact angles."""
    if ask[_J3 + 1] < math.inf and abs(joints[3, row] - ask[_J3]) > ask[_J3 + 1]:
        return 0
    if ask[_J5 + 1] < math.inf and abs(joints[5, row] - ask[_J5]) > ask[_J5 + 1]:
        return 1
    if ask[_ALL] < math.inf:
        for j in range(joints.shape[0]):
            if abs(joints[j, row] - ask[_REF + j]) > ask[_ALL]:
                return 2
    return 3


@kernel("int64(float64[:, ::1], int64, float64, int64, int32[::1])")
def _place_in(out: Any, found: int, d2: float, i: int, rows: Any) -> int:
    """Put a row into the nearest ones where it belongs; returns how many there are."""
    most = out.shape[0]
    at = found if found < most else most - 1
    while at > 0:
        other = out[at - 1, 0]
        if other < d2 or (other == d2 and rows[int(out[at - 1, 1])] < rows[i]):
            break
        out[at, 0], out[at, 1] = other, out[at - 1, 1]
        at -= 1
    out[at, 0], out[at, 1] = d2, float(i)
    return int(min(found + 1, most))


@kernel(
    f"int64(float64[:, ::1], uint64[:, ::1], {_FROZEN}, int32[::1], int64, int64,"
    " float64[::1], uint64[:, ::1], float64[:, ::1], int64)"
)
def _look_into(
    points: Any, coarse: Any, joints: Any, rows: Any, begin: int, end: int, ask: Any, sieve: Any, out: Any, found: int
) -> int:
    """Go through one cell's rows."""
    x, z, y_lo, y_hi, reach = ask[0], ask[1], ask[2], ask[3], ask[4]
    most = out.shape[0]
    least_steps, most_steps = sieve[_EVERY, _LEAST], sieve[_EVERY, _MOST]
    sure_least, sure_most = sieve[_EVERY, _SURE_LEAST], sieve[_EVERY, _SURE_MOST]
    for i in range(begin, end):
        if not _between(coarse[i, 0], least_steps, most_steps):
            continue
        y = points[i, 1]
        if y < y_lo or y >= y_hi:
            continue
        dx = points[i, 0] - x
        dz = points[i, 2] - z
        d2 = dx * dx + dz * dz
        if found == most:
            worst = out[most - 1, 0]
            if d2 > worst or (d2 == worst and rows[i] > rows[int(out[most - 1, 1])]):
                continue
        if math.sqrt(d2) > reach:
            continue
        if not _between(coarse[i, 0], sure_least, sure_most) and _filters_passed(joints, rows[i], ask) < 3:
            continue
        found = _place_in(out, found, d2, i, rows)
    return found


@kernel("float64(float64, float64, float64[::1], int64, int64, int64)")
def _beyond(x: float, z: float, grid: Any, ix: int, iz: int, ring: int) -> float:
    """How far from a target every row is that lies in a ring of cells round its own, or farther out."""
    x0, z0, cell, nx, nz = grid[0], grid[1], grid[3], int(grid[5]), int(grid[6])
    off_x, off_z = _outside(x, x0, x0 + nx * cell), _outside(z, z0, z0 + nz * cell)
    bound = math.inf
    if ix - ring >= 0:
        bound = min(bound, math.hypot(max(x - (x0 + (ix - ring + 1) * cell) - _SLACK_M, 0.0), off_z))
    if ix + ring < nx:
        bound = min(bound, math.hypot(max(x0 + (ix + ring) * cell - x - _SLACK_M, 0.0), off_z))
    if iz - ring >= 0:
        bound = min(bound, math.hypot(max(z - (z0 + (iz - ring + 1) * cell) - _SLACK_M, 0.0), off_x))
    if iz + ring < nz:
        bound = min(bound, math.hypot(max(z0 + (iz + ring) * cell - z - _SLACK_M, 0.0), off_x))
    return bound


@kernel(
    f"int64(float64[:, ::1], uint64[:, ::1], {_FROZEN}, int32[::1], int32[::1], float64[::1], float64[:, ::1],"
    " float64[::1], float64[:, ::1])"
)
def nearest(
    points: Any, coarse: Any, joints: Any, rows: Any, starts: Any, grid: Any, scale: Any, ask: Any, out: Any
) -> int:
    """The nearest rows, in rings of cells that grow until none outside can be nearer.

    Args:
        points, coarse, joints, rows, starts, grid, scale: of the index.
        ask: the question.
        out: (k, 6 + n_joints), written: squared distance, position in the index, row number, point and joints; nearest
            first, lowest row first on a tie.

    Returns:
        How many were found, at most k.
    """
    x0, z0, y0, cell, tall = grid[0], grid[1], grid[2], grid[3], grid[4]
    nx, nz, nb = int(grid[5]), int(grid[6]), int(grid[7])
    x, z, reach = ask[0], ask[1], ask[4]
    most, found = out.shape[0], 0
    sieve = _sieve_of(ask, scale)
    first, last = _cell_of(ask[2], y0, tall, nb), _cell_of(ask[3], y0, tall, nb) + 1
    ix, iz = _cell_of(x, x0, cell, nx), _cell_of(z, z0, cell, nz)
    for ring in range(max(nx, nz)):
        if ring > 0:
            bound = _beyond(x, z, grid, ix, iz, ring)
            if bound > reach + _SLACK_M or (found == most and bound * bound > out[most - 1, 0] + 1e-15):
                break
        for jz in range(max(iz - ring, 0), min(iz + ring, nz - 1) + 1):
            step = 1 if abs(jz - iz) == ring else 2 * ring
            gap_z = _outside(z, z0 + jz * cell, z0 + (jz + 1) * cell)
            for jx in range(ix - ring, ix + ring + 1, step):
                if jx < 0 or jx >= nx:
                    continue
                at = (jz * nx + jx) * nb
                begin, end = starts[at + first], starts[at + last]
                if begin == end:
                    continue
                gap_x = _outside(x, x0 + jx * cell, x0 + (jx + 1) * cell)
                gap2 = gap_x * gap_x + gap_z * gap_z
                if found == most and gap2 > out[most - 1, 0] + 1e-15:
                    continue
                found = _look_into(points, coarse, joints, rows, begin, end, ask, sieve, out, found)
    for k in range(found):
        i = int(out[k, 1])
        out[k, 2] = rows[i]
        out[k, 3:6] = points[i]
        out[k, 6:] = joints[:, rows[i]]
    return found


@kernel(
    f"void(float64[:, ::1], uint64[:, ::1], {_FROZEN}, int32[::1], int32[::1], float64[::1], float64[:, ::1],"
    " float64[::1], int64[::1])"
)
def count(
    points: Any, coarse: Any, joints: Any, rows: Any, starts: Any, grid: Any, scale: Any, ask: Any, left: Any
) -> None:
    """How many rows of the band are left after each of the three filters by joints.

    Args:
        points, coarse, joints, rows, starts, grid, scale: of the index.
        ask: the question.
        left: (3,), written.
    """
    nb = int(grid[7])
    y_lo, y_hi = ask[2], ask[3]
    sieve = _sieve_of(ask, scale)
    least, most, sure_least, sure_most = sieve[:, 0].copy(), sieve[:, 1].copy(), sieve[:, 2].copy(), sieve[:, 3].copy()
    first, last = _cell_of(y_lo, grid[2], grid[4], nb), _cell_of(y_hi, grid[2], grid[4], nb) + 1
    passed_all = 0
    for at in range(0, int(grid[5]) * int(grid[6]) * nb, nb):
        for i in range(starts[at + first], starts[at + last]):
            if points[i, 1] < y_lo or points[i, 1] >= y_hi:
                continue
            word = coarse[i, 0]
            if _between(word, sure_least[_EVERY], sure_most[_EVERY]):
                passed_all += 1
                continue
            sure, passed = True, 0
            while passed < 3 and sure and _between(word, least[passed], most[passed]):
                sure = _between(word, sure_least[passed], sure_most[passed])
                passed += 1
            if not sure:
                passed = _filters_passed(joints, rows[i], ask)
            for f in range(passed):
                left[f] += 1
    left += passed_all


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
