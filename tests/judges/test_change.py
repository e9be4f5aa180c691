"""What has changed between two pictures: noise and dimmer light have not, other scenes have."""

from __future__ import annotations

import numpy as np
import pytest

from judges.change import OTHER_SCENE, changed_patches, changed_share

RNG = np.random.default_rng(3)
GROUND = np.kron(RNG.integers(60, 200, (24, 32, 3)), np.ones((15, 15, 1))).astype(np.uint8)  # 360 × 480
SQUARE = np.array([[100.0, 100.0], [260.0, 100.0], [260.0, 260.0], [100.0, 260.0]])


def noisy(picture, sigma=2.0):
    return np.clip(picture + RNG.normal(0, sigma, picture.shape), 0, 255).astype(np.uint8)


def test_noise_and_dimmer_light_are_no_change():
    assert changed_share(GROUND, noisy(GROUND)) < 0.01
    assert changed_share(GROUND, noisy((GROUND * 0.8).astype(np.uint8))) < 0.05
    assert changed_patches(GROUND, noisy(GROUND), SQUARE) == []


def test_another_scene_has_changed_and_so_has_another_size():
    other = np.kron(np.random.default_rng(9).integers(0, 255, (24, 32, 3)), np.ones((15, 15, 1))).astype(np.uint8)
    assert changed_share(GROUND, other) > OTHER_SCENE
    assert changed_share(GROUND, GROUND[::2, ::2]) == 1.0


@pytest.mark.parametrize(("columns", "reaches_out"), [(slice(150, 190), False), (slice(220, 330), True)])
def test_a_thing_that_lies_inside_is_told_from_one_that_reaches_in(columns, reaches_out):
    after = GROUND.copy()
    after[150:190, columns] = (20, 20, 230)
    patches = changed_patches(GROUND, noisy(after), SQUARE)
    assert [out for area, out in patches if area > 400] == [reaches_out]
