"""Regions: which squares they have, which square a point lies in, and what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.config import Config
from runner.table.errors import BadQuery
from runner.table.region import PICK_REGION, PLACE_REGION, Ground, Region, patches, said


def test_the_place_region_is_the_fields():
    assert len(PLACE_REGION) == 195 == len(set(PLACE_REGION.squares))
    assert PLACE_REGION.squares[0] == (-50, 100)
    assert PLACE_REGION.squares[-1] == (-330, 340)
    assert [(-x, z) for x, z in PLACE_REGION.squares] == PICK_REGION.squares


@given(x=st.integers(-339, -41), z=st.integers(91, 349))
def test_a_point_lies_in_the_square_that_is_nearest(x, z):
    square = PLACE_REGION.square_of((x / 1000, z / 1000))
    assert square is not None
    assert abs(square[0] - x) <= 10
    assert abs(square[1] - z) <= 10


def test_a_point_outside_has_no_square():
    assert PLACE_REGION.square_of((-0.02, 0.2)) is None
    assert PLACE_REGION.square_of((-0.2, 0.36)) is None


@pytest.mark.parametrize(
    ("x", "z", "step"),
    [((0, float("nan")), (0, 1), 20), ((0, 200), (0, 1), 20), ((0, 1), (0, 1), 0), ((-1, 1), (-1, 1), 1)],
)
def test_a_region_that_cant_be_meant_is_refused(x, z, step):
    with pytest.raises(BadQuery):
        Region.of(x, z, step)


def test_a_pick_is_not_held_near_its_approach_pose():
    config = Config()
    assert Ground.of(config).joint_tol_deg == config.table.joint_tol_deg
    assert Ground.of(config, "pick").joint_tol_deg is None
    with pytest.raises(BadQuery, match="upwards"):
        Ground.of(config, band_y_m=(0.1, 0.07))
    with pytest.raises(BadQuery, match="tolerance"):
        Ground.of(config, tolerance_mm=float("nan"))


def test_squares_that_hang_together_are_told_as_one_patch():
    found = patches([(0, 0), (20, 20), (100, 0), (20, 40)], 20)
    assert [len(p) for p in found] == [3, 1]
    assert said(found[0]) == "3 squares, x 0…20, z 0…40 mm"
