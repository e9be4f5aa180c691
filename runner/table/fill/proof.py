"""Proof that a square can't be filled: no pose leads there, or every pose collides; how near one comes, what forbids.

First the lengths of the links; then every posture of a stated grid of tilts, headings and heights is solved; then the
nearest misses are polished; and a covering of the whole joint space shows that nothing lies between. A square for which
that does not come out stays undecided: a grid alone is no proof.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from runner.config import Config
from runner.geometry import clearances, each_clearance_mm, first_broken, margin_mm, obstacles_of
from runner.kinematics.errors import NoClosedForm
from runner.kinematics.fk import tool_points_m
from runner.kinematics.frames import BaseInCell, tool_points_cell_m
from runner.kinematics.ik.closed import ClosedForm
from runner.kinematics.ik.dls import DampedLeastSquares
from runner.kinematics.ik.protocol import JointLimits
from runner.kinematics.model import ArmModel, FloatArray
from runner.table.approach import GridSquare
from runner.table.fill.covering import Covering, Ring, no_pose_in_ring, straight_reach_m
from runner.table.fill.direct import toward_base
from runner.table.fill.proof_file import Searched, SquareProof
from runner.table.postures import radial_heading_deg, radius_m, rotations, wrapped_deg
from runner.table.region import Ground, Square
from runner.table.scan import Progress, quiet
from runs.schema.geometry import TablePoint

GRID_TILTS_DEG = tuple(float(t) for t in range(-90, 91, 5))
GRID_TURNS_DEG = tuple(float(t) for t in range(-165, 181, 15))
_GRID_STARTS = ((60.0, -40.0, 0.0, 20.0), (80.0, -70.0, 14.0, 0.0))  # j1…j4
_LEVELS = 4  # heights, the band's ends among them
GRID_POSTURES = len(GRID_TILTS_DEG) * len(GRID_TURNS_DEG) * _LEVELS * 2
GRID_SAID = (
    f"tilts {GRID_TILTS_DEG[0]:g}…{GRID_TILTS_DEG[-1]:g}° in steps of {GRID_TILTS_DEG[1] - GRID_TILTS_DEG[0]:g}°, "
    f"headings all round in steps of {GRID_TURNS_DEG[1] - GRID_TURNS_DEG[0]:g}°, {_LEVELS} heights, at the centre "
    "and at the point nearest to the base; every branch of an arm with a closed form, else from two starts"
)
_AT_LIMIT_DEG = 0.05
_THERE_MM = 0.02  # a polished pose this near to a square lies in it
_POSES_AT_ONCE = 1024  # it is enough to find some that are clear
_BEYOND_M = 2.0  # farther than any arm on a table


@dataclass(frozen=True, slots=True, eq=False)
class _Miss:
    """The pose that comes nearest to a square."""

    mm: float
    joints_deg: FloatArray
    target_m: FloatArray  # the point of the square's space that it is nearest to, base frame
    turned_deg: float  # what j0 still needs


def row_limits(arm: ArmModel, config: Config) -> JointLimits:
    """Where rows count: inside the hard limits and up to j1's safe maximum."""
    safe = {1: config.arm.j1_safe_max_deg} if arm.n_joints > 1 else None
    return JointLimits.of(arm, margin_deg=config.arm.limit_margin_deg, max_deg=safe)


@dataclass(frozen=True, slots=True, eq=False)
class Proved:
    """What came out. Squares that are in neither stay undecided."""

    proofs: tuple[SquareProof, ...]
    searched: Searched
    clear_deg: dict[Square, FloatArray]  # poses (N, n_joints) in squares that had no way: not proved, but found


def prove(
    squares: Sequence[Square],
    arm: ArmModel,
    base: BaseInCell,
    config: Config,
    ground: Ground,
    progress: Progress = quiet,
) -> Proved:
    """What keeps squares from being filled.

    Args:
        squares: centres of squares that have no way yet.
        arm: with its tool.
        base: where it stands.
        config: limits, margins and what stands in the cell.
        ground: the band of heights and the tolerance.
        progress: told how far it is.
    """
    limits = row_limits(arm, config)
    band = ground.band_y_m[0] - float(base.shift_m[1]), ground.band_y_m[1] - float(base.shift_m[1])
    straight_m = straight_reach_m(arm, band)
    radii = {s: radii_m(s, base, ground.tolerance_mm) for s in squares}
    within = [s for s in squares if radii[s][0] <= straight_m]
    progress(0.0, f"polishing the nearest misses of {len(squares)} squares")
    misses = _nearest_misses(squares, band, arm, base, limits, ground.tolerance_mm)
    found: dict[Square, FloatArray] = {}
    for i, s in enumerate(within):
        progress(0.2 + 0.4 * i / len(within), f"solving every posture of the grid in square {i + 1} of {len(within)}")
        found[s] = _grid_poses(s, band, arm, base, limits, ground, misses[s])
    empty = [s for s in within if not len(found[s])]
    reached = [s for s in empty if misses[s].mm <= _THERE_MM]  # but for where j0 may stand
    progress(0.6, "covering the joint space")
    covering = _covered([radii[s] for s in empty if s not in reached], band, arm, limits)
    proofs: list[SquareProof] = []
    clear: dict[Square, FloatArray] = {}
    for s in squares:
        if len(found.get(s, ())):
            blocked, poses = _sorted_by_clearance(s, found[s], arm, base, config)
            if blocked is None:
                clear[s] = poses
            else:
                proofs.append(blocked)
        elif s in reached:
            proofs.append(_beyond_j0(s, misses[s], arm, base, limits))
        elif s not in within or (covering is not None and covering.proved):
            proofs.append(_unreachable(s, radii[s][0] - straight_m, misses[s], arm, base, limits))
    searched = Searched(
        straight_reach_m=straight_m,
        by_lengths=len(squares) - len(within),
        grid=GRID_SAID,
        grid_postures_a_square=GRID_POSTURES,
        grid_squares=len(within),
        covered_from_m=None if covering is None else covering.ring.radius_m[0],
        covered_to_m=None if covering is None else covering.ring.radius_m[1],
        covering_pieces=None if covering is None else covering.pieces,
        covering_proved=None if covering is None else covering.proved,
    )
    return Proved(tuple(proofs), searched, clear)


def without_approach(
    clear_deg: dict[Square, FloatArray], served: Sequence[GridSquare], arm: ArmModel, base: BaseInCell
) -> tuple[SquareProof, ...]:
    """Squares that hold clear poses, but none that an approach leads to, along the tool or from straight above."""
    have = {(s.x_mm, s.z_mm) for s in served}
    why = "no approach: from none of {} poses there the tool can be lifted straight, within the joint tolerance"
    return tuple(
        _record(s, "unreachable", "grid", why.format(len(poses)), 0.0, poses[0], arm, base)
        for s, poses in clear_deg.items()
        if s not in have
    )


def radii_m(square: Square, base: BaseInCell, tolerance_mm: float) -> tuple[float, float]:
    """The least and the largest distance of the square's points from the base axis."""
    near, far = _corners(square, base, tolerance_mm)
    return radius_m(near, base), radius_m(far, base)


def _levels(band: tuple[float, float]) -> FloatArray:
    lo, hi = band
    return np.linspace(lo, hi, _LEVELS)


def _covered(
    radii: list[tuple[float, float]], band: tuple[float, float], arm: ArmModel, limits: JointLimits
) -> Covering | None:
    """One covering for all squares that the grid found nothing in; where it can, for everything beyond them too."""
    if not radii:
        return None
    nearest, farthest = min(r for r, _ in radii), max(r for _, r in radii)
    beyond = no_pose_in_ring(arm, limits, Ring((nearest, _BEYOND_M), band))
    return beyond if beyond.proved else no_pose_in_ring(arm, limits, Ring((nearest, farthest), band))


def _nearest_misses(
    squares: Sequence[Square], band: tuple[float, float], arm: ArmModel, base: BaseInCell, limits: JointLimits,
    tolerance_mm: float,
) -> dict[Square, _Miss]:  # fmt: skip
    """Position only, from spread starts, to the nearest and farthest points of each square's space; the best each."""
    corners = {s: _corners(s, base, tolerance_mm) for s in squares}
    goals = np.array([(radius_m(p, base), 0.0, h) for pair in corners.values() for p in pair for h in band])
    goals = goals.reshape(-1, 3)
    starts = np.clip(np.array([(0.0, *s, 0.0) for s in _GRID_STARTS]), limits.min_deg, limits.max_deg)
    solver = DampedLeastSquares(arm, limits=limits, tolerance_m=1e-6, max_steps=120)
    tried = [solver.solve_many(goals, None, None, np.tile(start, (len(goals), 1))) for start in starts]
    mm = np.stack([t.residual_mm for t in tried], axis=1).reshape(len(squares), -1)
    joints = np.stack([t.angles_deg for t in tried], axis=1).reshape(len(squares), -1, arm.n_joints)
    azimuth = float(np.degrees(np.arctan2(base.M[2, 0], base.M[0, 0])))
    misses: dict[Square, _Miss] = {}
    for i, square in enumerate(squares):
        best = int(np.argmin(mm[i]))
        which = best // len(starts)  # of the square's four goals
        turned = wrapped_deg(radial_heading_deg(corners[square][which // len(band)], base) - azimuth)
        misses[square] = _Miss(float(mm[i, best]), joints[i, best].copy(), goals[i * 4 + which], turned)
    return misses


def _corners(square: Square, base: BaseInCell, tolerance_mm: float) -> tuple[TablePoint, TablePoint]:
    """The square's points that are nearest to the base axis and farthest from it."""
    centre = np.array(square) / 1000.0
    d = centre - base.shift_m[[0, 2]]
    near = centre - np.sign(d) * np.minimum(np.abs(d), tolerance_mm / 1000.0)
    far = centre + np.where(d < 0, -1.0, 1.0) * tolerance_mm / 1000.0
    return (float(near[0]), float(near[1])), (float(far[0]), float(far[1]))


def _grid_poses(
    square: Square, band: tuple[float, float], arm: ArmModel, base: BaseInCell, limits: JointLimits, ground: Ground,
    miss: _Miss,
) -> FloatArray:  # fmt: skip
    """Poses in the square's space, from the stated grid and from the polished miss, shape (N, n_joints)."""
    centre = (square[0] / 1000.0, square[1] / 1000.0)
    corner = toward_base(centre, base, 1.0, 0.999 * ground.tolerance_mm / 1000.0)
    levels = np.clip(_levels(band), band[0], band[1] - 1e-6) + base.shift_m[1]
    tilt, turn, level, place = (
        a.ravel() for a in np.meshgrid(GRID_TILTS_DEG, GRID_TURNS_DEG, levels, np.arange(2), indexing="ij")
    )
    xz = np.array([centre, corner])[place.astype(int)]
    radial = np.array([radial_heading_deg(p, base) for p in (centre, corner)])[place.astype(int)]
    points = base.to_base(np.stack((xz[:, 0], level, xz[:, 1]), axis=1))
    poses = _solved(points, rotations(tilt, radial + turn, base), arm, limits, miss)
    if miss.mm <= _THERE_MM:
        polished = miss.joints_deg.copy()
        polished[0] += miss.turned_deg
        poses = np.vstack((poses, polished))
    at = tool_points_cell_m(poses, arm, base)
    off = np.abs(at[:, [0, 2]] - centre).max(axis=1) * 1000.0
    height_ok = (at[:, 1] >= ground.band_y_m[0] - 1e-5) & (at[:, 1] < ground.band_y_m[1] + 1e-5)
    keep = (off <= ground.tolerance_mm + 1e-2) & height_ok & np.array([limits.hold(p) for p in poses], dtype=bool)
    return np.asarray(poses[keep])


def _solved(points: FloatArray, frames: FloatArray, arm: ArmModel, limits: JointLimits, miss: _Miss) -> FloatArray:
    """Every branch of every target where the arm has a closed form, else what two starts lead to."""
    try:
        solver = ClosedForm(arm, limits=limits)
    except NoClosedForm:
        starts = [np.array((miss.turned_deg, *s, 0.0)) for s in _GRID_STARTS]
        inside = [np.tile(np.clip(s, limits.min_deg, limits.max_deg), (len(points), 1)) for s in starts]
        found = [
            DampedLeastSquares(arm, limits=limits, max_steps=40).solve_many(points, frames, None, s) for s in inside
        ]
        return np.vstack([f.angles_deg[f.converged] for f in found])
    targets = np.zeros((len(points), 4, 4))
    targets[:, :3, :3], targets[:, :3, 3], targets[:, 3, 3] = frames, points, 1.0
    return solver.solve_all_batch(targets).angles_deg


def _sorted_by_clearance(
    square: Square, poses: FloatArray, arm: ArmModel, base: BaseInCell, config: Config
) -> tuple[SquareProof | None, FloatArray]:
    """The proof that every pose collides, or None and those that do not, the clearest first."""
    obstacles = obstacles_of(config)
    spare, against = np.empty(len(poses)), np.empty(len(poses), dtype=object)
    for start in range(0, len(poses), _POSES_AT_ONCE):
        part = slice(start, start + _POSES_AT_ONCE)
        found = each_clearance_mm(poses[part], arm, base, obstacles)
        names = list(found)
        beyond = np.stack([found[name] - margin_mm(name, config.guard) for name in names])
        spare[part], against[part] = beyond.min(axis=0), np.array(names, dtype=object)[beyond.argmin(axis=0)]
        clear = np.flatnonzero(spare[: part.stop] >= 0.0)
        if len(clear):
            return None, poses[clear[np.argsort(-spare[clear], kind="stable")]]
    best = int(np.argmax(spare))
    nearest = first_broken(clearances(poses[best], arm, base, obstacles), config.guard)
    assert nearest is not None
    asked = margin_mm(nearest.against, config.guard)
    names_said = ", ".join(f"the {name} {count} times" for name, count in Counter(against.tolist()).most_common())
    why = (
        f"each of {len(poses)} poses there collides ({names_said}); at best the {nearest.what} is {nearest.mm:.1f} mm "
        f"from the {nearest.against}, and {asked:.1f} mm are kept"
    )
    return _record(square, "blocked", "grid", why, 0.0, poses[best], arm, base), poses[:0]


def _beyond_j0(square: Square, miss: _Miss, arm: ArmModel, base: BaseInCell, limits: JointLimits) -> SquareProof:
    turned = miss.joints_deg.copy()
    turned[0] = (turned[0] + miss.turned_deg + 180.0) % 360.0 - 180.0
    off = max(float(limits.min_deg[0] - turned[0]), float(turned[0] - limits.max_deg[0]), 0.0)
    lo, hi = float(limits.min_deg[0]), float(limits.max_deg[0])
    why = f"j0 would have to stand at {turned[0]:.0f}° and goes from {lo:g}° to {hi:g}°, {off:.0f}° too little"
    return _record(
        square, "unreachable", "grid", why, 0.0, np.clip(turned, limits.min_deg, limits.max_deg), arm, base, ("j0",)
    )


def _unreachable(
    square: Square, short_m: float, miss: _Miss, arm: ArmModel, base: BaseInCell, limits: JointLimits
) -> SquareProof:
    at_limit = _pressed(miss, arm, limits)
    if short_m > 0:
        why = f"out of reach: even stretched straight the arm ends {short_m * 1000.0:.1f} mm short, whatever the limits"
    elif at_limit:
        said = " and ".join(_limit_said(j, miss.joints_deg, limits) for j in at_limit)
        why = f"{said}: the nearest pose misses by {miss.mm:.1f} mm"
    else:
        why = f"out of reach: the nearest pose inside the limits misses by {miss.mm:.1f} mm"
    names = tuple(f"j{j}" for j in at_limit)
    by: Literal["lengths", "covering"] = "lengths" if short_m > 0 else "covering"
    joints = miss.joints_deg.copy()
    joints[0] += miss.turned_deg
    proof = _record(square, "unreachable", by, why, miss.mm, joints, arm, base, names)
    return proof.model_copy(update={"short_mm": round(short_m * 1000.0, 3)}) if short_m > 0 else proof


def _pressed(miss: _Miss, arm: ArmModel, limits: JointLimits) -> list[int]:
    """Joints that stand at a limit and would come nearer if they might go on."""
    toward_target = miss.target_m - tool_points_m(miss.joints_deg, arm)
    slope = DampedLeastSquares(arm, limits=limits).jacobian(miss.joints_deg[None])[0, :3]
    pull = slope.T @ toward_target
    at_max = (limits.max_deg - miss.joints_deg <= _AT_LIMIT_DEG) & (pull > 1e-9)
    at_min = (miss.joints_deg - limits.min_deg <= _AT_LIMIT_DEG) & (pull < -1e-9)
    return [int(j) for j in np.flatnonzero(at_max | at_min)]


def _limit_said(joint: int, joints_deg: FloatArray, limits: JointLimits) -> str:
    upper = joints_deg[joint] > (limits.min_deg[joint] + limits.max_deg[joint]) / 2.0
    if upper:
        return f"j{joint} may not go over {limits.max_deg[joint]:g}°"
    return f"j{joint} may not go under {limits.min_deg[joint]:g}°"


def _record(
    square: Square,
    status: Literal["unreachable", "blocked"],
    by: Literal["lengths", "covering", "grid"],
    why: str,
    miss_mm: float,
    joints_deg: FloatArray,
    arm: ArmModel,
    base: BaseInCell,
    at_limit: tuple[str, ...] = (),
) -> SquareProof:
    x, y, z = (round(float(c), 6) for c in tool_points_cell_m(joints_deg, arm, base))
    return SquareProof(
        x_mm=square[0],
        z_mm=square[1],
        status=status,
        by=by,
        forbids=why,
        nearest_miss_mm=round(miss_mm, 3),
        nearest_deg=tuple(round(float(j), 4) for j in joints_deg),
        nearest_m=(x, y, z),
        at_limit=at_limit,
    )
