"""Kinds of scenes: for each how it is laid out, and what has to be true of it once physics has settled it.

A kind proposes; the twin disposes. What came out otherwise than the kind says is thrown away and drawn again, and a
label is read off the truth alone. Kinds whose answer is no come as near to a yes as they can.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import cos, radians, sin

import numpy as np

from runner.calibrate.judge_set.desk import AWAY, GONE, Desk, Held, Layout, Placed
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


def _half(desk: Desk) -> tuple[float, float]:
    """Half the box's inner sides, metres."""
    box = desk.config.box
    return tuple((side / 2 - box.wall_mm) / 1000.0 for side in box.outside_mm)  # type: ignore[return-value]


def _in_cell(box: Resting, along_m: float, across_m: float) -> TablePoint:
    yaw = radians(box.yaw_deg)
    return (
        box.xz_m[0] + along_m * cos(yaw) - across_m * sin(yaw),
        box.xz_m[1] + along_m * sin(yaw) + across_m * cos(yaw),
    )


def _extent(desk: Desk, turn_deg: float) -> float:
    """Half the width of a block that is turned against the wall."""
    turn = radians(turn_deg)
    return desk.config.block.side_mm / 2000.0 * (abs(cos(turn)) + abs(sin(turn)))


def _at(desk: Desk, site: Site, rng: np.random.Generator, out_m: float, turn_deg: float, bottom_m: float) -> Placed:
    """A block with its middle `out_m` beyond a wall's inner face, anywhere along that wall."""
    half = _half(desk)
    side = int(rng.integers(4))
    far = half[side % 2] + out_m
    near = float(rng.uniform(-0.8, 0.8)) * half[1 - side % 2]
    sign = 1.0 if side < 2 else -1.0
    local = (sign * far, near) if side % 2 == 0 else (near, sign * far)
    return Placed(_in_cell(site.box, *local), bottom_m, site.box.yaw_deg + turn_deg)


def _inside(desk: Desk, site: Site, rng: np.random.Generator, *, drop_m: float = 0.04) -> Placed:
    """Somewhere in the box, dropped from a little above with a little tilt."""
    yaw = float(rng.uniform(-180, 180))
    half, room = _half(desk), _extent(desk, yaw - site.box.yaw_deg) + 0.003
    local = tuple(float(rng.uniform(-1, 1)) * (h - room) for h in half)
    tilt = (float(rng.uniform(-8, 8)), float(rng.uniform(-8, 8)))
    return Placed(_in_cell(site.box, local[0], local[1]), 0.006 + float(rng.uniform(0, drop_m)), yaw, tilt)


def _at_wall(desk: Desk, site: Site, rng: np.random.Generator) -> Placed:
    turn = float(rng.choice([0.0, float(rng.uniform(-45, 45))]))
    return _at(desk, site, rng, -_extent(desk, turn) - float(rng.uniform(0.0002, 0.002)), turn, 0.0035)


def _in_corner(desk: Desk, site: Site, rng: np.random.Generator) -> Placed:
    turn = float(rng.uniform(-12, 12))
    away = [_extent(desk, turn) + float(rng.uniform(0.0002, 0.002)) for _ in range(2)]
    signs = rng.choice([-1.0, 1.0], 2)
    local = [float(s) * (h - a) for s, h, a in zip(signs, _half(desk), away, strict=True)]
    return Placed(_in_cell(site.box, local[0], local[1]), 0.0035, site.box.yaw_deg + turn)


def _rim_m(desk: Desk) -> float:
    return desk.config.box.wall_height_mm / 1000.0


def _start(site: Site) -> Placed:
    return Placed(site.block.xz_m, 0.0, site.block.yaw_deg)


def _elsewhere(desk: Desk, site: Site, rng: np.random.Generator, *, apart_m: float = 0.09) -> Placed | None:
    """Somewhere free on the table, on the side where blocks start or near it."""
    space = desk.config.workspace
    for _ in range(60):
        x, z = float(rng.uniform(-0.30, space.x_m[1] - 0.05)), float(rng.uniform(0.06, space.z_m[1] - 0.05))
        near_box = np.hypot(x - site.box.xz_m[0], z - site.box.xz_m[1]) < 0.115
        near_base = np.hypot(x, z) < 0.15
        if not near_box and not near_base and np.hypot(x - site.block.xz_m[0], z - site.block.xz_m[1]) > apart_m:
            return Placed((x, z), 0.0, float(rng.uniform(-180, 180)))
    return None


def _other(desk: Desk, rng: np.random.Generator) -> int:
    """The number of an extra block of another colour."""
    return int(rng.integers(1, len(desk.colours)))


# What must have come out.


def _in_box(desk: Desk, site: Site, truth: Truth) -> bool:
    return truth.block_in_box


def _not_in_box(desk: Desk, site: Site, truth: Truth) -> bool:
    return not truth.block_in_box


def _on_rim(desk: Desk, site: Site, truth: Truth) -> bool:
    return not truth.block_in_box and not truth.block_on_table and truth.block_m[1] > _rim_m(desk)


def _on_table(desk: Desk, site: Site, truth: Truth) -> bool:
    return truth.block_on_table and not truth.block_in_box


def _held(desk: Desk, site: Site, truth: Truth) -> bool:
    return truth.block_held


def _not_held(desk: Desk, site: Site, truth: Truth) -> bool:
    return not truth.block_held


def _hidden(desk: Desk, site: Site, truth: Truth) -> bool:
    return desk.visible() < 0.12 and not truth.block_held


# Place.


def _ends(site: Site, block: Placed, **more: object) -> Layout:
    return Layout(block, site.box, site.aside_deg, **more)  # type: ignore[arg-type]


def _clean(desk: Desk, site: Site, rng: np.random.Generator) -> Draft:
    return Draft(_ends(site, _inside(desk, site, rng)))


def _wall(desk: Desk, site: Site, rng: np.random.Generator) -> Draft:
    return Draft(_ends(site, _at_wall(desk, site, rng)))


def _corner(desk: Desk, site: Site, rng: np.random.Generator) -> Draft:
    return Draft(_ends(site, _in_corner(desk, site, rng)))


def _with_other(desk: Desk, site: Site, rng: np.random.Generator) -> Draft | None:
    """The block in the box, and one of another colour in it too or somewhere else."""
    other = _inside(desk, site, rng, drop_m=0.001) if rng.random() < 0.5 else _elsewhere(desk, site, rng)
    if other is None:
        return None
    extras = {_other(desk, rng): other}
    block = _inside(desk, site, rng, drop_m=0.002)
    if np.hypot(*np.subtract(block.xz_m, other.xz_m)) < 0.045:
        return None
    return Draft(_ends(site, block, extras=extras), extras)


def _rim(desk: Desk, site: Site, rng: np.random.Generator) -> Draft:
    """On a corner, where two walls carry it with its middle inside, or balanced on one wall."""
    height = _rim_m(desk) + 0.0003
    turn = float(rng.uniform(-45, 45))
    if rng.random() < 0.75:
        signs, off = rng.choice([-1.0, 1.0], 2), rng.uniform(-0.004, 0.016, 2)
        local = [float(s) * (h - float(o)) for s, h, o in zip(signs, _half(desk), off, strict=True)]
        return Draft(_ends(site, Placed(_in_cell(site.box, local[0], local[1]), height, site.box.yaw_deg + turn)))
    wall_m = desk.config.box.wall_mm / 1000.0
    return Draft(_ends(site, _at(desk, site, rng, float(rng.uniform(0.1, 0.9)) * wall_m, turn, height)))


def _half_in(desk: Desk, site: Site, rng: np.random.Generator) -> Draft:
    """Across the wall, with one edge on another block that lies in the box or stands outside it."""
    turn, side_m = float(rng.uniform(-10, 10)), desk.config.block.side_mm / 1000.0
    under_out_m = -side_m / 2 - 0.002 if rng.random() < 0.5 else side_m / 2 + 0.005
    under = _at(desk, site, rng, under_out_m, turn, 0.0035 if under_out_m < 0 else 0.0)
    toward = np.subtract(under.xz_m, site.box.xz_m)
    toward /= np.linalg.norm(toward)
    shift = float(rng.uniform(0.004, 0.012)) * (1 if under_out_m < 0 else -1)
    x, z = (np.array(under.xz_m) + shift * toward).tolist()
    block = Placed((x, z), _rim_m(desk) + 0.003, site.box.yaw_deg + turn)
    return Draft(_ends(site, block, extras={_other(desk, rng): under}))


def _stacked(desk: Desk, site: Site, rng: np.random.Generator) -> Draft:
    """On top of another block that lies in the box: over the floor, but out of the box."""
    where = int(rng.integers(3))
    under = (_inside, _at_wall, _in_corner)[where](desk, site, rng)
    under = Placed(under.xz_m, 0.0033, under.yaw_deg)
    height = 0.0033 + desk.config.block.side_mm / 1000.0 + 0.001
    if where:  # just over the other, so that it seems to stand against the wall
        return Draft(_ends(site, Placed(under.xz_m, height, under.yaw_deg), extras={_other(desk, rng): under}))
    x, z = (np.array(under.xz_m) + rng.uniform(-0.008, 0.008, 2)).tolist()
    top = Placed((x, z), height, float(rng.uniform(-180, 180)))
    return Draft(_ends(site, top, extras={_other(desk, rng): under}))


def _above_floor(desk: Desk, site: Site, truth: Truth) -> bool:
    return not truth.block_in_box and truth.block_m[1] > desk.config.block.side_mm / 1000.0


def _beside(desk: Desk, site: Site, rng: np.random.Generator) -> Draft:
    turn = float(rng.choice([0.0, float(rng.uniform(-45, 45))]))
    wall_m = desk.config.box.wall_mm / 1000.0
    out_m = wall_m + _extent(desk, turn) + float(rng.uniform(0.0003, 0.002))
    return Draft(_ends(site, _at(desk, site, rng, out_m, turn, 0.0003)))


def _near(desk: Desk, site: Site, rng: np.random.Generator) -> Draft:
    return Draft(_ends(site, _at(desk, site, rng, float(rng.uniform(0.028, 0.09)), float(rng.uniform(-45, 45)), 0.0)))


def _wrong_colour(desk: Desk, site: Site, rng: np.random.Generator) -> Draft:
    """Another colour in the box; the block at its start, beside the box or nowhere."""
    where = int(rng.integers(3))
    block = (_start(site), Placed(GONE), _at(desk, site, rng, 0.03, float(rng.uniform(-45, 45)), 0.0))[where]
    extra = _other(desk, rng)
    before = _elsewhere(desk, site, rng)
    return Draft(
        _ends(site, block, extras={extra: _inside(desk, site, rng)}), {} if before is None else {extra: before}
    )


def _arm_over(desk: Desk, site: Site, rng: np.random.Generator, xz_m: TablePoint, y_m: float) -> FloatArray | None:
    x, z = (np.array(xz_m) + rng.uniform(-0.015, 0.015, 2)).tolist()
    return desk.over((x, y_m, z), tilt_deg=float(rng.uniform(35, 65)))


def _in_gripper(desk: Desk, site: Site, rng: np.random.Generator) -> Draft | None:
    arm = _arm_over(desk, site, rng, site.box.xz_m, float(rng.uniform(0.085, 0.17)))
    held = Held(pitch_deg=float(rng.uniform(-12, 12)), along_m=float(rng.uniform(-0.004, 0.004)))
    return None if arm is None else Draft(Layout(Placed(GONE), site.box, arm, held=held))


def _empty_over_box(desk: Desk, site: Site, rng: np.random.Generator) -> Draft | None:
    arm = _arm_over(desk, site, rng, site.box.xz_m, float(rng.uniform(0.085, 0.15)))
    block = (_start(site), Placed(GONE), _at(desk, site, rng, 0.03, 0.0, 0.0))[int(rng.integers(3))]
    jaws = None if rng.random() < 0.5 else desk.empty_jaws_mm
    return None if arm is None else Draft(Layout(block, site.box, arm, jaws_mm=jaws))


def _gripper_above(desk: Desk, site: Site, rng: np.random.Generator) -> Draft | None:
    arm = _arm_over(desk, site, rng, site.box.xz_m, float(rng.uniform(0.11, 0.17)))
    return None if arm is None else Draft(Layout(_inside(desk, site, rng, drop_m=0.002), site.box, arm))


def _in_box_and_seen(desk: Desk, site: Site, truth: Truth) -> bool:
    return truth.block_in_box and desk.visible() > 0.5


def _in_box_and_hidden(desk: Desk, site: Site, truth: Truth) -> bool:
    return truth.block_in_box and _hidden(desk, site, truth)


def _out_and_hidden(desk: Desk, site: Site, truth: Truth) -> bool:
    return not truth.block_in_box and _hidden(desk, site, truth)


def _in_the_way(desk: Desk, block: Placed, rng: np.random.Generator) -> FloatArray | None:
    """The arm somewhere over the block, its tool from upright to nearly level: often between block and camera."""
    away_m = float(np.hypot(*block.xz_m))
    x, z = np.multiply(block.xz_m, 1.0 + float(rng.uniform(-0.02, 0.06)) / away_m)
    return desk.over((x, float(rng.uniform(0.06, 0.16)), z), tilt_deg=float(rng.uniform(5, 85)))


def _hidden_in(desk: Desk, site: Site, rng: np.random.Generator) -> Draft | None:
    block = _inside(desk, site, rng, drop_m=0.002)
    arm = _in_the_way(desk, block, rng)
    return None if arm is None else Draft(Layout(block, site.box, arm))


def _hidden_out(desk: Desk, site: Site, rng: np.random.Generator) -> Draft | None:
    block = _at(desk, site, rng, float(rng.uniform(0.02, 0.035)), 0.0, 0.0)
    arm = _in_the_way(desk, block, rng)
    return None if arm is None else Draft(Layout(block, site.box, arm))


def _two_one_in(desk: Desk, site: Site, rng: np.random.Generator) -> Draft | None:
    """The block in the box, another of its colour on the table."""
    second = _elsewhere(desk, site, rng)
    if second is None:
        return None
    return Draft(_ends(site, _inside(desk, site, rng), extras={0: second}), {0: second})


def _two_other_in(desk: Desk, site: Site, rng: np.random.Generator) -> Draft | None:
    """Another of its colour in the box, the block itself on the table."""
    second = _elsewhere(desk, site, rng)
    block = _start(site) if rng.random() < 0.5 else _elsewhere(desk, site, rng)
    if second is None or block is None:
        return None
    return Draft(_ends(site, block, extras={0: _inside(desk, site, rng)}), {0: second})


def _there_already(desk: Desk, site: Site, rng: np.random.Generator) -> Draft:
    block = _inside(desk, site, rng, drop_m=0.0)
    block = Placed(block.xz_m, 0.0033, block.yaw_deg)
    return Draft(_ends(site, block), block_before=block)


def _no_box(desk: Desk, site: Site, rng: np.random.Generator) -> Draft:
    block = _start(site) if rng.random() < 0.5 else Placed(site.box.xz_m, 0.0, float(rng.uniform(-180, 180)))
    return Draft(Layout(block, AWAY, site.aside_deg))


def _untouched(desk: Desk, site: Site, rng: np.random.Generator) -> Draft:
    return Draft(_ends(site, _start(site)))


# Pick.


def _lifted(desk: Desk, site: Site, rng: np.random.Generator, at: Resting | Placed | None = None) -> FloatArray | None:
    """The arm where it stands after a lift: over the place, back along the tool, jaws along the block's faces."""
    thing = at or site.block
    outward = np.degrees(np.arctan2(thing.xz_m[1], thing.xz_m[0]))
    turns = thing.yaw_deg + 90.0 * np.arange(-4, 5)
    heading = float(turns[np.argmin(np.abs((turns - outward + 180) % 360 - 180))])
    tilt, back_m = float(rng.uniform(42, 62)), desk.config.table.lift_m[1]
    t, h = radians(tilt), radians(heading)
    x, z = (np.array(thing.xz_m) + rng.uniform(-0.002, 0.002, 2)).tolist()
    point = (x - back_m * cos(t) * cos(h), 0.028 + back_m * sin(t), z - back_m * cos(t) * sin(h))
    return desk.over(point, tilt_deg=tilt, heading_deg=heading)


def _grasped(
    desk: Desk, site: Site, rng: np.random.Generator, held: Held, extras: dict[int, Placed] | None = None
) -> Draft | None:
    arm = _lifted(desk, site, rng)
    if arm is None:
        return None
    return Draft(Layout(Placed(GONE), site.box, arm, held=held, extras=extras or {}), extras or {})


def _well_held(desk: Desk, site: Site, rng: np.random.Generator) -> Draft | None:
    return _grasped(desk, site, rng, Held(along_m=float(rng.uniform(-0.003, 0.003))))


def _half_held(desk: Desk, site: Site, rng: np.random.Generator) -> Draft | None:
    """Only an edge of it between the tips."""
    off = float(rng.uniform(0.008, 0.017)), float(rng.uniform(-0.012, 0.012))
    return _grasped(desk, site, rng, Held(along_m=off[0], across_m=off[1], pitch_deg=float(rng.uniform(-10, 10))))


def _slipping(desk: Desk, site: Site, rng: np.random.Generator) -> Draft | None:
    off = float(rng.uniform(0.018, 0.045)), float(rng.uniform(-0.016, 0.016))
    return _grasped(desk, site, rng, Held(along_m=off[0], across_m=off[1], pitch_deg=float(rng.uniform(-15, 15))))


def _held_and_second(desk: Desk, site: Site, rng: np.random.Generator) -> Draft | None:
    second = _elsewhere(desk, site, rng)
    return None if second is None else _grasped(desk, site, rng, Held(), {0: second})


def _empty(
    desk: Desk,
    site: Site,
    rng: np.random.Generator,
    block: Placed | None,
    extras: dict[int, Placed] | None = None,
) -> Draft | None:
    """The arm lifted with its jaws closed on nothing, and the block there."""
    arm = _lifted(desk, site, rng)
    if arm is None or block is None:
        return None
    return Draft(Layout(block, site.box, arm, jaws_mm=desk.empty_jaws_mm, extras=extras or {}), extras or {})


def _pushed_by(site: Site, rng: np.random.Generator, low_m: float, high_m: float) -> Placed:
    way, far = float(rng.uniform(-np.pi, np.pi)), float(rng.uniform(low_m, high_m))
    x, z = site.block.xz_m
    return Placed((x + far * cos(way), z + far * sin(way)), 0.0, float(rng.uniform(-180, 180)))


def _missed(desk: Desk, site: Site, rng: np.random.Generator) -> Draft | None:
    x, z = (np.array(site.block.xz_m) + rng.uniform(-0.003, 0.003, 2)).tolist()
    return _empty(desk, site, rng, Placed((x, z), 0.0, site.block.yaw_deg + float(rng.uniform(-4, 4))))


def _pushed(desk: Desk, site: Site, rng: np.random.Generator) -> Draft | None:
    return _empty(desk, site, rng, _pushed_by(site, rng, 0.018, 0.075))


def _dropped(desk: Desk, site: Site, rng: np.random.Generator) -> Draft | None:
    return _empty(desk, site, rng, _elsewhere(desk, site, rng))


def _vanished(desk: Desk, site: Site, rng: np.random.Generator) -> Draft | None:
    return _empty(desk, site, rng, Placed(GONE))


def _missed_of_two(desk: Desk, site: Site, rng: np.random.Generator) -> Draft | None:
    second = _elsewhere(desk, site, rng)
    return None if second is None else _empty(desk, site, rng, _start(site), {0: second})


def _other_held(desk: Desk, site: Site, rng: np.random.Generator) -> Draft | None:
    """A block of another colour in the gripper, the right one where it was."""
    at, extra = _elsewhere(desk, site, rng), _other(desk, rng)
    if at is None:
        return None
    arm = _lifted(desk, site, rng, at)
    if arm is None:
        return None
    return Draft(Layout(_start(site), site.box, arm, held=Held(name=f"block_{extra}")), {extra: at})


KINDS = (
    Kind("clean", "place", True, 22, _clean, _in_box),
    Kind("at_wall", "place", True, 9, _wall, _in_box),
    Kind("in_corner", "place", True, 9, _corner, _in_box),
    Kind("with_other", "place", True, 5, _with_other, _in_box),
    Kind("gripper_above", "place", True, 3, _gripper_above, _in_box_and_seen),
    Kind("two_blocks", "place", True, 1, _two_one_in, _in_box),
    Kind("hidden", "place", True, 1, _hidden_in, _in_box_and_hidden),
    Kind("on_rim", "place", False, 9, _rim, _on_rim),
    Kind("half_inside", "place", False, 5, _half_in, _above_floor),
    Kind("stacked", "place", False, 5, _stacked, _above_floor),
    Kind("beside", "place", False, 6, _beside, _on_table),
    Kind("near", "place", False, 2, _near, _on_table),
    Kind("wrong_colour", "place", False, 6, _wrong_colour, _not_in_box),
    Kind("in_gripper", "place", False, 6, _in_gripper, _held),
    Kind("empty_gripper", "place", False, 3, _empty_over_box, _not_in_box),
    Kind("two_blocks", "place", False, 1, _two_other_in, _not_in_box),
    Kind("hidden", "place", False, 1, _hidden_out, _out_and_hidden),
    Kind("in_box_at_start", "place", False, 3, _there_already, _in_box),
    Kind("box_missing", "place", False, 2, _no_box, _not_in_box),
    Kind("not_moved", "place", False, 1, _untouched, _not_in_box),
    Kind("held", "pick", True, 32, _well_held, _held),
    Kind("half_gripped", "pick", True, 8, _half_held, _held),
    Kind("second_block", "pick", True, 10, _held_and_second, _held),
    Kind("not_picked", "pick", False, 14, _missed, _not_held),
    Kind("pushed", "pick", False, 10, _pushed, _not_held),
    Kind("dropped_beside", "pick", False, 8, _dropped, _not_held),
    Kind("slipped", "pick", False, 5, _slipping, _not_held),
    Kind("empty_gripper", "pick", False, 7, _vanished, _not_held),
    Kind("second_block", "pick", False, 4, _missed_of_two, _not_held),
    Kind("wrong_colour", "pick", False, 2, _other_held, _not_held),
)
