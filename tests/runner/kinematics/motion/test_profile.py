"""Laws of the set-points: they end at the goal, keep to limits, order and way, and never overshoot."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from runner.kinematics.motion import RateLimits, set_points

DT_S = 0.004
ANGLES = st.floats(-150, 150, allow_nan=False, width=32)
RATES = st.tuples(
    arrays(np.float64, 6, elements=st.floats(5, 180)), arrays(np.float64, 6, elements=st.floats(40, 500))
).map(lambda pair: RateLimits(*pair))
WAYS = st.integers(1, 6).flatmap(lambda k: arrays(np.float64, (k, 6), elements=ANGLES))
EVEN = RateLimits.even(6, speed_deg_s=30.0, acceleration_deg_s2=200.0)


def rates_of(start, out):
    """Speeds and accelerations from rest to rest, finite differences."""
    speed = np.diff(np.vstack([start, start, out, out[-1], out[-1]]), axis=0) / DT_S
    return speed, np.diff(speed, axis=0) / DT_S


@settings(max_examples=60, deadline=None)
@given(arrays(np.float64, 6, elements=ANGLES), WAYS, RATES)
def test_they_end_at_the_goal_inside_both_limits_and_never_overshoot(start, waypoints, rates):
    out = set_points(start, waypoints, rates, dt_s=DT_S)
    assert np.array_equal(out[-1], waypoints[-1])
    every = np.vstack([start, waypoints])
    assert (out >= every.min(axis=0) - 1e-9).all()
    assert (out <= every.max(axis=0) + 1e-9).all()
    speed, acceleration = rates_of(start, out)
    assert (np.abs(speed) <= rates.speed_deg_s * (1 + 1e-6) + 1e-6).all()
    assert (np.abs(acceleration) <= rates.acceleration_deg_s2 * (1 + 1e-6) + 1e-4).all()


@settings(max_examples=60, deadline=None)
@given(arrays(np.float64, 6, elements=ANGLES), arrays(np.float64, (6, 6), elements=st.floats(0, 30)), RATES)
def test_joints_that_go_one_way_never_turn_back(start, steps, rates):
    out = set_points(start, start + np.cumsum(steps, axis=0), rates, dt_s=DT_S)
    assert np.diff(np.vstack([start, out]), axis=0).min() >= -1e-9


@settings(max_examples=60, deadline=None)
@given(arrays(np.float64, 6, elements=ANGLES), arrays(np.float64, 6, elements=ANGLES), RATES)
def test_joints_of_one_move_start_together_stay_in_step_and_stop_together(start, goal, rates):
    out = set_points(start, goal[None], rates, dt_s=DT_S)
    step = goal - start
    longest = int(np.argmax(np.abs(step)))
    if abs(step[longest]) > 1e-3:
        share = (out[:, longest] - start[longest]) / step[longest]
        assert np.abs(out - start - share[:, None] * step).max() < 1e-6


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 6).flatmap(lambda k: arrays(np.float64, (k, 6), elements=st.floats(-90, 90, width=32))))
def test_every_waypoint_is_passed_in_order(waypoints):
    out = set_points(np.zeros(6), waypoints, EVEN, dt_s=DT_S)
    since = 0
    for waypoint in waypoints:
        away = np.abs(out[since:] - waypoint).max(axis=1)
        near = np.flatnonzero(away < 0.2)
        assert len(near), f"came no nearer than {away.min():.2f}° to {waypoint}"
        since += int(near[0])


def test_between_waypoints_they_stay_on_the_joint_moves():
    waypoints = np.array([[30.0, 0, 10, 0, 0, 0], [30.0, 40, 10, 0, -20, 0], [0.0, 40, -30, 5, 0, 0]])
    out = set_points(np.zeros(6), waypoints, EVEN, dt_s=DT_S)
    moves = np.vstack([np.zeros(6), waypoints])
    shares = np.linspace(0, 1, 1001)[:, None]
    polyline = np.vstack([a + (b - a) * shares for a, b in pairwise(moves)])
    assert max(np.abs(polyline - pose).max(axis=1).min() for pose in out) < 0.1


def test_a_straight_row_of_waypoints_is_passed_without_slowing_down():
    line = np.linspace(np.zeros(6), np.full(6, 60.0), 13)[1:]
    once, in_parts = (set_points(np.zeros(6), way, EVEN, dt_s=DT_S) for way in (line[-1:], line))
    assert abs(len(once) - len(in_parts)) <= 1
    both = min(len(once), len(in_parts))
    assert np.abs(once[:both] - in_parts[:both]).max() < 1e-3


def test_a_long_move_takes_as_long_as_speed_and_acceleration_ask_for():
    out = set_points(np.zeros(6), np.array([[90.0, 0, 0, 0, 0, 0]]), EVEN, dt_s=DT_S)
    assert abs(len(out) * DT_S - (90 / 30 + 30 / 200 + 0.1)) < 2 * DT_S


def test_a_goal_that_is_the_start_takes_one_step():
    out = set_points(np.ones(6), np.ones((3, 6)), EVEN, dt_s=DT_S)
    assert out.shape == (1, 6)
    assert np.array_equal(out[0], np.ones(6))
