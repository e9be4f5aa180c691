"""How far arms reach, against what can be reckoned by hand."""

from __future__ import annotations

import numpy as np
import pytest

from runner.kinematics.fk import tool_points_m
from runner.kinematics.ik.reach import reach_m
from runner.kinematics.model import load_arm


def test_the_mecharm_stretched_out_level_is_its_published_length_and_its_tool():
    """267.1 mm from the shoulder to link6 at j3 = 0, the tool point 100.3 mm in front; j3 turned gains up to 2 mm."""
    assert 0.3674 <= reach_m(load_arm("mecharm270")) <= 0.3694


def test_the_teaching_arm_reaches_its_two_upper_links():
    assert reach_m(load_arm("teaching3")) == pytest.approx(6.0, abs=0.001)


def test_no_pose_of_the_280_is_farther_out():
    arm = load_arm("mycobot_280")
    poses_deg = np.random.default_rng(1).uniform(arm.min_deg, arm.max_deg, (20_000, 6))
    points_m = tool_points_m(poses_deg, arm)
    farthest_m = np.linalg.norm(points_m[:, :2], axis=1).max()
    assert farthest_m <= reach_m(arm) <= arm.longest_reach_m
