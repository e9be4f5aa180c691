"""The nearest row of the reach table for a target, by the exact rules of the field's lookup.

Candidates are the rows inside a height band, the hard joint limits, the safe maximum of j1, and near reference joints
where those are given. The nearest in the x-z plane wins, the lowest row number on a tie. Too far, below the floor, or
no candidate: `out_of_range`, with a reason. It moves and refines nothing, and ignores no argument: a wrong one raises.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from runner.kinematics.ik.protocol import JointLimits
from runner.kinematics.model import FloatArray
from runner.table.errors import BadQuery
from runner.table.format import ReachTable
from runs.schema.geometry import TablePoint
from runs.schema.motion import LookupRecord, NearestPoint, Phase

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

DEFAULT_TOL_DEG = 5.0  # of j3_ref and j5_ref


@dataclass(frozen=True, slots=True)
class Query:
    """One question. Angles in degrees; `ee_y_band_m` takes in its lower end only."""

    target_xz_m: TablePoint
    ee_y_band_m: tuple[float, float]
    dist_max_m: float
    j3_ref: float | None = None
    j3_tol_deg: float | None = None
    j5_ref: float | None = None
    j5_tol_deg: float | None = None
    ref_joints: tuple[float, ...] | None = None
    joint_tol_deg: float | None = None
    place_ee_y_floor: float | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """The answer. Row numbers count from 0; residuals are the row's point less the target, as sizes."""

    method: str  # "fk_nearest" or "out_of_range"
    query: Query
    rows: int  # of the table
    selected_idx: int | None = None
    pose_id: str | None = None
    ee_xz_m: TablePoint | None = None
    ee_y_m: float | None = None
    joints_deg: tuple[float, ...] | None = None
    dist_m: float | None = None
    x_residual_m: float | None = None
    z_residual_m: float | None = None
    max_dj_deg: float | None = None  # largest joint difference to the reference
    candidates_left: dict[str, int] | None = None  # rows after each filter; counted when refused
    abort_reason: str | None = None

    @property
    def ok(self) -> bool:
        """Whether there is a row."""
        return self.method == "fk_nearest"


class Lookup:
    """A table ready to be asked, inside one set of joint limits. Holds a copy sorted by x; answers from any thread."""

    def __init__(self, table: ReachTable, limits: JointLimits, *, j1_safe_max_deg: float) -> None:
        """Sort once; a million rows take about a fifth of a second.

        Raises:
            BadQuery: limits of another number of joints.
        """
        if len(limits.min_deg) != table.n_joints:
            raise BadQuery("limits", f"{len(limits.min_deg)} joints for a table with {table.n_joints}")
        self.table, self.limits, self.j1_safe_max_deg = table, limits, j1_safe_max_deg
        joints = table.joints_deg
        inside = np.ones(len(table), dtype=bool)
        for column, lo, hi in zip(joints, limits.min_deg, limits.max_deg, strict=True):
            inside &= (column >= lo) & (column <= hi)
        safe = joints[1] <= j1_safe_max_deg if table.n_joints > 1 else np.ones(len(table), dtype=bool)
        self._inside, self._safe = inside, safe
        order = np.argsort(table.columns[0], kind="stable")
        self._row = order.astype(np.int64)
        self._x, self._y, self._z = (np.ascontiguousarray(c[order]) for c in table.columns[:3])
        self._usable = (inside & safe)[order]

    def find(self, query: Query, *, count: bool = False) -> Found:
        """The nearest row that passes every filter, or why there is none.

        Args:
            query: what is asked.
            count: also count the rows left after each filter when there is an answer.

        Raises:
            BadQuery: an argument that can't be meant: not finite, a tolerance without its reference, an empty band.
        """
        check(query, self.table.n_joints)
        rows, d2 = self._near(query)
        if not len(rows):
            return self._refused(query)
        best = int(rows[_first_smallest(d2, rows)])
        found = self._answer(query, best)
        if found.ok and count:
            found = replace(found, candidates_left=self.counts(query))
        return found

    def next_rows(self, query: Query, count: int) -> list[Found]:
        """The nearest rows in order, at most `count`; a tie goes to the lower row number. Empty: see `find` for why.

        Raises:
            BadQuery: see `find`.
        """
        check(query, self.table.n_joints)
        rows, d2 = self._near(query)
        return [found for found in self._in_order(query, rows, d2, count) if found.ok]

    def find_many(self, queries: list[Query]) -> list[Found]:
        """One answer a query, in order."""
        return [self.find(query) for query in queries]

    def counts(self, query: Query) -> dict[str, int]:
        """How many rows are left after each filter, over the whole table, in the order in which they are applied."""
        return self._filtered(query)[0]

    def _filtered(self, query: Query) -> tuple[dict[str, int], IntArray]:
        """The counts, and the rows that are left in the end, ascending."""
        left = {"rows": len(self.table)}
        lo, hi = query.ee_y_band_m
        y = self.table.columns[1]
        mask = (y >= lo) & (y < hi)
        left["ee_y_band"] = int(np.count_nonzero(mask))
        mask &= self._inside
        left["joint_limits"] = int(np.count_nonzero(mask))
        mask &= self._safe
        left["j1_safe_max"] = int(np.count_nonzero(mask))
        rows = np.flatnonzero(mask)
        for name, joint, value, tol in _references(query):
            rows = rows[np.abs(self.table.columns[3 + joint][rows] - value) <= tol]
            left[name] = len(rows)
        if query.ref_joints is not None and query.joint_tol_deg is not None:
            rows = rows[self._within(rows, query.ref_joints, query.joint_tol_deg)]
            left["ref_joints"] = len(rows)
        return left, rows

    def _near(self, query: Query) -> tuple[IntArray, FloatArray]:
        """Candidates within the largest distance: row numbers and squared distances, in no order."""
        x, z = query.target_xz_m
        reach = query.dist_max_m
        window = reach * (1 + 1e-9) + 1e-12  # a little wide: which rows are near is decided by the distance below
        a = int(np.searchsorted(self._x, x - window, side="left"))
        b = int(np.searchsorted(self._x, x + window, side="right"))
        part = slice(a, b)
        lo, hi = query.ee_y_band_m
        y = self._y[part]
        beside = np.abs(self._z[part] - z) <= window
        at = a + np.flatnonzero(self._usable[part] & (y >= lo) & (y < hi) & beside)
        dx, dz = self._x[at] - x, self._z[at] - z
        d2 = dx * dx + dz * dz
        near = np.sqrt(d2) <= reach
        rows, d2 = self._row[at[near]], d2[near]
        for _, joint, value, tol in _references(query):
            keep = np.abs(self.table.columns[3 + joint][rows] - value) <= tol
            rows, d2 = rows[keep], d2[keep]
        if query.ref_joints is not None and query.joint_tol_deg is not None:
            keep = self._within(rows, query.ref_joints, query.joint_tol_deg)
            rows, d2 = rows[keep], d2[keep]
        return rows, d2

    def _within(self, rows: IntArray, ref: tuple[float, ...], tol_deg: float) -> BoolArray:
        keep = np.ones(len(rows), dtype=bool)
        for joint, value in enumerate(ref):
            keep &= np.abs(self.table.columns[3 + joint][rows] - value) <= tol_deg
        return keep

    def _in_order(self, query: Query, rows: IntArray, d2: FloatArray, count: int) -> Iterator[Found]:
        order = np.lexsort((rows, d2))[:count]
        for i in order:
            yield self._answer(query, int(rows[i]))

    def _answer(self, query: Query, row: int) -> Found:
        x, y, z = (float(c[row]) for c in self.table.columns[:3])
        joints = tuple(float(j) for j in self.table.columns[3:, row])
        dx, dz = x - query.target_xz_m[0], z - query.target_xz_m[1]
        dj = None
        if query.ref_joints is not None:
            dj = max(abs(a - b) for a, b in zip(joints, query.ref_joints, strict=True))
        found = Found(
            method="fk_nearest",
            query=query,
            rows=len(self.table),
            selected_idx=row,
            pose_id=f"fk_row_{row}",
            ee_xz_m=(x, z),
            ee_y_m=y,
            joints_deg=joints,
            dist_m=float(np.sqrt(dx * dx + dz * dz)),
            x_residual_m=abs(dx),
            z_residual_m=abs(dz),
            max_dj_deg=dj,
        )
        floor = query.place_ee_y_floor
        if floor is not None and y < floor:
            why = f"row {row} is at height {y * 1000:.1f} mm, below the floor of {floor * 1000:.1f} mm"
            return replace(found, method="out_of_range", abort_reason=why)
        return found

    def _refused(self, query: Query) -> Found:
        """Why there is no row: no candidate at all, or the nearest of them is too far."""
        left, rows = self._filtered(query)
        if not len(rows):
            steps = ", ".join(f"{name} {n}" for name, n in left.items())
            why = f"no candidate; rows left after each filter: {steps}"
            return Found("out_of_range", query, len(self.table), candidates_left=left, abort_reason=why)
        dx, dz = self.table.columns[0][rows] - query.target_xz_m[0], self.table.columns[2][rows] - query.target_xz_m[1]
        nearest = self._answer(query, int(rows[np.argmin(dx * dx + dz * dz)]))
        assert nearest.dist_m is not None
        why = f"the nearest row is {nearest.dist_m * 1000:.1f} mm away (allowed {query.dist_max_m * 1000:.1f} mm)"
        return replace(nearest, method="out_of_range", candidates_left=left, abort_reason=why)


def check(query: Query, n_joints: int) -> None:
    """Refuse a question that can't be meant.

    Raises:
        BadQuery: names the argument.
    """
    numbers: dict[str, float | None] = {
        "x": query.target_xz_m[0],
        "z": query.target_xz_m[1],
        "ee_y_min": query.ee_y_band_m[0],
        "ee_y_max": query.ee_y_band_m[1],
        "j3_ref": query.j3_ref,
        "j5_ref": query.j5_ref,
        "place_ee_y_floor": query.place_ee_y_floor,
    }
    for name, value in numbers.items():
        if value is not None and not np.isfinite(value):
            raise BadQuery(name, f"must be a finite number, got {value}")
    if not query.ee_y_band_m[0] < query.ee_y_band_m[1]:
        raise BadQuery("ee_y_min", f"{query.ee_y_band_m[0]} is not below ee_y_max {query.ee_y_band_m[1]}")
    if not query.dist_max_m >= 0:
        raise BadQuery("dist_max_m", f"must be a distance, got {query.dist_max_m}")
    for name, ref, tol in (
        ("j3", query.j3_ref, query.j3_tol_deg),
        ("j5", query.j5_ref, query.j5_tol_deg),
        ("joint", query.ref_joints, query.joint_tol_deg),
    ):
        if tol is not None and ref is None:
            raise BadQuery(f"{name}_tol_deg", "a tolerance without a reference")
        if tol is not None and not (np.isfinite(tol) and tol >= 0):
            raise BadQuery(f"{name}_tol_deg", f"must be a finite number from 0, got {tol}")
    for joint, name in ((3, "j3_ref"), (5, "j5_ref")):
        if numbers[name] is not None and joint >= n_joints:
            raise BadQuery(name, f"the arm has {n_joints} joints")
    ref = query.ref_joints
    if ref is not None and (len(ref) != n_joints or not np.isfinite(ref).all()):
        raise BadQuery("ref_joints", f"must be {n_joints} finite angles in degrees, got {ref}")


def to_record(
    found: Found, *, label: str, phase: Phase, source_file: str, requested_xz_m: TablePoint | None = None,
    attempt: int | None = None,
) -> LookupRecord:  # fmt: skip
    """The answer as it stands in the run log, before refining."""
    q, joints = found.query, found.joints_deg
    nearest: tuple[NearestPoint, ...] = ()
    if found.selected_idx is not None:
        nearest = (NearestPoint(ee_xz_m=found.ee_xz_m, ee_y_m=found.ee_y_m, joints=joints),)
    return LookupRecord(
        label=label,
        phase=phase,
        source_file=source_file,
        pose_id=found.pose_id,
        target_xz_m=q.target_xz_m,
        j0=None if joints is None else joints[0],
        method=found.method,
        x_residual_m=found.x_residual_m,
        z_residual_m=found.z_residual_m,
        interp_xz_m=found.ee_xz_m,
        joint_limit_ok=found.ok,
        target_angles=joints,
        base_angles=joints,
        nearest_pts=nearest,
        ee_y_m_selected=found.ee_y_m,
        max_dj_deg=found.max_dj_deg,
        joint_tol_deg_used=q.joint_tol_deg if q.ref_joints is not None else None,
        guard_pass=found.ok,
        guard_reason=found.abort_reason,
        attempt=attempt,
        requested_xz_m=requested_xz_m,
        total_residual_m=found.dist_m,
        dist_m=found.dist_m,
        used_angles=joints,
        ee_y_band_m=q.ee_y_band_m,
        selected_idx=found.selected_idx,
        ref_joints_used=q.ref_joints if q.joint_tol_deg is not None else None,
        abort_reason=found.abort_reason,
        candidates_left=found.candidates_left,
    )


def _references(query: Query) -> list[tuple[str, int, float, float]]:
    out = []
    for name, joint, ref, tol in (
        ("j3_ref", 3, query.j3_ref, query.j3_tol_deg),
        ("j5_ref", 5, query.j5_ref, query.j5_tol_deg),
    ):
        if ref is not None:
            out.append((name, joint, ref, DEFAULT_TOL_DEG if tol is None else tol))
    return out


def _first_smallest(d2: FloatArray, rows: IntArray) -> int:
    """Where the smallest distance stands; of equal ones the lowest row."""
    least = np.flatnonzero(d2 == d2.min())
    return int(least[np.argmin(rows[least])])
