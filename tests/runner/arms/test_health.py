"""What an arm's figures mean: fit, to be rested, refused; and the twin's servos that warm up with what they hold."""

from __future__ import annotations

import numpy as np
import pytest

from runner.arms.errors import ArmNotReady, Refused
from runner.arms.health import check_ready, error_meaning, why_rest
from runner.arms.protocol import ArmHealth
from runner.settings.arm import ArmSettings
from runner.twin.thermal import IDLE_C, RISE_C_PER_NM2, Servos

SETTINGS = ArmSettings()


def health(**changes):
    figures = {"temperatures_c": (40.0,) * 6, "voltages_v": (12.0,) * 6, "servos_enabled": True}
    return ArmHealth(powered=True, error_code=0, **{**figures, **changes})


def hot(joint, celsius):
    return tuple(celsius if i == joint else 40.0 for i in range(6))


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"temperatures_c": hot(1, 68.5)}, Refused, "the servo of j1 is at 68 °C (refused above 68 °C)"),
        ({"voltages_v": (12.0, 9.8, *(12.0,) * 4)}, Refused, "the servo of j1 gets 9.8 V (allowed 10.8…13.2 V)"),
        ({"voltages_v": (13.5,) * 6}, Refused, "the servo of j0 gets 13.5 V"),
        ({"servos_enabled": False}, ArmNotReady, "a servo is off"),
    ],
)
def test_what_is_refused(changes, error, words):
    with pytest.raises(error) as caught:
        check_ready(health(**changes), SETTINGS)
    assert words in caught.value.message
    assert caught.value.next_step


def test_a_hot_arm_may_still_be_moved_to_where_it_cools():
    check_ready(health(temperatures_c=hot(1, 75.0)), SETTINGS, to_rest=True)
    with pytest.raises(Refused, match="gets 9"):
        check_ready(health(voltages_v=(9.0,) * 6), SETTINGS, to_rest=True)


def test_no_power_and_a_latched_error_are_told_first():
    with pytest.raises(ArmNotReady, match="no power"):
        check_ready(ArmHealth(False, 5, False), SETTINGS)
    with pytest.raises(ArmNotReady, match="error 2: joint 2 of the arm is past its limit"):
        check_ready(ArmHealth(True, 2, True), SETTINGS)
    assert "don't name" in error_meaning(99)


def test_what_the_firmware_does_not_say_is_no_reason_against_it():
    silent = ArmHealth(True, 0)
    check_ready(silent, SETTINGS)
    assert why_rest(silent, SETTINGS) is None


def test_between_the_two_limits_the_arm_is_rested():
    check_ready(health(temperatures_c=hot(2, 60.0)), SETTINGS)
    assert why_rest(health(temperatures_c=hot(2, 55.0)), SETTINGS) is None
    assert "j2 is at 60 °C (rests above 55 °C)" in why_rest(health(temperatures_c=hot(2, 60.0)), SETTINGS)


def test_servos_warm_towards_what_they_hold_and_cool_again():
    servos = Servos(2, 35.0)
    torque = np.array([0.0, 1.0])
    for _ in range(100_000):
        servos.hold(torque, 0.05)
    assert servos.now_c == pytest.approx([IDLE_C, IDLE_C + RISE_C_PER_NM2], abs=0.1)
    at_once = Servos(2, 35.0)
    at_once.hold(torque, 5000.0)
    assert at_once.now_c == pytest.approx(servos.now_c, abs=0.1)
    servos.hold(np.zeros(2), 420.0)
    assert servos.now_c[1] == pytest.approx(IDLE_C + RISE_C_PER_NM2 / np.e, abs=0.1)
