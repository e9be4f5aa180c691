"""Picks tried in the nominal twin: what must work works, and what can't does not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from runner.config import with_overrides
from runner.kinematics.fk import tool_pose
from runner.rehearse.doubt import doubt_of, draw
from runner.rehearse.nominal import nominal_config, nominal_scene, nominal_twin
from runner.rehearse.tries import NEAR_M, near_end, try_picks
from runner.table.postures import arm_of
from runner.twin.many import Many
from runner.twin.profiles import PERFECT


@pytest.fixture(scope="module")
def scene(settings):
    return nominal_scene(settings)


@pytest.fixture(scope="module")
def nothing_off(settings):
    """Six tries with nothing unknown; each test turns one thing."""
    off = draw(doubt_of(settings.rehearse, PERFECT), 6, 6, seed=1)
    zeros = {name: getattr(off, name) * 0 for name in ("block_m", "block_deg", "box_m", "box_deg", "zero_deg")}
    return replace(off, **zeros, pad_friction=np.ones(6), table_friction=np.full(6, 0.6))


def test_each_try_meets_its_own_disturbance(scene, nothing_off, place, planner, settings):
    turn = np.radians(place.plans[0].stance.heading_deg)
    aside = np.array([np.sin(turn), -np.cos(turn)])  # along the jaws
    block_m = np.array([0, 0, 0, 30, 0, 3])[:, None] / 1000.0 * aside
    friction = np.array([1.0, 0.02, 1.0, 1.0, 0.3, 1.0])
    zero_deg = np.zeros((6, 6))
    zero_deg[2, 1] = -12.0  # the shoulder stands so far back that the jaws close over the block
    off = replace(nothing_off, block_m=block_m, pad_friction=friction, zero_deg=zero_deg)
    out = try_picks(
        Many(scene, 6), planner.arm, [place.plans[0].path_deg], np.zeros(6, int), off, place.obstacles, settings
    )
    sound, slippery, too_high, beside, dull, a_little_off = out.picked
    assert sound
    assert dull
    assert a_little_off
    assert not slippery
    assert not too_high
    assert not beside
    side_mm = settings.block.side_mm
    assert out.opening_mm[[0, 4, 5]] == pytest.approx(side_mm, abs=1.5)
    assert out.opening_mm[3] < side_mm - 8
    assert out.margin_mm[0] == pytest.approx((44.6 - side_mm) / 2, abs=0.5)
    assert out.margin_mm[5] == pytest.approx(out.margin_mm[0] - 3, abs=0.5)
    assert out.margin_mm[3] < 0
    assert np.abs(out.tip_mm[0]).max() < 1.0
    assert out.tip_mm[3] @ aside == pytest.approx(-30, abs=4.0), "a jaw stands on the block, which takes it aside"


def test_a_try_is_the_same_whatever_stands_beside_it(scene, nothing_off, place, planner, settings):
    off = replace(nothing_off, block_m=np.linspace(-0.006, 0.006, 12).reshape(6, 2))
    paths = [plan.path_deg for plan in place.plans[:2]]
    which = np.array([0, 1, 0, 1, 0, 1])
    together = try_picks(Many(scene, 6), planner.arm, paths, which, off, place.obstacles, settings)
    # the longest of the ways sets the pace, so a try is repeated among the same ways
    alone = try_picks(
        Many(scene, 2), planner.arm, paths, which[2:4], off.rows(np.array([2, 3])), place.obstacles, settings
    )
    assert np.array_equal(together.tip_mm[2:4], alone.tip_mm)
    assert np.array_equal(together.opening_mm[2:4], alone.opening_mm)


def test_a_gripper_that_sits_beside_its_place_is_reckoned_with(nothing_off, place, planner, settings):
    aside_mm = planner.arm.T_link_tcp[:3, :3] @ (8.0, 0.0, 0.0)  # along the jaws
    shifted = with_overrides(settings, [f"arm.tool_shift_mm={aside_mm.tolist()}"])
    arm, base = arm_of(shifted)
    path = place.plans[0].path_deg
    x, _, z = base.to_cell(tool_pose(path[-1], arm)[:3, 3])
    there = replace(place.obstacles, block=replace(place.obstacles.block, xz_m=(float(x), float(z))))
    off = nothing_off.rows(np.arange(1))
    out = try_picks(Many(nominal_scene(shifted), 1), arm, [path], np.zeros(1, int), off, there, shifted)
    assert out.picked.all()
    assert out.margin_mm[0] == pytest.approx((44.6 - settings.block.side_mm) / 2, abs=0.5)
    assert np.abs(out.tip_mm[0]).max() < 1.0
    assert nominal_twin(shifted).world.scene.tool_off_mm == nominal_scene(shifted).tool_off_mm


def test_a_try_begins_near_its_end(place, planner):
    path = place.plans[0].path_deg
    near = near_end(path, planner.arm)
    assert 2 <= len(near) <= len(path)
    assert np.array_equal(near[-1], path[-1])
    points = near_end(near, planner.arm)
    assert np.array_equal(points, near)
    assert np.array_equal(near_end(path[-2:], planner.arm), path[-2:]), f"a way shorter than {NEAR_M} m is taken whole"


def test_the_nominal_scene_knows_nothing_of_the_twin_that_is_the_desk(settings, scene):
    told = [
        "twin.profile=uncalibrated",
        "twin.pad_friction=0.1",
        "twin.table_friction=0.9",
        "twin.block_mass_g=90",
        "twin.desk_seed=7",
        "twin.slip_deg=[0, 3, 0, 0, 0, 0]",
    ]
    other = with_overrides(settings, told)
    assert nominal_scene(other).xml == scene.xml
    assert nominal_config(other).twin == nominal_config(settings).twin
