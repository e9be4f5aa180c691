"""Limits hold to the second, the cent and the move."""

from __future__ import annotations

import pytest

from runner.agent.errors import LimitReached
from runner.agent.limits import LimitedSwitch, Meter
from runner.settings.agent import AgentSettings
from runner.trial.errors import Stopped


class Ticks:
    def __init__(self):
        self.s = 100.0

    def __call__(self):
        return self.s


def test_time_is_the_clock_that_has_gone_farther():
    ours, arms = Ticks(), Ticks()
    meter = Meter(AgentSettings(time_s=10), now_s=ours)
    ours.s += 50  # before the beginning nothing counts
    meter.begin(arms)
    arms.s += 9.999
    ours.s += 3
    meter.check_time()
    assert meter.left_s == pytest.approx(0.001)
    ours.s += 7
    with pytest.raises(LimitReached, match=r"limit of time is reached: 10 of 10 s"):
        meter.check_time()


def test_a_switch_lets_nothing_begin_that_a_limit_forbids_but_the_way_to_rest():
    meter = Meter(AgentSettings(motions=1))
    switch = LimitedSwitch(meter)
    meter.motions = 1  # of the preflight, which no limit holds up
    switch.check()
    meter.begin(Ticks())
    switch.check()
    meter.motions = 1
    with pytest.raises(LimitReached, match="moves of the arm is reached: 1 of 1"):
        switch.check()
    switch.over()
    switch.check()
    switch.press()
    with pytest.raises(Stopped):
        switch.check()


def test_calls_and_tries_are_counted_before_they_are_made():
    meter = Meter(AgentSettings(calls=2, picks=0))
    meter.take_call()
    meter.take_call()
    with pytest.raises(LimitReached, match="2 of 2"):
        meter.take_call()
    assert meter.calls == 2
    with pytest.raises(LimitReached, match="tries at the block"):
        meter.take_pick()
    assert meter.picks == 0
