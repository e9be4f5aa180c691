"""The moves that put the scene back: a block out of the box, straight up between its walls, and down at a given place.

The same steps as a pick, with other postures: steep ones out of the box, those first that stay farthest from the walls,
and for setting down those that stand in the hand as the block was gripped, so that it comes to lie flat. Beside a wall
the jaws come down off the block's middle, away from the wall, and draw the block to theirs as they close. It sends
nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from math import cos, radians, sin

import numpy as np

from runner.config import Config
from runner.geometry import HeldBlock, Obstacles, each_clearance_mm, margin_mm
from runner.kinematics.fk import tool_pose
from runner.kinematics.frames import BaseInCell, stance_rotation
from runner.kinematics.gripper import gripper_of, max_opening_mm, tip_below_tcp_m
from runner.kinematics.ik.dls import DampedLeastSquares, IkBatch
from runner.kinematics.model import ArmModel, FloatArray
from runner.table.approach import GridApproach, GridPose
from runner.table.attempt import Phases
from runner.table.candidates import Candidate, grasp_height_m, headings_along, nearest_start, starts_near
from runner.table.errors import NoPlan
from runner.table.plan import PickPlan, PlacePlan, Planner
from runner.table.postures import jaws_as_at, radial_heading_deg, radius_m, rotations, solve_postures, wrapped_deg
from runs.schema.geometry import TablePoint

_OUT_TILTS_DEG = tuple(np.arange(45.0, 111.0, 5.0).tolist())  # steep: the hand comes in over the wall; 110 leans back
_OUT_ASKEW_DEG = (0.0, 5.0, -5.0, 10.0, -10.0, 15.0, -15.0, 20.0, -20.0)
_OUT_TURN_MAX_DEG = 95.0
_BEFORE_THE_ARM_DEG = 90.0  # the heading of an arm at j0 = 0
_BESIDE_BLOCK_MM = 2.5  # between an open jaw and the block, where the hand is off its middle
_ASIDE_MM = 4.0  # the pads are 18 mm wide, the block more
_ENOUGH_MM, _PRICE_OF_SHIFT, _PRICE_OF_ASKEW = 8.0, 0.4, 0.3  # mm over the margins; less by so much a mm or a degree
_DOWN_TILTS_OFF_DEG = (0.0, -5.0, 5.0, -10.0, 10.0, -15.0, 15.0, -20.0, 20.0, -25.0)  # against the tilt of the grasp
_STRAIGHT_UP_DEG = 90.0
_GRID_AZIMUTH_DEG = 45.0  # where a pick's approach poses are taken from; the base axis turns them to anywhere
_HALF_TURN_DEG = 180.0
_LOWER_TIPS_M = 0.003  # than at a grasp: what is held shows where the table is
_OVER_TABLE_M = 0.0015  # the held block's lowest corner when it is let go
_OVER_FLOOR_MM = 1.0  # beyond the margin to the box, between fingertips and the box's floor


def plans_out(
    planner: Planner, block_xz_m: TablePoint, block_yaw_deg: float, obstacles: Obstacles
) -> Iterator[PickPlan]:
    """Ways to a block that lies in the box: from over it straight down, and straight up again with it.

    Each next one is another posture, for whoever finds that the one before does not lead on from there.

    Args:
        block_xz_m: the block's centre.
        block_yaw_deg: of one of its edges.
        obstacles: with the box.

    Raises:
        NoPlan: no posture is left that passes between the walls; it says why.
    """
    level = _out_level(planner, block_xz_m, block_yaw_deg, obstacles)
    drawn = {c.name: where for c, where in level}

    def held_T(grasp_deg: FloatArray, c: Candidate) -> FloatArray:
        yaw_deg = block_yaw_deg + c.askew_deg
        return planner.block_in_tool(grasp_deg, drawn[c.name], yaw_deg, floor_m=_floor_m(planner))

    phases = Phases("pick", "reset_approach_pick", "reset_pick", planner.approach_pick.name, held_T)
    boxed, left = replace(obstacles, rests_in_box=True), [c for c, _ in level]
    while True:
        passed, c, skipped = planner.first(phases, block_xz_m, block_xz_m, iter([left]), boxed)
        yield PickPlan.of(passed, c, skipped, held_T(passed.line.waypoints_deg[-1], c))
        left = left[[other.name for other in left].index(c.name) + 1 :]


def plan_set_down(planner: Planner, goal_xz_m: TablePoint, goal_yaw_deg: float, obstacles: Obstacles) -> PlacePlan:
    """The way down to the table with the block that is held, so that it lies at the goal with that yaw.

    Args:
        goal_xz_m: where the block's centre shall be.
        goal_yaw_deg: of one of its edges; any of the four will do.
        obstacles: with the held block.

    Raises:
        NoPlan: out of reach, or no posture passes; it says why.
    """
    assert obstacles.held is not None, "only a held block is set down"
    grid = _grid(planner, goal_xz_m)
    resting = replace(obstacles, held_may_rest=True)
    level = _down_level(planner, grid, goal_xz_m, goal_yaw_deg, obstacles.held)
    phases = Phases("pick", "reset_approach_place", "reset_place", planner.approach_pick.name, None)
    while True:
        passed, c, skipped = planner.first(phases, goal_xz_m, goal_xz_m, iter([level]), resting)
        if not _turned_over(passed.line.waypoints_deg[-1], planner, obstacles.held):
            break
        level = [other for other in level if other.name != c.name]  # the solution has turned the wrist after all
    return PlacePlan(
        passed.line, c.target_m, passed.last.stance, passed.lookups, passed.residual_mm, passed.clearance, skipped
    )


def _floor_m(planner: Planner) -> float:
    """The height of what a block in the box lies on."""
    return planner.config.box.wall_mm / 1000.0


@dataclass(frozen=True, slots=True)
class _Grasp:
    """How the jaws may take a block: the tool's turn off the radial, askew against its faces, off its middle, mm."""

    turn_deg: float
    slant_deg: float
    drawn_mm: float  # along the jaws' travel: the block is drawn to their middle as they close
    aside_mm: float  # along the heading: it stays so far off the pads' middle


def _grasps(off_deg: float, config: Config, arm: ArmModel) -> Iterator[_Grasp]:
    """All that leave an open jaw clear of the block, for one whose edge is turned by `off_deg` from the radial."""
    for face, slant in product(range(4), _OUT_ASKEW_DEG):
        turn = wrapped_deg(off_deg + 90.0 * face + slant)
        wide_mm = config.block.side_mm * (cos(radians(slant)) + abs(sin(radians(slant))))
        room_mm = max(0.0, (max_opening_mm(gripper_of(arm)) - wide_mm) / 2.0 - _BESIDE_BLOCK_MM)
        if abs(turn) > _OUT_TURN_MAX_DEG:
            continue
        for drawn_mm, aside_mm in product({0.0, room_mm, -room_mm}, (0.0, _ASIDE_MM, -_ASIDE_MM)):
            yield _Grasp(turn, slant, drawn_mm, aside_mm)


def _out_level(
    planner: Planner, block: TablePoint, block_yaw_deg: float, obstacles: Obstacles
) -> list[tuple[Candidate, TablePoint]]:
    """The postures that are clear of the walls at the block, the clearest first, and where the block then will be."""
    config, arm, base = planner.config, planner.arm, planner.base
    radial = radial_heading_deg(block, base)
    over_floor_m = max(config.table.tip_clearance_m, (config.guard.box_mm + _OVER_FLOOR_MM) / 1000.0)
    grasps = list(_grasps(block_yaw_deg - radial, config, arm))
    there = solve_postures(
        arm,
        planner.limits,
        tilts_deg=_OUT_TILTS_DEG,
        turns_deg=tuple(sorted({grasp.turn_deg for grasp in grasps})),
        radii_m=np.array([radius_m(block, base)]),
        heights_m=np.array([_floor_m(planner) + config.table.grasp_y_m + over_floor_m - base.shift_m[1]]),
    )
    by_deg = wrapped_deg(radial - _BEFORE_THE_ARM_DEG)
    rows: list[tuple[Candidate, TablePoint, float]] = []
    for joints, tilt, turn in zip(there.joints_deg.tolist(), there.tilt_deg.tolist(), there.turn_deg, strict=True):
        below_m = tip_below_tcp_m(tilt, config.block.side_mm, arm)
        height_m = _floor_m(planner) + max(config.table.grasp_y_m, below_m + over_floor_m)
        heading = wrapped_deg(radial + turn)
        ahead = np.array([cos(radians(heading)), sin(radians(heading))])
        jaws = np.array([ahead[1], -ahead[0]])
        begin = (wrapped_deg(joints[0] + by_deg), *joints[1:])
        for g in (g for g in grasps if g.turn_deg == turn):
            drawn = np.array(block) + jaws * g.drawn_mm / 1000.0
            x, z = (drawn + ahead * g.aside_mm / 1000.0).tolist()
            price_mm = _PRICE_OF_ASKEW * abs(g.slant_deg) + _PRICE_OF_SHIFT * (abs(g.drawn_mm) + abs(g.aside_mm))
            c = Candidate(
                name=f"reset_out_t{tilt:.0f}_h{heading:.0f}_d{g.drawn_mm:.0f}_a{g.aside_mm:.0f}",
                start=GridPose(
                    tilt_deg=tilt,
                    heading_deg=heading,
                    lift_m=config.table.lift_m[1],
                    joints_deg=begin,
                    descent_deg=_STRAIGHT_UP_DEG,
                ),
                square_mm=(round(block[0] * 1000.0), round(block[1] * 1000.0)),
                tilt_deg=tilt,
                heading_deg=heading,
                descent_deg=_STRAIGHT_UP_DEG,
                lift_m=config.table.lift_m[1],
                target_m=(x, height_m, z),
                askew_deg=g.slant_deg,
            )
            rows.append((c, (float(drawn[0]), float(drawn[1])), price_mm))
    return _clearest_first(planner, block, rows, obstacles)


def _clearest_first(
    planner: Planner, block: TablePoint, rows: list[tuple[Candidate, TablePoint, float]], obstacles: Obstacles
) -> list[tuple[Candidate, TablePoint]]:
    """Those that keep every margin where the jaws close, open and closed; what else speaks against one is its price."""
    step = "move the block nearer the middle of the box, or the box nearer the arm"
    if not rows:
        raise NoPlan("pick", block, "it is out of reach for a hand that comes down over the walls", next_step=step)
    guard, found = planner.config.guard, _solved_at(planner, [c for c, _, _ in rows])
    spare_mm = np.full(len(rows), np.inf)
    for opening_mm in (None, planner.config.block.side_mm):
        jaws = replace(obstacles, opening_mm=opening_mm)
        near = each_clearance_mm(found.angles_deg, planner.arm, planner.base, jaws)
        for against, mm in near.items():
            spare_mm = np.minimum(spare_mm, mm - margin_mm(against, guard))
    fit = np.flatnonzero(found.converged & (spare_mm >= 0.0))
    if not len(fit):
        short = f"the clearest of {len(rows)} postures lacks {-float(spare_mm.max()):.1f} mm of the margin to the box"
        raise NoPlan("pick", block, short, next_step=step)
    worth = np.minimum(spare_mm, _ENOUGH_MM) - np.array([price_mm for _, _, price_mm in rows])
    out = []
    for i in fit[np.argsort(-worth[fit], kind="stable")].tolist():
        c, drawn, _ = rows[i]
        joints = tuple(float(j) for j in found.angles_deg[i])
        out.append((replace(c, start=c.start.model_copy(update={"joints_deg": joints})), drawn))
    return out


def _solved_at(planner: Planner, rows: list[Candidate]) -> IkBatch:
    solver = DampedLeastSquares(planner.arm, limits=planner.limits, max_steps=40)
    starts = np.clip([c.start.joints_deg for c in rows], planner.limits.min_deg, planner.limits.max_deg)
    frames = rotations(np.array([c.tilt_deg for c in rows]), np.array([c.heading_deg for c in rows]), planner.base)
    goals = planner.base.to_base(np.array([c.target_m for c in rows]))
    return solver.solve_many(goals, jaws_as_at(starts, frames, planner.arm), None, starts)


def _down_level(
    planner: Planner, grid: GridApproach, goal: TablePoint, goal_yaw_deg: float, held: HeldBlock
) -> list[Candidate]:
    """The tilts nearest the grasp's first; in each the heading nearest the radial that turns the block as wanted."""
    arm, base = planner.arm, planner.base
    radial = radial_heading_deg(goal, base)
    starts = [(at, _hand_as_gripped(pose, planner, held)) for at, pose in _turned_starts(grid, goal, base)]
    grasp_tilt = float(np.degrees(np.arcsin(np.clip(-held.T_tcp_block[2, 1], -1.0, 1.0))))
    off = _yaw_of_block_deg(held, grasp_tilt, base)
    level: list[Candidate] = []
    for tilt in (grasp_tilt + tilt_off for tilt_off in _DOWN_TILTS_OFF_DEG):
        for heading, _ in headings_along(goal_yaw_deg - off, radial, 0.0):
            lowest_m = _lowest_corner_m(held, tilt, heading, base)
            height_m = max(_OVER_TABLE_M - lowest_m, grasp_height_m(tilt, arm, planner.config) - _LOWER_TIPS_M)
            made = _candidate("down", starts, (*goal, height_m), tilt, heading, tilt, 0.0)
            level += [] if made is None else [made]
    return level


def _candidate(
    what: str,
    starts: list[tuple[tuple[int, int], GridPose]],
    target_xz_y_m: tuple[float, float, float],
    tilt: float,
    heading: float,
    descent_deg: float,
    slant: float,
) -> Candidate | None:
    near = nearest_start(starts, tilt, heading)
    if near is None:
        return None
    (x, z), pose = near
    return Candidate(
        name=f"reset_{what}_x{x}_z{z}_t{tilt:.0f}_h{heading:.0f}",
        start=pose,
        square_mm=(x, z),
        tilt_deg=tilt,
        heading_deg=heading,
        descent_deg=descent_deg,
        lift_m=pose.lift_m,
        target_m=(target_xz_y_m[0], target_xz_y_m[2], target_xz_y_m[1]),
        askew_deg=slant,
    )


def _turned_starts(grid: GridApproach, target: TablePoint, base: BaseInCell) -> list[tuple[tuple[int, int], GridPose]]:
    """Approach poses of a pick at the target's radius, turned round the base axis to where the target is."""
    r, shift = radius_m(target, base), base.shift_m
    at = radians(_GRID_AZIMUTH_DEG)
    by = wrapped_deg(radial_heading_deg(target, base) - _GRID_AZIMUTH_DEG)
    there = (shift[0] + r * cos(at), shift[2] + r * sin(at))
    square = (round(target[0] * 1000.0), round(target[1] * 1000.0))
    return [(square, _turned(pose, by)) for _, pose in starts_near(grid, there)]


def _turned(pose: GridPose, by_deg: float) -> GridPose:
    j0, *rest = pose.joints_deg
    return pose.model_copy(
        update={"heading_deg": wrapped_deg(pose.heading_deg + by_deg), "joints_deg": (wrapped_deg(j0 + by_deg), *rest)}
    )


def _as_gripped(frame: FloatArray, held: HeldBlock, base: BaseInCell) -> FloatArray:
    """A tool frame (3, 3), turned by half a turn about the tool where the held block would lie on its other side."""
    up_in_tool = frame.T @ base.turn_to_base(np.array([0.0, 1.0, 0.0]))
    side = -1.0 if up_in_tool[1] * held.T_tcp_block[1, 1] < 0.0 else 1.0
    return np.asarray(frame * np.array([side, side, 1.0]))


def _turned_over(joints_deg: FloatArray, planner: Planner, held: HeldBlock) -> bool:
    """Whether the hand stands half a turn from how it stood at the grasp, so that the block can't lie flat."""
    frame = tool_pose(joints_deg, planner.arm)[:3, :3]
    return bool((_as_gripped(frame, held, planner.base)[:, 0] @ frame[:, 0]) < 0.0)


def _hand_as_gripped(pose: GridPose, planner: Planner, held: HeldBlock) -> GridPose:
    """An approach pose with its last joint half a turn on, where the hand would be turned over and there is room."""
    joints = np.array(pose.joints_deg)
    if not _turned_over(joints, planner, held):
        return pose
    lo, hi = planner.limits.min_deg[-1], planner.limits.max_deg[-1]
    other = [j for j in (joints[-1] + _HALF_TURN_DEG, joints[-1] - _HALF_TURN_DEG) if lo <= j <= hi]
    return pose if not other else pose.model_copy(update={"joints_deg": (*pose.joints_deg[:-1], float(other[0]))})


def _yaw_of_block_deg(held: HeldBlock, tilt_deg: float, base: BaseInCell) -> float:
    """The yaw of the block's first edge when the tool heads for 0°, at the tilt of the grasp."""
    frame = _as_gripped(stance_rotation(tilt_deg, 0.0, base), held, base)
    edge = base.turn_to_cell(frame @ held.T_tcp_block[:3, 0])
    return float(np.degrees(np.arctan2(edge[2], edge[0])))


def _lowest_corner_m(held: HeldBlock, tilt_deg: float, heading_deg: float, base: BaseInCell) -> float:
    """How high the held block's lowest corner is over the tool point (below: negative), metres."""
    half = held.side_mm / 2000.0
    corners = np.array([[x, y, z] for x in (-half, half) for y in (-half, half) for z in (-half, half)])
    in_tool = corners @ held.T_tcp_block[:3, :3].T + held.T_tcp_block[:3, 3]
    frame = _as_gripped(stance_rotation(tilt_deg, heading_deg, base), held, base)
    in_cell = base.turn_to_cell(in_tool @ frame.T)
    return float(in_cell[:, 1].min())


def _grid(planner: Planner, target: TablePoint) -> GridApproach:
    content = planner.approach_pick.content
    if not isinstance(content, GridApproach):
        raise NoPlan(
            "pick",
            target,
            "a taught arc leads to picks only, not out of the box",
            next_step="make a grid of approach poses: trialcell table fill --phase pick",
        )
    return content
