"""A grid over the reach table's rows: what makes a lookup quick at any size, in memory or mapped from a file.

The rows that may ever be an answer (inside the joint limits, j1 below its safe maximum) are sorted into cells of the
x-z plane and bins of height inside each cell, so that one cell's rows of a band of heights lie together: their points,
row numbers and angles in coarse steps, which settle most filters. The angles themselves stay in the table's order, as
they are. The heights of all rows are kept too, so that filters can be counted. It is always made the same way, to the
last bit, with compiled code or without. Knows no table file: what it was made from stands in `bound_to`, and whoever
maps it must compare that.
"""

from __future__ import annotations

import json
import mmap
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from runner.compiled import kernels
from runner.table.errors import BadIndexFile, BadRows
from runs.files import write_atomic_parts

if TYPE_CHECKING:
    from types import ModuleType

    from runner.kinematics.model import FloatArray

IntArray = NDArray[np.int32]
StepArray = NDArray[np.uint8]

CELL_M = 0.005
BIN_M = 0.010
_MOST_ROWS = 2**31 - 1
_THREADS = 2
_STEPS = 127  # between the limits of a joint, in the coarse copy of its angles; compiled code needs the eighth bit free
_WORTH_LOADING_ROWS = (
    3_000_000  # from so many on, NumPy takes longer than loading the compiled code and sorting with it
)
_KERNELS = "runner.table.sort_kernels"
_MAGIC = b"trialcell reach index 2\n"
_ALIGN = 64
ARRAYS = ("points", "coarse", "joints", "rows", "starts", "grid", "scale", "y_usable", "y_unsafe", "y_outside")


@dataclass(frozen=True, slots=True, eq=False)
class Index:
    """Sorted rows. N rows of a table, n of them usable; a cell's bins follow each other in `starts`.

    The arrays are not to be written to; they may be a table's own.
    """

    points: FloatArray  # (n, 3): x, y, z, metres
    coarse: StepArray  # (n, 8 a word): angles in steps of `scale`, filled up to whole words
    joints: FloatArray  # (n_joints, N), degrees, in the table's order
    rows: IntArray  # (n,): the table's row numbers; ascending inside a bin
    starts: IntArray  # (nz * nx * nb + 1,): where the rows of each bin begin
    grid: FloatArray  # (8,): x0, z0, y0, cell, bin (metres), nx, nz, nb
    scale: FloatArray  # (2, n_joints): where step 0 of a joint begins, degrees; steps a degree
    y_usable: FloatArray  # (n,), ascending, metres
    y_unsafe: FloatArray  # inside the limits, but j1 above its safe maximum
    y_outside: FloatArray  # outside the limits
    bound_to: dict[str, Any]  # what it was made from

    @property
    def n_rows(self) -> int:
        """How many rows the table has."""
        return len(self.y_usable) + len(self.y_unsafe) + len(self.y_outside)

    @property
    def n_joints(self) -> int:
        """How many joints a row has."""
        return int(self.joints.shape[0])


def build_index(
    columns: FloatArray,
    min_deg: FloatArray,
    max_deg: FloatArray,
    *,
    j1_safe_max_deg: float,
    bound_to: Mapping[str, Any] | None = None,
    compiled: bool | None = None,
) -> Index:
    """Sort a table's rows.

    Args:
        columns: (3 + n_joints, N): ee_x, ee_y, ee_z in metres, then joints in degrees; finite.
        min_deg: lower joint limits, shape (n_joints,).
        max_deg: upper ones.
        j1_safe_max_deg: rows with j1 above it are no candidates.
        bound_to: what is kept with it, to know later what it was made from.
        compiled: whether to sort with compiled code, if it lies ready. By default where the compiler is loaded
            already or the table is so long that loading it pays.

    Raises:
        BadRows: more rows than can be numbered.
    """
    n = columns.shape[1]
    if n > _MOST_ROWS:
        raise BadRows("reach table", f"{n} rows; at most {_MOST_ROWS} can be looked up")
    columns = np.ascontiguousarray(columns, dtype=np.float64)
    limits = _Limits(np.array([min_deg, max_deg], dtype=np.float64), j1_safe_max_deg)
    if compiled is None:
        compiled = n >= _WORTH_LOADING_ROWS or "numba" in sys.modules
    code = kernels(_KERNELS) if compiled else None
    with ThreadPoolExecutor(_THREADS) as pool:  # compiled code lets go of the interpreter, and so does NumPy's sorting
        made = _sorted(columns, limits, pool) if code is None else _sorted_by(code, columns, limits, pool)
    return Index(joints=columns[3:], scale=limits.scale, bound_to=dict(bound_to or {}), **made)


class _Limits:
    """The limits of all joints, and the coarse steps between them."""

    def __init__(self, min_max_deg: FloatArray, j1_safe_max_deg: float) -> None:
        self.min_max_deg, self.j1_safe_max_deg = min_max_deg, j1_safe_max_deg
        span = min_max_deg[1] - min_max_deg[0]
        some = np.isfinite(span) & (span > 0)  # where there is no span all angles are one step
        per_deg = np.divide(_STEPS, span, out=np.zeros(len(span)), where=some)
        self.scale = np.stack((np.where(some, min_max_deg[0], 0.0), per_deg))


def _sorted(columns: FloatArray, limits: _Limits, pool: ThreadPoolExecutor) -> dict[str, Any]:
    """The sorted arrays, by NumPy."""
    y, joints = columns[1], columns[3:]
    inside = np.ones(columns.shape[1], dtype=bool)
    for column, lo, hi in zip(joints, *limits.min_max_deg, strict=True):
        inside &= column >= lo
        inside &= column <= hi
    usable = inside & (joints[1] <= limits.j1_safe_max_deg) if len(joints) > 1 else inside
    kept = np.flatnonzero(usable)
    heights = [pool.submit(np.sort, part) for part in (y[kept], y[inside & ~usable], y[~inside])]
    x_kept, y_kept, z_kept = (column[kept] for column in columns[:3])
    coarse = pool.submit(_steps, joints, kept, limits.scale)
    grid = _grid_over(*_span(x_kept, y_kept, z_kept), len(kept))
    slot = _slots(x_kept, y_kept, z_kept, grid)
    order = np.sort((slot << np.uint64(32)) | np.arange(len(kept), dtype=np.uint64)) & np.uint64(_MOST_ROWS)
    at = order.view(np.int64)
    starts = np.zeros(_bins(grid) + 1, dtype=np.int32)
    np.cumsum(np.bincount(slot.view(np.int64), minlength=len(starts) - 1), out=starts[1:])
    points = np.empty((len(kept), 3))
    for i, column in enumerate((x_kept, y_kept, z_kept)):
        points[:, i] = column[at]
    return {
        "points": points,
        "coarse": np.take(coarse.result().view(np.uint64), at, axis=0).view(np.uint8),
        "rows": kept[at].astype(np.int32),
        "starts": starts,
        "grid": grid,
        **dict(zip(ARRAYS[-3:], (part.result() for part in heights), strict=True)),
    }


def _sorted_by(code: ModuleType, columns: FloatArray, limits: _Limits, pool: ThreadPoolExecutor) -> dict[str, Any]:
    """The sorted arrays, by compiled code: strip by strip of cells first, so that the caches hold what is sorted."""
    n, n_joints = columns.shape[1], len(columns) - 3
    shares = list(pairwise(n * i // _THREADS for i in range(_THREADS + 1)))
    kinds, steps = np.empty(n, dtype=np.uint8), np.empty((_words(n_joints), n), dtype=np.uint64)
    spans, of_kind = np.empty((_THREADS, 2, 3)), np.empty((_THREADS, 3), dtype=np.int64)
    of_limits = (limits.min_max_deg, limits.j1_safe_max_deg, limits.scale)

    def each(call: Callable[[int, int, int], None], shares: list[tuple[int, int]]) -> None:
        for share in [pool.submit(call, i, a, b) for i, (a, b) in enumerate(shares)]:
            share.result()

    each(lambda i, a, b: code.judge(columns, *of_limits, a, b, kinds, steps, spans[i], of_kind[i]), shares)
    usable, unsafe, _ = (int(k) for k in of_kind.sum(axis=0))
    grid = _grid_over(spans[:, 0].min(axis=0), spans[:, 1].max(axis=0), usable)
    nx, nz, nb = (int(v) for v in grid[5:])
    heights, tallies = np.empty(n), np.zeros((_THREADS, nz + 1), dtype=np.int64)
    at = _before(of_kind)
    each(lambda i, a, b: code.strips(columns, kinds, grid, a, b, tallies[i], heights, at[i]), shares)
    by_kind = np.split(heights, [usable, usable + unsafe])
    in_order = [pool.submit(part.sort) for part in by_kind]
    to = _before(tallies)
    heads, parts = to[0].copy(), np.empty((usable, 4 + len(steps)), dtype=np.uint64)
    bits = columns.view(np.uint64)
    each(lambda i, a, b: code.spread(columns, bits, kinds, steps, grid, a, b, to[i], parts), shares)
    points, coarse = np.empty((usable, 3)), np.empty((usable, len(steps)), dtype=np.uint64)
    rows, starts = np.empty(usable, dtype=np.int32), np.empty(nx * nz * nb + 1, dtype=np.int32)
    starts[-1] = usable
    out = (points.view(np.uint64), coarse, rows, starts)
    cuts = np.searchsorted(heads, [usable * i // _THREADS for i in range(_THREADS)])
    of_strips = list(pairwise([*cuts.tolist(), nz]))
    each(lambda _, a, b: code.settle(parts, heads, nx * nb, a, b, *out), of_strips)
    for part in in_order:
        part.result()
    return {
        "points": points,
        "coarse": coarse.view(np.uint8),
        "rows": rows,
        "starts": starts,
        "grid": grid,
        **dict(zip(ARRAYS[-3:], by_kind, strict=True)),
    }


def _before(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where each share's part of each kind begins, kind by kind and share by share; counts are (shares, kinds)."""
    ends = np.cumsum(counts.T.ravel()).reshape(counts.shape[::-1]).T
    return np.ascontiguousarray(ends - counts)


def _words(n_joints: int) -> int:
    """How many words of eight coarse angles a row has."""
    return -(-n_joints // 8)


def _steps(joints: FloatArray, kept: NDArray[np.int64], scale: FloatArray) -> StepArray:
    """The coarse angles of some rows, shape (kept, 8 a word)."""
    out = np.zeros((len(kept), 8 * _words(len(joints))), dtype=np.uint8)
    for j, (column, start, per_deg) in enumerate(zip(joints, *scale, strict=True)):
        step = column[kept]
        step -= start
        step *= per_deg
        out[:, j] = step
    return out


def _bins(grid: FloatArray) -> int:
    return int(grid[5] * grid[6] * grid[7])


def _span(x: FloatArray, y: FloatArray, z: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The least and the greatest of each."""
    if not len(x):
        return np.full(3, np.inf), np.full(3, -np.inf)
    return np.array([x.min(), y.min(), z.min()]), np.array([x.max(), y.max(), z.max()])


def _grid_over(least: FloatArray, most: FloatArray, rows: int) -> FloatArray:
    """Cells of 5 mm and bins of 10 mm over all points; coarser where there would be more bins than rows."""
    if not rows:
        return np.array([0.0, 0.0, 0.0, CELL_M, BIN_M, 1.0, 1.0, 1.0])
    spans = most - least
    coarser = 1.0
    while True:
        size = coarser * np.array([CELL_M, BIN_M, CELL_M])
        nx, nb, nz = np.floor(spans / size) + 1
        if nx * nb * nz <= max(4096, rows):
            return np.array([least[0], least[2], least[1], size[0], size[1], nx, nz, nb])
        coarser *= 1.25


def _slots(x: FloatArray, y: FloatArray, z: FloatArray, grid: FloatArray) -> NDArray[np.uint64]:
    """The number of each row's bin: cells along x, then z; bins of height inside."""
    x0, z0, y0, cell, tall, nx, _, nb = grid
    out, other = z - z0, x - x0  # from here on in place: fresh arrays of this size take longer than the arithmetic
    np.floor(np.divide(out, cell, out=out), out=out)
    out *= nx
    out += np.floor(np.divide(other, cell, out=other), out=other)
    out *= nb
    np.subtract(y, y0, out=other)
    out += np.floor(np.divide(other, tall, out=other), out=other)
    return cast("NDArray[np.uint64]", out.astype(np.uint64))


def save_index(path: Path, index: Index) -> None:
    """Put the index under `path`, whole or not at all.

    Raises:
        StorageUnwritable: nothing was changed.
    """
    arrays = {name: getattr(index, name) for name in ARRAYS}
    shapes = {name: [str(a.dtype), list(a.shape)] for name, a in arrays.items()}
    head = json.dumps({"bound_to": index.bound_to, "arrays": shapes}).encode()
    parts: list[bytes | memoryview] = [_MAGIC, len(head).to_bytes(8, "little"), head]
    at = sum(map(len, parts))
    for array in arrays.values():
        gap = -at % _ALIGN
        parts += [bytes(gap), np.ascontiguousarray(array).reshape(-1).view(np.uint8).data]
        at += gap + array.nbytes
    write_atomic_parts(path, parts)


def map_index(path: Path) -> Index:
    """The index in a file, mapped: nothing is read but what lookups touch.

    Raises:
        BadIndexFile: there is none, or it is cut off or of another format.
    """
    try:
        with path.open("rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        if mapped[: len(_MAGIC)] != _MAGIC:
            raise BadIndexFile(path, "another format")
        at = len(_MAGIC) + 8
        head_bytes = int.from_bytes(mapped[len(_MAGIC) : at], "little")
        head: dict[str, Any] = json.loads(mapped[at : at + head_bytes])
        at += head_bytes
        arrays: dict[str, Any] = {}
        for name, (dtype, shape) in head["arrays"].items():
            at += -at % _ALIGN
            array = np.frombuffer(mapped, dtype=dtype, count=int(np.prod(shape)), offset=at)
            arrays[name] = array.reshape(shape)
            at += array.nbytes
        if at != len(mapped):
            raise BadIndexFile(path, f"it has {len(mapped)} bytes, its head speaks of {at}")
        return Index(**arrays, bound_to=head["bound_to"])
    except OSError as error:
        raise BadIndexFile(path, (error.strerror or str(error)).lower()) from error
    except (ValueError, KeyError, TypeError, OverflowError) as error:
        raise BadIndexFile(path, "cut off, or another format") from error
