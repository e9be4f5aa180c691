"""The guard refuses and never clips: each rule, by how much, and nothing is sent after a no."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.arms.errors import Refused
from runner.arms.guard import GuardedArm, GuardRules
from runner.config import Config
from runner.geometry import clearances, obstacles_of
from runner.kinematics.frames import BaseInCell
from runner.kinematics.model import load_arm

CONFIG = Config()
ARM = load_arm(CONFIG.arm.model).with_tool(tcp_mm=CONFIG.arm.tcp_mm, roll_deg=CONFIG.arm.tool_roll_deg)
HOME = np.array(CONFIG.arm.home_deg)


class Recorder:
    """An arm that writes down what it was sent."""

    model = ARM

    def __init__(self) -> None:
        self.sent: list[np.ndarray] = []

    def read_angles_deg(self):
        return HOME.copy()

    def send_path(self, waypoints_deg, *, speed_percent):
        self.sent.append(waypoints_deg)


def guarded():
    inner, answers = Recorder(), []
    rules = GuardRules.of(ARM, CONFIG.arm, CONFIG.table, CONFIG.guard)
    guard = GuardedArm(inner, BaseInCell.at(), rules, on_answer=answers.append)
    guard.obstacles = obstacles_of(CONFIG)
    return guard, inner, answers


def refusal_of(path, **situation):
    guard, inner, answers = guarded()
    if situation:
        guard.obstacles = obstacles_of(CONFIG, **situation)
    with pytest.raises(Refused) as refused:
        guard.send_path(np.atleast_2d(np.asarray(path, dtype=float)), speed_percent=20)
    assert inner.sent == []
    assert answers[-1].allowed is False
    assert answers[-1].rule == refused.value.rule
    assert refused.value.next_step
    return refused.value


def test_a_clear_path_goes_through_unchanged_and_is_answered_with_its_clearance():
    guard, inner, answers = guarded()
    goal = np.array([[30.0, 10.0, -10.0, 0.0, 20.0, -30.0]])
    guard.send_path(goal, speed_percent=20)
    assert np.array_equal(inner.sent[0], goal)
    assert answers[-1].allowed
    assert answers[-1].clearance_mm > 0


@pytest.mark.parametrize(
    ("pose", "rule"),
    [
        ([0, 88.5, -40, 0, 0, -30], "safe_max limit of j1"),
        ([159.5, 0, 0, 0, 0, -30], "hard limit of j0"),
        ([0, 0, 64.5, 0, 0, -30], "hard limit of j2"),
        ([0, 0, 0, 0, 0, float("nan")], "finite"),
        ([0, 0, 0, 0, 0, float("inf")], "finite"),
        ([0, 85, 50, 0, 0, -30], "height floor"),
    ],
)
def test_each_rule_says_which_by_how_much_and_what_to_do(pose, rule):
    assert refusal_of(pose).rule == rule


def test_the_amount_is_in_the_message():
    assert "by 0.50°" in str(refusal_of([0, 88.5, -40, 0, 0, -30]))


def test_a_path_through_the_box_is_refused():
    low_and_level = [-31.93, 87.74, -38.33, 18.6, -45.11, -30.0]  # the field log's pick pose, 39 mm over the table
    assert refusal_of(low_and_level, box_xz_m=(0.203, 0.259)).rule == "path against box"


def test_a_path_that_starts_too_near_the_table_may_lead_away_but_no_nearer():
    guard, _, _ = guarded()

    def with_j1(j1_deg):
        return np.array([0.0, j1_deg, -40.0, 0.0, 60.0, -30.0])

    def to_table_mm(j1_deg):
        pose = with_j1(j1_deg)
        return next(c.mm for c in clearances(pose, ARM, BaseInCell.at(), guard.obstacles) if c.against == "table")

    low_deg = next(j1 for j1 in np.arange(20.0, 88.0, 0.05) if to_table_mm(j1) < 0.5)
    low, higher, lower = (with_j1(j1_deg) for j1_deg in (low_deg, low_deg - 15, low_deg + 0.5))
    still = np.zeros(6)
    assert guard.check("away", higher[None], still, start_deg=low) < 1.0
    with pytest.raises(Refused):
        guard.check("nearer", lower[None], still, start_deg=low)


def test_a_correction_larger_than_an_arm_sags_is_refused():
    guard, inner, _ = guarded()
    with pytest.raises(Refused) as refused:
        guard.send_compensated("x", HOME[None], np.full(6, 9.0), speed_percent=20, start_deg=HOME)
    assert refused.value.rule == "offset"
    assert inner.sent == []


@pytest.mark.parametrize("speed", [0, 101, -5])
def test_a_speed_outside_one_to_a_hundred_is_refused(speed):
    guard, inner, _ = guarded()
    with pytest.raises(Refused) as refused:
        guard.send_path(HOME[None], speed_percent=speed)
    assert refused.value.rule == "speed"
    assert inner.sent == []


@pytest.mark.parametrize("residual_mm", [1.01, float("nan"), 18.1])
def test_a_pose_that_misses_its_target_in_all_axes_together_is_refused(residual_mm):
    guard, _, _ = guarded()
    with pytest.raises(Refused):
        guard.check_residual("pick", residual_mm)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-200, 200), min_size=6, max_size=6))
def test_whatever_is_sent_is_inside_every_limit(angles):
    guard, inner, _ = guarded()
    try:
        guard.send_path(np.array([angles]), speed_percent=20)
    except Refused:
        assert inner.sent == []
    else:
        sent = inner.sent[0][-1]
        assert (sent >= ARM.min_deg + 1).all()
        assert (sent <= ARM.max_deg - 1).all()
        assert sent[1] <= CONFIG.arm.j1_safe_max_deg
        assert np.array_equal(sent, angles)


@pytest.mark.parametrize("start", [[float("nan")] * 6, [0.0] * 5, [float("inf")] * 6])
def test_a_start_that_is_no_reading_is_refused_like_a_goal(start):
    guard, inner, answers = guarded()
    with pytest.raises(Refused):
        guard.send_compensated("x", HOME[None], np.zeros(6), speed_percent=20, start_deg=np.array(start))
    assert inner.sent == []
    assert answers[-1].allowed is False


@pytest.mark.parametrize("value", [-1, 101, 900])
def test_a_gripper_value_outside_its_scale_is_refused(value):
    guard, _, _ = guarded()
    with pytest.raises(Refused) as refused:
        guard.send_gripper_value(value)
    assert refused.value.rule == "gripper value"
