"""One CCD sweep: toward the target, inside the limits, about the true axes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.kinematics.errors import WrongJoints
from runner.kinematics.fk import tool_points_m
from runner.kinematics.ik.ccd import ccd_step
from runner.kinematics.ik.protocol import JointLimits
from runner.kinematics.model import load_arm

ARMS = [load_arm("mecharm270"), load_arm("teaching3")]
SHARES = st.lists(st.floats(0.05, 0.95), min_size=6, max_size=6)


def pose_at(arm, shares):
    return arm.min_deg + np.array(shares[: arm.n_joints]) * (arm.max_deg - arm.min_deg)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(ARMS), SHARES, SHARES, st.floats(0.01, 1.0))
def test_a_sweep_brings_the_tool_no_farther_and_stays_inside(arm, start, goal, gain):
    q, target_m = pose_at(arm, start), tool_points_m(pose_at(arm, goal), arm)
    limits = JointLimits.of(arm)
    after = ccd_step(arm, q, target_m, gain, limits)
    assert limits.hold(after)
    before_m, after_m = (np.linalg.norm(tool_points_m(x, arm) - target_m) for x in (q, after))
    assert after_m <= before_m + 1e-9, "each joint alone turns toward the target"
    assert np.array_equal(after, ccd_step(arm, q, target_m, gain, limits))


def test_a_joint_turns_by_the_gain_of_the_signed_angle_about_its_true_axis():
    arm = load_arm("teaching3")
    q = np.array([0.0, 0.0, 90.0])  # hand three ahead of the second joint's top: only j0 can bring it round
    hand = tool_points_m(q, arm)
    turned = tool_points_m(np.array([40.0, 0.0, 90.0]), arm)
    after = ccd_step(arm, q, turned, 0.05, JointLimits.of(arm))
    assert after[0] > 0
    assert after[0] <= 40.0 * 0.05 + 1e-6
    back = ccd_step(arm, q, np.array([-turned[0], turned[1], turned[2]]), 0.05, JointLimits.of(arm))
    assert back[0] == pytest.approx(-after[0]), "the other way for the mirrored target"
    assert np.linalg.norm(hand - turned) > 1.0


def test_many_sweeps_arrive():
    arm = load_arm("mecharm270")
    q, limits = np.array([20.0, 30.0, -20.0, 5.0, 40.0, -30.0]), JointLimits.of(arm)
    target_m = tool_points_m(np.array([-10.0, 40.0, -30.0, 0.0, 30.0, -30.0]), arm)
    for _ in range(400):
        q = ccd_step(arm, q, target_m, 0.3, limits)
    assert np.linalg.norm(tool_points_m(q, arm) - target_m) < 1e-4


def test_a_target_on_an_axis_or_on_the_tool_turns_nothing_wildly():
    arm = load_arm("mecharm270")
    q, limits = np.array([20.0, 30.0, -20.0, 5.0, 40.0, -30.0]), JointLimits.of(arm)
    on_tool = ccd_step(arm, q, tool_points_m(q, arm), 1.0, limits)
    assert np.abs(on_tool - q).max() < 1e-6
    on_axis = ccd_step(arm, q, np.array([0.0, 0.0, 0.3]), 0.05, limits)
    assert np.isfinite(on_axis).all()
    assert on_axis[0] == q[0], "j0 can't bring the tool nearer to a point on its own axis"


def test_angles_that_are_none_are_refused():
    arm = load_arm("mecharm270")
    with pytest.raises(WrongJoints):
        ccd_step(arm, np.full(6, np.nan), np.zeros(3), 0.05, JointLimits.of(arm))
