"""Is a copy of the reach table sound, and what have two copies that the other lacks?

Reads everything again and compares: hash, rows, forward kinematics, cell, index. Mends nothing. It exists because two
files of one name once grew apart by 142,025 rows and nobody noticed.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runner.kinematics.ik.protocol import JointLimits
from runner.kinematics.model import FloatArray
from runner.table.errors import BadIndexFile
from runner.table.format import FileRead, read_file
from runner.table.index import ARRAYS, map_index
from runner.table.merge import first_alike
from runner.table.opening import bound_to, index_of
from runner.table.plausible import TOLERANCE_MM, off_mm
from runner.table.rows import CellOfTable, ReachTable
from runner.table.stamp import index_file


@dataclass(frozen=True, slots=True)
class Soundness:
    """One copy against itself, and against a cell where one was given."""

    file: str
    rows: int
    content_hash: str  # read again from the rows; a file that says another is refused before
    file_sha256: str
    not_finite: int  # rows with a number that is none
    off_rows: int  # whose point is more than 3 mm from where their joints put the tool
    off_median_mm: float
    off_max_mm: float
    doubles: int  # rows whose joints an earlier row has
    outside_limits: int  # rows that no lookup uses: beyond the joint limits or j1's safe maximum
    other_cell: str | None  # what differs from the settings, in a sentence
    index: str  # "none", "current", "stale" (it will be made anew) or "wrong" (it says what the rows don't)

    @property
    def sound(self) -> bool:
        """Whether the copy can be used as it is."""
        return not (self.not_finite or self.off_rows or self.other_cell or self.index == "wrong")


@dataclass(frozen=True, slots=True)
class OnlyHere:
    """Rows of one batch that the other copy lacks."""

    source: str
    made_at: str
    rows: int  # of the batch
    only_here: int


@dataclass(frozen=True, slots=True)
class Difference:
    """Two copies against each other; rows are alike if their joints are."""

    same_content: bool  # the same rows in the same order to the last bit
    in_both: int
    only_a: tuple[OnlyHere, ...]  # batches with rows that B lacks
    only_b: tuple[OnlyHere, ...]
    other_point: int  # rows in both whose points differ by more than a micrometre
    other_order: bool  # rows in both stand in another order
    other_cell: str | None  # what differs between the cells they were made for

    def as_dict(self) -> dict[str, Any]:
        """For programs, with the sums."""
        sides = {"rows_only_a": self.only_a, "rows_only_b": self.only_b}
        return asdict(self) | {name: sum(b.only_here for b in side) for name, side in sides.items()}


def verify(path: Path, *, wanted: CellOfTable | None = None, limits: JointLimits | None = None,
           j1_safe_max_deg: float | None = None) -> tuple[Soundness, ReachTable]:  # fmt: skip
    """Read one copy again from end to end.

    Args:
        path: of the table.
        wanted: the cell's arm, tool and base, to compare with.
        limits: the cell's joint limits, and
        j1_safe_max_deg: j1's safe maximum: rows beyond are counted, and the index beside the table is checked.

    Raises:
        NoTableYet: there is no such file.
        BadTableFile: cut off, not Parquet, or its rows are not the ones that its metadata speaks of.
    """
    read = read_file(path)
    table = read.table
    finite = np.isfinite(table.columns).all(axis=0)
    off = off_mm(table.columns[:, finite], table.cell)
    outside, index = 0, "none"
    if limits is not None and j1_safe_max_deg is not None:
        outside = len(table) - int(np.count_nonzero(_usable(table, limits, j1_safe_max_deg)))
        index = _index_state(path, read, bound_to(wanted or table.cell, limits, j1_safe_max_deg))
    first = first_alike(table.joints_deg)
    return Soundness(
        file=str(path),
        rows=len(table),
        content_hash=table.content_hash,
        file_sha256=read.sha256,
        not_finite=int(np.count_nonzero(~finite)),
        off_rows=int(np.count_nonzero(off > TOLERANCE_MM)),
        off_median_mm=float(np.median(off)) if len(off) else 0.0,
        off_max_mm=float(off.max()) if len(off) else 0.0,
        doubles=int(np.count_nonzero(first != np.arange(len(table)))),
        outside_limits=outside,
        other_cell=None if wanted is None else _other_cell(table.cell, wanted),
        index=index,
    ), table


def compare(a: ReachTable, b: ReachTable) -> Difference:
    """What each of two copies has that the other lacks, batch by batch."""
    if a.content_hash == b.content_hash:
        return Difference(True, len(a), (), (), 0, False, _other_cell(a.cell, b.cell))
    if a.n_joints != b.n_joints:
        return Difference(False, 0, _by_batch(a, np.ones(len(a), bool)), _by_batch(b, np.ones(len(b), bool)), 0, False,
                          _other_cell(a.cell, b.cell))  # fmt: skip
    first = first_alike(np.hstack((a.joints_deg, b.joints_deg)))
    of_b = first[len(a) :]
    in_a = of_b < len(a)
    distinct_a = first[: len(a)] == np.arange(len(a))
    in_b = np.zeros(len(a), dtype=bool)
    in_b[of_b[in_a]] = True
    in_b = in_b[first[: len(a)]]
    shared = of_b[in_a]
    apart = np.abs(a.columns[:3, shared] - b.columns[:3, in_a]).max(axis=0) if len(shared) else np.empty(0)
    return Difference(
        same_content=False,
        in_both=int(np.count_nonzero(in_b & distinct_a)),
        only_a=_by_batch(a, ~in_b),
        only_b=_by_batch(b, ~in_a),
        other_point=int(np.count_nonzero(apart > 1e-6)),
        other_order=bool(np.any(np.diff(shared) < 0)),
        other_cell=_other_cell(a.cell, b.cell),
    )


def _usable(table: ReachTable, limits: JointLimits, j1_safe_max_deg: float) -> NDArray[np.bool_]:
    joints = table.joints_deg
    inside = np.all((limits.min_deg <= joints.T) & (limits.max_deg >= joints.T), axis=1)
    return np.asarray(inside & (joints[1] <= j1_safe_max_deg)) if table.n_joints > 1 else inside


def _index_state(path: Path, read: FileRead, made_from: dict[str, Any]) -> str:
    """Whether the index that lies beside the table is what would be made from it."""
    try:
        there = map_index(index_file(path))
    except BadIndexFile:
        return "stale" if index_file(path).exists() else "none"
    if there.bound_to != made_from | {"content_hash": read.table.content_hash}:
        return "stale"
    fresh = index_of(read.table, made_from)
    pairs: list[tuple[FloatArray, FloatArray]] = [(getattr(there, n), getattr(fresh, n)) for n in ARRAYS]
    return "current" if all(np.array_equal(old, new) for old, new in pairs) else "wrong"


def _other_cell(found: CellOfTable, wanted: CellOfTable) -> str | None:
    for name in type(found).model_fields:
        mine, theirs = getattr(found, name), getattr(wanted, name)
        if mine != theirs:
            return f"{name.replace('_', ' ')} is {mine}, not {theirs}"
    return None


def _by_batch(table: ReachTable, only_here: NDArray[np.bool_]) -> tuple[OnlyHere, ...]:
    out, at = [], 0
    for batch in table.batches:
        n = int(np.count_nonzero(only_here[at : at + batch.rows]))
        at += batch.rows
        if n:
            out.append(OnlyHere(batch.source, batch.made_at, batch.rows, n))
    return tuple(out)
