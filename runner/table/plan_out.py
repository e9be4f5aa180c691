"""The way to a block that lies in the box, from over it straight down and straight up again, clear of the walls.

Of all ways that the jaws can take it the clearest comes first: steep tilts to beyond straight down, along any pair of
its faces or askew. Beside a wall the hand comes down off the block's middle, away from the wall, and draws the block to
its own as the jaws close. It sends nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from math import cos, radians, sin

import numpy as np

from runner.config import Config
from runner.geometry import Obstacles, each_clearance_mm, margin_mm
from runner.kinematics.gripper import gripper_of, max_opening_mm, tip_below_tcp_m
from runner.kinematics.ik.dls import DampedLeastSquares, IkBatch
from runner.kinematics.model import ArmModel, FloatArray
from runner.table.approach import GridPose
from runner.table.attempt import Phases
from runner.table.candidates import Candidate
from runner.table.errors import NoPlan
from runner.table.plan import PickPlan, Planner
from runner.table.postures import (
    Postures,
    jaws_as_at,
    radial_heading_deg,
    radius_m,
    rotations,
    solve_postures,
    wrapped_deg,
)
from runs.schema.geometry import TablePoint

_TILTS_DEG = tuple(np.arange(45.0, 111.0, 5.0).tolist())  # the hand comes in over the wall; beyond 90 it leans back
_ASKEW_DEG = (0.0, 5.0, -5.0, 10.0, -10.0, 15.0, -15.0, 20.0, -20.0)
_TURN_MAX_DEG = 95.0  # of the tool off the radial direction
_BEFORE_THE_ARM_DEG = 90.0  # the heading of an arm at j0 = 0
_STRAIGHT_UP_DEG = 90.0
_OVER_FLOOR_MM = 1.0  # beyond the margin to the box, between fingertips and the box's floor
_BESIDE_BLOCK_MM = 2.5  # between an open jaw and the block, where the hand is off its middle
_ASIDE_MM = 4.0  # the pads are 18 mm wide, the block more
_COMFORTABLE_MM = 5.0  # over the margins: then the hand may stay over the block's middle
_ENOUGH_MM, _PRICE_OF_SHIFT, _PRICE_OF_ASKEW = 8.0, 0.4, 0.3  # mm over the margins; less by so much a mm or a degree


@dataclass(frozen=True, slots=True)
class _Grasp:
    """How the jaws may take a block: the tool's turn off the radial, askew against its faces, off its middle, mm."""

    turn_deg: float
    slant_deg: float
    drawn_mm: float  # along the jaws' travel: the block is drawn to their middle as they close
    aside_mm: float  # along the heading: it stays so far off the pads' middle

    @property
    def price_mm(self) -> float:
        """What speaks against it, in millimetres of clearance."""
        return _PRICE_OF_ASKEW * abs(self.slant_deg) + _PRICE_OF_SHIFT * (abs(self.drawn_mm) + abs(self.aside_mm))


@dataclass(frozen=True, slots=True, eq=False)
class _Way:
    """A posture at the block, and where the block will be once the jaws have closed."""

    candidate: Candidate
    drawn_xz_m: TablePoint
    price_mm: float


def plans_out(
    planner: Planner, block_xz_m: TablePoint, block_yaw_deg: float, obstacles: Obstacles
) -> Iterator[PickPlan]:
    """Ways to a block that lies in the box, the clearest first.

    Each next one is another posture, for whoever finds that the one before does not lead on from there.

    Args:
        block_xz_m: the block's centre.
        block_yaw_deg: of one of its edges.
        obstacles: with the box.

    Raises:
        NoPlan: no posture is left that passes between the walls; it says why.
    """
    left = _clear_ways(planner, block_xz_m, block_yaw_deg, obstacles)
    drawn = {way.candidate.name: way.drawn_xz_m for way in left}

    def held_T(grasp_deg: FloatArray, c: Candidate) -> FloatArray:
        yaw_deg = block_yaw_deg + c.askew_deg
        return planner.block_in_tool(grasp_deg, drawn[c.name], yaw_deg, floor_m=_floor_m(planner))

    phases = Phases("pick", "reset_approach_pick", "reset_pick", planner.approach_pick.name, held_T)
    boxed = replace(obstacles, rests_in_box=True)
    while True:
        passed, c, skipped = planner.first(phases, block_xz_m, block_xz_m, iter([[w.candidate for w in left]]), boxed)
        yield PickPlan.of(passed, c, skipped, held_T(passed.line.waypoints_deg[-1], c))
        left = left[[way.candidate.name for way in left].index(c.name) + 1 :]


def _clear_ways(planner: Planner, block: TablePoint, block_yaw_deg: float, obstacles: Obstacles) -> list[_Way]:
    """The postures that keep every margin at the block, the clearest first.

    Raises:
        NoPlan: none does, or none reaches it.
    """
    config, arm, base = planner.config, planner.arm, planner.base
    grasps = list(_grasps(block_yaw_deg - radial_heading_deg(block, base), config, arm))
    there = solve_postures(
        arm,
        planner.limits,
        tilts_deg=_TILTS_DEG,
        turns_deg=tuple(sorted({grasp.turn_deg for grasp in grasps})),
        radii_m=np.array([radius_m(block, base)]),
        heights_m=np.array([_floor_m(planner) + config.table.grasp_y_m + _over_floor_m(config) - base.shift_m[1]]),
    )
    step = "move the block nearer the middle of the box, or the box nearer the arm"
    if not len(there.tilt_deg):
        raise NoPlan("pick", block, "it is out of reach for a hand that comes down over the walls", next_step=step)
    for some in ([grasp for grasp in grasps if not grasp.drawn_mm and not grasp.aside_mm], grasps):
        ways, spare_mm = _clearest_first(planner, _ways(planner, block, there, some), obstacles)
        if spare_mm >= _COMFORTABLE_MM:
            break
    if not ways:
        short = f"the clearest posture lacks {-spare_mm:.1f} mm of the margin to the box"
        raise NoPlan("pick", block, short, next_step=step)
    return ways


def _grasps(off_deg: float, config: Config, arm: ArmModel) -> Iterator[_Grasp]:
    """All that leave an open jaw clear of the block, for one whose edge is turned by `off_deg` from the radial."""
    for face, slant in product(range(4), _ASKEW_DEG):
        turn = wrapped_deg(off_deg + 90.0 * face + slant)
        if abs(turn) > _TURN_MAX_DEG:
            continue
        wide_mm = config.block.side_mm * (cos(radians(slant)) + abs(sin(radians(slant))))
        room_mm = (max_opening_mm(gripper_of(arm)) - wide_mm) / 2.0 - _BESIDE_BLOCK_MM
        draws = (0.0, room_mm, -room_mm) if room_mm > 0.0 else (0.0,)
        for drawn_mm, aside_mm in product(draws, (0.0, _ASIDE_MM, -_ASIDE_MM)):
            yield _Grasp(turn, slant, drawn_mm, aside_mm)


def _ways(planner: Planner, block: TablePoint, there: Postures, grasps: list[_Grasp]) -> list[_Way]:
    """Each posture with each grasp that has its turn."""
    config, arm = planner.config, planner.arm
    radial = radial_heading_deg(block, planner.base)
    by_deg = wrapped_deg(radial - _BEFORE_THE_ARM_DEG)
    ways: list[_Way] = []
    for joints, tilt, turn in zip(there.joints_deg.tolist(), there.tilt_deg.tolist(), there.turn_deg, strict=True):
        below_m = tip_below_tcp_m(tilt, config.block.side_mm, arm)
        height_m = _floor_m(planner) + max(config.table.grasp_y_m, below_m + _over_floor_m(config))
        heading = wrapped_deg(radial + turn)
        ahead = np.array([cos(radians(heading)), sin(radians(heading))])
        jaws = np.array([ahead[1], -ahead[0]])
        start = GridPose(
            tilt_deg=tilt,
            heading_deg=heading,
            lift_m=config.table.lift_m[1],
            joints_deg=(wrapped_deg(joints[0] + by_deg), *joints[1:]),
            descent_deg=_STRAIGHT_UP_DEG,
        )
        for g in (g for g in grasps if g.turn_deg == turn):
            drawn = np.array(block) + jaws * g.drawn_mm / 1000.0
            x, z = (drawn + ahead * g.aside_mm / 1000.0).tolist()
            c = Candidate(
                name=f"reset_out_t{tilt:.0f}_h{heading:.0f}_d{g.drawn_mm:.0f}_a{g.aside_mm:.0f}",
                start=start,
                square_mm=(round(block[0] * 1000.0), round(block[1] * 1000.0)),
                tilt_deg=tilt,
                heading_deg=heading,
                descent_deg=_STRAIGHT_UP_DEG,
                lift_m=start.lift_m,
                target_m=(x, height_m, z),
                askew_deg=g.slant_deg,
            )
            ways.append(_Way(c, (float(drawn[0]), float(drawn[1])), g.price_mm))
    return ways


def _clearest_first(planner: Planner, ways: list[_Way], obstacles: Obstacles) -> tuple[list[_Way], float]:
    """Those that keep every margin at the block, with open and with closed jaws; what the clearest has to spare, mm."""
    guard, found = planner.config.guard, _solved(planner, [way.candidate for way in ways])
    spare_mm = np.full(len(ways), np.inf)
    for opening_mm in (None, planner.config.block.side_mm):
        jaws = replace(obstacles, opening_mm=opening_mm)
        near = each_clearance_mm(found.angles_deg, planner.arm, planner.base, jaws)
        for against, mm in near.items():
            spare_mm = np.minimum(spare_mm, mm - margin_mm(against, guard))
    spare_mm[~found.converged] = -np.inf
    worth = np.minimum(spare_mm, _ENOUGH_MM) - np.array([way.price_mm for way in ways])
    order = np.argsort(-worth, kind="stable")
    kept = []
    for i in order[spare_mm[order] >= 0.0].tolist():
        c = ways[i].candidate
        start = c.start.model_copy(update={"joints_deg": tuple(float(j) for j in found.angles_deg[i])})
        kept.append(replace(ways[i], candidate=replace(c, start=start)))
    return kept, float(spare_mm.max(initial=-np.inf))


def _solved(planner: Planner, rows: list[Candidate]) -> IkBatch:
    """The rows' poses at their targets, from their start poses."""
    solver = DampedLeastSquares(planner.arm, limits=planner.limits, max_steps=40)
    starts = np.clip([c.start.joints_deg for c in rows], planner.limits.min_deg, planner.limits.max_deg)
    frames = rotations(np.array([c.tilt_deg for c in rows]), np.array([c.heading_deg for c in rows]), planner.base)
    goals = planner.base.to_base(np.array([c.target_m for c in rows]))
    return solver.solve_many(goals, jaws_as_at(starts, frames, planner.arm), None, starts)


def _floor_m(planner: Planner) -> float:
    """The height of what a block in the box lies on."""
    return planner.config.box.wall_mm / 1000.0


def _over_floor_m(config: Config) -> float:
    """How far fingertips stay over the box's floor."""
    return max(config.table.tip_clearance_m, (config.guard.box_mm + _OVER_FLOOR_MM) / 1000.0)
