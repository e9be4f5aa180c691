"""The chain that is made of a URDF is where MuJoCo puts the same URDF, and what can't be an arm is told."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.kinematics.fk import tool_pose
from runner.kinematics.urdf.arm_file import import_arm
from runner.kinematics.urdf.chain import TOOL_AXES, chain_of
from runner.kinematics.urdf.document import read_urdf
from runner.kinematics.urdf.errors import ChooseLink, JointNotUsable

LIMIT = '<limit lower="-2" upper="2"/>'


def link(*names: str) -> str:
    return "".join(f'<link name="{name}"/>' for name in names)


def joint(name: str, parent: str, child: str, kind: str = "revolute", inside: str = LIMIT) -> str:
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="0 0 0.1"/><axis xyz="0 1 0"/>{inside}</joint>'
    )


def robot(*parts: str) -> str:
    return f'<robot name="r">{"".join(parts)}</robot>'


NUMBERS = st.floats(-0.5, 0.5).map(lambda v: f"{v:.6f}")
ANGLES = st.one_of(st.sampled_from(["0", "1.5708", "-1.5708", "3.14159", "1.570796326794897"]), NUMBERS)
AXES = st.sampled_from(["0 0 1", "0 1 0", "1 0 0", "0 0 -1", "0.6 0 0.8", "1 1 1", "0 3 0"])


@st.composite
def chains(draw):
    rows = [
        (
            draw(st.sampled_from(["revolute", "revolute", "fixed"])),
            " ".join(draw(NUMBERS) for _ in range(3)),
            " ".join(draw(ANGLES) for _ in range(3)),
            draw(AXES),
        )
        for _ in range(draw(st.integers(1, 8)))
    ]
    return [*rows, ("revolute", "0 0 0.1", "0 0 0", "0 0 1")] if all(r[0] == "fixed" for r in rows) else rows


@settings(max_examples=60, deadline=None)
@given(rows=chains(), axis=st.sampled_from(sorted(TOOL_AXES)), seed=st.integers(0, 2**16))
def test_an_imported_arm_stands_where_mujoco_has_it(rows, axis, seed, chain_text, mujoco_poses, tmp_path_factory):
    text = chain_text(rows)
    path = tmp_path_factory.mktemp("urdf") / "arm.urdf"
    path.write_text(text)
    made = import_arm(path, "arm", tool_axis=axis)
    joints_deg = np.random.default_rng(seed).uniform(made.arm.min_deg, made.arm.max_deg, (5, made.arm.n_joints))
    points, turns = mujoco_poses(text, made.chain.tip_link, np.radians(joints_deg))
    T = tool_pose(joints_deg, made.arm)
    assert np.abs(T[:, :3, 3] - points).max() < 1e-9
    assert np.abs(T[:, :3, :3] - turns @ TOOL_AXES[axis]).max() < 1e-9


def test_fixed_joints_are_folded_in_and_named(urdf):
    text = robot(
        link("world", "base", "a", "mount", "b", "tool"),
        joint("to_base", "world", "base", "fixed", ""),
        joint("first", "base", "a"),
        joint("to_mount", "a", "mount", "fixed", ""),
        joint("second", "mount", "b"),
        joint("to_tool", "b", "tool", "fixed", ""),
    )
    made = import_arm(urdf(text), "arm")
    assert [j.urdf_name for j in made.chain.joints] == ["first", "second"]
    assert [j.folded for j in made.chain.joints] == [("to_base",), ("to_mount",)]
    assert made.chain.joints[0].origin_mm == (0.0, 0.0, 200.0)
    assert made.chain.tcp_mm == (0.0, 0.0, 100.0)
    assert "behind fixed to_mount" in made.text


def test_figures_of_plain_joints_stay_as_they_are_written(urdf, chain_text):
    rows = [("revolute", "0 0 0.13156", "0 0 0", "0 0 1"), ("revolute", "-0.1104 0 0", "0 1.5708 -1.5708", "0 0 1")]
    chain = chain_of(read_urdf(urdf(chain_text(rows))))
    assert chain.joints[0].origin_mm == (0.0, 0.0, 131.56)
    assert chain.joints[1].origin_mm == (-110.4, 0.0, 0.0)
    assert chain.joints[1].rpy_deg[1] == pytest.approx(np.degrees(1.5708), abs=1e-12)


@pytest.mark.parametrize(
    ("kind", "inside", "told", "next_step"),
    [
        ("prismatic", LIMIT, "it slides (prismatic)", "--tip-link a"),
        ("floating", "", "it moves freely", "--tip-link a"),
        ("continuous", "", "it turns for ever (continuous)", "--limits wrist=-170,170"),
        ("revolute", "", "it has no limits", "--limits wrist=-170,170"),
        ("revolute", '<limit lower="0" upper="0"/>', "it has no limits", "--limits wrist=-170,170"),
        ("revolute", LIMIT + '<mimic joint="first"/>', "it follows joint 'first' (mimic)", "--tip-link a"),
    ],
)
def test_a_joint_that_an_arm_cannot_have_is_told_with_a_way_out(urdf, kind, inside, told, next_step):
    text = robot(link("base", "a", "b"), joint("first", "base", "a"), joint("wrist", "a", "b", kind, inside))
    with pytest.raises(JointNotUsable) as caught:
        import_arm(urdf(text), "arm")
    assert caught.value.joint == "wrist"
    assert told in caught.value.message
    assert caught.value.next_step is not None
    assert next_step in caught.value.next_step


def test_both_ways_out_work(urdf):
    text = robot(link("base", "a", "b"), joint("first", "base", "a"), joint("wrist", "a", "b", "continuous", ""))
    given_limits = import_arm(urdf(text), "arm", limits_deg={"wrist": (-170.0, 170.0)})
    assert given_limits.arm.max_deg[1] == 170.0
    assert "limits given by hand" in given_limits.text
    shorter = import_arm(urdf(text), "arm", tip_link="a")
    assert shorter.arm.n_joints == 1
    assert shorter.chain.left_out == ("wrist",)


@pytest.mark.parametrize("limits", [{"wrist": (10.0, -10.0)}, {"wrist": (float("nan"), 1.0)}, {"elbow": (-1.0, 1.0)}])
def test_limits_that_make_no_sense_are_told(urdf, limits):
    text = robot(link("base", "a", "b"), joint("first", "base", "a"), joint("wrist", "a", "b"))
    with pytest.raises(JointNotUsable):
        import_arm(urdf(text), "arm", limits_deg=limits)


def test_branches_ask_for_the_tip(urdf):
    text = robot(
        link("base", "hand", "left", "right"),
        joint("arm", "base", "hand"),
        joint("jaw_l", "hand", "left"),
        joint("jaw_r", "hand", "right", inside=LIMIT + '<mimic joint="jaw_l"/>'),
    )
    with pytest.raises(ChooseLink, match="branches at link 'hand' into 2 moving parts: left, right") as caught:
        import_arm(urdf(text), "arm")
    assert caught.value.next_step == "name one: --tip-link hand or left or right"
    made = import_arm(urdf(text), "arm", tip_link="hand")
    assert made.chain.left_out == ("jaw_l", "jaw_r")
    assert any("not part of the arm: 2 joints (jaw_l, jaw_r)" in note for note in made.notes)


def test_a_camera_beside_the_arm_is_no_branch_but_two_ends_are(urdf):
    beside = robot(
        link("base", "camera", "a", "tool"),
        joint("eye", "base", "camera", "fixed", ""),
        joint("arm", "base", "a"),
        joint("end", "a", "tool", "fixed", ""),
    )
    assert import_arm(urdf(beside), "arm").chain.tip_link == "tool"
    two_ends = beside.replace("</robot>", link("flange") + joint("end2", "a", "flange", "fixed", "") + "</robot>")
    with pytest.raises(ChooseLink, match="2 fixed parts: tool, flange"):
        import_arm(urdf(two_ends), "arm")


def test_a_wrong_or_missing_base_is_told(urdf):
    two = robot(link("base", "a", "other", "b"), joint("arm", "base", "a"), joint("arm2", "other", "b"))
    with pytest.raises(ChooseLink, match="2 links hang on nothing: base, other") as caught:
        import_arm(urdf(two), "arm")
    assert caught.value.option == "--base-link"
    assert import_arm(urdf(two), "arm", base_link="other").chain.tip_link == "b"
    for wrong in (
        {"base_link": "nope"},
        {"base_link": "base", "tip_link": "nope"},
        {"base_link": "base", "tip_link": "b"},
    ):
        with pytest.raises(ChooseLink):
            import_arm(urdf(two), "arm", **wrong)


def test_nothing_that_turns_is_no_arm(urdf):
    with pytest.raises(JointNotUsable, match="no joint turns"):
        import_arm(urdf(robot(link("base", "a"), joint("stuck", "base", "a", "fixed", ""))), "arm")
    with pytest.raises(JointNotUsable, match="no joint turns"):
        import_arm(urdf(robot(link("base"))), "arm")


def test_a_long_chain_is_quick(urdf, chain_text):
    rows = [("fixed", "0 0 0.001", "0 0 0", "0 0 1")] * 4000 + [("revolute", "0 0 0", "0 0 0", "0 0 1")]
    made = import_arm(urdf(chain_text(rows)), "arm")
    assert made.chain.joints[0].origin_mm[2] == pytest.approx(4000.0)
