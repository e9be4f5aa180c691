"""The compiled model against the data it was made from."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from runner.config import Config, with_overrides
from runner.kinematics.fk import MANY, link_poses, tool_points_m, tool_pose
from runner.kinematics.gripper import gripper_of, opening_mm, theta_from_value_rad, tip_z_mm
from runner.kinematics.model import load_arm
from runner.twin.errors import ArmWithoutTwin
from runner.twin.scene import build_scene, quaternion_of

BOARD_M = (0.23, 0.17)


@pytest.fixture(scope="module")
def model_and_arm():
    scene = build_scene(Config(), load_arm("mecharm270"), BOARD_M)
    return mujoco.MjModel.from_xml_string(scene.xml), scene


def test_the_models_joint_frames_are_the_kinematics_frames(model_and_arm):
    model, scene = model_and_arm
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


def test_many_poses_at_once_agree_with_the_engine_too(model_and_arm):
    model, scene = model_and_arm
    data = mujoco.MjData(model)
    angles_deg = np.random.default_rng(4).uniform(scene.arm.min_deg, scene.arm.max_deg, (MANY, 6))
    T = tool_pose(angles_deg, scene.arm)
    tcp_m = scene.arm.T_link_tcp[:3, 3]
    assert np.abs(T[:, :3, 3] - tool_points_m(angles_deg, scene.arm)).max() < 1e-12
    for row in range(0, MANY, 200):
        data.qpos[:6] = np.radians(angles_deg[row])
        mujoco.mj_kinematics(model, data)
        last = model.body("link6").id
        point = data.xpos[last] + data.xmat[last].reshape(3, 3) @ tcp_m
        assert np.abs(T[row, :3, 3] - point).max() < 1e-9


@pytest.mark.parametrize("value", [0, 27, 49, 72, 83, 100])
def test_the_jaws_open_and_their_tips_advance_as_the_four_bar_says(model_and_arm, value):
    model, scene = model_and_arm
    gripper = gripper_of(scene.arm)
    theta = theta_from_value_rad(value, gripper)
    data = mujoco.MjData(model)
    for side in "rl":
        data.joint(f"drive_{side}").qpos[0], data.joint(f"counter_{side}").qpos[0] = theta, -theta
    mujoco.mj_kinematics(model, data)
    to_tool = data.body("link6").xmat.reshape(3, 3) @ quaternion_turn(model, "hand")
    pads = [(data.geom(f"pad_{s}").xpos - data.body("link6").xpos) @ to_tool * 1000 for s in "rl"]
    thick, _, along = gripper.pad_mm
    assert pads[0][0] - pads[1][0] - thick == pytest.approx(opening_mm(theta, gripper), abs=1e-6)
    for pad in pads:
        assert pad[1] == pytest.approx(0.0, abs=1e-6)
        assert pad[2] + along / 2 == pytest.approx(tip_z_mm(theta, gripper), abs=1e-6)


def quaternion_turn(model, body):
    turn = np.empty(9)
    mujoco.mju_quat2Mat(turn, model.body(body).quat)
    return turn.reshape(3, 3)


def test_published_opening_and_tip_at_the_stops(model_and_arm):
    gripper = gripper_of(model_and_arm[1].arm)
    table = {-0.74: (4.7, 126.2), -0.50: (18.4, 123.2), -0.30: (28.5, 119.5), 0.0: (40.4, 112.2), 0.15: (44.6, 108.0)}
    for theta, (opening, tip) in table.items():
        assert opening_mm(theta, gripper) == pytest.approx(opening, abs=0.06)
        assert tip_z_mm(theta, gripper) == pytest.approx(tip, abs=0.06)


def test_the_jaws_are_level_at_home(model_and_arm):
    model, scene = model_and_arm
    data = mujoco.MjData(model)
    data.qpos[:6] = np.radians(scene.arm.home_deg)
    mujoco.mj_kinematics(model, data)
    pads = [data.geom(f"pad_{s}").xpos for s in "rl"]
    assert abs(pads[0][2] - pads[1][2]) < 1e-6


def test_contact_is_the_recipe_that_holds_a_block(model_and_arm):
    model, _ = model_and_arm
    assert model.opt.cone == mujoco.mjtCone.mjCONE_ELLIPTIC
    assert model.opt.impratio == 10
    assert model.opt.integrator == mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    assert model.opt.timestep == Config().twin.timestep_s
    for side in "rl":
        pad = model.geom(f"pad_{side}")
        assert (pad.priority[0], pad.condim[0]) == (1, 4)
        assert pad.solref[0] == 0.01
    assert not (model.eq_type == mujoco.mjtEq.mjEQ_WELD).any(), "nothing is welded"
    assert not (model.eq_type == mujoco.mjtEq.mjEQ_CONNECT).any()


def test_a_base_that_is_shifted_and_turned_has_the_same_table_under_it():
    config = with_overrides(Config(), ["arm.base_shift_m=[0.02, 0.01, -0.03]", "arm.base_yaw_deg=25"])
    scene = build_scene(config, load_arm("mecharm270"), BOARD_M)
    model = mujoco.MjModel.from_xml_string(scene.xml)
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    assert scene.table_z_m == pytest.approx(-0.01)
    mast = scene.base.to_cell(data.geom("mast").xpos)
    assert (mast[0], mast[2]) == pytest.approx(config.camera.mast_xz_m)


def test_an_arm_without_servos_is_refused():
    with pytest.raises(ArmWithoutTwin, match=r"no \[gripper\]"):
        build_scene(Config(), load_arm("teaching3"), BOARD_M)


def test_quaternions_keep_full_precision():
    rng = np.random.default_rng(1)
    for _ in range(100):
        R, _ = np.linalg.qr(rng.normal(size=(3, 3)))
        R *= np.sign(np.linalg.det(R))
        back = np.empty(9)
        mujoco.mju_quat2Mat(back, quaternion_of(R))
        assert np.abs(back.reshape(3, 3) - R).max() < 1e-14
