"""Drafts of scenes after a place: in the box, nearly in it, and what only looks like it."""

from __future__ import annotations

import numpy as np

from runner.calibrate.judge_set.desk import AWAY, GONE, Desk, Held, Layout, Placed
from runner.calibrate.judge_set.drafts import (
    Draft,
    Kind,
    Site,
    at_start,
    at_wall,
    beyond_wall,
    elsewhere,
    ended_held,
    ended_hidden,
    ended_in_box,
    ended_on_rim,
    ended_on_table,
    ended_out_of_box,
    ends,
    from_box,
    half_inner_m,
    half_width_m,
    in_corner,
    inside,
    other_colour,
    rim_m,
)
from runner.kinematics.model import FloatArray
from runner.twin.world import Truth
from runs.schema.geometry import TablePoint


def _clean(desk: Desk, site: Site, rng: np.random.Generator) -> Draft:
    return Draft(ends(site, inside(desk, site, rng)))


def _wall(desk: Desk, site: Site, rng: np.random.Generator) -> Draft:
    return Draft(ends(site, at_wall(desk, site, rng)))


def _corner(desk: Desk, site: Site, rng: np.random.Generator) -> Draft:
    return Draft(ends(site, in_corner(desk, site, rng)))


def _with_other(desk: Desk, site: Site, rng: np.random.Generator) -> Draft | None:
    """The block in the box, and one of another colour in it too or somewhere else."""
    other = inside(desk, site, rng, drop_m=0.001) if rng.random() < 0.5 else elsewhere(desk, site, rng)
    if other is None:
        return None
    extras = {other_colour(desk, rng): other}
    block = inside(desk, site, rng, drop_m=0.002)
    if np.hypot(*np.subtract(block.xz_m, other.xz_m)) < 0.045:
        return None
    return Draft(ends(site, block, extras=extras), extras)


def _rim(desk: Desk, site: Site, rng: np.random.Generator) -> Draft:
    """On a corner, where two walls carry it with its middle inside, or balanced on one wall."""
    height = rim_m(desk) + 0.0003
    turn = float(rng.uniform(-45, 45))
    if rng.random() < 0.75:
        signs, off = rng.choice([-1.0, 1.0], 2), rng.uniform(-0.004, 0.016, 2)
        local = [float(s) * (h - float(o)) for s, h, o in zip(signs, half_inner_m(desk), off, strict=True)]
        return Draft(ends(site, Placed(from_box(site.box, local[0], local[1]), height, site.box.yaw_deg + turn)))
    wall_m = desk.config.box.wall_mm / 1000.0
    return Draft(ends(site, beyond_wall(desk, site, rng, float(rng.uniform(0.1, 0.9)) * wall_m, turn, height)))


def _half_in(desk: Desk, site: Site, rng: np.random.Generator) -> Draft:
    """Across the wall, with one edge on another block that lies in the box or stands outside it."""
    turn, side_m = float(rng.uniform(-10, 10)), desk.config.block.side_mm / 1000.0
    under_out_m = -side_m / 2 - 0.002 if rng.random() < 0.5 else side_m / 2 + 0.005
    under = beyond_wall(desk, site, rng, under_out_m, turn, 0.0035 if under_out_m < 0 else 0.0)
    toward = np.subtract(under.xz_m, site.box.xz_m)
    toward /= np.linalg.norm(toward)
    shift = float(rng.uniform(0.004, 0.012)) * (1 if under_out_m < 0 else -1)
    x, z = (np.array(under.xz_m) + shift * toward).tolist()
    block = Placed((x, z), rim_m(desk) + 0.003, site.box.yaw_deg + turn)
    return Draft(ends(site, block, extras={other_colour(desk, rng): under}))


def _stacked(desk: Desk, site: Site, rng: np.random.Generator) -> Draft:
    """On top of another block that lies in the box: over the floor, but out of the box."""
    where = int(rng.integers(3))
    under = (inside, at_wall, in_corner)[where](desk, site, rng)
    under = Placed(under.xz_m, 0.0033, under.yaw_deg)
    height = 0.0033 + desk.config.block.side_mm / 1000.0 + 0.001
    if where:  # just over the other, so that it seems to stand against the wall
        return Draft(ends(site, Placed(under.xz_m, height, under.yaw_deg), extras={other_colour(desk, rng): under}))
    x, z = (np.array(under.xz_m) + rng.uniform(-0.008, 0.008, 2)).tolist()
    top = Placed((x, z), height, float(rng.uniform(-180, 180)))
    return Draft(ends(site, top, extras={other_colour(desk, rng): under}))


def _above_floor(desk: Desk, site: Site, truth: Truth) -> bool:
    return not truth.block_in_box and truth.block_m[1] > desk.config.block.side_mm / 1000.0


def _beside(desk: Desk, site: Site, rng: np.random.Generator) -> Draft:
    turn = float(rng.choice([0.0, float(rng.uniform(-45, 45))]))
    wall_m = desk.config.box.wall_mm / 1000.0
    out_m = wall_m + half_width_m(desk, turn) + float(rng.uniform(0.0003, 0.002))
    return Draft(ends(site, beyond_wall(desk, site, rng, out_m, turn, 0.0003)))


def _near(desk: Desk, site: Site, rng: np.random.Generator) -> Draft:
    return Draft(
        ends(site, beyond_wall(desk, site, rng, float(rng.uniform(0.028, 0.09)), float(rng.uniform(-45, 45)), 0.0))
    )


def _wrong_colour(desk: Desk, site: Site, rng: np.random.Generator) -> Draft:
    """Another colour in the box; the block at its start, beside the box or nowhere."""
    where = int(rng.integers(3))
    block = (at_start(site), Placed(GONE), beyond_wall(desk, site, rng, 0.03, float(rng.uniform(-45, 45)), 0.0))[where]
    extra = other_colour(desk, rng)
    before = elsewhere(desk, site, rng)
    return Draft(ends(site, block, extras={extra: inside(desk, site, rng)}), {} if before is None else {extra: before})


def _arm_over(desk: Desk, site: Site, rng: np.random.Generator, xz_m: TablePoint, y_m: float) -> FloatArray | None:
    x, z = (np.array(xz_m) + rng.uniform(-0.015, 0.015, 2)).tolist()
    return desk.over((x, y_m, z), tilt_deg=float(rng.uniform(35, 65)))


def _in_gripper(desk: Desk, site: Site, rng: np.random.Generator) -> Draft | None:
    arm = _arm_over(desk, site, rng, site.box.xz_m, float(rng.uniform(0.085, 0.17)))
    held = Held(pitch_deg=float(rng.uniform(-12, 12)), along_m=float(rng.uniform(-0.004, 0.004)))
    return None if arm is None else Draft(Layout(Placed(GONE), site.box, arm, held=held))


def _empty_over_box(desk: Desk, site: Site, rng: np.random.Generator) -> Draft | None:
    arm = _arm_over(desk, site, rng, site.box.xz_m, float(rng.uniform(0.085, 0.15)))
    block = (at_start(site), Placed(GONE), beyond_wall(desk, site, rng, 0.03, 0.0, 0.0))[int(rng.integers(3))]
    jaws = None if rng.random() < 0.5 else desk.empty_jaws_mm
    return None if arm is None else Draft(Layout(block, site.box, arm, jaws_mm=jaws))


def _gripper_above(desk: Desk, site: Site, rng: np.random.Generator) -> Draft | None:
    arm = _arm_over(desk, site, rng, site.box.xz_m, float(rng.uniform(0.11, 0.17)))
    return None if arm is None else Draft(Layout(inside(desk, site, rng, drop_m=0.002), site.box, arm))


def _in_box_and_seen(desk: Desk, site: Site, truth: Truth) -> bool:
    return truth.block_in_box and desk.visible() > 0.5


def _in_box_and_hidden(desk: Desk, site: Site, truth: Truth) -> bool:
    return truth.block_in_box and ended_hidden(desk, site, truth)


def _out_and_hidden(desk: Desk, site: Site, truth: Truth) -> bool:
    return not truth.block_in_box and ended_hidden(desk, site, truth)


def _in_the_way(desk: Desk, block: Placed, rng: np.random.Generator) -> FloatArray | None:
    """The arm somewhere over the block, its tool from upright to nearly level: often between block and camera."""
    away_m = float(np.hypot(*block.xz_m))
    x, z = np.multiply(block.xz_m, 1.0 + float(rng.uniform(-0.02, 0.06)) / away_m)
    return desk.over((x, float(rng.uniform(0.06, 0.16)), z), tilt_deg=float(rng.uniform(5, 85)))


def _hidden_in(desk: Desk, site: Site, rng: np.random.Generator) -> Draft | None:
    block = inside(desk, site, rng, drop_m=0.002)
    arm = _in_the_way(desk, block, rng)
    return None if arm is None else Draft(Layout(block, site.box, arm))


def _hidden_out(desk: Desk, site: Site, rng: np.random.Generator) -> Draft | None:
    block = beyond_wall(desk, site, rng, float(rng.uniform(0.02, 0.035)), 0.0, 0.0)
    arm = _in_the_way(desk, block, rng)
    return None if arm is None else Draft(Layout(block, site.box, arm))


def _two_one_in(desk: Desk, site: Site, rng: np.random.Generator) -> Draft | None:
    """The block in the box, another of its colour on the table."""
    second = elsewhere(desk, site, rng)
    if second is None:
        return None
    return Draft(ends(site, inside(desk, site, rng), extras={0: second}), {0: second})


def _two_other_in(desk: Desk, site: Site, rng: np.random.Generator) -> Draft | None:
    """Another of its colour in the box, the block itself on the table."""
    second = elsewhere(desk, site, rng)
    block = at_start(site) if rng.random() < 0.5 else elsewhere(desk, site, rng)
    if second is None or block is None:
        return None
    return Draft(ends(site, block, extras={0: inside(desk, site, rng)}), {0: second})


def _there_already(desk: Desk, site: Site, rng: np.random.Generator) -> Draft:
    block = inside(desk, site, rng, drop_m=0.0)
    block = Placed(block.xz_m, 0.0033, block.yaw_deg)
    return Draft(ends(site, block), block_before=block)


def _no_box(desk: Desk, site: Site, rng: np.random.Generator) -> Draft:
    block = at_start(site) if rng.random() < 0.5 else Placed(site.box.xz_m, 0.0, float(rng.uniform(-180, 180)))
    return Draft(Layout(block, AWAY, site.aside_deg))


def _untouched(desk: Desk, site: Site, rng: np.random.Generator) -> Draft:
    return Draft(ends(site, at_start(site)))


PLACE_KINDS = (
    Kind("clean", "place", True, 22, _clean, ended_in_box),
    Kind("at_wall", "place", True, 9, _wall, ended_in_box),
    Kind("in_corner", "place", True, 9, _corner, ended_in_box),
    Kind("with_other", "place", True, 5, _with_other, ended_in_box),
    Kind("gripper_above", "place", True, 3, _gripper_above, _in_box_and_seen),
    Kind("two_blocks", "place", True, 1, _two_one_in, ended_in_box),
    Kind("hidden", "place", True, 1, _hidden_in, _in_box_and_hidden),
    Kind("on_rim", "place", False, 9, _rim, ended_on_rim),
    Kind("half_inside", "place", False, 5, _half_in, _above_floor),
    Kind("stacked", "place", False, 5, _stacked, _above_floor),
    Kind("beside", "place", False, 6, _beside, ended_on_table),
    Kind("near", "place", False, 2, _near, ended_on_table),
    Kind("wrong_colour", "place", False, 6, _wrong_colour, ended_out_of_box),
    Kind("in_gripper", "place", False, 6, _in_gripper, ended_held),
    Kind("empty_gripper", "place", False, 3, _empty_over_box, ended_out_of_box),
    Kind("two_blocks", "place", False, 1, _two_other_in, ended_out_of_box),
    Kind("hidden", "place", False, 1, _hidden_out, _out_and_hidden),
    Kind("in_box_at_start", "place", False, 3, _there_already, ended_in_box),
    Kind("box_missing", "place", False, 2, _no_box, ended_out_of_box),
    Kind("not_moved", "place", False, 1, _untouched, ended_out_of_box),
)
