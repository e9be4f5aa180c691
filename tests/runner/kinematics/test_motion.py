"""Straight lines of the tool as joint waypoints."""

from __future__ import annotations

import numpy as np
import pytest

from runner.kinematics.fk import tool_pose
from runner.kinematics.ik.dls import DampedLeastSquares
from runner.kinematics.ik.protocol import IkTarget, JointLimits
from runner.kinematics.model import load_arm
from runner.kinematics.motion import straight_line

ARM = load_arm("mecharm270").with_tool(tcp_mm=(0.0, 0.0, 100.3), roll_deg=30.0)
LIMITS = JointLimits.of(ARM)
START = np.array([-20.0, 50.0, -20.0, 0.0, 30.0, -30.0])


def along_tool(pose: np.ndarray, metres: float) -> np.ndarray:
    T = tool_pose(pose, ARM)
    found = DampedLeastSquares(ARM).solve(IkTarget(T[:3, 3] + metres * T[:3, 2], T[:3, :3]), pose)
    assert found.converged
    return found.angles_deg


def test_the_tool_stays_on_the_line_and_keeps_its_frame() -> None:
    goal = along_tool(START, 0.04)
    line = straight_line(START, goal, ARM, LIMITS)
    assert line.converged
    assert line.off_mm < 0.1
    assert line.largest_step_deg < 6.0
    assert np.array_equal(line.waypoints_deg[0], START)
    assert np.array_equal(line.waypoints_deg[-1], goal)
    frames = tool_pose(line.waypoints_deg, ARM)[:, :3, :3]
    assert np.abs(frames - frames[0]).max() < 2e-3
    assert len(line.waypoints_deg) == 9


def test_a_turn_is_shared_out_evenly() -> None:
    turned = START + np.array([0, 0, 0, 0, 0, 40.0])
    line = straight_line(START, along_tool(turned, 0.02), ARM, LIMITS)
    assert line.converged
    steps = np.diff(line.waypoints_deg[:, 5])
    assert steps == pytest.approx(np.full(len(steps), 10.0), abs=0.2)


def test_a_line_through_where_the_arm_cannot_go_is_not_called_converged() -> None:
    far = np.array([80.0, 60.0, -10.0, 0.0, 0.0, -30.0])
    mirrored = far * np.array([-1, 1, 1, 1, 1, 1])
    line = straight_line(far, mirrored, ARM, LIMITS)
    assert not line.converged or line.off_mm > 1.0 or line.largest_step_deg > 12.0


def test_no_way_at_all_is_two_waypoints() -> None:
    line = straight_line(START, START, ARM, LIMITS)
    assert len(line.waypoints_deg) == 2
    assert line.off_mm == pytest.approx(0.0, abs=1e-9)
