"""What one picture shows: where a patch lies against the rim, and how high it is."""

from __future__ import annotations

import pytest

from judges.sight import look_at

BOX = (-0.18, 0.20)


def only_block(desk, picture):
    sight = look_at(picture, desk.twin.view, desk.settings)
    assert sight.rim is not None
    assert len(sight.blocks) == 1
    return sight.blocks[0]


@pytest.mark.parametrize("place", [(-0.18, 0.20), (-0.215, 0.165), (-0.145, 0.235), (-0.215, 0.235)])
def test_a_block_in_the_box_is_in_the_opening_and_low(desk, place):
    block = only_block(desk, desk.picture(place, BOX, yaws=(15.0, 0.0), above_m=0.004))
    assert desk.truth.block_in_box
    assert block.where == "in_opening"
    assert block.clean
    assert block.height_mm == pytest.approx(3.0, abs=3 * block.height_sigma_mm)
    assert block.over_mm < 1.0
    x, _, z = desk.truth.block_m
    assert block.xz_m == pytest.approx((x, z), abs=0.004)


def test_a_block_on_the_rims_corner_crosses_it_and_is_as_high(desk):
    block = only_block(desk, desk.picture((BOX[0] + 0.053, BOX[1] + 0.053), BOX, yaws=(0.0, 0.0), above_m=0.0435))
    assert not desk.truth.block_in_box
    assert desk.truth.block_m[1] > 0.05
    assert block.where == "across"
    assert block.height_mm == pytest.approx(43.0, abs=3 * block.height_sigma_mm)


@pytest.mark.parametrize("beside_m", [0.016, 0.03, 0.09])
def test_a_block_beside_the_box_is_outside(desk, beside_m):
    block = only_block(desk, desk.picture((BOX[0] + 0.06 + beside_m, BOX[1]), BOX, yaws=(0.0, 0.0)))
    assert block.where == "outside"
    assert block.inside_mm < 0
