"""The lookup's search, compiled. `nearest.py` is its twin in NumPy and gives the same answers.

Arrays as in `index.py`. A question comes as `ask`: x, z, y from, y up to, reach (metres); reference and tolerance of j3
and of j5, tolerance of all joints (degrees); then the reference joints. A filter that isn't asked for has an infinite
tolerance.
"""

from __future__ import annotations

import math
from typing import Any

from runner.compiled import kernel

_SLACK_M = 1e-9  # a row may lie that far outside the cell that it was sorted into, by rounding
_J3, _J5, _ALL, _REF = 5, 7, 9, 10  # where the filters stand in `ask`


@kernel("float64(float64, float64, float64)")
def _outside(value: float, lo: float, hi: float) -> float:
    """How far a value is outside a span, less the slack."""
    gap = max(lo - value, value - hi) - _SLACK_M
    return max(gap, 0.0)


@kernel("int64(float64, float64, float64, int64)")
def _cell_of(value: float, start: float, size: float, n: int) -> int:
    """The number of a value's cell, the nearest one for a value outside."""
    return int(min(max(math.floor((value - start) / size), 0.0), n - 1.0))


@kernel("int64(float64[:, ::1], int64, float64[::1])")
def _filters_passed(joints: Any, i: int, ask: Any) -> int:
    """How many of the three filters by joints a row passes before the first that it fails."""
    if ask[_J3 + 1] < math.inf and abs(joints[i, 3] - ask[_J3]) > ask[_J3 + 1]:
        return 0
    if ask[_J5 + 1] < math.inf and abs(joints[i, 5] - ask[_J5]) > ask[_J5 + 1]:
        return 1
    if ask[_ALL] < math.inf:
        for j in range(joints.shape[1]):
            if abs(joints[i, j] - ask[_REF + j]) > ask[_ALL]:
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


@kernel("int64(float64[:, ::1], float64[:, ::1], int32[::1], int64, int64, float64[::1], float64[:, ::1], int64)")
def _look_into(points: Any, joints: Any, rows: Any, begin: int, end: int, ask: Any, out: Any, found: int) -> int:
    """Go through one cell's rows."""
    x, z, y_lo, y_hi, reach = ask[0], ask[1], ask[2], ask[3], ask[4]
    most = out.shape[0]
    for i in range(begin, end):
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
        if math.sqrt(d2) > reach or _filters_passed(joints, i, ask) < 3:
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


@kernel("int64(float64[:, ::1], float64[:, ::1], int32[::1], int32[::1], float64[::1], float64[::1], float64[:, ::1])")
def nearest(points: Any, joints: Any, rows: Any, starts: Any, grid: Any, ask: Any, out: Any) -> int:
    """The nearest rows, in rings of cells that grow until none outside can be nearer.

    Args:
        points, joints, rows, starts, grid: of the index.
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
                found = _look_into(points, joints, rows, begin, end, ask, out, found)
    for k in range(found):
        i = int(out[k, 1])
        out[k, 2] = rows[i]
        out[k, 3:6] = points[i]
        out[k, 6:] = joints[i]
    return found


@kernel("void(float64[:, ::1], float64[:, ::1], int32[::1], float64[::1], float64[::1], int64[::1])")
def count(points: Any, joints: Any, starts: Any, grid: Any, ask: Any, left: Any) -> None:
    """How many rows of the band are left after each of the three filters by joints.

    Args:
        points, joints, starts, grid: of the index.
        ask: the question.
        left: (3,), written.
    """
    nb = int(grid[7])
    first, last = _cell_of(ask[2], grid[2], grid[4], nb), _cell_of(ask[3], grid[2], grid[4], nb) + 1
    for at in range(0, int(grid[5]) * int(grid[6]) * nb, nb):
        for i in range(starts[at + first], starts[at + last]):
            if points[i, 1] < ask[2] or points[i, 1] >= ask[3]:
                continue
            for f in range(_filters_passed(joints, i, ask)):
                left[f] += 1
