"""Laws of the set-point that follows: inside its limits always, on the goal in the end, beyond it never."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from runner.kinematics.motion import Follower, RateLimits

DT_S = 0.008
ANGLES = arrays(np.float64, 3, elements=st.floats(-120, 120, allow_nan=False, width=32))
RATES = st.tuples(
    arrays(np.float64, 3, elements=st.floats(5, 180)), arrays(np.float64, 3, elements=st.floats(40, 500))
).map(lambda pair: RateLimits(*pair))


def check_limits(places, rates):
    speed = np.diff(places, axis=0) / DT_S
    assert (np.abs(speed) <= rates.speed_deg_s * (1 + 1e-6) + 1e-6).all()
    assert (np.abs(np.diff(speed, axis=0) / DT_S) <= rates.acceleration_deg_s2 * (1 + 1e-6) + 1e-3).all()


@settings(max_examples=30, deadline=None)
@given(ANGLES, ANGLES, RATES)
def test_a_goal_that_stays_is_reached_from_one_side(start, goal, rates):
    follower, places = Follower(start, rates, dt_s=DT_S), [start, start]
    while not np.array_equal(places[-1], goal) or np.abs(places[-1] - places[-2]).max() > 0:
        places.append(follower.step(goal))
        assert len(places) < 20_000
    toward = np.sign(goal - start)
    assert (np.diff(np.array(places), axis=0) * toward >= -1e-9).all(), "it turned back"
    assert ((goal - np.array(places)) * toward >= -1e-9).all(), "it went beyond"
    check_limits(np.array(places), rates)


@settings(max_examples=30, deadline=None)
@given(st.lists(ANGLES, min_size=2, max_size=6), st.integers(1, 40), RATES)
def test_limits_hold_however_the_goal_jumps(goals, every, rates):
    follower, places = Follower(np.zeros(3), rates, dt_s=DT_S), [np.zeros(3)] * 2
    for goal in goals:
        places += [follower.step(goal) for _ in range(every)]
    for _ in range(20_000):
        places.append(follower.step(goals[-1]))
        if np.array_equal(follower.at_deg, goals[-1]) and not follower.rate_deg_s.any():
            break
    check_limits(np.array(places), rates)
    assert np.array_equal(follower.at_deg, goals[-1])


def test_it_takes_over_the_speed_at_hand():
    rates = RateLimits.even(3, speed_deg_s=50.0, acceleration_deg_s2=200.0)
    follower = Follower(np.zeros(3), rates, dt_s=DT_S, rate_deg_s=np.array([30.0, 0, 0]))
    first = follower.step(np.array([-1.0, 0, 0]))
    assert first[0] > 0, "it can't turn at once"
    places = [first] + [follower.step(np.array([-1.0, 0, 0])) for _ in range(400)]
    assert places[-1][0] == -1.0
    assert max(p[0] for p in places) < 30**2 / 400 + 0.3, "no farther than braking takes"
