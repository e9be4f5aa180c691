"""A grid over the reach table's rows: what makes a lookup quick at any size, in memory or mapped from a file.

It holds a copy of the rows that may ever be an answer (inside the joint limits, j1 below its safe maximum), sorted into
cells of the x-z plane and bins of height inside each cell, so that one cell's rows of a band of heights lie together;
and the heights of all others, so that filters can be counted. It is always made the same way, to the last bit. Knows no
table file: what it was made from stands in `bound_to`, and whoever maps it must compare that.
"""

from __future__ import annotations

import json
import mmap
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from runner.table.errors import BadIndexFile, BadRows
from runs.files import write_atomic_parts

if TYPE_CHECKING:
    from runner.kinematics.model import FloatArray

IntArray = NDArray[np.int32]

CELL_M = 0.005
BIN_M = 0.010
_MOST_ROWS = 2**31 - 1
_THREADS = 2
_MAGIC = b"trialcell reach index 1\n"
_ALIGN = 64
_FLOATS = ("points", "joints", "grid", "y_usable", "y_unsafe", "y_outside")


@dataclass(frozen=True, slots=True, eq=False)
class Index:
    """Sorted rows. N rows of a table, n of them usable; a cell's bins follow each other in `starts`.

    The arrays are not to be written to. They are not marked so because compiled code takes marked ones more slowly.
    """

    points: FloatArray  # (n, 3): x, y, z, metres
    joints: FloatArray  # (n, n_joints), degrees
    rows: IntArray  # (n,): the table's row numbers; ascending inside a bin
    starts: IntArray  # (nz * nx * nb + 1,): where the rows of each bin begin
    grid: FloatArray  # (8,): x0, z0, y0, cell, bin (metres), nx, nz, nb
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
        return int(self.joints.shape[1])


def build_index(
    columns: FloatArray,
    min_deg: FloatArray,
    max_deg: FloatArray,
    *,
    j1_safe_max_deg: float,
    bound_to: Mapping[str, Any] | None = None,
) -> Index:
    """Sort a table's rows.

    Args:
        columns: (3 + n_joints, N): ee_x, ee_y, ee_z in metres, then joints in degrees.
        min_deg: lower joint limits, shape (n_joints,).
        max_deg: upper ones.
        j1_safe_max_deg: rows with j1 above it are no candidates.
        bound_to: what is kept with it, to know later what it was made from.

    Raises:
        BadRows: more rows than can be numbered.
    """
    joints, y = columns[3:], columns[1]
    if columns.shape[1] > _MOST_ROWS:
        raise BadRows("reach table", f"{columns.shape[1]} rows; at most {_MOST_ROWS} can be looked up")
    inside = np.ones(columns.shape[1], dtype=bool)
    for column, lo, hi in zip(joints, min_deg, max_deg, strict=True):
        inside &= column >= lo
        inside &= column <= hi
    usable = inside & (joints[1] <= j1_safe_max_deg) if len(joints) > 1 else inside
    kept = np.flatnonzero(usable)
    with ThreadPoolExecutor(_THREADS) as pool:  # NumPy lets go of the interpreter while it sorts and copies
        turned = [pool.submit(np.ascontiguousarray, part.T) for part in (joints, columns[:3])]
        heights = [pool.submit(np.sort, part) for part in (y[kept], y[inside & ~usable], y[~inside])]
        x_kept, y_kept, z_kept = (column[kept] for column in columns[:3])
        grid = _grid_over(x_kept, y_kept, z_kept)
        slot = _slots(x_kept, y_kept, z_kept, grid)
        order = np.sort((slot << np.uint64(32)) | np.arange(len(kept), dtype=np.uint64)) & np.uint64(_MOST_ROWS)
        at = kept[order.view(np.int64)]
        sorted_joints, sorted_points = (_rows_at(part.result(), at, pool) for part in turned)
        starts = np.zeros(int(grid[5] * grid[6] * grid[7]) + 1, dtype=np.int32)
        np.cumsum(np.bincount(slot.view(np.int64), minlength=len(starts) - 1), out=starts[1:])
        return Index(
            points=sorted_points(),
            joints=sorted_joints(),
            rows=at.astype(np.int32),
            starts=starts,
            grid=grid,
            y_usable=heights[0].result(),
            y_unsafe=heights[1].result(),
            y_outside=heights[2].result(),
            bound_to=dict(bound_to or {}),
        )


def _rows_at(table: FloatArray, at: NDArray[np.int64], pool: ThreadPoolExecutor) -> Callable[[], FloatArray]:
    """Begin to copy some rows of (N, k), a share a thread; the call given back waits for them."""
    out = np.empty((len(at), table.shape[1]))
    cuts = [len(at) * i // _THREADS for i in range(_THREADS + 1)]
    shares = [pool.submit(np.take, table, at[a:b], 0, out[a:b], "clip") for a, b in pairwise(cuts)]

    def done() -> FloatArray:
        for share in shares:
            share.result()
        return out

    return done


def _grid_over(x: FloatArray, y: FloatArray, z: FloatArray) -> FloatArray:
    """Cells of 5 mm and bins of 10 mm over all points; coarser where there would be more bins than rows."""
    if not len(x):
        return np.array([0.0, 0.0, 0.0, CELL_M, BIN_M, 1.0, 1.0, 1.0])
    least = np.array([x.min(), y.min(), z.min()])
    spans = np.array([x.max(), y.max(), z.max()]) - least
    coarser = 1.0
    while True:
        size = coarser * np.array([CELL_M, BIN_M, CELL_M])
        nx, nb, nz = np.floor(spans / size) + 1
        if nx * nb * nz <= max(4096, len(x)):
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
    arrays = {name: getattr(index, name) for name in (*_FLOATS, "rows", "starts")}
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
