"""What is no URDF, or makes no sense as one, is refused with the line and what to do."""

from __future__ import annotations

import pytest

from runner.kinematics.urdf.document import read_urdf
from runner.kinematics.urdf.errors import BadUrdf

LINKS = '<link name="a"/><link name="b"/>'
ENDS = '<parent link="a"/><child link="b"/>'
BOMB = '<!DOCTYPE r [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]><robot name="&b;"/>'


def joint(inside: str, kind: str = "revolute", name: str = "j") -> str:
    return f'<robot name="r">{LINKS}<joint name="{name}" type="{kind}">{inside}</joint></robot>'


@pytest.mark.parametrize(
    ("text", "told", "next_step"),
    [
        ("", "not XML", "URDF"),
        ("not xml at all", "not XML", "URDF"),
        ("<robot><link name='a'></robot>", "line 1", "URDF"),
        ('<?xml version="1.0" encoding="klingon"?><robot/>', "not XML", "U"),
        ("<sdf version='1.9'/>", "it is SDF", "export"),
        ("<mujoco/>", "MJCF", "export"),
        ("<html/>", "its root is <html>", "URDF"),
        (BOMB, "document type", "take it out"),
        ('<!DOCTYPE r SYSTEM "file:///etc/passwd"><robot/>', "document type", "take it out"),
        ("<robot name='r'/>", "no links", "arm"),
        ("<robot name='r'><link/></robot>", "<link> has no name", "add name"),
        (f"<robot name='r'>{LINKS}<link name='a'/></robot>", "two links called 'a'", "own name"),
        (joint(ENDS, kind="ball"), "no known type: 'ball'", "revolute"),
        (joint('<child link="b"/>'), "no <parent>", "add"),
        (joint('<parent link="a"/><child link="c"/>'), "not there: 'c'", "add"),
        (joint(ENDS + '<origin xyz="0 nan 0"/>'), "not 3 finite numbers", "mend"),
        (joint(ENDS + '<origin xyz="0 1e999 0"/>'), "not 3 finite numbers", "mend"),
        (joint(ENDS + '<origin xyz="0 0"/>'), "not 3 finite numbers", "mend"),
        (joint(ENDS + '<origin xyz="0 131.56 0"/>'), "millimetres", "divide by 1000"),
        (joint(ENDS + '<axis xyz="0 0 0"/>'), "no direction", "0 0 1"),
        (joint(ENDS + '<limit lower="-170" upper="170"/>'), "look like degrees", "radians"),
        (joint(ENDS + '<limit lower="1" upper="-1"/>'), "lower 1 is above upper -1", "swap"),
        (joint(ENDS + '<limit lower="x" upper="1"/>'), "not a finite number", "mend"),
        (
            '<robot><link name="a"><collision><geometry><sphere radius="-1"/></geometry></collision></link></robot>',
            "a sphere of size -1",
            "below zero",
        ),
    ],
)
def test_a_bad_file_is_told_in_one_sentence_with_a_next_step(urdf, text, told, next_step):
    with pytest.raises(BadUrdf) as caught:
        read_urdf(urdf(text))
    assert told in caught.value.message
    assert "\n" not in caught.value.message
    assert caught.value.next_step is not None
    assert next_step in caught.value.next_step


def test_an_entity_bomb_is_refused_before_it_grows(urdf):
    ladder = "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10}">' for i in range(1, 60))
    with pytest.raises(BadUrdf, match="document type"):
        read_urdf(urdf(f'<!DOCTYPE r [<!ENTITY e0 "x">{ladder}]><robot name="&e59;"/>'))


def test_a_missing_file_and_a_folder_are_told(tmp_path):
    for path in (tmp_path / "nowhere.urdf", tmp_path):
        with pytest.raises(BadUrdf):
            read_urdf(path)


@pytest.mark.parametrize(
    "text",
    [
        '<robot xmlns:xacro="http://www.ros.org/wiki/xacro" name="r"><xacro:include filename="x"/></robot>',
        '<robot xmlns:xacro="http://www.ros.org/wiki/xacro" name="r"><link name="${prefix}base"/></robot>',
        '<robot name="r"><link name="a"><visual><origin xyz="$(arg x) 0 0"/></visual></link></robot>',
    ],
)
def test_a_xacro_file_is_sent_to_xacro(urdf, text):
    with pytest.raises(BadUrdf, match="xacro") as caught:
        read_urdf(urdf(text))
    assert caught.value.next_step == "xacro FILE > arm.urdf"


def test_a_left_over_xacro_property_and_version_1_1_do_no_harm(urdf):
    text = (
        '<?xml version="1.1"?><robot xmlns:xacro="http://www.ros.org/wiki/xacro" name="r">'
        f'<xacro:property name="width" value=".2"/>{LINKS}</robot>'
    )
    assert list(read_urdf(urdf(text)).links) == ["a", "b"]


@pytest.mark.parametrize(
    "joints",
    [
        ("a b", "c b"),  # one link on two joints
        ("a b", "b c", "c a"),  # a ring
        ("a a",),
    ],
)
def test_a_loop_is_told(urdf, joints):
    links = "".join(f'<link name="{name}"/>' for name in "abc")
    made = "".join(
        f'<joint name="j{i}" type="fixed"><parent link="{pair[0]}"/><child link="{pair[2]}"/></joint>'
        for i, pair in enumerate(joints)
    )
    with pytest.raises(BadUrdf, match="the links make a loop"):
        read_urdf(urdf(f'<robot name="r">{links}{made}</robot>'))


def test_what_real_files_do_is_understood(urdf):
    """Prefixes that are never declared, commas between numbers, shapes of no size, words of other programs."""
    text = (
        f'<robot name="r">{LINKS}<joint name="j" type="revolute">{ENDS}<origin xyz="0.1, 0 0.2" rpy="1.57, 0, 0"/>'
        '<limit lower="-1" upper="1"/><drake:damping value="3"/></joint><gazebo reference="a"><x/></gazebo>'
        '<link name="c"><collision><geometry><sphere radius="0"/></geometry></collision></link></robot>'
    )
    document = read_urdf(urdf(text))
    assert document.joints[0].xyz_m == (0.1, 0.0, 0.2)
    assert document.joints[0].rpy_rad == (1.57, 0.0, 0.0)
    assert document.links["c"].shapes == ()


def test_a_decimal_comma_is_not_guessed_at(urdf):
    with pytest.raises(BadUrdf, match="not 3 finite numbers"):
        read_urdf(urdf(joint(ENDS + '<origin xyz="0,1 0,2 0,3"/>')))


def test_missing_meshes_are_known(urdf, tmp_path):
    (tmp_path / "there.stl").write_bytes(b"solid")
    meshes = "".join(
        f'<visual><geometry><mesh filename="{name}"/></geometry></visual>'
        for name in ("there.stl", "gone.stl", "package://robot/far.dae")
    )
    document = read_urdf(urdf(f'<robot name="r"><link name="a">{meshes}</link></robot>'))
    assert document.missing_meshes() == ["gone.stl"]
    assert len(document.links["a"].meshes) == 3
