"""The way down to the table with a block that is held, so that it comes to lie flat at a given place, turned as wanted.

The same steps as a pick, with postures that stand in the hand as the block was gripped. It sends nothing.
"""

from __future__ import annotations

from dataclasses import replace
from math import cos, radians, sin

import numpy as np

from runner.geometry import HeldBlock, Obstacles
from runner.kinematics.fk import tool_pose
from runner.kinematics.frames import BaseInCell, stance_rotation
from runner.kinematics.model import FloatArray
from runner.table.approach import GridApproach, GridPose
from runner.table.attempt import Phases
from runner.table.candidates import Candidate, grasp_height_m, headings_along, nearest_start, starts_near
from runner.table.errors import NoPlan
from runner.table.plan import PlacePlan, Planner
from runner.table.postures import radial_heading_deg, radius_m, wrapped_deg
from runs.schema.geometry import TablePoint

_DOWN_TILTS_OFF_DEG = (0.0, -5.0, 5.0, -10.0, 10.0, -15.0, 15.0, -20.0, 20.0, -25.0)  # against the tilt of the grasp
_GRID_AZIMUTH_DEG = 45.0  # where a pick's approach poses are taken from; the base axis turns them to anywhere
_HALF_TURN_DEG = 180.0
_LOWER_TIPS_M = 0.003  # than at a grasp: what is held shows where the table is
_OVER_TABLE_M = 0.0015  # the held block's lowest corner when it is let go


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
            near = nearest_start(starts, tilt, heading)
            if near is None:
                continue
            at = (goal[0], height_m, goal[1])
            level.append(Candidate.along_tool("reset_down", near, tilt, heading, at))
    return level


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
