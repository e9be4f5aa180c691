"""What the gripper's reading says: held, not held or unknown, never guessed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.config import Config
from runner.kinematics.gripper import gripper_of, opening_from_value_mm, theta_from_opening_rad, value_from_theta
from runner.kinematics.model import load_arm
from runner.trial.grip import judge_reading

CONFIG = Config()
GRIPPER = gripper_of(load_arm(CONFIG.arm.model))


def reading(value, **block):
    return judge_reading(value, GRIPPER, CONFIG.gripper, CONFIG.block.model_copy(update=block))


def value_at(opening_mm):
    return value_from_theta(theta_from_opening_rad(opening_mm, GRIPPER), GRIPPER)


def test_no_answer_is_unknown_and_not_empty():
    assert reading(None).holding is None
    assert "no answer" in reading(None).reason


@pytest.mark.parametrize("value", [-1.0, 100.5, 254.0, float("inf"), float("nan")])
def test_a_figure_that_is_no_gripper_value_is_unknown(value):
    told = reading(value)
    assert told.holding is None
    assert told.opening_mm is None


def test_jaws_as_far_apart_as_the_block_hold_it():
    told = reading(value_at(30.0))
    assert told.holding is True
    assert told.opening_mm == pytest.approx(30.0, abs=0.1)
    assert "30.0 mm" in told.reason


def test_jaws_wide_open_hold_nothing():
    assert reading(100.0).holding is False


@pytest.mark.parametrize("more", [0.0, 1.0, 3.0])
def test_jaws_that_reached_what_they_were_told_closed_on_nothing(more):
    told = reading(CONFIG.gripper.grip_value + more)
    assert told.holding is False
    assert "closed on nothing" in told.reason


def test_fingertips_that_stand_on_the_table_a_little_apart_do_not_hold_a_block():
    assert reading(value_at(20.0)).holding is False
    assert "does not fit" in reading(value_at(20.0)).reason


def test_a_smaller_block_wants_a_smaller_opening():
    assert reading(value_at(24.0), side_mm=22.0).holding is True
    assert reading(value_at(36.0), side_mm=22.0).holding is False


@given(st.one_of(st.none(), st.floats(allow_nan=True, allow_infinity=True)))
def test_every_answer_gets_a_reason_and_only_a_fitting_opening_is_a_hold(value):
    told = reading(value)
    assert told.reason
    if told.holding:
        fits = abs(opening_from_value_mm(value, GRIPPER) - CONFIG.block.side_mm)
        assert fits <= CONFIG.gripper.held_width_tolerance_mm
        assert value > CONFIG.gripper.grip_value
