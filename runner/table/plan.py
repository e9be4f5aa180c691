"""From a place on the table to the two moves of a pick or a place: over it, then straight along the tool.

The way of the field, step by step, each written down: approach lookup, refined for the very target; reach lookup, its
row refined; straight waypoints between the two; everything checked against the collision geometry. Postures are tried
in a fixed order until one passes; why each other was skipped stands in the log. It sends nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from runner.config import Config
from runner.geometry import Clearance, Obstacles
from runner.kinematics.fk import tool_pose
from runner.kinematics.frames import BaseInCell, ToolStance
from runner.kinematics.gripper import gripper_of, max_opening_mm
from runner.kinematics.model import ArmModel, FloatArray, frozen
from runner.kinematics.motion import StraightLine
from runner.table.approach import Approach, ArcApproach, lookup_arc
from runner.table.arc_candidates import arc_pick_levels, arc_place_levels
from runner.table.attempt import Attempt, Phases
from runner.table.candidates import NEAR_SQUARE_MM, Candidate, pick_levels, place_levels, reachable
from runner.table.choices import varied
from runner.table.errors import NoPlan
from runner.table.lookup import Lookup
from runner.table.postures import planning_limits
from runner.table.transfer import plan_transfer
from runs.schema.geometry import Point, TablePoint
from runs.schema.motion import LookupRecord, Skipped


@dataclass(frozen=True, slots=True, eq=False)
class _Plan:
    """What a pick and a place have in common. Arrays are read-only."""

    line: StraightLine  # from the approach pose straight to the target's pose
    target_m: Point  # of the tool point, cell frame
    stance: ToolStance  # at the target
    lookups: tuple[LookupRecord, ...]  # approach, then reach
    residual_mm: float  # the larger miss of the two refined poses
    clearance: Clearance | None  # the smallest along the straight move, there and back
    skipped: tuple[Skipped, ...]

    @property
    def path_deg(self) -> FloatArray:
        """The poses of the straight move, shape (k, n_joints): the approach pose first, the target's last."""
        return self.line.waypoints_deg

    @property
    def approach_deg(self) -> FloatArray:
        """Where the straight move begins, shape (n_joints,)."""
        return np.asarray(self.path_deg[0])

    @property
    def target_deg(self) -> FloatArray:
        """Where it ends, shape (n_joints,)."""
        return np.asarray(self.path_deg[-1])


@dataclass(frozen=True, slots=True, eq=False)
class PickPlan(_Plan):
    """The way to a block."""

    T_tcp_block: FloatArray  # (4, 4): the block in the tool frame once the jaws have closed
    askew_deg: float  # the jaws' turn against the block's edges, where its heading can't be had
    ahead_mm: float = 0.0  # how far beyond the block's middle the tool is aimed, along its heading

    @classmethod
    def of(
        cls,
        passed: Attempt,
        c: Candidate,
        skipped: tuple[Skipped, ...],
        T_tcp_block: FloatArray,
        ahead_mm: float = 0.0,
    ) -> PickPlan:
        """The plan of an attempt that passed, with what was skipped before it."""
        return cls(
            passed.line,
            c.target_m,
            passed.last.stance,
            passed.lookups,
            passed.residual_mm,
            passed.clearance,
            skipped,
            T_tcp_block=T_tcp_block,
            askew_deg=c.askew_deg,
            ahead_mm=ahead_mm,
        )


@dataclass(frozen=True, slots=True, eq=False)
class PlacePlan(_Plan):
    """The way into the box."""


class Planner:
    """Plans for one arm in one cell with its tables. Keeps no state between calls."""

    def __init__(
        self,
        arm: ArmModel,
        base: BaseInCell,
        config: Config,
        lookup: Lookup,
        approach_pick: Approach,
        approach_place: Approach,
        *,
        table_name: str = "reach.parquet",
    ) -> None:
        """Store what plans are made from. An approach may be a grid of poses or a taught arc."""
        self.arm, self.base, self.config, self.lookup = arm, base, config, lookup
        self.approach_pick, self.approach_place, self.table_name = approach_pick, approach_place, table_name
        self.limits = planning_limits(arm, config)

    def plan_pick(
        self,
        target_xz_m: TablePoint,
        block_yaw_deg: float,
        obstacles: Obstacles,
        *,
        requested_xz_m: TablePoint | None = None,
    ) -> PickPlan:
        """The way to a block: the tool's heading follows its yaw, the height its fingertips.

        Args:
            target_xz_m: the block's centre, corrected.
            block_yaw_deg: of one of its edges; any of the four will do.
            obstacles: what stands in the cell, the block included where it is known.
            requested_xz_m: the target before the correction, for the log.

        Raises:
            NoPlan: outside the table, out of reach, or no posture passes; it says why and what to do.
        """
        return next(self.plans_pick(target_xz_m, block_yaw_deg, obstacles, requested_xz_m=requested_xz_m))

    def plans_pick(
        self,
        target_xz_m: TablePoint,
        block_yaw_deg: float,
        obstacles: Obstacles,
        *,
        requested_xz_m: TablePoint | None = None,
    ) -> Iterator[PickPlan]:
        """The same, and then another posture each time, for whoever finds that the one before does not lead on.

        Raises:
            NoPlan: as in `plan_pick`, or no posture is left.
        """
        self._refuse_far("pick", target_xz_m, requested_xz_m, self.approach_pick)
        if not np.isfinite(block_yaw_deg):
            raise NoPlan("pick", target_xz_m, "the block's yaw is not a number", next_step="look again")
        side_mm, open_mm = self.config.block.side_mm, max_opening_mm(gripper_of(self.arm))
        if side_mm > open_mm - 2.0 * self.config.guard.block_mm:
            why = f"a block of {side_mm:g} mm does not fit between jaws that open {open_mm:.1f} mm"
            raise NoPlan("pick", target_xz_m, why, next_step="take a smaller block, or mend block.side_mm")
        phases = self._pick_phases(target_xz_m, block_yaw_deg)
        assert phases.held_T is not None
        found: set[str] = set()
        while True:
            levels = (
                [c for c in level if c.name not in found]
                for level in self._pick_levels(target_xz_m, block_yaw_deg, requested_xz_m)
            )
            passed, c, skipped = self.first(phases, target_xz_m, requested_xz_m, levels, obstacles)
            yield PickPlan.of(passed, c, skipped, phases.held_T(passed.line.waypoints_deg[-1], c))
            found.add(c.name)

    def pick_choices(
        self,
        first: PickPlan,
        target_xz_m: TablePoint,
        block_yaw_deg: float,
        obstacles: Obstacles,
        *,
        requested_xz_m: TablePoint | None = None,
    ) -> Iterator[PickPlan]:
        """Other ways to the same block that pass as well, those first that differ most; as many as there are.

        Args:
            first: the way of `plan_pick` to this target, which is not said again.
        """
        phases = self._pick_phases(target_xz_m, block_yaw_deg)
        assert phases.held_T is not None
        known = first.lookups[0].pose_id
        for level in self._pick_levels(target_xz_m, block_yaw_deg, requested_xz_m):
            passing = 0
            for c, ahead_mm in varied(level, self.arm, self.base, self.limits):
                attempt = Attempt(self, phases, c, target_xz_m, requested_xz_m, obstacles)
                if c.name == known or attempt.run(()) is not None:
                    continue
                passing += 1
                held = phases.held_T(attempt.line.waypoints_deg[-1], c)
                yield PickPlan.of(attempt, c, (), held, ahead_mm)
            if passing:
                return  # farther askew only where nothing else passes

    def _pick_phases(self, target_xz_m: TablePoint, block_yaw_deg: float) -> Phases:
        def held_T(grasp_deg: FloatArray, c: Candidate) -> FloatArray:
            return self.block_in_tool(grasp_deg, target_xz_m, block_yaw_deg + c.askew_deg)

        return Phases("pick", "stage3_approach_pick", "stage4_pick", self.approach_pick.name, held_T)

    def plan_place(
        self, target_xz_m: TablePoint, obstacles: Obstacles, *, requested_xz_m: TablePoint | None = None
    ) -> PlacePlan:
        """The way into the box: every joint of the last move within the tolerance of the approach pose.

        Args:
            target_xz_m: the box's centre, corrected.
            obstacles: what stands in the cell, with the block that is held.
            requested_xz_m: the target before the correction, for the log.

        Raises:
            NoPlan: outside the table, out of reach, or no posture passes; it says why and what to do.
        """
        self._refuse_far("place", target_xz_m, requested_xz_m, self.approach_place)
        levels = self._place_levels(target_xz_m, obstacles, requested_xz_m)
        phases = Phases("place", "stage7_approach_place", "stage8_place", self.approach_place.name, None)
        passed, c, skipped = self.first(phases, target_xz_m, requested_xz_m, levels, obstacles)
        return PlacePlan(
            passed.line,
            c.target_m,
            passed.last.stance,
            passed.lookups,
            passed.residual_mm,
            passed.clearance,
            skipped,
        )

    def plan_transfer(self, start_deg: FloatArray, goal_deg: FloatArray, obstacles: Obstacles) -> FloatArray:
        """Clear waypoints from a pose to another, shape (k, n_joints), without the start; see `transfer`.

        Raises:
            NoWay: every way that was tried comes too near to something; the message names it.
        """
        return plan_transfer(start_deg, goal_deg, obstacles, self.arm, self.base, self.config)

    def first(
        self,
        phases: Phases,
        target: TablePoint,
        requested: TablePoint | None,
        levels: Iterator[list[Candidate]],
        obstacles: Obstacles,
    ) -> tuple[Attempt, Candidate, tuple[Skipped, ...]]:
        """The first posture that passes. What is out of reach is skipped in bulk and costs no try."""
        skipped: list[Skipped] = []
        tried: list[str] = []
        last: Attempt | None = None
        tol = self.config.table.joint_tol_deg if phases.phase == "place" else None
        for level in levels:
            for c in reachable(level, self.arm, self.base, self.limits, tol):
                if isinstance(c, Skipped):
                    skipped.append(c)
                    continue
                if len(tried) >= self.config.table.tries:
                    break
                last = Attempt(self, phases, c, target, requested, obstacles)
                why = last.run(tuple(skipped))
                if why is None:
                    return last, c, tuple(skipped)
                tried.append(why)
                skipped.append(Skipped(pose_id=c.name, reason=why))
        raise self._no_plan(phases.phase, target, tried, skipped, last)

    def _no_plan(
        self, phase: str, target: TablePoint, tried: list[str], skipped: list[Skipped], last: Attempt | None
    ) -> NoPlan:
        """Why nothing passed: out of reach in every posture, or what spoke against those in reach."""
        thing = "block" if phase == "pick" else "box"
        if tried:
            why = f"none of the {len(tried)} postures in reach passes: {'; '.join(list(dict.fromkeys(tried))[:2])}"
        elif skipped:
            why = f"no posture of {len(skipped)} reaches it; the first: {skipped[0].reason}"
        else:
            why = "no approach pose stands as it would have to"
        return NoPlan(
            phase,
            target,
            why,
            next_step=f"move the {thing} nearer the middle of the arm's reach",
            lookups=last.lookups if last is not None else (),
            skipped=skipped,
        )

    def _refuse_far(self, phase: str, target: TablePoint, requested: TablePoint | None, approach: Approach) -> None:
        """Refuse what no posture can reach, in words that say by how much; a thing is on the table where it is seen."""
        thing = "block" if phase == "pick" else "box"
        if not np.isfinite(target).all():
            raise NoPlan(phase, target, f"the {thing}'s place is not a number", next_step="look again")
        w, (x_m, z_m) = self.config.workspace, requested or target
        if not (w.x_m[0] <= x_m <= w.x_m[1] and w.z_m[0] <= z_m <= w.z_m[1]):
            x, z = (f"{a * 1000:.0f}…{b * 1000:.0f}" for a, b in (w.x_m, w.z_m))
            why = f"the {thing} is outside the table (x {x} mm, z {z} mm)"
            raise NoPlan(phase, target, why, next_step=f"put the {thing} on the table")
        if isinstance(approach.content, ArcApproach):
            return  # its own lookup says where it does not go
        nearest = approach.content.nearest(target)
        if nearest is None or nearest[1] > NEAR_SQUARE_MM:
            gap = None if nearest is None else nearest[1]
            why = f"the {thing} is out of reach" + ("" if gap is None else f" by about {gap:.0f} mm")
            side = "on the right, x from 50 mm" if phase == "pick" else "on the left, x up to -50 mm"
            step = f"put the {thing} {side}, 150 to 300 mm from the arm's base axis"
            raise NoPlan(phase, target, why, next_step=step, gap_mm=gap)

    def _pick_levels(
        self, target: TablePoint, block_yaw_deg: float, requested: TablePoint | None
    ) -> Iterator[list[Candidate]]:
        content = self.approach_pick.content
        if isinstance(content, ArcApproach):
            record = self._from_arc("pick", self.approach_pick, "stage3_approach_pick", target, requested)
            return arc_pick_levels(target, block_yaw_deg, record, self.arm, self.base, self.config)
        return pick_levels(target, block_yaw_deg, content, self.arm, self.base, self.config)

    def _place_levels(
        self, target: TablePoint, obstacles: Obstacles, requested: TablePoint | None
    ) -> Iterator[list[Candidate]]:
        content = self.approach_place.content
        if isinstance(content, ArcApproach):
            record = self._from_arc("place", self.approach_place, "stage7_approach_place", target, requested)
            return arc_place_levels(target, record, self.arm, self.base, self.config)
        return place_levels(target, obstacles.held, content, self.base, self.config)

    def _from_arc(
        self, phase: str, approach: Approach, label: str, target: TablePoint, requested: TablePoint | None
    ) -> LookupRecord:
        """The arc's pose for a target.

        Raises:
            NoPlan: the arc does not pass there, or its pose is outside the limits.
        """
        record = lookup_arc(
            approach,
            target,
            self.limits,
            label=label,
            j1_safe_max_deg=self.config.arm.j1_safe_max_deg,
            x_residual_max_m=self.config.table.arc_x_residual_m,
            requested_xz_m=requested,
        )
        if not record.guard_pass:
            again = "" if phase == "place" else " --phase pick"
            step = f"teach an arc that passes there, or make a grid of approach poses: trialcell table fill{again}"
            raise NoPlan(phase, target, f"approach: {record.guard_reason}", next_step=step, lookups=(record,))
        return record

    def block_in_tool(
        self, grasp_deg: FloatArray, block_xz_m: TablePoint, yaw_deg: float, *, floor_m: float = 0.0
    ) -> FloatArray:
        """The gripped block's centre and edges in the tool frame, shape (4, 4), right-handed; its second edge is up.

        Args:
            grasp_deg: the pose at the grasp, shape (n_joints,), with the block standing on the table.
            block_xz_m: where it stands then.
            yaw_deg: direction of one of its edges then.
            floor_m: the height of what it stands on, where that is not the table.
        """
        tool = tool_pose(grasp_deg, self.arm)
        c, s = np.cos(np.radians(yaw_deg)), np.sin(np.radians(yaw_deg))
        edges = np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [s, 0.0, -c]]).T
        T = np.eye(4)
        T[:3, :3] = tool[:3, :3].T @ self.base.M.T @ edges
        height_m = floor_m + self.config.block.side_mm / 2000.0
        centre = self.base.to_base(np.array([block_xz_m[0], height_m, block_xz_m[1]]))
        T[:3, 3] = tool[:3, :3].T @ (centre - tool[:3, 3])
        return frozen(T)
