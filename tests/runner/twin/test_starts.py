"""Random starts keep to the settings, never overlap, and each thing has its own stream."""

from __future__ import annotations

from math import hypot

import numpy as np
import pytest

from runner.config import Config
from runner.kinematics.model import load_arm
from runner.twin.errors import StartNotPossible
from runner.twin.starts import GAP_M, choose_start, footprint, gap_m

CONFIG, ARM = Config(), load_arm("mecharm270")


def test_starts_keep_to_the_settings_and_never_overlap():
    for seed in range(300):
        start = choose_start(CONFIG, ARM, seed)
        (x, z), (u, w) = start.block.xz_m, start.box.xz_m
        assert x >= 0.05
        assert 0.15 <= hypot(x, z) <= 0.30
        assert u <= -0.05
        assert 0.16 <= hypot(u, w) <= 0.33
        block, box = footprint(start.block, (0.03, 0.03)), footprint(start.box, (0.12, 0.12))
        assert gap_m(block, box) >= GAP_M
        for corners in (block, box):
            assert corners[:, 0].min() >= -0.40
            assert corners[:, 0].max() <= 0.40
            assert corners[:, 1].min() >= 0.0
            assert corners[:, 1].max() <= 0.44


def test_starts_cover_the_place():
    starts = [choose_start(CONFIG, ARM, seed) for seed in range(300)]
    angles = [np.degrees(np.arctan2(s.block.xz_m[1], s.block.xz_m[0])) for s in starts]
    assert min(angles) < 15
    assert max(angles) > 70
    assert len({round(s.block.yaw_deg / 30) for s in starts}) >= 12


def test_a_given_block_does_not_move_the_box():
    free = choose_start(CONFIG, ARM, 7)
    given = choose_start(CONFIG, ARM, 7, block_xz_m=(0.28, 0.05))
    assert given.block.xz_m == (0.28, 0.05)
    assert given.block.yaw_deg == free.block.yaw_deg
    assert given.box == free.box


def test_given_places_that_overlap_are_refused():
    with pytest.raises(StartNotPossible, match="overlap"):
        choose_start(CONFIG, ARM, 1, block_xz_m=(0.2, 0.2), box_xz_m=(0.2, 0.22), block_yaw_deg=0.0, box_yaw_deg=0.0)
    with pytest.raises(StartNotPossible, match="the block would not be on the table"):
        choose_start(CONFIG, ARM, 1, block_xz_m=(2.0, 0.2))
    with pytest.raises(StartNotPossible, match="arm's base"):
        choose_start(CONFIG, ARM, 1, box_xz_m=(-0.02, 0.02))


def test_gap_of_squares():
    one, other = np.array([[0, 0], [1, 0], [1, 1], [0, 1.0]]), np.array([[3, 0], [4, 0], [4, 1], [3, 1.0]])
    assert gap_m(one, other) == pytest.approx(2.0)
    assert gap_m(one, one + 0.5) < 0
