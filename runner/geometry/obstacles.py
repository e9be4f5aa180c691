"""What a path is checked among: table, box walls, camera mast, a block on the table in the cell frame, a held block.

Made from the cell's settings and from what was detected. Knows no arm.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import cos, radians, sin

import numpy as np

from runner.config import Config
from runner.kinematics.model import FloatArray
from runs.schema.geometry import TablePoint

BOX_FLOOR = "box floor"
_MAST_HEIGHT_M = 1.0


@dataclass(frozen=True, slots=True)
class BoxOnTable:
    """The open box: where it stands and what it measures."""

    xz_m: TablePoint
    yaw_deg: float
    outside_mm: tuple[float, float]
    wall_height_mm: float
    wall_mm: float


@dataclass(frozen=True, slots=True)
class BlockOnTable:
    """A cube that lies on the table."""

    xz_m: TablePoint
    yaw_deg: float
    side_mm: float


@dataclass(frozen=True, slots=True)
class Mast:
    """The camera's vertical mast."""

    xz_m: TablePoint
    radius_m: float


@dataclass(frozen=True, slots=True, eq=False)
class HeldBlock:
    """A cube between the jaws; it moves with them and may touch nothing either."""

    T_tcp_block: FloatArray  # (4, 4): the cube's centre and edges in the tool frame
    side_mm: float


@dataclass(frozen=True, slots=True, eq=False)
class Obstacles:
    """All that a path is checked among: what stands still, how far the jaws are open, and what they hold.

    The table's top is y = 0. `held_may_rest`: the held block's clearance to the table is left out, for a path that
    begins or ends with it standing there; with `rests_in_box` its clearance to the box's floor is too.
    """

    mast: Mast | None = None
    box: BoxOnTable | None = None
    block: BlockOnTable | None = None
    opening_mm: float | None = None  # None: wide open
    held: HeldBlock | None = None
    held_may_rest: bool = False
    rests_in_box: bool = False

    def holding(self, held: HeldBlock, *, may_rest: bool = False) -> Obstacles:
        """The same with the block in the jaws and no longer on the table."""
        return replace(self, block=None, opening_mm=held.side_mm, held=held, held_may_rest=may_rest)

    def released(self) -> Obstacles:
        """The same with the jaws open, and the block neither held nor in the way."""
        return replace(self, block=None, opening_mm=None, held=None, held_may_rest=False)


@dataclass(frozen=True, slots=True, eq=False)
class Solids:
    """Upright boxes in the cell frame, metres."""

    names: tuple[str, ...]
    centre_m: FloatArray  # (O, 3)
    axes: FloatArray  # (O, 3, 3): columns are the box's own axes
    half_m: FloatArray  # (O, 3)


def obstacles_of(
    config: Config,
    *,
    box_xz_m: TablePoint | None = None,
    box_yaw_deg: float = 0.0,
    block_xz_m: TablePoint | None = None,
    block_yaw_deg: float = 0.0,
) -> Obstacles:
    """The cell's mast, and box and block where they were detected, with the sizes of the settings."""
    b = config.box
    return Obstacles(
        mast=Mast(config.camera.mast_xz_m, config.camera.mast_radius_m),
        box=None if box_xz_m is None else BoxOnTable(box_xz_m, box_yaw_deg, b.outside_mm, b.wall_height_mm, b.wall_mm),
        block=None if block_xz_m is None else BlockOnTable(block_xz_m, block_yaw_deg, config.block.side_mm),
    )


def solids_of(obstacles: Obstacles) -> Solids:
    """What stands still, as boxes: four walls and a floor, the block, the square round the mast."""
    rows: list[tuple[str, FloatArray, FloatArray, FloatArray]] = []
    if obstacles.box is not None:
        rows += _walls(obstacles.box)
    if obstacles.block is not None:
        half = obstacles.block.side_mm / 2000.0
        centre = np.array([obstacles.block.xz_m[0], half, obstacles.block.xz_m[1]])
        rows.append(("block", centre, _turned(obstacles.block.yaw_deg), np.full(3, half)))
    if obstacles.mast is not None:
        centre = np.array([obstacles.mast.xz_m[0], _MAST_HEIGHT_M / 2.0, obstacles.mast.xz_m[1]])
        half_m = np.array([obstacles.mast.radius_m, _MAST_HEIGHT_M / 2.0, obstacles.mast.radius_m])
        rows.append(("mast", centre, np.eye(3), half_m))
    return Solids(
        tuple(r[0] for r in rows),
        np.array([r[1] for r in rows]).reshape(-1, 3),
        np.array([r[2] for r in rows]).reshape(-1, 3, 3),
        np.array([r[3] for r in rows]).reshape(-1, 3),
    )


def _turned(yaw_deg: float) -> FloatArray:
    c, s = cos(radians(yaw_deg)), sin(radians(yaw_deg))
    return np.array([[c, 0.0, -s], [0.0, 1.0, 0.0], [s, 0.0, c]])


def _walls(box: BoxOnTable) -> list[tuple[str, FloatArray, FloatArray, FloatArray]]:
    axes = _turned(box.yaw_deg)
    w, d = (side / 2000.0 for side in box.outside_mm)
    h, t = box.wall_height_mm / 2000.0, box.wall_mm / 2000.0
    foot = np.array([box.xz_m[0], 0.0, box.xz_m[1]])
    shapes = [
        ((w - t, h, 0.0), (t, h, d)),
        ((-w + t, h, 0.0), (t, h, d)),
        ((0.0, h, d - t), (w, h, t)),
        ((0.0, h, -d + t), (w, h, t)),
        ((0.0, t, 0.0), (w, t, d)),
    ]
    names = ("box",) * 4 + (BOX_FLOOR,)
    return [
        (name, foot + axes @ np.array(centre), axes, np.array(half))
        for name, (centre, half) in zip(names, shapes, strict=True)
    ]
