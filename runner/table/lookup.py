"""The nearest row of the reach table for a target, by the exact rules of the field's lookup.

Candidates are the rows inside a height band, the hard joint limits, the safe maximum of j1, and near reference joints
where those are given. The nearest in the x-z plane wins, the lowest row number on a tie. Too far, below the floor, or
no candidate: `out_of_range`, with a reason. It moves and refines nothing, and ignores no argument: a wrong one raises.
"""

from __future__ import annotations

import time
from dataclasses import replace
from math import inf, sqrt
from typing import TYPE_CHECKING

import numpy as np

from runner.compiled import kernels
from runner.table.errors import BadQuery
from runner.table.index import Index, build_index
from runner.table.nearest import Filters, count_left, nearest_rows
from runner.table.query import Found, Query, check, joint_tests

if TYPE_CHECKING:
    from types import ModuleType

    from runner.kinematics.ik.protocol import JointLimits
    from runner.kinematics.model import FloatArray
    from runner.table.rows import ReachTable

__all__ = ["Found", "Lookup", "Query"]

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
        self._n_joints, self._n_rows = index.n_joints, index.n_rows
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
        filters = joint_tests(query)
        at = self._nearest(query, filters, query.dist_max_m, 1)
        if not at:
            return self._refused(query, filters)
        found = self._answer(query, at[0])
        if found.ok and count:
            found = replace(found, candidates_left=self._counts(query, filters))
        return found

    def next_rows(self, query: Query, count: int) -> list[Found]:
        """The nearest rows in order, at most `count`; a tie goes to the lower row number. Empty: see `find` for why.

        Raises:
            BadQuery: see `find`.
        """
        check(query, self._n_joints)
        at = self._nearest(query, joint_tests(query), query.dist_max_m, count)
        return [found for found in (self._answer(query, i) for i in at) if found.ok]

    def find_many(self, queries: list[Query]) -> list[Found]:
        """One answer a query, in order."""
        return [self.find(query) for query in queries]

    def counts(self, query: Query) -> dict[str, int]:
        """How many rows are left after each filter, over the whole table, in the order in which they are applied.

        Raises:
            BadQuery: see `find`.
        """
        check(query, self._n_joints)
        return self._counts(query, joint_tests(query))

    def _counts(self, query: Query, filters: Filters) -> dict[str, int]:
        index = self.index
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
            numbers = count_left(index, query, filters)
        else:
            counted = np.zeros(len(filters), dtype=np.int64)
            code.count(index.points, index.joints, index.starts, index.grid, _packed(query, filters, 0.0), counted)
            numbers = counted.tolist()
        return left | dict(zip((name for name, _ in filters), numbers, strict=True))

    def _nearest(self, query: Query, filters: Filters, reach_m: float, count: int) -> list[int]:
        """Positions in the index of the nearest candidates, in order."""
        if count <= 0 or not len(self.index.rows):
            return []
        if count > _MOST_COMPILED or (code := self._code()) is None:
            at, _ = nearest_rows(self.index, query, filters, reach_m, count)
            return [int(i) for i in at]
        index, out = self.index, np.empty((count, 2))
        found = code.nearest(
            index.points, index.joints, index.rows, index.starts, index.grid, _packed(query, filters, reach_m), out
        )
        return [int(i) for i in out[:found, 1].tolist()]

    def _code(self) -> ModuleType | None:
        """The compiled search once it is to be had."""
        if self._compiled is None and time.monotonic() >= self._ask_at_s:
            self._compiled = kernels(_KERNELS)
            self._ask_at_s = time.monotonic() + _ASK_AGAIN_S
        return self._compiled

    def _answer(self, query: Query, at: int) -> Found:
        """The row at a position of the index, as an answer."""
        index = self.index
        row = int(index.rows[at])
        x, y, z = index.points[at].tolist()
        joints = tuple(index.joints[at].tolist())
        dx, dz = x - query.target_xz_m[0], z - query.target_xz_m[1]
        dj = None
        if query.ref_joints is not None:
            dj = max(abs(a - b) for a, b in zip(joints, query.ref_joints, strict=True))
        floor = query.place_ee_y_floor
        low = floor is not None and y < floor
        why = f"row {row} is at height {y * 1000:.1f} mm, below the floor of {floor * 1000:.1f} mm" if low else None  # type: ignore[operator]
        return Found(
            method="out_of_range" if low else "fk_nearest",
            query=query,
            rows=self._n_rows,
            selected_idx=row,
            pose_id=f"fk_row_{row}",
            ee_xz_m=(x, z),
            ee_y_m=y,
            joints_deg=joints,
            dist_m=sqrt(dx * dx + dz * dz),
            x_residual_m=abs(dx),
            z_residual_m=abs(dz),
            max_dj_deg=dj,
            abort_reason=why,
        )

    def _refused(self, query: Query, filters: Filters) -> Found:
        """Why there is no row: no candidate at all, or the nearest of them is too far."""
        left = self._counts(query, filters)
        at = self._nearest(query, filters, inf, 1)
        if not at:
            steps = ", ".join(f"{name} {n}" for name, n in left.items())
            why = f"no candidate; rows left after each filter: {steps}"
            return Found("out_of_range", query, self._n_rows, candidates_left=left, abort_reason=why)
        nearest = self._answer(query, at[0])
        assert nearest.dist_m is not None
        why = f"the nearest row is {nearest.dist_m * 1000:.1f} mm away (allowed {query.dist_max_m * 1000:.1f} mm)"
        return replace(nearest, method="out_of_range", candidates_left=left, abort_reason=why)


def _packed(query: Query, filters: Filters, reach_m: float) -> FloatArray:
    """The question as the compiled search takes it."""
    numbers = [*query.target_xz_m, *query.ee_y_band_m, reach_m]
    for at, (_, tests) in enumerate(filters):
        for test in tests:
            numbers += (*test, at)
    return np.array(numbers)
