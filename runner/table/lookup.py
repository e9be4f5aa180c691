"""The nearest row of the reach table for a target, by the exact rules of the field's lookup.

Candidates are the rows inside a height band, the hard joint limits, the safe maximum of j1, and near reference joints
where those are given. The nearest in the x-z plane wins, the lowest row number on a tie. Too far, below the floor, or
no candidate: `out_of_range`, with a reason. It moves and refines nothing, and ignores no argument: a wrong one raises.
"""

from __future__ import annotations

import time
from math import inf, sqrt
from operator import sub
from typing import TYPE_CHECKING, cast

import numpy as np

from runner.compiled import kernels
from runner.table.errors import BadQuery
from runner.table.index import Index, build_index
from runner.table.nearest import count_left, nearest_rows
from runner.table.query import DEFAULT_TOL_DEG, Found, Query, check, joint_tests

if TYPE_CHECKING:
    from types import ModuleType

    from runner.kinematics.ik.protocol import JointLimits
    from runner.kinematics.model import FloatArray
    from runner.table.rows import ReachTable

__all__ = ["Found", "Lookup", "Query"]

FILTERS = ("j3_ref", "j5_ref", "ref_joints")
"""The filters by joints, in the order in which they apply."""

_FOUND, _REFUSED = "fk_nearest", "out_of_range"
_NO_TEST = (0.0, inf, 0.0, inf, inf)
_KERNELS = "runner.table.kernels"
_ASK_AGAIN_S = 0.5  # how often it is looked whether machine code lies ready by now
_MOST_COMPILED = 64  # rows that the compiled search keeps in order; NumPy sorts more of them faster


class Lookup:
    """A table ready to be asked, inside one set of joint limits. Answers from any thread."""

    def __init__(self, table: ReachTable, limits: JointLimits, *, j1_safe_max_deg: float) -> None:
        """Sort once; a million rows take about a tenth of a second. `opening.py` has indexes that lie ready in a file.

        Raises:
            BadQuery: limits of another number of joints.
        """
        if len(limits.min_deg) != table.n_joints:
            raise BadQuery("limits", f"{len(limits.min_deg)} joints for a table with {table.n_joints}")
        self._over(
            build_index(table.columns, limits.min_deg, limits.max_deg, j1_safe_max_deg=j1_safe_max_deg), compiled=True
        )

    @classmethod
    def over(cls, index: Index, *, compiled: bool = True) -> Lookup:
        """A lookup over an index that is there already. Without `compiled` it never loads a compiler."""
        lookup = cls.__new__(cls)
        lookup._over(index, compiled=compiled)
        return lookup

    def _over(self, index: Index, *, compiled: bool) -> None:
        self.index = index
        self._n_joints, self._n_rows, self._n_usable = index.n_joints, index.n_rows, len(index.rows)
        words = index.coarse.view(np.uint64)
        self._arrays = (index.points, words, index.joints, index.rows, index.starts, index.grid, index.scale)
        self._compiled: ModuleType | None = None
        self._ask_at_s = 0.0 if compiled else inf

    def __len__(self) -> int:
        """How many rows the table has."""
        return self._n_rows

    def find(self, query: Query, *, count: bool = False) -> Found:
        """The nearest row that passes every filter, or why there is none.

        Args:
            query: what is asked.
            count: also count the rows left after each filter when there is an answer.

        Raises:
            BadQuery: an argument that can't be meant: not finite, a tolerance without its reference, an empty band.
        """
        check(query, self._n_joints)
        near = self._nearest(query, query.dist_max_m, 1)
        if not near:
            return self._refused(query)
        found = self._answer(query, near[0])
        if found.ok and count:
            found = found._replace(candidates_left=self._counts(query))
        return found

    def next_rows(self, query: Query, count: int) -> list[Found]:
        """The nearest rows in order, at most `count`; a tie goes to the lower row number. Empty: see `find` for why.

        Raises:
            BadQuery: see `find`.
        """
        check(query, self._n_joints)
        near = self._nearest(query, query.dist_max_m, count)
        return [found for found in (self._answer(query, one) for one in near) if found.ok]

    def find_many(self, queries: list[Query]) -> list[Found]:
        """One answer a query, in order."""
        return [self.find(query) for query in queries]

    def counts(self, query: Query) -> dict[str, int]:
        """How many rows are left after each filter, over the whole table, in the order in which they are applied.

        Raises:
            BadQuery: see `find`.
        """
        check(query, self._n_joints)
        return self._counts(query)

    def _counts(self, query: Query) -> dict[str, int]:
        index, filters = self.index, joint_tests(query)
        usable, unsafe, outside = (
            int(np.diff(np.searchsorted(y, query.ee_y_band_m))[0])
            for y in (index.y_usable, index.y_unsafe, index.y_outside)
        )
        left = {
            "rows": self._n_rows,
            "ee_y_band": usable + unsafe + outside,
            "joint_limits": usable + unsafe,
            "j1_safe_max": usable,
        }
        if not filters:
            return left
        if usable == 0 or (code := self._code()) is None:
            return left | count_left(index, query, filters)
        counted = np.zeros(len(FILTERS), dtype=np.int64)
        code.count(*self._arrays, _packed(query, 0.0), counted)
        numbers = dict(zip(FILTERS, counted.tolist(), strict=True))
        return left | {name: numbers[name] for name, _ in filters}

    def _nearest(self, query: Query, reach_m: float, count: int) -> list[list[float]]:
        """The nearest candidates in order: squared distance, position, row number, point and joints of each."""
        if count <= 0 or not self._n_usable:
            return []
        code = self._compiled or self._code()
        if code is None or count > _MOST_COMPILED:
            near = nearest_rows(self.index, query, joint_tests(query), reach_m, count)
            return cast("list[list[float]]", near.tolist())
        out = np.empty((count, 6 + self._n_joints))
        found = code.nearest(*self._arrays, _packed(query, reach_m), out)
        return cast("list[list[float]]", out[:found].tolist())

    def _code(self) -> ModuleType | None:
        """The compiled search once it is to be had."""
        if self._compiled is None and time.monotonic() >= self._ask_at_s:
            self._compiled = kernels(_KERNELS)
            self._ask_at_s = time.monotonic() + _ASK_AGAIN_S
        return self._compiled

    def _answer(self, query: Query, near: list[float]) -> Found:
        """One of the nearest candidates as an answer."""
        d2, _, number, x, y, z, *joints = near
        row, ref, floor = int(number), query.ref_joints, query.place_ee_y_floor
        dj = None if ref is None else max(map(abs, map(sub, joints, ref)))
        if floor is not None and y < floor:
            why = f"row {row} is at height {y * 1000:.1f} mm, below the floor of {floor * 1000:.1f} mm"
            return Found(_REFUSED, query, self._n_rows, row, (x, z), y, tuple(joints), sqrt(d2), dj, None, why)
        return Found(_FOUND, query, self._n_rows, row, (x, z), y, tuple(joints), sqrt(d2), dj)

    def _refused(self, query: Query) -> Found:
        """Why there is no row: no candidate at all, or the nearest of them is too far."""
        left = self._counts(query)
        near = self._nearest(query, inf, 1) if min(left.values()) else []
        if not near:
            steps = ", ".join(f"{name} {n}" for name, n in left.items())
            why = f"no candidate; rows left after each filter: {steps}"
            return Found(_REFUSED, query, self._n_rows, candidates_left=left, abort_reason=why)
        nearest = self._answer(query, near[0])
        assert nearest.dist_m is not None
        why = f"the nearest row is {nearest.dist_m * 1000:.1f} mm away (allowed {query.dist_max_m * 1000:.1f} mm)"
        return nearest._replace(method=_REFUSED, candidates_left=left, abort_reason=why)


def _packed(query: Query, reach_m: float) -> FloatArray:
    """The question as the compiled search takes it."""
    j3, j5, ref, tol = query.j3_ref, query.j5_ref, query.ref_joints, query.joint_tol_deg
    head = (*query.target_xz_m, *query.ee_y_band_m, reach_m)
    if j3 is None and j5 is None:
        if ref is None or tol is None:
            return np.array((*head, *_NO_TEST))
        return np.array((*head, 0.0, inf, 0.0, inf, tol, *ref))
    (j3, j3_tol), (j5, j5_tol) = _test(j3, query.j3_tol_deg), _test(j5, query.j5_tol_deg)
    last = (inf,) if ref is None or tol is None else (tol, *ref)
    return np.array((*head, j3, j3_tol, j5, j5_tol, *last))


def _test(ref_deg: float | None, tol_deg: float | None) -> tuple[float, float]:
    if ref_deg is None:
        return 0.0, inf
    return ref_deg, DEFAULT_TOL_DEG if tol_deg is None else tol_deg
