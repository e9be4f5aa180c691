"""Makes rows of the reach table: grids of joint offsets round base poses, spread samples, the default cell's table.

Only forward kinematics and what `postures.py` solves; reads no file and writes none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from runner.config import Config
from runner.kinematics.fk import checked_joints
from runner.kinematics.frames import BaseInCell, tool_points_cell_m
from runner.kinematics.ik.protocol import JointLimits
from runner.kinematics.model import ArmModel, FloatArray
from runner.table.errors import BadQuery
from runner.table.merge import first_alike
from runner.table.postures import Postures, planning_limits, solve_postures
from runner.table.rows import CellOfTable, ReachTable, RowBatch, make_table, now_utc

Progress = Callable[[float, str], None]
"""Called with the share done, 0…1, and what is being done."""

FIELD_OFFSETS_DEG = (-15.0, -10.0, -5.0, 0.0, 5.0, 10.0, 15.0)

_ROUND_DEG = 3  # decimals of scanned joints: 0.001° moves the tool by at most 6 µm
_PICK_TILTS_DEG = (20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0)
_PICK_TURNS_DEG = (-45.0, -30.0, -15.0, 0.0, 15.0, 30.0, 45.0)
_PLACE_TILTS_DEG = (0.0, 15.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0)
_PLACE_TURNS_DEG = (-30.0, -15.0, 0.0, 15.0, 30.0)
_RADIUS_STEP_M = 0.010
_J0_STEP_DEG = 2.5
_HEIGHT_STEP_M = 0.008
REGION_X_M = (-0.37, 0.37)
REGION_Z_M = (-0.06, 0.37)


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Poses and their tool points, before they are a table."""

    points_m: FloatArray  # (N, 3), cell frame
    joints_deg: FloatArray  # (N, n_joints)
    dropped_outside: int
    dropped_double: int


def quiet(share: float, what: str) -> None:
    """Progress for those who don't look."""


def scan(
    base_poses_deg: FloatArray,
    arm: ArmModel,
    base: BaseInCell,
    *,
    limits: JointLimits | None = None,
    joints: Sequence[int] = (1, 2, 3, 4, 5),
    offsets_deg: Sequence[float] = FIELD_OFFSETS_DEG,
    drop_doubles: bool = False,
) -> Rows:
    """Every combination of offsets at the given joints round every base pose, in order, as the field scanned.

    Args:
        base_poses_deg: (K, n_joints); K = 9 and the field's offsets at five joints give 151,263 rows.
        arm: with its tool.
        base: where it stands.
        limits: rows outside are dropped and counted; None keeps all.
        joints: which joints are offset, by index.
        offsets_deg: the steps of each.
        drop_doubles: keep the first of rows with the same joints.

    Raises:
        WrongJoints: base poses that are not finite angles of this arm.
        BadQuery: a joint that the arm has not, or one named twice.
    """
    poses = np.atleast_2d(checked_joints(np.asarray(base_poses_deg, dtype=float), arm))
    if len(set(joints)) != len(joints) or not all(0 <= j < arm.n_joints for j in joints):
        raise BadQuery("joints", f"must be different joints of 0…{arm.n_joints - 1}, got {list(joints)}")
    grid = np.stack(np.meshgrid(*[np.asarray(offsets_deg, dtype=float)] * len(joints), indexing="ij"), axis=-1)
    grid = grid.reshape(-1, len(joints))
    rows = np.repeat(poses, len(grid), axis=0)
    rows[:, list(joints)] += np.tile(grid, (len(poses), 1))
    return _rows(rows, arm, base, limits, drop_doubles)


def sample(count: int, arm: ArmModel, base: BaseInCell, *, limits: JointLimits, seed: int, spread: bool = True) -> Rows:
    """Poses all over the limits: low-discrepancy, or uniform with `spread` off. A seed fixes them.

    Raises:
        BadQuery: a count below one.
    """
    if count < 1:
        raise BadQuery("count", f"must be at least 1, got {count}")
    rng = np.random.default_rng(seed)
    shares = _spread(count, arm.n_joints, rng) if spread else rng.random((count, arm.n_joints))
    joints = np.round(limits.min_deg + shares * (limits.max_deg - limits.min_deg), _ROUND_DEG)
    return _rows(joints, arm, base, limits, False)


def _spread(count: int, dims: int, rng: np.random.Generator) -> FloatArray:
    """A low-discrepancy sequence in the unit cube, shape (count, dims), begun at a random place.

    Source: M. Roberts, The unreasonable effectiveness of quasirandom sequences (2018): steps of 1/g, 1/g², … with
    g the root of g^(dims + 1) = g + 1; shifted as a whole (Cranley and Patterson, 1976).
    """
    g = 2.0
    for _ in range(60):
        g = (1.0 + g) ** (1.0 / (dims + 1))
    steps = g ** -np.arange(1.0, dims + 1.0)
    return np.asarray((rng.random(dims) + np.arange(1, count + 1)[:, None] * steps) % 1.0)


def default_scan(arm: ArmModel, base: BaseInCell, config: Config, progress: Progress = quiet) -> ReachTable:
    """The default cell's own table: level-jaw postures over the whole pick and place regions, turned round the base.

    Pick heights come with headings up to 45° off the radial, place heights up to 30°.
    """
    limits = planning_limits(arm, config)
    parts: list[FloatArray] = []
    batches: list[RowBatch] = []
    share = 0.0
    for phase, tilts, turns, heights in _plan_of_heights(config):
        progress(share, f"solving postures for {phase}")
        radii = np.arange(0.08, 0.37, _RADIUS_STEP_M)
        levels = np.array(heights) - base.shift_m[1]
        found = solve_postures(arm, limits, tilts_deg=tilts, turns_deg=turns, radii_m=radii, heights_m=levels)
        progress(share + 0.25, f"turning them round the base for {phase}")
        rows = _turned_round(found, arm, base, config, limits)
        parts.append(rows.joints_deg)
        source = f"default scan {phase}: tilts {_list(tilts)}°, turns {_list(turns)}°, heights {_list(heights)} m"
        batches.append(RowBatch(rows=len(rows.joints_deg), source=source, made_at=now_utc()))
        share += 0.5
    joints = np.concatenate(parts)
    points = tool_points_cell_m(joints, arm, base)
    progress(1.0, f"{len(joints):,} rows")
    return make_table(points, joints, CellOfTable.of(config), batches)


def _plan_of_heights(
    config: Config,
) -> list[tuple[str, tuple[float, ...], tuple[float, ...], tuple[float, ...]]]:
    t = config.table
    return [
        ("pick", _PICK_TILTS_DEG, _PICK_TURNS_DEG, _levels(t.grasp_y_m, t.pick_band_y_m)),
        ("place", _PLACE_TILTS_DEG, _PLACE_TURNS_DEG, _levels(t.release_y_m, t.place_band_y_m)),
    ]


def _levels(height_m: float, band_m: tuple[float, float]) -> tuple[float, ...]:
    """Three heights inside the band, round the one that is aimed at."""
    lo, hi = band_m
    middle = min(max(height_m, lo), hi - 1e-3)
    steps = (middle - _HEIGHT_STEP_M, middle, middle + _HEIGHT_STEP_M)
    return tuple(round(y, 6) for y in steps if lo <= y < hi)


def _turned_round(found: Postures, arm: ArmModel, base: BaseInCell, config: Config, limits: JointLimits) -> Rows:
    """Each posture at every step of j0, where its tool point is over the regions of the table that count."""
    step = _J0_STEP_DEG
    sweep = np.arange(-np.floor(180 / step), np.floor(180 / step) + 1) * step
    joints = np.repeat(found.joints_deg, len(sweep), axis=0)
    joints[:, 0] += np.tile(sweep, len(found.joints_deg))
    turned = np.radians(90.0 + config.arm.base_yaw_deg + np.tile(sweep, len(found.joints_deg)))
    radius = np.repeat(found.radius_m, len(sweep))
    x, z = base.shift_m[0] + radius * np.cos(turned), base.shift_m[2] + radius * np.sin(turned)
    over = (x >= REGION_X_M[0]) & (x <= REGION_X_M[1]) & (z >= REGION_Z_M[0]) & (z <= REGION_Z_M[1])
    return _rows(np.round(joints[over], _ROUND_DEG), arm, base, limits, False)


def _rows(joints: FloatArray, arm: ArmModel, base: BaseInCell, limits: JointLimits | None, drop_doubles: bool) -> Rows:
    outside = doubled = 0
    if limits is not None:
        inside = ((joints >= limits.min_deg) & (joints <= limits.max_deg)).all(axis=1)
        outside, joints = int(np.count_nonzero(~inside)), joints[inside]
    if drop_doubles:
        kept = first_alike(joints.T) == np.arange(len(joints))
        doubled, joints = int(np.count_nonzero(~kept)), joints[kept]
    return Rows(tool_points_cell_m(joints, arm, base), joints, outside, doubled)


def _list(numbers: Sequence[float]) -> str:
    return ", ".join(f"{n:g}" for n in numbers)
