"""What scenes are put together from: site, draft and kind, places in and round the box, and what came out in the end.

Places are drawn at random from the generator that is handed in; nothing here renders or decides a label.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import cos, radians, sin

import numpy as np

from runner.calibrate.judge_set.desk import Desk, Layout, Placed
from runner.kinematics.model import FloatArray
from runner.twin.world import Resting, Truth
from runs.schema.geometry import TablePoint
from runs.schema.verdict import JudgedStage


@dataclass(frozen=True, slots=True, eq=False)
class Site:
    """Where a scene's things start: block, box, and the arm turned to where it leaves both in sight."""

    block: Resting
    box: Resting
    aside_deg: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Draft:
    """A scene to be tried: how it begins beyond the site's own start, and how it ends."""

    after: Layout
    extras_before: dict[int, Placed] = field(default_factory=dict)
    block_before: Placed | None = None


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of scene. `share` is its part of all scenes of its stage, percent; `label` what it comes out as."""

    name: str
    stage: JudgedStage
    label: bool
    share: float
    draft: Callable[[Desk, Site, np.random.Generator], Draft | None]
    wanted: Callable[[Desk, Site, Truth], bool]


# Places in and round the box.


def half_inner_m(desk: Desk) -> tuple[float, float]:
    """Half the box's inner sides, metres."""
    box = desk.config.box
    return tuple((side / 2 - box.wall_mm) / 1000.0 for side in box.outside_mm)  # type: ignore[return-value]


def from_box(box: Resting, along_m: float, across_m: float) -> TablePoint:
    yaw = radians(box.yaw_deg)
    return (
        box.xz_m[0] + along_m * cos(yaw) - across_m * sin(yaw),
        box.xz_m[1] + along_m * sin(yaw) + across_m * cos(yaw),
    )


def half_width_m(desk: Desk, turn_deg: float) -> float:
    """Half the width of a block that is turned against the wall."""
    turn = radians(turn_deg)
    return desk.config.block.side_mm / 2000.0 * (abs(cos(turn)) + abs(sin(turn)))


def beyond_wall(
    desk: Desk, site: Site, rng: np.random.Generator, out_m: float, turn_deg: float, bottom_m: float
) -> Placed:
    """A block with its middle `out_m` beyond a wall's inner face, anywhere along that wall."""
    half = half_inner_m(desk)
    side = int(rng.integers(4))
    far = half[side % 2] + out_m
    near = float(rng.uniform(-0.8, 0.8)) * half[1 - side % 2]
    sign = 1.0 if side < 2 else -1.0
    local = (sign * far, near) if side % 2 == 0 else (near, sign * far)
    return Placed(from_box(site.box, *local), bottom_m, site.box.yaw_deg + turn_deg)


def inside(desk: Desk, site: Site, rng: np.random.Generator, *, drop_m: float = 0.04) -> Placed:
    """Somewhere in the box, dropped from a little above with a little tilt."""
    yaw = float(rng.uniform(-180, 180))
    half, room = half_inner_m(desk), half_width_m(desk, yaw - site.box.yaw_deg) + 0.003
    local = tuple(float(rng.uniform(-1, 1)) * (h - room) for h in half)
    tilt = (float(rng.uniform(-8, 8)), float(rng.uniform(-8, 8)))
    return Placed(from_box(site.box, local[0], local[1]), 0.006 + float(rng.uniform(0, drop_m)), yaw, tilt)


def at_wall(desk: Desk, site: Site, rng: np.random.Generator) -> Placed:
    turn = float(rng.choice([0.0, float(rng.uniform(-45, 45))]))
    return beyond_wall(desk, site, rng, -half_width_m(desk, turn) - float(rng.uniform(0.0002, 0.002)), turn, 0.0035)


def in_corner(desk: Desk, site: Site, rng: np.random.Generator) -> Placed:
    turn = float(rng.uniform(-12, 12))
    away = [half_width_m(desk, turn) + float(rng.uniform(0.0002, 0.002)) for _ in range(2)]
    signs = rng.choice([-1.0, 1.0], 2)
    local = [float(s) * (h - a) for s, h, a in zip(signs, half_inner_m(desk), away, strict=True)]
    return Placed(from_box(site.box, local[0], local[1]), 0.0035, site.box.yaw_deg + turn)


def rim_m(desk: Desk) -> float:
    return desk.config.box.wall_height_mm / 1000.0


def at_start(site: Site) -> Placed:
    return Placed(site.block.xz_m, 0.0, site.block.yaw_deg)


def elsewhere(desk: Desk, site: Site, rng: np.random.Generator, *, apart_m: float = 0.09) -> Placed | None:
    """Somewhere free on the table, on the side where blocks start or near it."""
    space = desk.config.workspace
    for _ in range(60):
        x, z = float(rng.uniform(-0.30, space.x_m[1] - 0.05)), float(rng.uniform(0.06, space.z_m[1] - 0.05))
        near_box = np.hypot(x - site.box.xz_m[0], z - site.box.xz_m[1]) < 0.115
        near_base = np.hypot(x, z) < 0.15
        if not near_box and not near_base and np.hypot(x - site.block.xz_m[0], z - site.block.xz_m[1]) > apart_m:
            return Placed((x, z), 0.0, float(rng.uniform(-180, 180)))
    return None


def other_colour(desk: Desk, rng: np.random.Generator) -> int:
    """The number of an extra block of another colour."""
    return int(rng.integers(1, len(desk.colours)))


def ends(site: Site, block: Placed, **more: object) -> Layout:
    return Layout(block, site.box, site.aside_deg, **more)  # type: ignore[arg-type]


# What must have come out.


def ended_in_box(desk: Desk, site: Site, truth: Truth) -> bool:
    return truth.block_in_box


def ended_out_of_box(desk: Desk, site: Site, truth: Truth) -> bool:
    return not truth.block_in_box


def ended_on_rim(desk: Desk, site: Site, truth: Truth) -> bool:
    return not truth.block_in_box and not truth.block_on_table and truth.block_m[1] > rim_m(desk)


def ended_on_table(desk: Desk, site: Site, truth: Truth) -> bool:
    return truth.block_on_table and not truth.block_in_box


def ended_held(desk: Desk, site: Site, truth: Truth) -> bool:
    return truth.block_held


def ended_not_held(desk: Desk, site: Site, truth: Truth) -> bool:
    return not truth.block_held


def ended_hidden(desk: Desk, site: Site, truth: Truth) -> bool:
    return desk.visible() < 0.12 and not truth.block_held
