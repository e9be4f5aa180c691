"""Zeros that are off are taken off every command, in one place, and limits hold for joints and encoders alike."""

from __future__ import annotations

import numpy as np
import pytest

from runner.arms.errors import Refused
from runner.arms.guard import GuardedArm, GuardRules
from runner.arms.zeroed import ZeroedArm, in_true_angles
from runner.config import Config, with_overrides
from runner.kinematics.frames import tool_points_cell_m
from runner.table.postures import arm_of, planning_limits
from runner.twin.setup import build_twin

ZERO_DEG = (0.5, -3.0, 2.0, 0.0, 1.0, -1.5)
CONFIG = with_overrides(Config(), [f"arm.joint_zero_deg={list(ZERO_DEG)}"])
START = np.array([10.0, 30.0, 10.0, 5.0, 20.0, -30.0])


class RawArm:
    """Encoder angles: stands still and remembers what it was told."""

    def __init__(self, model) -> None:
        self.model, self.told, self.closed = model, [], False

    def read_angles_deg(self):
        return START - np.array(ZERO_DEG)

    def send_path(self, waypoints_deg, *, speed_percent):
        self.told.append(waypoints_deg)

    def close(self):
        self.closed = True


@pytest.fixture
def raw(arm) -> RawArm:
    return RawArm(arm)


def test_readings_are_where_the_joints_are_and_commands_what_the_encoders_are_told(raw):
    model, _ = arm_of(CONFIG)
    arm = in_true_angles(raw, model, ZERO_DEG)
    np.testing.assert_allclose(arm.read_angles_deg(), START)
    arm.send_path(START[None] + 5.0, speed_percent=20)
    np.testing.assert_allclose(raw.told[0], START[None] + 5.0 - np.array(ZERO_DEG))
    assert arm.model is model
    arm.close()
    assert raw.closed


def test_an_arm_with_nothing_to_take_off_stays_itself(raw, arm):
    assert in_true_angles(raw, arm, (0.0,) * 6) is raw


def test_neither_joint_nor_encoder_passes_a_limit_or_j1s_safe_maximum(raw):
    model, base = arm_of(CONFIG)
    rules = GuardRules.of(model, CONFIG.arm, CONFIG.table, CONFIG.guard)
    plain, _ = arm_of(Config())
    margin = CONFIG.arm.limit_margin_deg
    for joint, zero in enumerate(ZERO_DEG):
        assert rules.min_deg[joint] == pytest.approx(plain.min_deg[joint] + margin + max(zero, 0.0))
        if joint != 1:
            assert rules.max_deg[joint] == pytest.approx(plain.max_deg[joint] - margin + min(zero, 0.0))
    assert rules.max_deg[1] - ZERO_DEG[1] == pytest.approx(CONFIG.arm.j1_safe_max_deg)
    assert planning_limits(model, CONFIG).max_deg[1] < rules.max_deg[1]
    guard = GuardedArm(ZeroedArm(raw, model, np.array(ZERO_DEG)), base, rules)
    with pytest.raises(Refused, match="j1 at 86"):
        guard.send_path(np.array([[10.0, 86.0, -40.0, 5.0, 20.0, -30.0]]), speed_percent=20)
    assert raw.told == []


def test_the_twins_truth_stands_where_the_program_thinks_when_zeros_and_gripper_are_known():
    """What the settings call the gripper's shift and the zeros is what the twin has off under these names."""
    told = ['twin.profile="uncalibrated"', "twin.desk_seed=5", "twin.slip_deg=[1, 0, 0, 0, 0, 0]"]
    twin = build_twin(with_overrides(Config(), told), seed=3)
    from_encoders = twin.arm.read_angles_deg()
    truth, desk = twin.truth(), twin.arm._desk
    twin.close()
    config = with_overrides(
        Config(), [f"arm.joint_zero_deg={desk.zero_deg.tolist()}", f"arm.tool_shift_mm={desk.tool_mm.tolist()}"]
    )
    model, base = arm_of(config)
    known = in_true_angles(RawArm(model), model, tuple(desk.zero_deg))
    assert known.model.hand_shift_m == pytest.approx(desk.tool_mm / 1000.0)

    reckoned = tool_points_cell_m(from_encoders + desk.zero_deg, model, base)
    assert np.linalg.norm(reckoned - np.array(truth.tool_m)) < 1e-3
    plain, _ = arm_of(Config())
    assert np.linalg.norm(tool_points_cell_m(from_encoders, plain, base) - np.array(truth.tool_m)) > 4e-3
