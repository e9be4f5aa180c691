"""One posture on its way through all steps: approach refined, row found and refined, straight line, clearances.

Either it passes, or it says in a sentence what spoke against it. Both leave the lookups behind for the log.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from runner.config import Config
from runner.geometry import Clearance, HeldBlock, Obstacles, first_broken, margin_mm, swept
from runner.kinematics.errors import LineRefused
from runner.kinematics.frames import BaseInCell
from runner.kinematics.ik.protocol import JointLimits
from runner.kinematics.model import ArmModel, FloatArray
from runner.kinematics.motion import StraightLine, straight_line
from runner.table.candidates import Candidate
from runner.table.lookup import Lookup
from runner.table.postures import back_along_tool
from runner.table.query import Found, Query
from runner.table.record import to_record
from runner.table.refine import Refinement, refine, standing
from runs.schema.geometry import Point, TablePoint
from runs.schema.motion import LookupRecord, NearestPoint, Skipped

_ROWS_TRIED = 6  # rows from which a posture is refined before it is given up


class PlansFor(Protocol):
    """What an attempt needs of the planner."""

    arm: ArmModel
    base: BaseInCell
    config: Config
    lookup: Lookup
    limits: JointLimits
    table_name: str


@dataclass(frozen=True, slots=True, eq=False)
class Phases:
    """The words of a pick or a place, and how the block will lie in the jaws on the way back from a pick."""

    phase: Literal["pick", "place"]
    approach_label: str
    reach_label: str
    approach_file: str
    held_T: Callable[[FloatArray, Candidate], FloatArray] | None


class Attempt:
    """One posture tried. After `run`: `lookups` in any case; the other results only when it passed."""

    line: StraightLine
    last: Refinement
    residual_mm: float
    clearance: Clearance | None

    def __init__(
        self,
        plans: PlansFor,
        phases: Phases,
        candidate: Candidate,
        target: TablePoint,
        requested: TablePoint | None,
        obstacles: Obstacles,
    ) -> None:
        self.plans, self.phases, self.candidate = plans, phases, candidate
        self.target, self.requested, self.obstacles = target, requested, obstacles
        self.lookups: tuple[LookupRecord, ...] = ()

    def run(self, skipped: tuple[Skipped, ...]) -> str | None:
        """Why the posture does not pass, or None when it does. `skipped` are those before it, for the log."""
        first, approach = self._approach(skipped)
        self.lookups = (approach,)
        if not first.ok:
            return f"the approach pose misses by {first.residual_mm:.1f} mm and {first.residual_deg:.1f}°"
        query = self._query(first)
        rows = self.plans.lookup.next_rows(query, _ROWS_TRIED)
        if not rows:
            refused = self.plans.lookup.find(query)
            self.lookups = (approach, self._reach_record(refused))
            return f"reach lookup: {refused.abort_reason}"
        return self._from_rows(approach, first, rows)

    def _approach(self, skipped: tuple[Skipped, ...]) -> tuple[Refinement, LookupRecord]:
        """The pose that the straight move begins at: refined for the target, or an arc's as it was taught."""
        c = self.candidate
        begin = np.array(c.start.joints_deg) if c.begin_deg is None else c.begin_deg
        if c.taught is not None:
            first = standing(begin, self.plans.arm, self.plans.base)
            return first, c.taught.model_copy(update={"skipped": skipped})
        x, y, z = back_along_tool(np.array(c.target_m), c.descent_deg, c.heading_deg, c.lift_m).tolist()
        first = self._refined(begin, (x, y, z))
        return first, self._approach_record(first, skipped)

    def _from_rows(self, approach: LookupRecord, first: Refinement, rows: list[Found]) -> str | None:
        """Refine the nearest row; the next ones only where it does not lead to the target."""
        passed_over: list[Skipped] = []
        why: str | None = None
        for row in rows:
            last = self._refined(np.array(row.joints_deg), self.candidate.target_m, first)
            line = self._line(first, last)
            if isinstance(line, StraightLine):  # the next rows lead to the same pose
                why = self._too_near(first, last, line)
                self.lookups = (approach, self._reach_record(row, last, why, tuple(passed_over)))
                return why
            why = line
            self.lookups = (approach, self._reach_record(row, last, why, tuple(passed_over)))
            assert row.pose_id is not None
            passed_over.append(Skipped(pose_id=row.pose_id, reason=why))
        return why

    def _refined(self, start: FloatArray, target: Point, near: Refinement | None = None) -> Refinement:
        """Solve for a target with this posture's stance; a place stays near its approach pose."""
        p, c = self.plans, self.candidate
        bound = near is not None and self.phases.phase == "place"
        return refine(
            start,
            target,
            p.arm,
            p.base,
            p.limits,
            stance=(c.tilt_deg, c.heading_deg),
            near_deg=near.joints_deg if near is not None and bound else None,
            near_tol_deg=p.config.table.joint_tol_deg if bound else None,
            jaws_as_deg=near.joints_deg if near is not None else None,
        )

    def _query(self, first: Refinement) -> Query:
        t = self.plans.config.table
        if self.phases.phase == "pick":
            return Query(self.target, t.pick_band_y_m, t.dist_max_m)
        return Query(
            self.target,
            t.place_band_y_m,
            t.dist_max_m,
            ref_joints=tuple(float(j) for j in first.joints_deg),
            joint_tol_deg=t.joint_tol_deg,
            place_ee_y_floor=t.place_floor_y_m,
        )

    def _line(self, first: Refinement, last: Refinement) -> StraightLine | str:
        """The straight move to a refined row, or why there is none."""
        p = self.plans
        if not last.ok or last.residual_mm > p.config.table.refine_mm:
            return f"the target's pose misses by {last.residual_mm:.1f} mm and {last.residual_deg:.1f}°"
        try:
            return straight_line(first.joints_deg, last.joints_deg, p.arm, p.limits)
        except LineRefused as refusal:
            return refusal.message

    def _too_near(self, first: Refinement, last: Refinement, line: StraightLine) -> str | None:
        """What the straight move comes too near to, there or back, or None; then the results are kept."""
        p = self.plans
        there, back = line.waypoints_deg, line.waypoints_deg[::-1]
        smallest: Clearance | None = None
        for way, obstacles in ((there, self.obstacles), (back, self._on_the_way_back(last.joints_deg))):
            found = swept(way, p.arm, p.base, obstacles, step_deg=p.config.guard.sweep_step_deg)
            broken = first_broken(found, p.config.guard)
            if broken is not None:
                asked = margin_mm(broken.against, p.config.guard)
                return f"{broken.what} within {broken.mm:.1f} mm of the {broken.against} (allowed {asked:.1f} mm)"
            smallest = min((*found, *([smallest] if smallest else [])), key=lambda c: c.mm, default=None)
        self.line, self.last, self.clearance = line, last, smallest
        self.residual_mm = max(first.residual_mm, last.residual_mm)
        return None

    def _on_the_way_back(self, grasp_deg: FloatArray) -> Obstacles:
        """What counts then: the block in the jaws after a pick, open jaws and nothing in them after a place."""
        if self.phases.held_T is None:
            return self.obstacles.released()
        held = HeldBlock(self.phases.held_T(grasp_deg, self.candidate), self.plans.config.block.side_mm)
        return self.obstacles.holding(held, may_rest=True)

    def _approach_record(self, refined: Refinement, skipped: tuple[Skipped, ...]) -> LookupRecord:
        c, joints = self.candidate, tuple(float(j) for j in refined.joints_deg)
        x, z = c.square_mm[0] / 1000.0, c.square_mm[1] / 1000.0
        dx, dz = x - self.target[0], z - self.target[1]
        why = None if refined.ok else f"misses by {refined.residual_mm:.1f} mm and {refined.residual_deg:.1f}°"
        return LookupRecord(
            label=self.phases.approach_label,
            phase="approach_pick" if self.phases.phase == "pick" else "approach_place",
            source_file=self.phases.approach_file,
            pose_id=c.name,
            target_xz_m=self.target,
            j0=joints[0],
            method="grid",
            x_residual_m=abs(dx),
            z_residual_m=abs(dz),
            interp_xz_m=(x, z),
            joint_limit_ok=True,
            target_angles=joints,
            base_angles=c.start.joints_deg,
            nearest_pts=(NearestPoint(detect_xz_m=(x, z), joints=c.start.joints_deg),),
            max_dj_deg=float(np.abs(refined.joints_deg - np.array(c.start.joints_deg)).max()),
            guard_pass=refined.ok,
            guard_reason=why,
            requested_xz_m=self.requested,
            total_residual_m=float(np.hypot(dx, dz)),
            used_angles=joints,
            refined=refined.to_record(),
            skipped=skipped,
        )

    def _reach_record(
        self,
        found: Found,
        last: Refinement | None = None,
        why: str | None = None,
        skipped: tuple[Skipped, ...] = (),
    ) -> LookupRecord:
        record = to_record(
            found,
            label=self.phases.reach_label,
            phase="pick" if self.phases.phase == "pick" else "place_withblock",
            source_file=self.plans.table_name,
            requested_xz_m=self.requested,
        )
        if last is None:
            return record
        joints = tuple(float(j) for j in last.joints_deg)
        ref = found.query.ref_joints
        largest = None if ref is None else float(np.abs(last.joints_deg - np.array(ref)).max())
        return record.model_copy(
            update={
                "target_angles": joints,
                "used_angles": joints,
                "j0": joints[0],
                "refined": last.to_record(),
                "max_dj_deg": largest,
                "guard_pass": why is None,
                "guard_reason": why,
                "skipped": skipped,
            }
        )
