"""Ways to a target: a posture there, the pose before it, and the straight last move between the two.

Solved in bulk before the arm at j0 = 0, kept where the move is clear of the table and of the arm itself; a way serves
every place at its radius once it is turned round the base axis. Knows no square and no file.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from runner.config import Config
from runner.geometry import Obstacles, smallest_mm
from runner.kinematics.frames import BaseInCell
from runner.kinematics.ik.dls import DampedLeastSquares
from runner.kinematics.ik.protocol import JointLimits
from runner.kinematics.model import ArmModel, FloatArray
from runner.table.postures import Postures, jaws_as_at, rotations, solve_postures

IntArray = NDArray[np.int64]

STRAIGHT_DOWN_DEG = 90.0
TOUCH_MM = 0.5  # at least that much is clear of table and arm
LIFT_SHARES = (1.0, 0.8, 0.6, 0.4)  # of the lift in the settings; the first that can be had
_TOLERANCE_KEPT_DEG = 1.0  # the file's poses stay that much inside the joint tolerance, for targets off the centre
_NAMES = ("joints_deg", "tilt_deg", "turn_deg", "radius_m", "height_m")


@dataclass(frozen=True, slots=True, eq=False)
class Ways:
    """Postures at the target and before it, both at j0 = 0, and the move between them."""

    target: Postures
    before_deg: FloatArray  # (N, n_joints)
    lift_m: FloatArray  # (N,): how far the tool point goes
    descent_deg: FloatArray  # (N,): how steeply, below the level; the tilt where it goes along the tool

    def __len__(self) -> int:
        """How many."""
        return len(self.lift_m)

    def taken(self, rows: IntArray) -> Ways:
        """Some of them."""
        target = Postures(*(getattr(self.target, name)[rows] for name in _NAMES))
        return Ways(target, self.before_deg[rows], self.lift_m[rows], self.descent_deg[rows])


def lift_of(config: Config, *, pick: bool) -> float:
    """The whole lift in the settings, metres."""
    return config.table.lift_m[1 if pick else 0]


def solve_ways(
    arm: ArmModel,
    base: BaseInCell,
    limits: JointLimits,
    *,
    tilts_deg: tuple[float, ...],
    turns_deg: tuple[float, ...],
    radii_m: FloatArray,
    heights_m: FloatArray,
    lift_m: float,
    joint_tol_deg: float | None,
    from_above: bool = False,
) -> Ways:
    """Every combination that has a posture and a clear way to it.

    Args:
        arm: six joints, the first about the base axis.
        base: where it stands.
        limits: where joints may be.
        tilts_deg: of the tool below the level.
        turns_deg: of the tool off the radial direction.
        radii_m: of the target from the base axis.
        heights_m: of the target over the table.
        lift_m: of the last move; shorter, down to two fifths, where the whole of it can't be had.
        joint_tol_deg: largest change of a joint in the last move; None: any.
        from_above: the last move goes straight down; else along the tool.
    """
    levels = np.asarray(heights_m) - base.shift_m[1]
    found = solve_postures(arm, limits, tilts_deg=tilts_deg, turns_deg=turns_deg, radii_m=radii_m, heights_m=levels)
    descent = np.full(len(found.tilt_deg), STRAIGHT_DOWN_DEG) if from_above else found.tilt_deg
    return clear_ways(_with_lift(found, descent, arm, limits, lift_m, joint_tol_deg), arm, base)


def before_target(
    tilt: FloatArray,
    turn: FloatArray,
    radius: FloatArray,
    height: FloatArray,
    lift: FloatArray | float,
    descent: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Tool points and frames in the base frame, `lift` before the target, for an arm at j0 = 0 (heading 90° there)."""
    d, h = np.radians(descent), np.radians(turn)
    x = radius - lift * np.cos(d) * np.cos(h)
    y = -lift * np.cos(d) * np.sin(h)  # a positive turn, as a positive j0, is to the left: +y in the base frame
    return np.stack((x, y, height + lift * np.sin(d)), axis=1), rotations(tilt, 90.0 + turn, BaseInCell.at())


def clear_ways(ways: Ways, arm: ArmModel, base: BaseInCell) -> Ways:
    """Those whose last move stays clear of the table and of the arm itself."""
    upright = BaseInCell.at((0.0, float(base.shift_m[1]), 0.0))
    middle = (ways.target.joints_deg + ways.before_deg) / 2.0
    clear = np.ones(len(ways), dtype=bool)
    for poses in (ways.target.joints_deg, middle, ways.before_deg):
        clear &= smallest_mm(poses, arm, upright, Obstacles()) >= TOUCH_MM
    return ways.taken(np.flatnonzero(clear))


def _with_lift(
    found: Postures, descent: FloatArray, arm: ArmModel, limits: JointLimits, lift_m: float, tol_deg: float | None
) -> Ways:
    """The pose before each posture, with the largest lift that reach and joint tolerance allow; else it is left out."""
    solver = DampedLeastSquares(arm, limits=limits, max_steps=40)
    n = len(found.tilt_deg)
    before, lift = np.zeros_like(found.joints_deg), np.zeros(n)
    left = np.arange(n)
    for share in LIFT_SHARES:
        here = Postures(*(getattr(found, name)[left] for name in _NAMES))
        points, frames = before_target(
            here.tilt_deg, here.turn_deg, here.radius_m, here.height_m, share * lift_m, descent[left]
        )
        frames = jaws_as_at(here.joints_deg, frames, arm)
        solved = solver.solve_many(points, frames, None, here.joints_deg)
        ok = solved.converged
        if tol_deg is not None:
            ok &= np.abs(solved.angles_deg - here.joints_deg).max(axis=1) <= tol_deg - _TOLERANCE_KEPT_DEG
        before[left[ok]], lift[left[ok]] = solved.angles_deg[ok], share * lift_m
        left = left[~ok]
    return Ways(found, before, lift, descent).taken(np.flatnonzero(lift > 0))
