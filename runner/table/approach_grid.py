"""Makes the 2-D approach: for every 20 mm square, poses right before the target from which the last move runs straight.

Solved in bulk before the arm at j0 = 0, kept where the move is clear of the table and of the arm itself, then turned to
every square and solved again for its very centre. Place poses stay within the joint tolerance of the target's pose.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from runner.config import Config
from runner.kinematics.frames import BaseInCell
from runner.kinematics.ik.dls import DampedLeastSquares
from runner.kinematics.ik.protocol import JointLimits
from runner.kinematics.model import ArmModel, FloatArray
from runner.table.approach import SQUARE_MM, ApproachPhase, GridApproach, GridSquare
from runner.table.postures import jaws_as_at, planning_limits
from runner.table.rows import CellOfTable, now_utc
from runner.table.scan import Progress, quiet
from runner.table.ways import Ways, before_target, lift_of, solve_ways

IntArray = NDArray[np.int64]

PICK_TILTS_DEG = (50.0, 40.0, 60.0, 30.0, 70.0, 20.0, 80.0)  # best first
PLACE_TILTS_DEG = (50.0, 40.0, 60.0, 30.0, 70.0, 15.0, 80.0, 0.0)
_PICK_TURNS_DEG = (0.0, 15.0, -15.0, 30.0, -30.0, 45.0, -45.0)
_PLACE_TURNS_DEG = (0.0, 15.0, -15.0, 30.0, -30.0)
_RADII_M = np.arange(0.08, 0.3701, 0.005)
REGION_X_MM = (40, 340)  # of the pick side; the place side is its mirror image
REGION_Z_MM = (-40, 360)


def build_grid_approach(
    arm: ArmModel,
    base: BaseInCell,
    config: Config,
    phase: ApproachPhase,
    progress: Progress = quiet,
    *,
    squares_mm: Sequence[tuple[int, int]] | None = None,
) -> GridApproach:
    """The approach table of one phase for this arm, base and settings; takes a second or two.

    Args:
        arm: with its tool.
        base: where it stands.
        config: heights, lifts and tolerances.
        phase: whose.
        progress: told how far it is.
        squares_mm: centres of the squares; None: all multiples of 20 mm on the phase's side of the table.
    """
    pick = phase == "approach_pick"
    t = config.table
    height = t.grasp_y_m if pick else t.release_y_m
    tilts, turns = (PICK_TILTS_DEG, _PICK_TURNS_DEG) if pick else (PLACE_TILTS_DEG, _PLACE_TURNS_DEG)
    tol = None if pick else t.joint_tol_deg
    progress(0.0, f"solving {phase.replace('_', ' ')} poses")
    limits = planning_limits(arm, config)
    ways = solve_ways(
        arm,
        base,
        limits,
        tilts_deg=tilts,
        turns_deg=turns,
        radii_m=_RADII_M,
        heights_m=np.array([height]),
        lift_m=lift_of(config, pick=pick),
        joint_tol_deg=tol,
    )
    progress(0.5, f"turning them to every square for {phase.replace('_', ' ')}")
    centres = np.array(_own_squares(pick) if squares_mm is None else squares_mm).reshape(-1, 2)
    squares = _squares(ways, arm, base, config, limits, tilts, turns, centres)
    progress(1.0, f"{len(squares)} squares")
    return GridApproach(
        phase=phase,
        cell=CellOfTable.of(config),
        made_at=now_utc(),
        height_y_m=height,
        joint_tol_deg=tol,
        squares=tuple(squares),
    )


def _own_squares(pick: bool) -> list[tuple[int, int]]:
    """Multiples of 20 mm on the pick side of the table, or on the other."""
    side = 1 if pick else -1
    xs = sorted(side * x for x in range(REGION_X_MM[0], REGION_X_MM[1] + 1, SQUARE_MM))
    return [(x, z) for x in xs for z in range(REGION_Z_MM[0], REGION_Z_MM[1] + 1, SQUARE_MM)]


def _squares(
    ways: Ways, arm: ArmModel, base: BaseInCell, config: Config, limits: JointLimits,
    tilts: tuple[float, ...], turns: tuple[float, ...], centres_mm: IntArray,
) -> list[GridSquare]:  # fmt: skip
    """Each square's poses, in the order of tilts, then turns."""
    x, z = centres_mm.T
    dx, dz = x / 1000.0 - base.shift_m[0], z / 1000.0 - base.shift_m[2]
    radius, radial = np.hypot(dx, dz), np.degrees(np.arctan2(dz, dx))
    square, way = _matched(ways, radius, tilts, turns)
    t = ways.target
    points, frames = before_target(
        t.tilt_deg[way], t.turn_deg[way], radius[square], t.height_m[way], ways.lift_m[way], ways.descent_deg[way]
    )
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
    ways: Ways, radius: FloatArray, tilts: tuple[float, ...], turns: tuple[float, ...]
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
