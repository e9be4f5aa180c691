"""The postures in which a target may be approached, in the order in which they are worth trying.

Says how the tool could stand and from which pose of the approach table the solution starts; which of them can be
reached at all is solved in bulk. Checks no clearance and looks up no row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import asin, degrees

import numpy as np

from runner.config import Config
from runner.geometry import HeldBlock
from runner.kinematics.frames import BaseInCell
from runner.kinematics.gripper import tip_below_tcp_m
from runner.kinematics.ik.dls import DampedLeastSquares, IkBatch
from runner.kinematics.ik.protocol import JointLimits
from runner.kinematics.model import ArmModel, FloatArray
from runner.table.approach import GridApproach, GridPose
from runner.table.postures import (
    back_along_tool,
    jaws_as_at,
    radial_heading_deg,
    rotations,
    wrapped_deg,
    wrist_kept_low,
)
from runs.schema.geometry import Point, TablePoint
from runs.schema.motion import LookupRecord, Skipped

NEAR_SQUARE_MM = 20.0  # squares this near lend their poses as starts

_TILTS_DEG = (50.0, 40.0, 60.0, 45.0, 55.0, 30.0, 35.0, 70.0, 65.0, 25.0, 20.0, 80.0, 75.0)
ASKEW_DEG = (0.0, 4.0, 8.0, 12.0, 16.0, 20.0)  # the jaws against the block, where its heading can't be had exactly
MAX_TURN_DEG = 60.0  # of the tool off the radial direction
_START_TILT_DEG = 10.0  # an approach pose this near in tilt and
_START_HEADING_DEG = 25.0  # in heading can be the start of a solution
_SHORTER = 0.6  # of the lift, where the whole of it can't be had
_UPRIGHT_TILT_DEG = 50.0  # a place's tilt where nothing is known of the grip


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """One posture: where its solution starts from and how the tool shall stand."""

    name: str
    start: GridPose
    square_mm: tuple[int, int]
    tilt_deg: float
    heading_deg: float
    descent_deg: float  # of the last move below the level: the tilt where it runs along the tool
    lift_m: float
    target_m: Point
    askew_deg: float = 0.0  # the jaws' turn against the block's edges
    begin_deg: FloatArray | None = None  # (n_joints,): its approach pose as solved in bulk, where it can be had
    taught: LookupRecord | None = None  # of an arc, whose pose is taken as it is

    @classmethod
    def along_tool(
        cls,
        prefix: str,
        near: tuple[tuple[int, int], GridPose],
        tilt_deg: float,
        heading_deg: float,
        target_m: Point,
        askew_deg: float = 0.0,
    ) -> Candidate:
        """One whose last move runs along the tool, from a pose of the grid and its square."""
        (x, z), pose = near
        return cls(
            name=f"{prefix}_x{x}_z{z}_t{tilt_deg:.0f}_h{heading_deg:.0f}",
            start=pose,
            square_mm=(x, z),
            tilt_deg=tilt_deg,
            heading_deg=heading_deg,
            descent_deg=tilt_deg,
            lift_m=pose.lift_m,
            target_m=target_m,
            askew_deg=askew_deg,
        )


def headings_along(block_yaw_deg: float, radial_deg: float, askew_deg: float) -> Iterator[tuple[float, float]]:
    """Tool headings that take a block along a pair of its faces, or by so much askew towards the radial; at most two.

    Yields:
        The heading, and by how much it is askew, both in degrees; the nearest to the radial first.
    """
    turns = sorted((wrapped_deg(block_yaw_deg + 90.0 * k - radial_deg) for k in range(4)), key=lambda t: (abs(t), t))
    for turn in turns[:2]:
        if askew_deg <= abs(turn) <= askew_deg + MAX_TURN_DEG:
            slant = float(-askew_deg * np.sign(turn))
            yield wrapped_deg(radial_deg + turn + slant), slant


def pick_levels(
    target: TablePoint, block_yaw_deg: float, grid: GridApproach, arm: ArmModel, base: BaseInCell, config: Config
) -> Iterator[list[Candidate]]:
    """Levels of candidates for a block: exact headings first, then a little askew; in each the heading nearest the
    radial first, tilts best first."""
    radial = radial_heading_deg(target, base)
    starts = starts_near(grid, target)
    for askew in ASKEW_DEG:
        level: list[Candidate] = []
        for heading, slant in headings_along(block_yaw_deg, radial, askew):
            for tilt in _TILTS_DEG:
                near = nearest_start(starts, tilt, heading)
                if near is None:
                    continue
                at = (target[0], grasp_height_m(tilt, arm, config), target[1])
                level.append(Candidate.along_tool("approach_pick", near, tilt, heading, at, slant))
        yield level


def place_levels(
    target: TablePoint, held: HeldBlock | None, grid: GridApproach, base: BaseInCell, config: Config
) -> Iterator[list[Candidate]]:
    """One level: poses of the square and its neighbours, those first that keep the block as upright as when gripped."""
    upright = _UPRIGHT_TILT_DEG
    if held is not None:
        upright = degrees(asin(float(np.clip(-held.T_tcp_block[2, 1], -1.0, 1.0))))
    radial = radial_heading_deg(target, base)
    ranked = []
    for rank, (square, pose) in enumerate(starts_near(grid, target)):
        leads_to = pose.target_xz_m or (square[0] / 1000.0, square[1] / 1000.0)
        turn = wrapped_deg(pose.heading_deg - radial_heading_deg(leads_to, base))
        ranked.append((abs(pose.tilt_deg - upright) + abs(turn), rank, turn, square, pose))
    level: list[Candidate] = []
    seen: set[tuple[float, int, float, float]] = set()
    for _, _, turn, (x, z), pose in sorted(ranked, key=lambda row: row[:2]):
        height_y_m = config.table.release_y_m if pose.height_y_m is None else pose.height_y_m
        key = (pose.tilt_deg, round(turn), pose.descent_deg, height_y_m)
        if key in seen:
            continue
        seen.add(key)
        heading = wrapped_deg(radial + turn)
        level.append(
            Candidate(
                name=f"approach_place_x{x}_z{z}_t{pose.tilt_deg:.0f}_h{heading:.0f}",
                start=pose,
                square_mm=(x, z),
                tilt_deg=pose.tilt_deg,
                heading_deg=heading,
                descent_deg=pose.descent_deg,
                lift_m=pose.lift_m,
                target_m=(target[0], height_y_m, target[1]),
            )
        )
    yield level


def reachable(
    level: list[Candidate], arm: ArmModel, base: BaseInCell, limits: JointLimits, joint_tol_deg: float | None
) -> Iterator[Candidate | Skipped]:
    """Each candidate, or why it is out of reach; with a shorter lift where the whole of it can't be had.

    Args:
        level: candidates in order.
        arm: with its tool.
        base: where it stands.
        limits: where joints may be.
        joint_tol_deg: place: largest difference of a joint between the approach pose and the target's.
    """
    if not level or level[0].taught is not None:
        yield from level  # an arc's pose stands, and whether it leads there is seen when it is tried
        return
    solver = DampedLeastSquares(arm, limits=limits, max_steps=40)
    there = _solved(solver, level, [0.0] * len(level), base, None)
    for share in (1.0, _SHORTER):
        lifts = [c.lift_m * share for c in level]
        before = _solved(solver, level, lifts, base, there)
        fits = before.converged & there.converged
        if joint_tol_deg is not None:
            fits &= np.abs(before.angles_deg - there.angles_deg).max(axis=1) <= joint_tol_deg
        if share == 1.0:
            whole, whole_before = fits, before
    for i, c in enumerate(level):
        if whole[i]:
            yield replace(c, begin_deg=whole_before.angles_deg[i])
        elif fits[i]:
            yield replace(c, lift_m=c.lift_m * _SHORTER, begin_deg=before.angles_deg[i])
        elif not there.converged[i]:
            miss = f"{there.residual_mm[i]:.1f} mm and {there.residual_deg[i]:.1f}°"
            yield Skipped(pose_id=c.name, reason=f"the target's pose misses by {miss}")
        elif not whole_before.converged[i]:
            miss = f"{whole_before.residual_mm[i]:.1f} mm and {whole_before.residual_deg[i]:.1f}°"
            yield Skipped(pose_id=c.name, reason=f"the approach pose misses by {miss}")
        else:
            step = float(np.abs(before.angles_deg[i] - there.angles_deg[i]).max())
            yield Skipped(pose_id=c.name, reason=f"a joint would turn by {step:.0f}° in the last move")


def grasp_height_m(tilt_deg: float, arm: ArmModel, config: Config) -> float:
    """Height of the tool point at the grasp: as set, or higher where fingertips closed on the block need it."""
    below = tip_below_tcp_m(tilt_deg, config.block.side_mm, arm)
    return max(config.table.grasp_y_m, below + config.table.tip_clearance_m)


def _solved(
    solver: DampedLeastSquares, level: list[Candidate], lifts: list[float], base: BaseInCell, near: IkBatch | None
) -> IkBatch:
    """The candidates' poses so far before their targets, from the start poses or from other solutions."""
    points = np.array(
        [
            back_along_tool(np.array(c.target_m), c.descent_deg, c.heading_deg, lift)
            for c, lift in zip(level, lifts, strict=True)
        ]
    )
    frames = rotations(np.array([c.tilt_deg for c in level]), np.array([c.heading_deg for c in level]), base)
    starts = np.array([c.start.joints_deg for c in level]) if near is None else near.angles_deg
    inside = np.clip(starts, solver.limits.min_deg, solver.limits.max_deg)
    frames, goals = jaws_as_at(inside, frames, solver.arm), base.to_base(points)
    found = solver.solve_many(goals, frames, None, inside)
    if near is not None:
        return found
    low = wrist_kept_low(solver, goals, frames, found.angles_deg)
    return replace(found, angles_deg=low)


def starts_near(grid: GridApproach, target: TablePoint) -> list[tuple[tuple[int, int], GridPose]]:
    """Approach poses of the target's square, then of the squares next to it, nearest first."""
    return [
        ((square.x_mm, square.z_mm), square.pose(i))
        for square in grid.near(target, NEAR_SQUARE_MM)
        for i in range(len(square.poses))
    ]


def nearest_start(
    starts: list[tuple[tuple[int, int], GridPose]], tilt: float, heading: float
) -> tuple[tuple[int, int], GridPose] | None:
    """The pose that stands most like it, of equals that of the nearest square."""
    best, best_off = None, np.inf
    for square, pose in starts:
        tilt_off = abs(pose.tilt_deg - tilt)
        heading_off = abs(wrapped_deg(pose.heading_deg - heading))
        if tilt_off <= _START_TILT_DEG and heading_off <= _START_HEADING_DEG and tilt_off + heading_off < best_off:
            best, best_off = (square, pose), tilt_off + heading_off
    return best
