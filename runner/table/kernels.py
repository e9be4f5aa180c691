"""The lookup's search, compiled. `nearest.py` is its twin in NumPy and gives the same answers.

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
        points, coarse (as words), joints, rows, starts, grid, scale: of the index.
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
        points, coarse (as words), joints, rows, starts, grid, scale: of the index.
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
