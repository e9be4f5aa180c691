"""Straight lines of the tool as joint poses: on the line between them too, continuous, or refused."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from runner.kinematics.errors import LineRefused, OutsideLimits, WrongJoints
from runner.kinematics.fk import tool_pose
from runner.kinematics.ik.dls import DampedLeastSquares, rotation_vector
from runner.kinematics.ik.protocol import IkTarget, JointLimits
from runner.kinematics.model import load_arm
from runner.kinematics.motion import StraightLine, straight_line

ARM = load_arm("mecharm270").with_tool(tcp_mm=(0.0, 0.0, 100.3), roll_deg=30.0)
LIMITS = JointLimits.of(ARM)
START = np.array([-20.0, 50.0, -20.0, 0.0, 30.0, -30.0])


def along_tool(pose: np.ndarray, metres: float) -> np.ndarray:
    T = tool_pose(pose, ARM)
    found = DampedLeastSquares(ARM).solve(IkTarget(T[:3, 3] + metres * T[:3, 2], T[:3, :3]), pose)
    assert found.converged
    return found.angles_deg


def measured(line: StraightLine) -> tuple[float, float]:
    """The farthest that fine joint moves along the poses go off the line, mm, and off the even turn, deg."""
    poses = line.waypoints_deg
    fine = np.vstack([a + (b - a) * np.linspace(0, 1, 41)[:, None] for a, b in pairwise(poses)])
    T = tool_pose(fine, ARM)
    a, b = T[0, :3, 3], T[-1, :3, 3]
    share = np.clip((T[:, :3, 3] - a) @ (b - a) / ((b - a) @ (b - a)), 0, 1)
    off_mm = np.linalg.norm(T[:, :3, 3] - a - share[:, None] * (b - a), axis=1).max() * 1000
    turned = np.linalg.norm(rotation_vector(T[:, :3, :3] @ T[0, :3, :3].T), axis=1)
    return float(off_mm), float(np.degrees(np.abs(turned - share * turned[-1]).max()))


def test_the_tool_stays_on_the_line_and_keeps_its_frame() -> None:
    goal = along_tool(START, 0.04)
    line = straight_line(START, goal, ARM, LIMITS)
    assert line.length_mm == pytest.approx(40.0, abs=0.1)
    assert line.turn_deg < 0.1
    assert np.array_equal(line.waypoints_deg[0], START)
    assert np.array_equal(line.waypoints_deg[-1], goal)
    off_mm, off_deg = measured(line)
    assert off_mm < 0.28, "between the poses too"
    assert line.off_mm == pytest.approx(off_mm, abs=0.05)
    assert off_deg < 0.55
    assert len(line.waypoints_deg) <= 9, "no more poses than the tolerance asks for"


def test_a_finer_tolerance_takes_more_poses() -> None:
    goal = along_tool(START, 0.04)
    coarse, fine = (straight_line(START, goal, ARM, LIMITS, off_mm=off) for off in (1.0, 0.02))
    assert len(coarse.waypoints_deg) < len(fine.waypoints_deg)
    assert measured(fine)[0] < 0.025


def test_a_turn_is_shared_out_evenly() -> None:
    turned = START + np.array([0, 0, 0, 0, 0, 40.0])
    line = straight_line(START, along_tool(turned, 0.02), ARM, LIMITS)
    assert line.turn_deg == pytest.approx(40.0, abs=0.1)
    assert measured(line)[1] < 1.0
    only = straight_line(START, turned, ARM, LIMITS)
    assert only.length_mm == pytest.approx(0.0, abs=1e-6)
    assert len(only.waypoints_deg) == 2, "a turn of the last joint alone is one joint move"


def test_it_is_the_same_line_the_other_way() -> None:
    line = straight_line(START, along_tool(START, 0.04), ARM, LIMITS)
    back = line.reversed()
    assert np.array_equal(back.waypoints_deg, line.waypoints_deg[::-1])
    assert back.off_mm == line.off_mm


def test_no_way_at_all_is_two_poses() -> None:
    line = straight_line(START, START, ARM, LIMITS)
    assert len(line.waypoints_deg) == 2
    assert line.off_mm == pytest.approx(0.0, abs=1e-9)
    assert line.largest_step_deg == 0.0


def test_a_line_through_the_arm_itself_is_refused() -> None:
    far = np.array([80.0, 60.0, -10.0, 0.0, 0.0, -30.0])
    with pytest.raises(LineRefused) as refused:
        straight_line(far, far * np.array([-1, 1, 1, 1, 1, 1]), ARM, LIMITS)
    assert 0.0 <= refused.value.share < 1.0
    assert "no straight line: after" in str(refused.value)
    assert "choose ends nearer" in str(refused.value)


def test_two_branches_of_one_tool_pose_are_not_joined_by_a_jump() -> None:
    start = np.array([-20.0, 50.0, -20.0, 60.0, 40.0, 100.0])
    T = tool_pose(start, ARM)
    guess = np.array([-20.0, 50.0, -20.0, -120.0, -40.0, -80.0])  # the wrist the other way round
    other = DampedLeastSquares(ARM, max_steps=200).solve(IkTarget(T[:3, 3], T[:3, :3]), guess)
    assert other.converged
    assert np.abs(other.angles_deg - start).max() > 90
    with pytest.raises(LineRefused, match=r"joint \d would jump by|misses it by"):
        straight_line(start, other.angles_deg, ARM, LIMITS)


def test_ends_that_are_no_poses_are_refused() -> None:
    with pytest.raises(OutsideLimits, match="j1"):
        straight_line(START, START + np.array([0, 100.0, 0, 0, 0, 0]), ARM, LIMITS)
    with pytest.raises(WrongJoints):
        straight_line(START, np.full(6, np.nan), ARM, LIMITS)
    with pytest.raises(WrongJoints):
        straight_line(START[:5], START, ARM, LIMITS)


@settings(max_examples=40, deadline=None)
@given(
    st.tuples(st.floats(-100, 100), st.floats(10, 70), st.floats(-60, 30), st.floats(-60, 60), st.floats(-80, 80)),
    st.tuples(*[st.floats(-1, 1)] * 3),
    st.floats(5, 90),
)
def test_a_line_that_is_given_is_followed_and_continuous(joints, direction, length_mm) -> None:
    start, toward = np.array([*joints, -30.0]), np.array(direction)
    assume(np.linalg.norm(toward) > 0.1)
    T = tool_pose(start, ARM)
    goal = IkTarget(T[:3, 3] + toward / np.linalg.norm(toward) * length_mm / 1000, T[:3, :3])
    found = DampedLeastSquares(ARM).solve(goal, start)
    assume(found.converged)
    try:
        line = straight_line(start, found.angles_deg, ARM, LIMITS)
    except LineRefused:
        return
    off_mm, off_deg = measured(line)
    assert off_mm < 0.4
    assert off_deg < 0.8
    assert LIMITS.hold(line.waypoints_deg, slack_deg=1e-6)
    steps = np.abs(np.diff(line.waypoints_deg, axis=0)).max(axis=1)
    assert line.largest_step_deg == pytest.approx(steps.max())
    again = straight_line(start, found.angles_deg, ARM, LIMITS)
    assert np.array_equal(again.waypoints_deg, line.waypoints_deg), "the same question has the same answer"
