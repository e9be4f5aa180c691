"""The four-bar against the published figures, and its inverse functions."""

from __future__ import annotations

from math import pi, sin

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.kinematics.errors import NoGripper, OutsideOpening
from runner.kinematics.gripper import (
    gripper_of,
    max_opening_mm,
    opening_from_value_mm,
    opening_mm,
    theta_from_opening_rad,
    theta_from_value_rad,
    tip_below_tcp_m,
    tip_z_mm,
    value_from_theta,
)
from runner.kinematics.model import load_arm

GRIPPER = gripper_of(load_arm("mecharm270"))

# theta (rad), opening (mm), tip in front of link 6 (mm), value: from the mechArm's gripper URDF and meshes
PUBLISHED = [
    (-0.74, 4.7, 126.2, 0),
    (-0.50, 18.4, 123.2, 27),
    (-0.30, 28.5, 119.5, 49),
    (-0.10, 36.9, 114.8, 72),
    (0.0, 40.4, 112.2, 83),
    (0.15, 44.6, 108.0, 100),
]


@pytest.mark.parametrize(("theta", "opening", "tip", "value"), PUBLISHED)
def test_the_four_bar_gives_the_published_table(theta: float, opening: float, tip: float, value: int) -> None:
    assert opening_mm(theta, GRIPPER) == pytest.approx(opening, abs=0.06)
    assert tip_z_mm(theta, GRIPPER) == pytest.approx(tip, abs=0.06)
    assert value_from_theta(theta, GRIPPER) == pytest.approx(value, abs=0.6)


@given(st.floats(-0.74, 0.15))
def test_theta_comes_back_from_its_opening_and_its_value(theta: float) -> None:
    assert theta_from_opening_rad(opening_mm(theta, GRIPPER), GRIPPER) == pytest.approx(theta, abs=1e-9)
    assert theta_from_value_rad(value_from_theta(theta, GRIPPER), GRIPPER) == pytest.approx(theta, abs=1e-12)


def test_the_value_opens_the_jaws_steadily() -> None:
    openings = [opening_from_value_mm(v, GRIPPER) for v in range(101)]
    assert openings == sorted(openings)
    assert openings[-1] == max_opening_mm(GRIPPER)


@pytest.mark.parametrize("opening", [4.0, 45.0, -1.0])
def test_an_opening_beyond_the_stops_is_refused_with_the_stops(opening: float) -> None:
    with pytest.raises(OutsideOpening, match=r"they have 4\.7…44\.6 mm"):
        theta_from_opening_rad(opening, GRIPPER)


def test_the_lowest_pad_corner_is_where_geometry_puts_it() -> None:
    arm = load_arm("mecharm270").with_tool(tcp_mm=(0.0, 0.0, 100.3))
    # reach past the tool point × sin(tilt) + half the pad's width × cos(tilt); wide open the tips reach 7.7 mm past it
    expected = (7.7 * sin(pi / 4) + 9.0 * sin(pi / 4)) / 1000.0
    assert tip_below_tcp_m(45.0, 44.6, arm) == pytest.approx(expected, abs=2e-4)
    assert tip_below_tcp_m(50.0, 30.0, arm) > tip_below_tcp_m(50.0, 44.6, arm)


def test_an_arm_without_a_gripper_says_so() -> None:
    with pytest.raises(NoGripper, match="teaching3 has no gripper"):
        gripper_of(load_arm("teaching3"))
