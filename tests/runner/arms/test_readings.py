"""Only lists of finite numbers inside the arm's reach are readings."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.arms.errors import NoReading, ReadingRejected
from runner.arms.readings import Readings, checked_reading
from runner.kinematics.model import load_arm

ARM = load_arm("mecharm270")


@pytest.mark.parametrize(
    "answer",
    [-1, None, [], "", "abc", [0.0] * 5, [0.0] * 7, [0, 0, 0, 0, 0, float("nan")], [0, 0, 0, 0, 0, float("inf")],
     [180.08] * 6, [-327.68] * 6, [0, 130, 0, 0, 0, 0], ["a"] * 6, {"a": 1}, [[0.0] * 6]],
)  # fmt: skip
def test_what_is_no_reading_is_rejected_with_a_reason(answer):
    with pytest.raises(ReadingRejected) as rejected:
        checked_reading(answer, ARM)
    assert rejected.value.why


@given(st.lists(st.floats(-1, 1), min_size=6, max_size=6))
def test_a_reading_inside_the_limits_comes_back_as_it_is(shares):
    middle, half = (ARM.max_deg + ARM.min_deg) / 2, (ARM.max_deg - ARM.min_deg) / 2
    answer = (middle + np.array(shares) * half).tolist()
    assert checked_reading(answer, ARM).tolist() == answer


class Flaky:
    """An arm whose answers are bad a few times."""

    model = ARM

    def __init__(self, bad: int, answer: object = -1) -> None:
        self.bad, self.answer = bad, answer

    def read_angles_deg(self):
        if self.bad:
            self.bad -= 1
            return self.answer
        return np.zeros(6)


class NoClock:
    slept = 0.0

    def now_s(self):
        return self.slept

    def sleep(self, seconds):
        self.slept += seconds


@pytest.mark.parametrize("answer", [-1, None, [], np.full(6, 400.0), np.array([0, 0, 0, 0, 0, np.nan])])
def test_bad_answers_of_any_driver_are_counted_and_asked_again(answer):
    readings = Readings(Flaky(3, answer), NoClock())
    assert readings.read_deg().tolist() == [0.0] * 6
    assert readings.rejected == 3


def test_an_arm_that_never_answers_is_a_fault_and_never_zeros():
    with pytest.raises(NoReading) as fault:
        Readings(Flaky(99), NoClock()).read_deg()
    assert "8 tries" in str(fault.value)
