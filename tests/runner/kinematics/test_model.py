"""Arm files: the shipped ones agree with their sources, and what can't be so is refused with its place."""

from __future__ import annotations

from importlib.resources import files

import numpy as np
import pytest
from pymycobot.robot_info import RobotLimit

from runner.config import Config
from runner.kinematics.errors import BadArmFile, UnknownArm
from runner.kinematics.fk import tool_points_m, tool_pose
from runner.kinematics.model import load_arm, read_arm, shipped_arms

ARM_280 = load_arm("mycobot_280")
TEXT_280 = (files("runner.kinematics") / "arms" / "mycobot_280.toml").read_text(encoding="utf-8")
FLANGE_280 = ARM_280.with_tool(tcp_mm=(0.0, 0.0, 0.0))

# The maker's DH table of the 280 (docs.elephantrobotics.com, "Structural Parameters"): d, a mm; alpha, offset rad.
DH_280 = [
    (131.22, 0.0, 1.5708, 0.0),
    (0.0, -110.4, 0.0, -1.5708),
    (0.0, -96.0, 0.0, 0.0),
    (63.4, 0.0, 1.5708, -1.5708),
    (75.05, 0.0, -1.5708, 1.5708),
    (45.6, 0.0, 0.0, 0.0),
]


def dh_point_mm(joints_deg: np.ndarray) -> np.ndarray:
    T = np.eye(4)
    for (d, a, alpha, offset), angle in zip(DH_280, np.radians(joints_deg), strict=True):
        c, s, ca, sa = np.cos(angle + offset), np.sin(angle + offset), np.cos(alpha), np.sin(alpha)
        T = T @ np.array([[c, -s * ca, s * sa, a * c], [s, c * ca, -c * sa, a * s], [0, sa, ca, d], [0, 0, 0, 1]])
    return T[:3, 3]


def test_the_280_stands_where_its_makers_other_table_has_it():
    """Two published geometries, one from a drawing and one from a table, differ by millimetres, not by signs."""
    joints_deg = np.random.default_rng(0).uniform(ARM_280.min_deg, ARM_280.max_deg, (200, 6))
    ours_mm = tool_points_m(joints_deg, FLANGE_280) * 1000
    theirs_mm = np.array([dh_point_mm(row) for row in joints_deg])
    gaps_mm = np.linalg.norm(ours_mm - theirs_mm, axis=1)
    assert gaps_mm.max() < 4.0
    assert np.median(gaps_mm) < 3.0


def test_the_280s_limits_are_its_drivers():
    limits = RobotLimit.robot_limit["MyCobot280"]
    assert ARM_280.min_deg.tolist() == limits["angles_min"]
    assert ARM_280.max_deg.tolist() == limits["angles_max"]


def test_the_280_at_rest_holds_its_tool_level_with_level_jaws():
    T = tool_pose(ARM_280.home_deg, ARM_280)
    assert np.allclose(T[:3, 2], (1.0, 0.0, 0.0), atol=1e-12)
    assert abs(T[2, 0]) < 1e-12


@pytest.mark.parametrize("name", shipped_arms())
def test_every_shipped_arm_rests_inside_its_limits(name):
    arm = load_arm(name)
    assert np.all((arm.home_deg >= arm.min_deg) & (arm.home_deg <= arm.max_deg))
    assert arm.longest_reach_m >= np.linalg.norm(tool_points_m(arm.home_deg, arm))


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("home_deg = [0.0, 0.0, -90.0, 90.0, 0.0, 0.0]", "home_deg = [0.0]", "home_deg has 1 angles for 6 joints"),
        ("axis = [0, 0, 1]", "axis = [0, 0, 0]", "j0: an axis of no direction"),
        ("min_deg = -168.0", "min_deg = 170.0", "j0: min_deg 170.0 is not below max_deg 168.0"),
        ("half_mm = [50.0, 50.0, 33.0]", "", "a box of link 0 needs centre_mm and half_mm"),
        ("radius_mm = 17.0", "", "a capsule of link 6 needs a_mm, b_mm and radius_mm"),
        ("link = 6", "link = 7", "link 7, and the last link is 6"),
        ("kp = [40.0, ", "kp = [", "servo.kp has 5 figures for 6 joints"),
        ("links_g = [160.0, ", "links_g = [", "masses.links_g has 5 figures for 6 joints"),
        ("tcp_mm = [0.0, 0.0, 96.3]", "tcp_mm = [0.0, nan, 96.3]", "tool.tcp_mm.1"),
        ('name = "mycobot_280"', "name = ", "not TOML"),
    ],
)
def test_an_arm_file_that_contradicts_itself_is_refused_by_name(old, new, told):
    assert old in TEXT_280
    with pytest.raises(BadArmFile) as caught:
        read_arm(TEXT_280.replace(old, new, 1), "mine.toml")
    assert told in caught.value.message
    assert "mine.toml" in caught.value.message


def test_a_file_of_other_bytes_is_no_arm_file(tmp_path):
    (tmp_path / "arm.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BadArmFile, match="can't be read"):
        load_arm(str(tmp_path / "arm.toml"))
    with pytest.raises(UnknownArm):
        load_arm(str(tmp_path / "none.toml"))


def test_the_settings_default_arm_ships():
    assert Config().arm.model in shipped_arms()
