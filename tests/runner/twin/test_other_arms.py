"""The twin of a myCobot 280: its frames are the kinematics', it moves, and home holds still."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from runner.arms.guard import GuardRules
from runner.config import Config, with_overrides
from runner.geometry import clearances, obstacles_of
from runner.kinematics.errors import NoShells
from runner.kinematics.fk import link_poses
from runner.kinematics.frames import tool_points_cell_m
from runner.kinematics.model import load_arm
from runner.table.postures import arm_of
from runner.twin.scene import build_scene
from runner.twin.setup import build_twin

CONFIG = with_overrides(
    Config(),
    [
        'arm.model="mycobot_280"',
        "arm.tcp_mm=[0, 0, 96.3]",
        "arm.tool_roll_deg=0",
        "arm.home_deg=[0, 0, -90, 90, 0, 0]",
        "arm.speed_percent=60",
    ],
)


def test_the_models_joint_frames_are_the_kinematics_frames():
    scene = build_scene(CONFIG, load_arm("mycobot_280"), (0.23, 0.17))
    model = mujoco.MjModel.from_xml_string(scene.xml)
    data, rng = mujoco.MjData(model), np.random.default_rng(3)
    for _ in range(50):
        angles_deg = rng.uniform(scene.arm.min_deg, scene.arm.max_deg)
        data.qpos[:6] = np.radians(angles_deg)
        mujoco.mj_kinematics(model, data)
        poses = link_poses(angles_deg, scene.arm)
        for i in range(6):
            body = model.body(f"link{i + 1}").id
            assert np.abs(data.xpos[body] - poses[i, :3, 3]).max() < 1e-9
            assert np.abs(data.xmat[body].reshape(3, 3) - poses[i, :3, :3]).max() < 1e-9


def test_it_moves_where_it_is_told(wait_still):
    twin = build_twin(CONFIG, seed=1)
    goal_deg = np.array([30.0, -30.0, -60.0, 20.0, 10.0, 0.0])
    twin.arm.send_path(goal_deg[None], speed_percent=60)
    wait_still(twin)
    reached = twin.arm.read_angles_deg()
    twin.close()
    assert np.abs(reached - goal_deg).max() < 0.5


def test_home_is_clear_of_everything():
    arm, base = arm_of(CONFIG)
    found = clearances(np.array(CONFIG.arm.home_deg), arm, base, obstacles_of(CONFIG))
    assert min(one.mm for one in found) > 5.0
    assert tool_points_cell_m(np.array(CONFIG.arm.home_deg), arm, base)[1] > 0.25


def test_no_guard_is_made_for_an_arm_without_shells():
    with pytest.raises(NoShells, match="teaching3 has no collision shapes"):
        GuardRules.of(load_arm("teaching3"), CONFIG.arm, CONFIG.table, CONFIG.guard)
