"""Blocks beyond the block: they wait out of sight and change nothing; put somewhere, they fall and show."""

from __future__ import annotations

import numpy as np
import pytest

from runner.config import Config
from runner.kinematics.frames import stance_rotation
from runner.twin.setup import Twin, build_twin


@pytest.fixture(scope="module")
def rich_twin():
    twin = Twin(Config(), extra_blocks=("red", "blue"))
    yield twin
    twin.close()


def test_blocks_that_wait_are_not_seen_and_change_nothing(rich_twin, perfect_twin):
    rich_twin.reset(6)
    perfect_twin.reset(6)
    assert np.array_equal(rich_twin.camera.noiseless(), perfect_twin.camera.noiseless())
    assert rich_twin.truth() == perfect_twin.truth()


def test_a_block_that_is_put_somewhere_falls_and_shows(rich_twin):
    rich_twin.reset(6)
    before = rich_twin.camera.noiseless()
    level = stance_rotation(0.0, 30.0, rich_twin.world.scene.base)
    rich_twin.world.pose("block_1", (0.0, 0.08, 0.33), level)
    rich_twin.clock.sleep(0.8)
    x, y, z = rich_twin.world.middle_m("block_1")
    assert (x, z) == pytest.approx((0.0, 0.33), abs=0.01)
    assert y == pytest.approx(0.015, abs=5e-4)
    u, v = rich_twin.view.table_to_pixel((x, z), 0.03).astype(int)
    blue, green, red = rich_twin.camera.noiseless()[v, u].astype(int)
    assert blue > red + 40
    assert not np.array_equal(before[v, u], (blue, green, red))


def test_a_colour_that_no_block_has_is_our_own_mistake():
    with pytest.raises(KeyError):
        Twin(Config(), extra_blocks=("mauve",))


def test_the_light_can_be_changed_between_pictures(rich_twin):
    from dataclasses import replace

    from runner.twin.shading import light_for

    rich_twin.reset(6)
    bright = rich_twin.camera.noiseless().mean()
    light = light_for(6, Config().twin.light_height_m)
    rich_twin.relight(replace(light, lamp=light.lamp * np.float32(0.5), room=light.room * np.float32(0.5)), 6)
    assert rich_twin.camera.noiseless().mean() < 0.85 * bright


def test_a_plain_twin_has_no_extra_blocks():
    twin = build_twin(Config(), seed=1)
    with pytest.raises(KeyError):
        twin.world.middle_m("block_0")
    twin.close()
