"""Direct solution: for every square of a region, approach poses of its own and the rows that they lead to.

First the postures of the approach table, solved for the square's very centre. Where they are few, at the rim of the
reach, also moves from straight above, other heights of the band and places off the centre. Writes nothing, and proves
nothing where it finds none.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

import numpy as np

from runner.config import Config
from runner.geometry import Obstacles, smallest_mm
from runner.kinematics.fk import tool_pose
from runner.kinematics.frames import BaseInCell, stance_of, tool_points_cell_m
from runner.kinematics.ik.dls import DampedLeastSquares
from runner.kinematics.ik.protocol import JointLimits
from runner.kinematics.model import ArmModel, FloatArray, frozen
from runner.table.approach import GridSquare
from runner.table.approach_grid import build_grid_approach
from runner.table.fill.covering import straight_reach_m
from runner.table.postures import (
    BoolArray,
    back_along_tool,
    jaws_as_at,
    planning_limits,
    radial_heading_deg,
    radius_m,
    rotations,
)
from runner.table.region import Ground, Square
from runner.table.scan import Progress, quiet
from runner.table.ways import LIFT_SHARES, STRAIGHT_DOWN_DEG, TOUCH_MM, Ways, lift_of, solve_ways
from runs.schema.geometry import TablePoint

RIM_TILTS_DEG = (0.0, 5.0, 10.0, 15.0, 20.0, 30.0)
_OFFS = np.arange(8) / 8.0  # places toward the base, in widths of the square; the nearest that can be had comes first
_INSET_M = 1e-5
_MOST_POSES_LIFTED = 40
_FEW_POSES = 8  # squares with fewer get poses of the rim as well
_MOST_RIM_POSES = 12
_BELOW_TOP_M = 0.0005  # the band's top does not belong to it
_ROUND_DEG = 4


@dataclass(frozen=True, slots=True, eq=False)
class Served:
    """Squares with their approach poses, and one row for each: where it leads. Arrays are read-only."""

    squares: tuple[GridSquare, ...]
    joints_deg: FloatArray  # (N, n_joints)
    points_m: FloatArray  # (N, 3), cell frame


@dataclass(frozen=True, slots=True)
class _Pose:
    """An approach pose and where it leads."""

    pose: tuple[float, ...]  # as in a GridSquare
    end: tuple[float, float, float, float]
    goal_deg: FloatArray


def serve(arm: ArmModel, base: BaseInCell, config: Config, ground: Ground, progress: Progress = quiet) -> Served:
    """Approach poses and rows for every square of the region that can be had; takes a few seconds.

    Squares that can't be served are left out. Every row lies within the tolerance of its square's centre, in the band,
    and, for a place, within the joint tolerance of the approach pose.
    """
    limits = planning_limits(arm, config)
    found = _over_centres(arm, base, config, ground, limits, progress)
    few = [s for s in ground.region.squares if len(found.get(s, ())) < _FEW_POSES]
    progress(0.6, f"solving {len(few)} squares at the rim of the reach")
    for square, poses in _from_above(few, arm, base, config, ground, limits).items():
        found.setdefault(square, []).extend(poses)
    progress(1.0, f"{len(found)} of {len(ground.region)} squares have an approach")
    return _served({s: found[s] for s in ground.region.squares if found.get(s)}, arm, base)


def serve_from(
    poses_deg: dict[Square, FloatArray], arm: ArmModel, base: BaseInCell, config: Config, ground: Ground
) -> Served:
    """Approach poses for squares of which only poses are known: back along the tool or straight up from them.

    Args:
        poses_deg: for a square's centre, poses (N, n_joints) whose tool point lies in it, the best first.
        arm: with its tool.
        base: where it stands.
        config: lifts and limits.
        ground: the joint tolerance.
    """
    limits = planning_limits(arm, config)
    found: dict[Square, list[_Pose]] = {}
    for square, poses in poses_deg.items():
        inside = [p for p in poses[:_MOST_POSES_LIFTED] if limits.hold(p)]
        for pose in inside:
            found.setdefault(square, []).extend(_lifted(pose, arm, base, config, ground, limits))
    return _served({s: poses for s, poses in found.items() if poses}, arm, base)


def _served(found: dict[Square, list[_Pose]], arm: ArmModel, base: BaseInCell) -> Served:
    joints = [p.goal_deg for poses in found.values() for p in poses]
    rows = np.round(np.array(joints).reshape(-1, arm.n_joints), _ROUND_DEG)
    squares = tuple(
        GridSquare(x_mm=x, z_mm=z, poses=tuple(p.pose for p in poses), ends=tuple(p.end for p in poses))
        for (x, z), poses in found.items()
    )
    return Served(squares, frozen(rows), frozen(tool_points_cell_m(rows, arm, base)))


def _lifted(
    goal: FloatArray, arm: ArmModel, base: BaseInCell, config: Config, ground: Ground, limits: JointLimits
) -> list[_Pose]:
    """A pose's approach from straight above and along the tool, where it can be had and is clear."""
    stance = stance_of(goal, arm, base)
    frame = tool_pose(goal, arm)[:3, :3]
    point = tool_points_cell_m(goal, arm, base)
    out: list[_Pose] = []
    lift = lift_of(config, pick=ground.phase == "pick")
    for descent in (STRAIGHT_DOWN_DEG, stance.tilt_deg):
        for share in LIFT_SHARES:
            before_m = back_along_tool(point, descent, stance.heading_deg, share * lift)
            solved = DampedLeastSquares(arm, limits=limits).solve_many(
                base.to_base(before_m)[None], frame, None, goal[None]
            )
            before = solved.angles_deg[0]
            if not solved.converged[0] or not _near_enough(goal[None], before[None], ground)[0]:
                continue
            move = np.stack((before, (before + goal) / 2.0, goal))
            if smallest_mm(move, arm, base, Obstacles()).min() < TOUCH_MM:
                continue
            pose = (round(stance.tilt_deg, 4), round(stance.heading_deg, 4), round(share * lift, 6))
            x, y, z = (round(float(c), 6) for c in point)
            end = (round(descent, 4), y, x, z)
            out.append(_Pose((*pose, *np.round(before, _ROUND_DEG).tolist()), end, goal))
            break
    return out


def toward_base(centre_xz_m: TablePoint, base: BaseInCell, off_m: float, tolerance_m: float) -> TablePoint:
    """A point of the square round a centre: `off_m` straight toward the base axis, but kept inside the square.

    As it grows the point goes in along the radius, then along the square's edge, and ends in the nearest corner.
    """
    d = np.array(centre_xz_m) - base.shift_m[[0, 2]]
    step = np.abs(d) * off_m / max(float(np.hypot(*d)), 1e-9)
    x, z = np.array(centre_xz_m) - np.sign(d) * np.minimum(step, np.minimum(tolerance_m, np.abs(d)))
    return float(x), float(z)


def heights_m(config: Config, ground: Ground) -> FloatArray:
    """Heights of the band that are tried: the one that is aimed at, then up to the top of the band."""
    t = config.table
    lo, hi = ground.band_y_m
    top = max(lo, hi - _BELOW_TOP_M)
    aimed = float(np.clip(t.release_y_m if ground.phase == "place" else t.grasp_y_m, lo, top))
    return np.unique(np.round([aimed, (aimed + top) / 2.0, top], 6))


def _over_centres(
    arm: ArmModel, base: BaseInCell, config: Config, ground: Ground, limits: JointLimits, progress: Progress
) -> dict[Square, list[_Pose]]:
    """The approach table's poses for these centres, with the poses that they lead to."""
    grid = build_grid_approach(
        arm,
        base,
        config,
        "approach_place" if ground.phase == "place" else "approach_pick",
        lambda share, what: progress(0.4 * share, what),
        squares_mm=ground.region.squares,
    )
    lo, hi = ground.band_y_m
    if not lo <= grid.height_y_m < hi or not grid.squares:
        return {}
    rows = [(square, square.pose(i), square.poses[i]) for square in grid.squares for i in range(len(square.poses))]
    starts = np.array([pose.joints_deg for _, pose, _ in rows])
    points = np.array([(s.x_mm / 1000.0, grid.height_y_m, s.z_mm / 1000.0) for s, _, _ in rows])
    tilts, headings = (np.array([getattr(pose, name) for _, pose, _ in rows]) for name in ("tilt_deg", "heading_deg"))
    frames = jaws_as_at(starts, rotations(tilts, headings, base), arm)
    solved = DampedLeastSquares(arm, limits=limits, max_steps=40).solve_many(
        base.to_base(points), frames, None, np.clip(starts, limits.min_deg, limits.max_deg)
    )
    ok = solved.converged & _near_enough(solved.angles_deg, starts, ground)
    found: dict[Square, list[_Pose]] = {}
    for i in np.flatnonzero(ok):
        square, pose, raw = rows[i]
        end = (pose.tilt_deg, grid.height_y_m, *square.centre_xz_m)
        found.setdefault((square.x_mm, square.z_mm), []).append(_Pose(raw, end, solved.angles_deg[i]))
    return found


def _near_enough(goals: FloatArray, starts: FloatArray, ground: Ground) -> BoolArray:
    if ground.joint_tol_deg is None:
        return np.ones(len(goals), dtype=bool)
    return np.asarray(np.abs(goals - starts).max(axis=1) <= ground.joint_tol_deg)


def _from_above(
    squares: list[Square], arm: ArmModel, base: BaseInCell, config: Config, ground: Ground, limits: JointLimits
) -> dict[Square, list[_Pose]]:
    """Poses of the tool in the arm's plane, straight over the square or off its centre by as little as can be."""
    band = ground.band_y_m[0] - float(base.shift_m[1]), ground.band_y_m[1] - float(base.shift_m[1])
    reach_m = straight_reach_m(arm, band)
    inset_m = ground.tolerance_mm / 1000.0 - _INSET_M
    at: dict[Square, list[tuple[float, TablePoint]]] = {}
    for square in squares:
        centre = (square[0] / 1000.0, square[1] / 1000.0)
        points = [toward_base(centre, base, off, inset_m) for off in _OFFS * 2.0 * ground.tolerance_mm / 1000.0]
        near = [(round(radius_m(p, base), 7), p) for p in points]
        at[square] = [pair for pair in dict.fromkeys(near) if pair[0] <= reach_m]
    radii = np.unique([r for pairs in at.values() for r, _ in pairs])
    if not len(radii):
        return {}
    ways = solve_ways(
        arm,
        base,
        limits,
        tilts_deg=RIM_TILTS_DEG,
        turns_deg=(0.0,),
        radii_m=radii,
        heights_m=heights_m(config, ground),
        lift_m=lift_of(config, pick=ground.phase == "pick"),
        joint_tol_deg=ground.joint_tol_deg,
        from_above=True,
    )
    of_radius: dict[float, list[int]] = {}
    for i in _best_first(ways, config):
        of_radius.setdefault(round(float(ways.target.radius_m[i]), 7), []).append(i)
    found: dict[Square, list[_Pose]] = {}
    for square, pairs in at.items():
        turned = (_turned(ways, i, point, base, config, limits) for r, point in pairs for i in of_radius.get(r, ()))
        found[square] = list(islice((p for p in turned if p is not None), _MOST_RIM_POSES))
    return {square: poses for square, poses in found.items() if poses}


def _best_first(ways: Ways, config: Config) -> list[int]:
    """Whole lifts first, then heights near the one that is aimed at, then the steeper tool."""
    aimed = config.table.release_y_m
    keys = (-ways.target.tilt_deg, np.abs(ways.target.height_m - aimed), -ways.lift_m)
    return [int(i) for i in np.lexsort(keys)]


def _turned(
    ways: Ways, i: int, point: TablePoint, base: BaseInCell, config: Config, limits: JointLimits
) -> _Pose | None:
    """A way turned round the base axis to its place, or None where the base joint does not go there."""
    radial = radial_heading_deg(point, base)
    turn = (radial - 90.0 - config.arm.base_yaw_deg + 180.0) % 360.0 - 180.0
    before, goal = ways.before_deg[i].copy(), ways.target.joints_deg[i].copy()
    before[0] += turn
    goal[0] += turn
    if not limits.hold(before) or not limits.hold(goal):
        return None
    height = round(float(ways.target.height_m[i] + base.shift_m[1]), 6)
    pose = (float(ways.target.tilt_deg[i]), round(radial, 4), round(float(ways.lift_m[i]), 6))
    end = (float(ways.descent_deg[i]), height, round(point[0], 6), round(point[1], 6))
    return _Pose((*pose, *np.round(before, _ROUND_DEG).tolist()), end, goal)
