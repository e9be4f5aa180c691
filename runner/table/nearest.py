"""The lookup's search in NumPy, over the same index as the compiled one, with the same answers to the last bit.

It is what answers where no machine code lies ready, and for the command line, which has no time to load a compiler.
"""

from __future__ import annotations

from math import hypot, inf
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.kinematics.model import FloatArray
    from runner.table.index import Index
    from runner.table.query import JointTest, Query

Filters = list[tuple[str, "tuple[JointTest, ...]"]]
Positions = NDArray[np.int64]

_SLACK_M = 1e-9  # a row may lie that far outside the cell that it was sorted into, by rounding
_SLACK_DEG = 1e-6  # far more than the rounding of an angle's difference


def nearest_rows(index: Index, query: Query, filters: Filters, reach_m: float, count: int) -> FloatArray:
    """The nearest candidates, at most `count`, shape (k, 6 + n_joints).

    Squared distance, position in the index, row number, point and joints; nearest first, the lowest row first on a tie.
    """
    x, z = query.target_xz_m
    at, d2 = np.empty(0, dtype=np.int64), np.empty(0)
    for cells, beyond_m in _windows(index, x, z):
        found = _rows_of(index, cells, query)
        dx, dz = index.points[found, 0] - x, index.points[found, 2] - z
        far2 = dx * dx + dz * dz
        near = np.sqrt(far2) <= reach_m
        found, far2 = found[near], far2[near]
        keep = _passing(index, found, filters)
        at, d2 = found[keep], far2[keep]
        if beyond_m > reach_m + _SLACK_M:
            break
        if len(d2) >= count and beyond_m * beyond_m > np.partition(d2, count - 1)[count - 1] + 1e-15:
            break
    order = np.lexsort((index.rows[at], d2))[:count]
    at = at[order]
    return np.column_stack((d2[order], at, index.rows[at], index.points[at], index.joints[:, index.rows[at]].T))


def count_left(index: Index, query: Query, filters: Filters) -> dict[str, int]:
    """How many rows are left after each filter by joints."""
    at = _rows_of(index, np.arange(int(index.grid[5] * index.grid[6])), query)
    left = {}
    for name, tests in filters:
        at = at[_passing(index, at, [(name, tests)])]
        left[name] = len(at)
    return left


def _windows(index: Index, x: float, z: float) -> Iterator[tuple[Positions, float]]:
    """Growing squares of cells round a target: the cells, and how far away whatever is outside of them must be."""
    x0, z0, _, cell, _, fnx, fnz, _ = (float(v) for v in index.grid)
    nx, nz = int(fnx), int(fnz)
    ix, iz = _cell_of(x, x0, cell, nx), _cell_of(z, z0, cell, nz)
    off_x = max(x0 - x, x - (x0 + nx * cell), 0.0)
    off_z = max(z0 - z, z - (z0 + nz * cell), 0.0)
    rings = 1
    while True:
        left, right = max(ix - rings, 0), min(ix + rings, nx - 1)
        near, far = max(iz - rings, 0), min(iz + rings, nz - 1)
        sides = (
            hypot(max(x - (x0 + left * cell), 0.0), off_z) if left > 0 else inf,
            hypot(max(x0 + (right + 1) * cell - x, 0.0), off_z) if right < nx - 1 else inf,
            hypot(max(z - (z0 + near * cell), 0.0), off_x) if near > 0 else inf,
            hypot(max(z0 + (far + 1) * cell - z, 0.0), off_x) if far < nz - 1 else inf,
        )
        cells = (np.arange(near, far + 1)[:, None] * nx + np.arange(left, right + 1)).ravel()
        yield cells, min(sides) - _SLACK_M
        if min(sides) == inf:
            return
        rings = 2 * rings + 1


def _rows_of(index: Index, cells: Positions, query: Query) -> Positions:
    """Positions of the rows in some cells whose height is in the band, cell by cell."""
    _, _, y0, _, tall, _, _, nb = index.grid
    lo, hi = query.ee_y_band_m
    base = cells * int(nb)
    begin = index.starts[base + _cell_of(lo, y0, tall, int(nb))].astype(np.int64)
    lengths = index.starts[base + _cell_of(hi, y0, tall, int(nb)) + 1] - begin
    before = np.cumsum(lengths) - lengths
    at = np.repeat(begin - before, lengths) + np.arange(int(lengths.sum()))
    y = index.points[at, 1]
    return np.asarray(at[(y >= lo) & (y < hi)])


def _passing(index: Index, at: Positions, filters: Filters) -> Positions:
    """Which of some positions pass, by number. Exact angles are looked up only where coarse ones don't forbid it."""
    tests = [test for _, each in filters for test in each]
    left = np.arange(len(at))
    for joint, ref, tol in tests:
        start, per_deg = index.scale[:, joint]
        lowest, highest = (np.floor((ref + by - start) * per_deg) for by in (-tol - _SLACK_DEG, tol + _SLACK_DEG))
        step = index.coarse[at[left], joint]
        left = left[(step >= lowest) & (step <= highest)]
    for joint, ref, tol in tests:
        left = left[np.abs(index.joints[joint, index.rows[at[left]]] - ref) <= tol]
    return left


def _cell_of(value: float, start: float, size: float, n: int) -> int:
    return int(min(max(np.floor((value - start) / size), 0.0), n - 1.0))
