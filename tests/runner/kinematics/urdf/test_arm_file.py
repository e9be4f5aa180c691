"""The text of an imported arm file: whole, sourced, safe from odd names, and an arm that everything can use."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from runner.kinematics.model import load_arm
from runner.kinematics.urdf.arm_file import import_arm

SHAPES = """<robot name="boxy"><link name="base"><collision><geometry><box size="0.1 0.2 0.04"/></geometry>
</collision></link>
<joint name="j" type="revolute"><parent link="base"/><child link="a"/><origin xyz="0 0 0.1" rpy="0 0 1.5708"/>
<axis xyz="0 0 1"/><limit lower="0.5" upper="1.5"/></joint>
<link name="a"><collision><origin xyz="0 0 0.05" rpy="0 1.5707963267948966 0"/><geometry>
<cylinder radius="0.02" length="0.1"/></geometry></collision>
<visual><geometry><mesh filename="gone.stl"/></geometry></visual></link>
<joint name="f" type="fixed"><parent link="a"/><child link="tool"/>
<origin xyz="0 0 0.2" rpy="1.5707963267948966 0 0"/></joint>
<link name="tool"><collision><geometry><sphere radius="0.03"/></geometry></collision></link></robot>"""


def test_every_figure_has_its_file_line_and_hash(urdf):
    path = urdf(SHAPES)
    made = import_arm(path, "boxy")
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    assert f"sha256: {sha256}" in made.text
    assert sha256 in made.arm.data.source
    assert "# line 3\n[[joint]]" in made.text
    assert 'urdf_name = "j"' in made.text


def test_the_file_can_be_read_back_from_disk(urdf, tmp_path):
    made = import_arm(urdf(SHAPES), "boxy")
    file = tmp_path / "boxy.toml"
    file.write_text(made.text, encoding="utf-8")
    assert load_arm(str(file)).data == made.arm.data


def test_simple_collision_shapes_become_shells_in_their_links_frames(urdf):
    base, cylinder, ball = import_arm(urdf(SHAPES), "boxy").arm.data.shape
    assert (base.link, base.kind, base.half_mm) == (0, "box", (50.0, 100.0, 20.0))
    assert (cylinder.link, ball.link) == (1, 1)
    # the last link's frame is turned as the tool is: its z is the old -y, its y the old z
    assert np.allclose(sorted([cylinder.a_mm, cylinder.b_mm]), [(-50.0, 50.0, 0.0), (50.0, 50.0, 0.0)])
    assert np.allclose(ball.a_mm, (0.0, 200.0, 0.0))


def test_home_lies_inside_the_limits(urdf):
    arm = import_arm(urdf(SHAPES), "boxy").arm
    assert np.all((arm.home_deg >= arm.min_deg) & (arm.home_deg <= arm.max_deg))


def test_missing_meshes_are_a_remark_and_no_obstacle(urdf):
    notes = import_arm(urdf(SHAPES), "boxy").notes
    assert notes == ("1 mesh not read, 1 of them not there (gone.stl): kinematics needs none",)


def test_an_arm_without_shapes_says_that_nothing_guards_its_links(urdf, chain_text):
    made = import_arm(urdf(chain_text([("revolute", "0 0 1", "0 0 0", "0 0 1")])), "bare")
    assert any("guard knows nothing" in note for note in made.notes)
    assert "or nothing keeps the links off" in made.text


@pytest.mark.parametrize("odd", ['a"b', "a\\b", "a&#10;[tool]", "ä → 腕", "a&#127;b"])
def test_odd_names_can_not_break_the_file(urdf, odd):
    odd = odd.replace('"', "&quot;")
    text = SHAPES.replace('name="boxy"', f'name="{odd}"').replace('joint name="j"', f'joint name="{odd}"')
    arm = import_arm(urdf(text), "boxy").arm
    assert arm.n_joints == 1
    assert arm.data.tool.tcp_mm == pytest.approx((0.0, 200.0, 0.0))
