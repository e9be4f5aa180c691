"""How the tool comes to a point, as lessons and corrections know it: direction, joints, parallax."""

from __future__ import annotations

import numpy as np
import pytest

from runner.kinematics.frames import stance_of, tool_points_cell_m
from runner.trial.stages.correct import AHEAD_DEG, way_of
from vision.calibration.view import View

POSE_DEG = np.array([-40.0, 35.0, -15.0, 5.0, 60.0, -30.0])


@pytest.fixture
def spot(arm, base):
    x, _, z = tool_points_cell_m(POSE_DEG, arm, base)
    return float(x), float(z)


def test_what_a_degree_of_each_joint_does_is_what_the_arm_does(arm, base, spot):
    way = way_of(POSE_DEG, spot, arm, base, None)
    for joint in range(6):
        turned = POSE_DEG.copy()
        turned[joint] += 0.3
        moved = (tool_points_cell_m(turned, arm, base) - tool_points_cell_m(POSE_DEG, arm, base))[[0, 2]] * 1000
        assert 0.3 * np.array(way.per_joint_mm[joint]) == pytest.approx(moved, abs=0.02)
        up = (tool_points_cell_m(turned, arm, base) - tool_points_cell_m(POSE_DEG, arm, base))[1] * 1000
        assert 0.3 * way.per_joint_up_mm[joint] == pytest.approx(up, abs=0.02)
    assert way.parallax_mm is None


def test_what_a_gripper_beside_its_place_does_turns_with_the_tool(arm, base, spot):
    way, turned = way_of(POSE_DEG, spot, arm, base, None), POSE_DEG.copy()
    turned[0] += 90.0
    there = way_of(turned, spot, arm, base, None)
    for axis in range(3):
        (x, z), up = way.per_tool_mm[axis], way.per_tool_up_mm[axis]
        assert np.hypot(np.hypot(x, z), up) == pytest.approx(1.0, abs=1e-3)
        assert there.per_tool_up_mm[axis] == pytest.approx(up, abs=1e-3)
        assert there.per_tool_mm[axis] == pytest.approx((-z, x), abs=1e-3)


def test_directions_are_told_against_the_line_from_the_base(arm, base, spot):
    heading = np.radians(stance_of(POSE_DEG, arm, base).heading_deg)
    for beside_deg, word in (
        (0, "ahead"),
        (AHEAD_DEG + 5, "right"),
        (-AHEAD_DEG - 5, "left"),
        (AHEAD_DEG - 5, "ahead"),
    ):
        line = heading + np.radians(beside_deg)  # the point lies to that side of where the tool heads
        at = (0.2 * float(np.cos(line)), 0.2 * float(np.sin(line)))
        assert way_of(POSE_DEG, at, arm, base, None).direction == word


def test_parallax_is_what_the_camera_makes_of_a_height(arm, base, spot):
    view = View.looking_at((0.1, 0.9, 0.2), (0.0, 0.0, 0.2), size_px=(1280, 720), width_deg=60.0)
    way = way_of(POSE_DEG, spot, arm, base, view)
    seen = view.table_to_pixel(np.array([spot]), 0.002)
    displaced = (view.pixel_to_table_xz_m(seen)[0] - np.array(spot)) * 1000 / 2
    assert np.array(way.parallax_mm) == pytest.approx(displaced, abs=0.003)
