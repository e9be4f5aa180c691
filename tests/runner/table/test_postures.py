"""Postures solved in bulk: where they stand, how they stand, and the wrist's other way round."""

from __future__ import annotations

import numpy as np
import pytest

from runner.config import Config
from runner.kinematics.fk import tool_points_m, tool_pose
from runner.kinematics.frames import BaseInCell, stance_of
from runner.kinematics.ik.protocol import JointLimits
from runner.kinematics.model import ArmModel, build, load_arm
from runner.table.postures import (
    back_along_tool,
    hard_limits,
    jaws_as_at,
    planning_limits,
    radial_heading_deg,
    radius_m,
    solve_postures,
    wrapped_deg,
)


def test_every_posture_stands_where_and_as_it_says(arm: ArmModel, config: Config) -> None:
    limits = planning_limits(arm, config)
    found = solve_postures(
        arm,
        limits,
        tilts_deg=(30.0, 50.0, 70.0),
        turns_deg=(-45.0, -15.0, 0.0, 30.0),
        radii_m=np.arange(0.10, 0.36, 0.02),
        heights_m=np.array([0.026, 0.085]),
    )
    assert len(found.tilt_deg) > 150
    points = tool_points_m(found.joints_deg, arm)
    assert np.hypot(points[:, 0], points[:, 1]) == pytest.approx(found.radius_m, abs=2e-5)
    assert points[:, 1] == pytest.approx(np.zeros(len(points)), abs=2e-5)
    assert points[:, 2] == pytest.approx(found.height_m, abs=2e-5)
    for i in range(0, len(points), 5):
        stance = stance_of(found.joints_deg[i], arm, BaseInCell.at())
        assert stance.tilt_deg == pytest.approx(found.tilt_deg[i], abs=0.02)
        assert wrapped_deg(stance.heading_deg - 90.0 - found.turn_deg[i]) == pytest.approx(0.0, abs=0.05)
        assert abs(np.sin(np.radians(stance.roll_deg))) < 1e-3
    assert np.all((found.joints_deg >= limits.min_deg) & (found.joints_deg <= limits.max_deg))
    reach = {
        tilt: found.radius_m[(found.tilt_deg == tilt) & (found.turn_deg == 0)].max() for tilt in (30.0, 50.0, 70.0)
    }
    assert reach[30.0] > reach[50.0] > reach[70.0]


def test_planned_joints_keep_room_inside_the_hard_limits(arm: ArmModel, config: Config) -> None:
    hard, planned = hard_limits(arm, config), planning_limits(arm, config)
    assert np.all(planned.min_deg > hard.min_deg)
    assert np.all(planned.max_deg < hard.max_deg)
    assert planned.max_deg[1] < config.arm.j1_safe_max_deg
    assert hard.max_deg[0] == 159.0


def test_the_jaws_are_taken_the_way_round_that_is_nearer(arm: ArmModel) -> None:
    pose = np.array([[10.0, 50.0, -20.0, 20.0, 30.0, -30.0]])
    frame = tool_pose(pose, arm)[:, :3, :3]
    turned_over = frame @ np.diag([-1.0, -1.0, 1.0])
    assert jaws_as_at(pose, frame, arm) == pytest.approx(frame)
    assert jaws_as_at(pose, turned_over, arm) == pytest.approx(frame)


def test_directions_and_distances_count_from_the_base_axis() -> None:
    base = BaseInCell.at((0.1, 0.0, -0.1))
    assert radial_heading_deg((0.1, 0.2), base) == pytest.approx(90.0)
    assert radius_m((0.4, 0.3), base) == pytest.approx(0.5)
    assert [wrapped_deg(a) for a in (190.0, -180.0, 180.0, 540.0)] == [-170.0, -180.0, -180.0, -180.0]


def test_back_along_the_tool_is_up_and_towards_the_arm() -> None:
    assert back_along_tool(np.array([0.0, 0.0, 0.2]), 90.0, 90.0, 0.05) == pytest.approx([0.0, 0.05, 0.2])
    assert back_along_tool(np.array([0.0, 0.0, 0.2]), 0.0, 90.0, 0.05) == pytest.approx([0.0, 0.0, 0.15])


def test_the_arm_file_says_where_searches_begin():
    """The 280 has another elbow and wrist; poses spread over its limits find fewer postures than its file's."""
    arm = load_arm("mycobot_280")
    limits = JointLimits.of(arm, margin_deg=3.0)
    asked = {
        "tilts_deg": (30.0, 50.0, 70.0, 90.0),
        "turns_deg": (0.0, 30.0),
        "radii_m": np.arange(0.18, 0.29, 0.02),
        "heights_m": np.array([0.03]),
    }
    found = solve_postures(arm, limits, **asked)
    straight = found.turn_deg == 0.0
    assert straight.sum() >= 20  # of 24
    assert (~straight).sum() >= 12
    assert limits.hold(found.joints_deg)
    T = tool_pose(found.joints_deg, arm)
    assert np.abs(T[:, 2, 0]).max() < 1e-3  # jaws level
    assert np.allclose(np.degrees(np.arcsin(-T[:, 2, 2])), found.tilt_deg, atol=0.05)
    assert np.allclose(np.hypot(T[:, 0, 3], T[:, 1, 3]), found.radius_m, atol=1e-4)


def test_an_arm_whose_file_names_no_starts_is_searched_all_over():
    data = load_arm("mycobot_280").data.model_copy(update={"search": None})
    arm = build(data)
    found = solve_postures(
        arm,
        JointLimits.of(arm),
        tilts_deg=(90.0,),
        turns_deg=(0.0,),
        radii_m=np.array([0.18, 0.22]),
        heights_m=np.array([0.05]),
    )
    assert len(found.joints_deg) == 2
