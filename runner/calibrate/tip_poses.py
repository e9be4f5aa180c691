"""Poses at which to look at the fingertips: clear of everything, seen from above, and chosen so that they tell most.

Heights, tilts and headings are spread; of many candidates those are taken, one after the other, that add most to what
is known. An arm that is not calibrated yet comes down where it isn't meant to, so all keep well away from the table.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from runner.calibrate.arm_fit import information
from runner.calibrate.unknowns import ArmUnderCamera
from runner.config import Config
from runner.geometry import Obstacles, clearances
from runner.kinematics.frames import BaseInCell
from runner.kinematics.ik.dls import DampedLeastSquares
from runner.kinematics.model import ArmModel, FloatArray
from runner.table.postures import jaws_as_at, planning_limits, rotations
from vision.errors import CalibrationTooPoor

_CANDIDATES, _SEED = 260, 20
_CLEAR_MM = 25.0  # to table, box, block, mast and the arm itself
_IN_PICTURE_PX = 40.0
_SPARE_DEG = 4.0  # inside the limits that plans keep to, for zeros that are off


@dataclass(frozen=True, slots=True)
class Ranges:
    """Where the tool point may be and how the tool may stand: metres, degrees; headings from straight outward."""

    radius_m: tuple[float, float] = (0.16, 0.28)
    direction_deg: tuple[float, float] = (20.0, 160.0)
    height_y_m: tuple[float, float] = (0.075, 0.21)
    tilt_deg: tuple[float, float] = (0.0, 62.0)
    turn_deg: tuple[float, float] = (-40.0, 40.0)


def poses_that_tell_most(
    model: ArmUnderCamera,
    config: Config,
    obstacles: Obstacles,
    count: int,
    *,
    joints: bool = True,
    camera: bool = False,
) -> FloatArray:
    """That many poses, shape (count, n_joints), in an order that makes the ways between them short.

    Args:
        model: the arm as it is now believed to be; poses are for it.

    Raises:
        CalibrationTooPoor: not that many are clear and in the camera's sight.
    """
    goals = candidate_poses(model, config, obstacles)
    if len(goals) < count:
        raise CalibrationTooPoor(
            "arm",
            f"{len(goals)} poses are clear of everything and in the camera's sight, {count} are needed",
            next_step="clear the table, and let the camera see all of the arm's reach",
        )
    telling = list(information(model, goals, joints=joints))
    chosen: list[int] = []
    known = np.eye(len(telling[0]))
    while len(chosen) < count:
        gains = [-np.inf if i in chosen else np.linalg.slogdet(known + each)[1] for i, each in enumerate(telling)]
        best = int(np.argmax(gains))
        chosen.append(best)
        known = known + telling[best]
    return in_short_order(goals[chosen], np.asarray(config.arm.home_deg, dtype=np.float64))


def in_short_order(goals_deg: FloatArray, start_deg: FloatArray) -> FloatArray:
    """The poses (k, n_joints), each followed by the nearest that is left."""
    left, at, out = list(range(len(goals_deg))), start_deg, []
    while left:
        nearest = min(left, key=lambda i: float(np.abs(goals_deg[i] - at).max()))
        left.remove(nearest)
        out.append(nearest)
        at = goals_deg[nearest]
    return goals_deg[out]


def solved(
    arm: ArmModel, base: BaseInCell, config: Config, points_m: FloatArray, tilt_deg: FloatArray, turn_deg: FloatArray
) -> tuple[FloatArray, NDArray[np.intp]]:
    """Poses with level jaws at points (k, 3) of the cell frame, for which there are any: (m, n_joints), and which.

    Args:
        tilt_deg: of the tool below the level, (k,).
        turn_deg: its heading off the direction straight outward, (k,).
    """
    outward = np.degrees(np.arctan2(points_m[:, 2] - base.shift_m[2], points_m[:, 0] - base.shift_m[0]))
    limits = planning_limits(arm, config)
    solver = DampedLeastSquares(arm, limits=limits, max_steps=60)
    frames = rotations(tilt_deg, outward + turn_deg, base)
    search = arm.data.search
    starts = search.starts_deg if search is not None else (config.arm.home_deg,)
    best = np.full((len(points_m), arm.n_joints), np.nan)
    room = np.full(len(points_m), -np.inf)
    for start in starts:
        first = np.tile(np.array(start), (len(points_m), 1))
        first[:, 0] = outward - 90.0 - config.arm.base_yaw_deg
        found = solver.solve_many(base.to_base(points_m), jaws_as_at(first, frames, arm), None, first)
        spare = np.minimum(found.angles_deg - limits.min_deg, limits.max_deg - found.angles_deg).min(axis=1)
        better = found.converged & (spare > _SPARE_DEG) & (spare > room)
        best[better], room[better] = found.angles_deg[better], spare[better]
    there = np.flatnonzero(np.isfinite(room))
    return best[there], there


def clear_and_seen(
    goals_deg: FloatArray, model: ArmUnderCamera, obstacles: Obstacles, *, clear_mm: float = _CLEAR_MM
) -> NDArray[np.intp]:
    """Which of the poses (k, n_joints) keep that far from everything and have both fingertips in the picture."""
    arm, base = model.arm, model.base
    assert model.view is not None
    px = model.tips_px(goals_deg, np.zeros(model.n_unknowns))
    in_sight = np.atleast_1d(model.view.sees(px, _IN_PICTURE_PX).all(axis=1)).tolist()
    good = []
    for i, pose in enumerate(goals_deg):
        if not in_sight[i]:
            continue
        near = clearances(pose[None], arm, base, obstacles)
        if all(one.mm >= clear_mm or one.against == "arm" for one in near):
            good.append(i)
    return np.array(good, dtype=np.intp)


def candidate_poses(
    model: ArmUnderCamera, config: Config, obstacles: Obstacles, *, clear_mm: float = _CLEAR_MM
) -> FloatArray:
    """Poses (k, n_joints) of many heights, tilts and headings that keep that far from everything; always the same."""
    ranges, rng = Ranges(), np.random.default_rng(_SEED)
    draws = {
        name: rng.uniform(low, high, _CANDIDATES)
        for name, low, high in ((f.name, *getattr(ranges, f.name)) for f in fields(ranges))
    }
    a = np.radians(draws["direction_deg"])
    shift = model.base.shift_m
    points = np.stack(
        (
            shift[0] + draws["radius_m"] * np.cos(a),
            draws["height_y_m"],
            shift[2] + draws["radius_m"] * np.sin(a),
        ),
        axis=1,
    )
    goals, _ = solved(model.arm, model.base, config, points, draws["tilt_deg"], draws["turn_deg"])
    return goals[clear_and_seen(goals, model, obstacles, clear_mm=clear_mm)]
