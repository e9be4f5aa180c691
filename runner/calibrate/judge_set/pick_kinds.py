"""Drafts of scenes after a pick: held well or badly, missed, pushed, dropped, or another thing held."""

from __future__ import annotations

from math import cos, radians, sin

import numpy as np

from runner.calibrate.judge_set.desk import GONE, Desk, Held, Layout, Placed
from runner.calibrate.judge_set.drafts import (
    Draft,
    Kind,
    Site,
    at_start,
    elsewhere,
    ended_held,
    ended_not_held,
    other_colour,
)
from runner.kinematics.model import FloatArray
from runner.twin.world import Resting


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
    second = elsewhere(desk, site, rng)
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
    return _empty(desk, site, rng, elsewhere(desk, site, rng))


def _vanished(desk: Desk, site: Site, rng: np.random.Generator) -> Draft | None:
    return _empty(desk, site, rng, Placed(GONE))


def _missed_of_two(desk: Desk, site: Site, rng: np.random.Generator) -> Draft | None:
    second = elsewhere(desk, site, rng)
    return None if second is None else _empty(desk, site, rng, at_start(site), {0: second})


def _other_held(desk: Desk, site: Site, rng: np.random.Generator) -> Draft | None:
    """A block of another colour in the gripper, the right one where it was."""
    at, extra = elsewhere(desk, site, rng), other_colour(desk, rng)
    if at is None:
        return None
    arm = _lifted(desk, site, rng, at)
    if arm is None:
        return None
    return Draft(Layout(at_start(site), site.box, arm, held=Held(name=f"block_{extra}")), {extra: at})


PICK_KINDS = (
    Kind("held", "pick", True, 32, _well_held, ended_held),
    Kind("half_gripped", "pick", True, 8, _half_held, ended_held),
    Kind("second_block", "pick", True, 10, _held_and_second, ended_held),
    Kind("not_picked", "pick", False, 14, _missed, ended_not_held),
    Kind("pushed", "pick", False, 10, _pushed, ended_not_held),
    Kind("dropped_beside", "pick", False, 8, _dropped, ended_not_held),
    Kind("slipped", "pick", False, 5, _slipping, ended_not_held),
    Kind("empty_gripper", "pick", False, 7, _vanished, ended_not_held),
    Kind("second_block", "pick", False, 4, _missed_of_two, ended_not_held),
    Kind("wrong_colour", "pick", False, 2, _other_held, ended_not_held),
)
