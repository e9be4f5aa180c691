"""A clear way from one pose to another through joint space: straight, else up first, round, and down again.

Checked against the collision geometry with the margins of the guard; what it can't clear it refuses. Knows no lookup.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from runner.config import Config
from runner.geometry import Clearance, Obstacles, clearances, first_broken, margin_mm, swept
from runner.kinematics.fk import checked_joints, tool_pose
from runner.kinematics.frames import BaseInCell
from runner.kinematics.ik.dls import DampedLeastSquares
from runner.kinematics.ik.protocol import IkTarget
from runner.kinematics.model import ArmModel, FloatArray, frozen
from runner.table.errors import NoWay
from runner.table.postures import hard_limits

_SAG_MM = 18.0  # kept beyond the margins where there is room: an arm that sags comes that much lower than planned
_RISES_M = (0.02, 0.05, 0.09)  # straight up, before going round
_FOLDS = (0.25, 0.5, 0.75, 1.0)  # shares of the way to the folded pose


def plan_transfer(
    start_deg: FloatArray, goal_deg: FloatArray, obstacles: Obstacles, arm: ArmModel, base: BaseInCell, config: Config
) -> FloatArray:
    """Waypoints from a pose to another, shape (k, n_joints), without the start; the last is the goal.

    Where the arm stands nearer to something than the margins ask for, it may leave, but come no nearer. Of the ways
    that keep the margins, the first is taken that leaves room for sag besides (as far as start and goal themselves
    do), else the one that leaves most.

    Raises:
        NoWay: every way that was tried comes too near to something; the message names it.
        WrongJoints: poses that are not finite angles of this arm.
    """
    start = checked_joints(np.asarray(start_deg, dtype=float), arm)
    goal = checked_joints(np.asarray(goal_deg, dtype=float), arm)
    standing, ends = clearances(start, arm, base, obstacles), clearances(np.stack((start, goal)), arm, base, obstacles)
    roomy = config.guard.model_copy(
        update={name: getattr(config.guard, name) + _SAG_MM for name in ("table_mm", "box_mm", "mast_mm")}
    )
    best: Clearance | None = None
    narrow: tuple[float, FloatArray] | None = None
    tried = 0
    for way in _ways(start, goal, arm, base, config):
        tried += 1
        found = swept(np.vstack((start, way)), arm, base, obstacles, step_deg=config.guard.sweep_step_deg)
        broken = first_broken(found, config.guard, standing=standing)
        if broken is not None:
            if best is None or broken.mm > best.mm:
                best = broken
            continue
        tight = first_broken(found, roomy, standing=ends)
        if tight is None:
            return frozen(way)
        if narrow is None or tight.mm > narrow[0]:
            narrow = (tight.mm, way)
    if narrow is not None:
        return frozen(narrow[1])
    assert best is not None
    asked = margin_mm(best.against, config.guard)
    near = f"{best.what} comes within {best.mm:.1f} mm of the {best.against} (allowed {asked:.1f} mm)"
    raise NoWay(near, tried=tried)


def _ways(start: FloatArray, goal: FloatArray, arm: ArmModel, base: BaseInCell, config: Config) -> Iterator[FloatArray]:
    """Straight first; then up, round and down, higher and higher; then by way of the folded pose."""
    yield goal[None]
    over_start = [_lifted(start, rise, arm, base, config) for rise in _RISES_M]
    over_goal = [_lifted(goal, rise, arm, base, config) for rise in _RISES_M]
    for up, down in sorted(product(range(len(_RISES_M)), repeat=2), key=lambda pair: (max(pair), pair)):
        ends = [pose for pose in (over_start[up], over_goal[down]) if pose is not None]
        if len(ends) == 2:
            yield np.stack((*ends, goal))
    folded = np.array(config.arm.home_deg)
    for share_up, share_down in product(_FOLDS, repeat=2):
        yield np.stack((_folded(start, folded, share_up), _folded(goal, folded, share_down), goal))


def _lifted(pose: FloatArray, rise_m: float, arm: ArmModel, base: BaseInCell, config: Config) -> FloatArray | None:
    """The pose with its tool point straight above where it was, standing as it stood if that can be had."""
    limits = hard_limits(arm, config)
    if not limits.hold(pose):
        return None
    T = tool_pose(pose, arm)
    point = T[:3, 3] + base.turn_to_base(np.array([0.0, rise_m, 0.0]))
    solver = DampedLeastSquares(arm, limits=limits, max_steps=40)
    for rotation in (T[:3, :3], None):
        found = solver.solve(IkTarget(point, rotation), pose)
        if found.converged:
            return found.angles_deg
    return None


def _folded(pose: FloatArray, folded: FloatArray, share: float) -> FloatArray:
    """The pose part of the way to the folded one, its j0 kept."""
    up = pose + share * (folded - pose)
    up[0] = pose[0]
    return up
