"""Disturbances: spread as they should be, the same for everybody, repeatable."""

from __future__ import annotations

import numpy as np
import pytest

from runner.rehearse.doubt import doubt_of, draw
from runner.settings.rehearse import RehearseSettings
from runner.twin.profiles import FIELD, PERFECT


@pytest.fixture(scope="module")
def doubt():
    return doubt_of(RehearseSettings(block_sd_mm=4.0), FIELD)


def test_even_a_few_draws_are_spread_over_their_distribution(doubt):
    off = draw(doubt, 16, 6, seed=3)
    spread_mm = off.block_m.std(axis=0) * 1000
    assert spread_mm == pytest.approx([4.0, 4.0], rel=0.25)
    assert np.abs(off.block_m.mean(axis=0)).max() < 0.0006
    assert np.median(off.pad_friction) == pytest.approx(doubt.pad_friction, rel=0.15)
    for column in (off.block_m[:, 0], off.pad_friction, off.zero_deg[:, 2]):
        eighths = np.searchsorted(np.sort(column), np.sort(column), side="left")
        assert len(set(eighths)) == 16, "no draw comes twice"


def test_the_same_seed_gives_the_same_and_another_gives_others(doubt):
    one, same, other = (draw(doubt, 8, 6, seed) for seed in (1, 1, 2))
    assert np.array_equal(one.left_deg, same.left_deg)
    assert not np.array_equal(one.left_deg, other.left_deg)


def test_what_the_captures_differ_by_is_added():
    settings = RehearseSettings(block_sd_mm=3.0)
    assert doubt_of(settings, FIELD, seen_spread_mm=8.0).block_mm == pytest.approx((5.0, 5.0))


def test_an_arm_without_dead_band_is_left_nowhere():
    off = draw(doubt_of(RehearseSettings(), PERFECT), 4, 6, seed=1)
    assert not off.left_deg.any()
    assert not off.lag_deg.any()
    assert off.zero_deg.any()


def test_rows_stay_together(doubt):
    off = draw(doubt, 6, 6, seed=1)
    some = off.rows(np.array([4, 1, 1]))
    assert len(some) == 3
    assert np.array_equal(some.zero_deg[0], off.zero_deg[4])
    assert some.pad_friction[1] == some.pad_friction[2] == off.pad_friction[1]
