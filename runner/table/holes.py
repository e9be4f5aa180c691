"""The map of holes: for every square of a region, whether the table has a row that its approach pose leads to.

Asks the approach file and the reach table what a run would ask them, and changes neither. What no row can ever fill is
said by proofs (`fill/proof.py`), which override what the lookup says.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runner.config import Config
from runner.kinematics.ik.protocol import JointLimits
from runner.kinematics.model import ArmModel, FloatArray
from runner.table.approach import Approach
from runner.table.approach_lookup import lookup_approach
from runner.table.lookup import Lookup
from runner.table.postures import hard_limits
from runner.table.query import Found, Query
from runner.table.region import Ground, Square
from runner.table.rows import ReachTable
from runs.schema.geometry import TablePoint
from runs.schema.motion import LookupRecord

IntArray = NDArray[np.int64]


class Status(StrEnum):
    """How a square stands."""

    DENSE = "dense"  # the row's residual is within the tolerance in x and in z
    MARGINAL = "marginal"  # the lookup answers, but from farther off
    HOLE = "hole"  # the lookup refuses, or there is no approach
    UNREACHABLE = "unreachable"  # proved: no pose there
    BLOCKED = "blocked"  # proved: every pose there collides


MARKS = {
    Status.DENSE: "●",
    Status.MARGINAL: "△",
    Status.HOLE: "·",
    Status.UNREACHABLE: "×",
    Status.BLOCKED: "■",
}
COLUMNS = (
    "grid_x_mm", "grid_z_mm", "approach_j0_deg", "approach_method", "lookup_method", "candidates_left",
    "x_residual_mm", "z_residual_mm", "ee_y_m", "max_dj_deg", "status",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class SquareState:
    """One square: what approach and lookup said, and how it stands."""

    x_mm: int
    z_mm: int
    status: Status
    why: str
    approach_method: str  # interp, grid or out_of_range
    approach_j0_deg: float | None = None
    approach_deg: tuple[float, ...] | None = None
    lookup_method: str | None = None  # fk_nearest or out_of_range; None: no approach, so it was not asked
    candidates_left: int | None = None
    row: int | None = None
    row_deg: tuple[float, ...] | None = None
    x_residual_mm: float | None = None
    z_residual_mm: float | None = None
    ee_y_m: float | None = None
    max_dj_deg: float | None = None  # largest change of a joint from the approach pose to the row

    @property
    def square(self) -> Square:
        """Its centre in millimetres."""
        return self.x_mm, self.z_mm

    def as_dict(self) -> dict[str, Any]:
        """For programs, with the CSV's names."""
        return dict(zip(COLUMNS, self.cells(), strict=True)) | {
            "why": self.why,
            "row": self.row,
            "approach_deg": self.approach_deg,
            "row_deg": self.row_deg,
        }

    def cells(self) -> tuple[Any, ...]:
        """A line of the CSV."""
        return (
            self.x_mm, self.z_mm, self.approach_j0_deg, self.approach_method, self.lookup_method, self.candidates_left,
            self.x_residual_mm, self.z_residual_mm, self.ee_y_m, self.max_dj_deg, str(self.status),
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class HoleMap:
    """All squares of a region, in its order."""

    ground: Ground
    squares: tuple[SquareState, ...]

    def counts(self) -> dict[str, int]:
        """Squares of each status; every status stands there."""
        found = Counter(s.status for s in self.squares)
        return {str(status): found[status] for status in Status}

    def of(self, *statuses: Status) -> list[SquareState]:
        """The squares of these statuses."""
        return [s for s in self.squares if s.status in statuses]

    def as_dict(self) -> dict[str, Any]:
        """For programs."""
        g = self.ground
        return {
            "phase": g.phase,
            "region": {"x_mm": g.region.x_mm, "z_mm": g.region.z_mm, "step_mm": g.region.step_mm},
            "band_y_m": g.band_y_m,
            "tolerance_mm": g.tolerance_mm,
            "joint_tol_deg": g.joint_tol_deg,
            "counts": self.counts(),
            "squares": [s.as_dict() for s in self.squares],
        }

    def to_csv(self) -> str:
        """One line a square under one header line."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows([_short(cell) for cell in s.cells()] for s in self.squares)
        return out.getvalue()

    def drawn(self) -> str:
        """The map in signs: z upwards, x to the right."""
        region, mark = self.ground.region, {s.square: MARKS[s.status] for s in self.squares}
        xs = sorted(region.xs_mm)
        lines = [f"z {z:4d}  " + " ".join(mark[x, z] for x in xs) for z in reversed(region.zs_mm)]
        lines.append(f"        x {xs[0]} … {xs[-1]} mm, a sign every {region.step_mm} mm")
        counts = self.counts()
        lines.append("        " + "   ".join(f"{MARKS[s]} {s} {counts[s]}" for s in Status))
        return "\n".join(lines)


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """A table, ready to be asked, and what makes a row of it usable."""

    table: ReachTable
    lookup: Lookup
    limits: JointLimits
    j1_safe_max_deg: float

    @classmethod
    def of(cls, table: ReachTable, arm: ArmModel, config: Config) -> Asked:
        """Inside the settings' limits."""
        limits, safe = hard_limits(arm, config), config.arm.j1_safe_max_deg
        return cls(table, Lookup(table, limits, j1_safe_max_deg=safe), limits, safe)

    def usable_rows(self, band_y_m: tuple[float, float]) -> IntArray:
        """Rows in a band of heights, inside the limits and below j1's safe maximum, ascending."""
        y, joints = self.table.columns[1], self.table.joints_deg
        keep = (y >= band_y_m[0]) & (y < band_y_m[1])
        for column, lo, hi in zip(joints, self.limits.min_deg, self.limits.max_deg, strict=True):
            keep &= (column >= lo) & (column <= hi)
        if self.table.n_joints > 1:
            keep &= joints[1] <= self.j1_safe_max_deg
        return np.flatnonzero(keep)

    def approach(self, approach: Approach, centre_xz_m: TablePoint, arc_x_residual_m: float) -> LookupRecord:
        """The approach for a point."""
        return lookup_approach(
            approach,
            centre_xz_m,
            self.limits,
            label="holes",
            j1_safe_max_deg=self.j1_safe_max_deg,
            x_residual_max_m=arc_x_residual_m,
        )


def find_holes(
    asked: Asked, approach: Approach, ground: Ground, proofs: Mapping[Square, tuple[Status, str]] | None = None
) -> HoleMap:
    """How every square of a region stands.

    Args:
        asked: the reach table.
        approach: an arc or a grid; the pose that it has for a square's centre is the reference of a place.
        ground: region, band, tolerances.
        proofs: squares that are proved to be unreachable or blocked, and why; they override marginal and hole.
    """
    usable = np.ascontiguousarray(asked.table.joints_deg[:, asked.usable_rows(ground.band_y_m)])
    states = [_state(square, asked, approach, ground, usable) for square in ground.region.squares]
    return HoleMap(ground, tuple(overridden(s, proofs or {}) for s in states))


def overridden(state: SquareState, proofs: Mapping[Square, tuple[Status, str]]) -> SquareState:
    """The square as its proof has it; a dense one stays dense: it has a row."""
    if state.status is Status.DENSE or state.square not in proofs:
        return state
    status, why = proofs[state.square]
    return replace(state, status=status, why=why)


def query_of(centre_xz_m: tuple[float, float], approach_deg: tuple[float, ...], ground: Ground) -> Query:
    """What a run would ask the reach table there."""
    near = ground.joint_tol_deg is not None
    return Query(
        target_xz_m=centre_xz_m,
        ee_y_band_m=ground.band_y_m,
        dist_max_m=ground.dist_max_m,
        ref_joints=approach_deg,
        joint_tol_deg=ground.joint_tol_deg if near else None,
        place_ee_y_floor=ground.floor_y_m,
    )


def _state(square: Square, asked: Asked, approach: Approach, ground: Ground, usable_deg: FloatArray) -> SquareState:
    x, z = square
    centre = (x / 1000.0, z / 1000.0)
    first = asked.approach(approach, centre, ground.arc_x_residual_m)
    if not first.guard_pass or first.target_angles is None:
        why = first.guard_reason or "no approach"
        return SquareState(x, z, Status.HOLE, f"no approach: {why}", first.method, first.j0, first.target_angles)
    query = query_of(centre, first.target_angles, ground)
    found = asked.lookup.find(query)
    status, why = _judged(found, ground)
    return SquareState(
        x,
        z,
        status,
        why,
        first.method,
        first.j0,
        first.target_angles,
        lookup_method=found.method,
        candidates_left=_candidates(usable_deg, first.target_angles, ground.joint_tol_deg),
        row=found.selected_idx,
        row_deg=found.joints_deg,
        x_residual_mm=_mm(found.x_residual_m),
        z_residual_mm=_mm(found.z_residual_m),
        ee_y_m=found.ee_y_m,
        max_dj_deg=found.max_dj_deg,
    )


def _candidates(usable_deg: FloatArray, approach_deg: tuple[float, ...], tol_deg: float | None) -> int:
    """How many usable rows (n_joints, N) of the band are near the approach pose on every joint."""
    if tol_deg is None:
        return int(usable_deg.shape[1])
    rows = np.flatnonzero(np.abs(usable_deg[0] - approach_deg[0]) <= tol_deg)
    for column, reference in zip(usable_deg[1:], approach_deg[1:], strict=True):
        rows = rows[np.abs(column[rows] - reference) <= tol_deg]
    return len(rows)


def _judged(found: Found, ground: Ground) -> tuple[Status, str]:
    if not found.ok:
        return Status.HOLE, found.abort_reason or "the lookup refuses"
    assert found.x_residual_m is not None
    assert found.z_residual_m is not None
    dx, dz = found.x_residual_m * 1000.0, found.z_residual_m * 1000.0
    where = f"row {found.selected_idx} is {dx:.1f} mm off in x and {dz:.1f} mm in z"
    within = max(dx, dz) <= ground.tolerance_mm
    return (Status.DENSE if within else Status.MARGINAL), where


def _mm(metres: float | None) -> float | None:
    return None if metres is None else metres * 1000.0


def _short(cell: Any) -> Any:
    if cell is None:
        return ""
    return f"{cell:.6g}" if isinstance(cell, float) else cell
