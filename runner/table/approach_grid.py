"""Makes the 2-D approach: for every 20 mm square, poses right before the target from which the last move runs straight.

Solved in bulk before the arm at j0 = 0, kept where the move is clear of the table and of the arm itself, then turned to
every square and solved again for its very centre. Place poses stay within the joint tolerance of the target's pose.
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
from runner.table.approach import SQUARE_MM, ApproachPhase, GridApproach, GridSquare
from runner.table.postures import Postures, jaws_as_at, planning_limits, rotations, solve_postures
from runner.table.rows import CellOfTable, now_utc
from runner.table.scan import Progress, quiet

IntArray = NDArray[np.int64]

PICK_TILTS_DEG = (50.0, 40.0, 60.0, 30.0, 70.0, 20.0, 80.0)  # best first
PLACE_TILTS_DEG = (50.0, 40.0, 60.0, 30.0, 70.0, 15.0, 80.0, 0.0)
_PICK_TURNS_DEG = (0.0, 15.0, -15.0, 30.0, -30.0, 45.0, -45.0)
_PLACE_TURNS_DEG = (0.0, 15.0, -15.0, 30.0, -30.0)
_LIFT_SHARES = (1.0, 0.8, 0.6, 0.4)  # of the lift in the settings; the first that can be had
_RADII_M = np.arange(0.08, 0.3701, 0.005)
_TOLERANCE_KEPT_DEG = 1.0  # the file's poses stay that much inside the joint tolerance, for targets off the centre
_TOUCH_MM = 0.5  # at least that much is clear of table and arm at a square's centre
REGION_X_MM = (40, 340)  # of the pick side; the place side is its mirror image
REGION_Z_MM = (-40, 360)


@dataclass(frozen=True, slots=True, eq=False)
class _Ways:
    """Postures at the target and before it, both at j0 = 0, and the lift between them."""

    target: Postures
    before_deg: FloatArray  # (N, n_joints)
    lift_m: FloatArray  # (N,)


def build_grid_approach(
    arm: ArmModel, base: BaseInCell, config: Config, phase: ApproachPhase, progress: Progress = quiet
) -> GridApproach:
    """The approach table of one phase for this arm, base and settings; takes a second or two."""
    pick = phase == "approach_pick"
    t = config.table
    height = t.grasp_y_m if pick else t.release_y_m
    tilts, turns = (PICK_TILTS_DEG, _PICK_TURNS_DEG) if pick else (PLACE_TILTS_DEG, _PLACE_TURNS_DEG)
    tol = None if pick else t.joint_tol_deg
    progress(0.0, f"solving {phase.replace('_', ' ')} poses")
    limits = planning_limits(arm, config)
    found = solve_postures(
        arm, limits, tilts_deg=tilts, turns_deg=turns, radii_m=_RADII_M, heights_m=np.array([height - base.shift_m[1]])
    )
    ways = _clear(_with_lift(found, arm, limits, t.lift_m[1 if pick else 0], tol), arm, base)
    progress(0.5, f"turning them to every square for {phase.replace('_', ' ')}")
    squares = _squares(ways, arm, base, config, limits, tilts, turns, pick)
    progress(1.0, f"{len(squares)} squares")
    return GridApproach(
        phase=phase,
        cell=CellOfTable.of(config),
        made_at=now_utc(),
        height_y_m=height,
        joint_tol_deg=tol,
        squares=tuple(squares),
    )


def _with_lift(found: Postures, arm: ArmModel, limits: JointLimits, lift_m: float, tol_deg: float | None) -> _Ways:
    """The pose before each posture, with the largest lift that reach and joint tolerance allow; else it is left out."""
    solver = DampedLeastSquares(arm, limits=limits, max_steps=40)
    n = len(found.tilt_deg)
    before, lift = np.zeros_like(found.joints_deg), np.zeros(n)
    left = np.arange(n)
    for share in _LIFT_SHARES:
        here = Postures(*(getattr(found, name)[left] for name in _NAMES))
        points, frames = _targets(here.tilt_deg, here.turn_deg, here.radius_m, here.height_m, share * lift_m)
        frames = jaws_as_at(here.joints_deg, frames, arm)
        solved = solver.solve_many(points, frames, None, here.joints_deg)
        ok = solved.converged
        if tol_deg is not None:
            ok &= np.abs(solved.angles_deg - here.joints_deg).max(axis=1) <= tol_deg - _TOLERANCE_KEPT_DEG
        before[left[ok]], lift[left[ok]] = solved.angles_deg[ok], share * lift_m
        left = left[~ok]
    return _taken(_Ways(found, before, lift), np.flatnonzero(lift > 0))


def _clear(ways: _Ways, arm: ArmModel, base: BaseInCell) -> _Ways:
    """Those whose last move stays clear of the table and of the arm itself."""
    upright = BaseInCell.at((0.0, float(base.shift_m[1]), 0.0))
    middle = (ways.target.joints_deg + ways.before_deg) / 2.0
    clear = np.ones(len(ways.lift_m), dtype=bool)
    for poses in (ways.target.joints_deg, middle, ways.before_deg):
        clear &= smallest_mm(poses, arm, upright, Obstacles()) >= _TOUCH_MM
    return _taken(ways, np.flatnonzero(clear))


def _squares(
    ways: _Ways, arm: ArmModel, base: BaseInCell, config: Config, limits: JointLimits,
    tilts: tuple[float, ...], turns: tuple[float, ...], pick: bool,
) -> list[GridSquare]:  # fmt: skip
    """Each square's poses, in the order of tilts, then turns."""
    xs = np.arange(REGION_X_MM[0], REGION_X_MM[1] + 1, SQUARE_MM) * (1 if pick else -1)
    zs = np.arange(REGION_Z_MM[0], REGION_Z_MM[1] + 1, SQUARE_MM)
    x, z = (a.ravel() for a in np.meshgrid(np.sort(xs), zs, indexing="ij"))
    dx, dz = x / 1000.0 - base.shift_m[0], z / 1000.0 - base.shift_m[2]
    radius, radial = np.hypot(dx, dz), np.degrees(np.arctan2(dz, dx))
    square, way = _matched(ways, radius, tilts, turns)
    t = ways.target
    points, frames = _targets(
        t.tilt_deg[way], t.turn_deg[way], radius[square], t.height_m[way], ways.lift_m[way]
    )  # fmt: skip
    starts = ways.before_deg[way]
    frames = jaws_as_at(starts, frames, arm)
    solved = DampedLeastSquares(arm, limits=limits, max_steps=40).solve_many(points, frames, None, starts)
    joints = solved.angles_deg.copy()
    joints[:, 0] += (radial[square] - 90.0 - config.arm.base_yaw_deg + 180.0) % 360.0 - 180.0
    ok = solved.converged & (joints[:, 0] >= limits.min_deg[0]) & (joints[:, 0] <= limits.max_deg[0])
    heading = (radial[square] + t.turn_deg[way] + 180.0) % 360.0 - 180.0
    poses: dict[int, list[tuple[float, ...]]] = {}
    for i in np.flatnonzero(ok):
        w = way[i]
        row = (float(t.tilt_deg[w]), round(float(heading[i]), 4), round(float(ways.lift_m[w]), 6))
        poses.setdefault(int(square[i]), []).append((*row, *np.round(joints[i], 4).tolist()))
    return [GridSquare(x_mm=int(x[s]), z_mm=int(z[s]), poses=tuple(p)) for s, p in sorted(poses.items())]


def _matched(
    ways: _Ways, radius: FloatArray, tilts: tuple[float, ...], turns: tuple[float, ...]
) -> tuple[IntArray, IntArray]:
    """Pairs (square, way): for each square the solved radius next to its own, tilts in order, then turns."""
    step = float(_RADII_M[1] - _RADII_M[0])
    nearest = np.rint((radius - _RADII_M[0]) / step).astype(int)
    rank = {stance: i for i, stance in enumerate((a, b) for a in tilts for b in turns)}
    t = ways.target
    at = np.rint((t.radius_m - _RADII_M[0]) / step).astype(int)
    by_radius: dict[int, list[int]] = {}
    for i in sorted(range(len(at)), key=lambda i: rank[float(t.tilt_deg[i]), float(t.turn_deg[i])]):
        by_radius.setdefault(int(at[i]), []).append(i)
    pairs = [(s, w) for s, r in enumerate(nearest) for w in by_radius.get(int(r), [])]
    both = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return both[:, 0], both[:, 1]


_NAMES = ("joints_deg", "tilt_deg", "turn_deg", "radius_m", "height_m")


def _taken(ways: _Ways, rows: IntArray) -> _Ways:
    target = Postures(*(getattr(ways.target, name)[rows] for name in _NAMES))
    return _Ways(target, ways.before_deg[rows], ways.lift_m[rows])


def _targets(
    tilt: FloatArray, turn: FloatArray, radius: FloatArray, height: FloatArray, lift: FloatArray | float
) -> tuple[FloatArray, FloatArray]:
    """Tool points and frames in the base frame, `lift` before the target, for an arm at j0 = 0 (heading 90° there)."""
    t, h = np.radians(tilt), np.radians(turn)
    x = radius - lift * np.cos(t) * np.cos(h)
    y = -lift * np.cos(t) * np.sin(h)  # a positive turn, as a positive j0, is to the left: +y in the base frame
    return np.stack((x, y, height + lift * np.sin(t)), axis=1), rotations(tilt, 90.0 + turn, BaseInCell.at())
