"""Laws of the set-points: they end at the goal, keep to speed and order, and never overshoot."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from runner.twin.trajectory import set_points

DT_S = 0.002
ANGLES = st.floats(-150, 150, allow_nan=False, width=32)


@settings(max_examples=60, deadline=None)
@given(
    arrays(np.float64, 6, elements=ANGLES),
    st.integers(1, 5).flatmap(lambda k: arrays(np.float64, (k, 6), elements=ANGLES)),
    st.sampled_from([15.0, 30.0, 90.0, 150.0]),
)
def test_set_points_end_at_the_goal_and_never_overshoot(start, waypoints, speed):
    out = set_points(start, waypoints, speed_deg_s=speed, acceleration_deg_s2=200.0, dt_s=DT_S)
    assert np.array_equal(out[-1], waypoints[-1])
    every = np.vstack([start, waypoints])
    assert (out >= every.min(axis=0) - 1e-6).all()
    assert (out <= every.max(axis=0) + 1e-6).all()
    rate = np.abs(np.diff(np.vstack([start, out]), axis=0)).max() / DT_S
    assert rate <= speed * 1.001 + 1e-3


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 6).flatmap(lambda k: arrays(np.float64, (k, 6), elements=st.floats(-90, 90, width=32))))
def test_every_waypoint_is_passed_in_order(waypoints):
    start = np.zeros(6)
    out = set_points(start, waypoints, speed_deg_s=30.0, acceleration_deg_s2=200.0, dt_s=DT_S)
    since = 0
    for waypoint in waypoints:
        away = np.abs(out[since:] - waypoint).max(axis=1)
        near = np.flatnonzero(away < 0.45)
        assert len(near), f"came no nearer than {away.min():.2f}° to {waypoint}"
        since += int(near[0])


def test_a_straight_row_of_waypoints_is_passed_without_slowing_down():
    line = np.linspace(np.zeros(6), np.full(6, 60.0), 13)[1:]
    once = set_points(np.zeros(6), line[-1:], speed_deg_s=30.0, acceleration_deg_s2=200.0, dt_s=DT_S)
    in_parts = set_points(np.zeros(6), line, speed_deg_s=30.0, acceleration_deg_s2=200.0, dt_s=DT_S)
    assert abs(len(once) - len(in_parts)) <= 1
    both = min(len(once), len(in_parts))
    assert np.abs(once[:both] - in_parts[:both]).max() < 1e-3


def test_a_goal_that_is_the_start_takes_one_step():
    out = set_points(np.ones(6), np.ones((3, 6)), speed_deg_s=30.0, acceleration_deg_s2=200.0, dt_s=DT_S)
    assert out.shape == (1, 6)
