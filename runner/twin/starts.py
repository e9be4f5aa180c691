"""Where block and box stand when a trial starts: random places from a seed, or given ones.

Each draws from its own named streams, so a given block does not move the box. Refuses starts in which things overlap.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import atan2, cos, degrees, radians, sin

import numpy as np

from runner.config import Config
from runner.kinematics.frames import BaseInCell
from runner.kinematics.model import ArmModel, FloatArray
from runner.twin.errors import StartNotPossible
from runner.twin.scene import TABLE_TOP_X_M, TABLE_TOP_Z_M
from runner.twin.streams import stream
from runner.twin.world import Resting

GAP_M = 0.010  # between block, box and base
INSIDE_M = 0.005  # things keep this far inside the workspace and the table
_TRIES = 500


@dataclass(frozen=True, slots=True)
class Start:
    """Where block and box stand."""

    block: Resting
    box: Resting


def choose_start(
    config: Config,
    arm: ArmModel,
    seed: int,
    *,
    block_xz_m: tuple[float, float] | None = None,
    box_xz_m: tuple[float, float] | None = None,
    block_yaw_deg: float | None = None,
    box_yaw_deg: float | None = None,
) -> Start:
    """The start for a seed; what is given stands as given, the rest is drawn.

    Raises:
        StartNotPossible: given places overlap, or nothing free was found beside them.
    """
    places, yaws = stream(seed, "block place"), stream(seed, "block yaw")
    box_places, box_yaws = stream(seed, "box place"), stream(seed, "box yaw")
    draws = config.twin
    for _ in range(_TRIES):
        block = Resting(
            block_xz_m or _in_ring(places, draws.block_r_m, config, x_from=draws.block_x_min_m),
            block_yaw_deg if block_yaw_deg is not None else float(yaws.uniform(-180.0, 180.0)),
        )
        box = Resting(
            box_xz_m or _in_ring(box_places, draws.box_r_m, config, x_to=draws.box_x_max_m),
            box_yaw_deg if box_yaw_deg is not None else float(box_yaws.uniform(-180.0, 180.0)),
        )
        wrong = _what_is_wrong(config, arm, block, box, check_block=block_xz_m is None, check_box=box_xz_m is None)
        if wrong is None:
            return Start(block, box)
        given = (block_xz_m, box_xz_m, block_yaw_deg, box_yaw_deg)
        if None not in given or "not be on the table" in wrong:
            break
    raise StartNotPossible(wrong or "no free place")


def footprint(where: Resting, size_m: tuple[float, float]) -> FloatArray:
    """Corners (4, 2) of a rectangle on the table, metres, cell frame (x, z)."""
    yaw = radians(where.yaw_deg)
    along, across = np.array([cos(yaw), sin(yaw)]), np.array([-sin(yaw), cos(yaw)])
    half = np.array(size_m) / 2.0
    signs = ((1, 1), (-1, 1), (-1, -1), (1, -1))
    return np.array([np.array(where.xz_m) + a * half[0] * along + b * half[1] * across for a, b in signs])


def gap_m(one: FloatArray, other: FloatArray) -> float:
    """Largest separation of two convex polygons along any of their edges' normals; negative where they overlap."""
    best = -np.inf
    for polygon in (one, other):
        edges = np.roll(polygon, -1, axis=0) - polygon
        normals = np.stack([edges[:, 1], -edges[:, 0]], axis=1) / np.linalg.norm(edges, axis=1, keepdims=True)
        for normal in normals:
            a, b = one @ normal, other @ normal
            best = max(best, float(b.min() - a.max()), float(a.min() - b.max()))
    return best


def _in_ring(
    rng: np.random.Generator, r_m: tuple[float, float], config: Config, x_from: float = -np.inf, x_to: float = np.inf
) -> tuple[float, float]:
    """A point of the ring round the base axis, evenly over its area, with x in range and before the base."""
    shift = config.arm.base_shift_m
    while True:
        r = float(np.sqrt(rng.uniform(r_m[0] ** 2, r_m[1] ** 2)))
        angle = float(rng.uniform(0.0, np.pi))
        x, z = r * cos(angle) + shift[0], r * sin(angle) + shift[2]
        if x_from <= x <= x_to:
            return x, z


def _what_is_wrong(
    config: Config, arm: ArmModel, block: Resting, box: Resting, *, check_block: bool, check_box: bool
) -> str | None:
    side = config.block.side_mm / 1000.0
    block_at = footprint(block, (side, side))
    box_at = footprint(box, (config.box.outside_mm[0] / 1000.0, config.box.outside_mm[1] / 1000.0))
    base_at = _base_footprint(config, arm)
    for what, corners in (("block", block_at), ("box", box_at)):
        if not _within(corners, TABLE_TOP_X_M, TABLE_TOP_Z_M):
            return f"the {what} would not be on the table"
    if gap_m(block_at, box_at) < GAP_M:
        return "block and box overlap"
    if gap_m(box_at, base_at) < GAP_M:
        return "the box stands in the arm's base"
    if gap_m(block_at, base_at) < GAP_M:
        return "the block lies in the arm's base"
    space = config.workspace
    if check_block and not _within(block_at, space.x_m, space.z_m):
        return "the block would lie outside the workspace"
    if check_box and not _within(box_at, space.x_m, space.z_m):
        return "the box would stand outside the workspace"
    return None


def _within(corners: FloatArray, x_m: tuple[float, float], z_m: tuple[float, float]) -> bool:
    lo, hi = corners.min(axis=0) - INSIDE_M, corners.max(axis=0) + INSIDE_M
    return bool(lo[0] >= x_m[0] and hi[0] <= x_m[1] and lo[1] >= z_m[0] and hi[1] <= z_m[1])


def _base_footprint(config: Config, arm: ArmModel) -> FloatArray:
    """The box shells of the base on the table, as one rectangle."""
    boxes = [
        (np.array(s.centre_mm[:2]), np.array(s.half_mm[:2]))
        for s in arm.data.shape
        if s.link == 0 and s.centre_mm is not None and s.half_mm is not None
    ] or [(np.zeros(2), np.full(2, 30.0))]
    boxes_lo = np.min([centre - half for centre, half in boxes], axis=0) / 1000.0
    boxes_hi = np.max([centre + half for centre, half in boxes], axis=0) / 1000.0
    base = BaseInCell.at(config.arm.base_shift_m, config.arm.base_yaw_deg)
    middle = base.to_cell(np.array([*(boxes_lo + boxes_hi) / 2, 0.0]))
    ahead = base.turn_to_cell(np.array([1.0, 0.0, 0.0]))
    size = boxes_hi - boxes_lo
    yaw = degrees(atan2(ahead[2], ahead[0]))
    return footprint(Resting((float(middle[0]), float(middle[2])), yaw), (float(size[0]), float(size[1])))
