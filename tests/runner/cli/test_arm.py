"""`trialcell arm`: arms that ship, arm files out of URDFs, and cells that use them; each mistake in one sentence."""

from __future__ import annotations

import pytest

from runner.cell import open_cell
from runner.kinematics.model import load_arm
from runner.table.postures import arm_of

LIMIT = '<limit lower="-2" upper="2" effort="1" velocity="1"/>'


def urdf_text(count: int = 6, *, last: str = "revolute", limit: str = LIMIT, more: str = "") -> str:
    """A plain arm of that many joints about z and y in turn, a decimetre each."""
    parts = ['<link name="link0"/>']
    for i in range(count):
        kind = last if i == count - 1 else "revolute"
        axis = "0 0 1" if i % 3 == 0 else "0 1 0"
        parts.append(
            f'<joint name="joint{i}" type="{kind}"><parent link="link{i}"/><child link="link{i + 1}"/>'
            f'<origin xyz="0 0 0.1"/><axis xyz="{axis}"/>{limit if i == count - 1 else LIMIT}</joint>'
            f'<link name="link{i + 1}"/>'
        )
    return f'<robot name="plain">{"".join(parts)}{more}</robot>'


@pytest.fixture
def plain(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plain.urdf").write_text(urdf_text())
    return tmp_path


def test_list_names_every_arm_and_what_the_twin_lacks(trialcell):
    told = trialcell("arm", "list", "--json")
    arms = {arm["name"]: arm for arm in told.object["arms"]}
    assert set(arms) == {"mecharm270", "mycobot_280", "teaching3"}
    assert arms["mycobot_280"]["missing_for_twin"] == []
    assert arms["teaching3"]["missing_for_twin"] == ["gripper", "masses", "servo"]
    assert "no: no gripper, masses, servo" in trialcell("arm", "list").out


def test_show_gives_joints_limits_tool_and_source(trialcell):
    told = trialcell("arm", "show", "mycobot_280")
    for words in ("joint6output_to_joint6", "-155 … 160", "0, 0, 96.3 mm", "mycobot_280_m5.urdf"):
        assert words in told.out
    assert len(trialcell("arm", "show", "mycobot_280", "--json").object["joints"]) == 6


def test_show_without_a_name_shows_the_cells_arm(trialcell, tmp_path):
    trialcell("init", "--cell", tmp_path / "cell", "--arm", "mycobot_280", "--json")
    assert trialcell("arm", "show", "--cell", tmp_path / "cell", "--json").object["name"] == "mycobot_280"


def test_import_writes_an_arm_file_that_a_cell_can_name(trialcell, plain):
    told = trialcell("arm", "import", "plain.urdf", "--json")
    assert told.code == 0, told.err
    assert told.object["file"] == "plain.toml"
    assert told.object["tip_link"] == "link6"
    made = trialcell("init", "--cell", "desk", "--arm", "plain.toml", "--json")
    assert made.code == 0, made.err
    (plain / "plain.toml").unlink()  # the cell has its own copy
    arm, _ = arm_of(open_cell(plain / "desk").config)
    assert arm.name == "plain"
    assert arm.n_joints == 6
    shown = trialcell("ik", "show", "--x", "0.2", "--y", "0.2", "--z", "0.2", "--cell", "desk", "--json")
    assert shown.object["arm"] == "plain"
    assert shown.object["status"] == "converged"


def test_a_cell_can_name_an_arm_file_by_its_whole_path(trialcell, plain):
    trialcell("arm", "import", "plain.urdf")
    trialcell("init", "--cell", "desk", "--set", f"arm.model={plain / 'plain.toml'}")
    assert load_arm(open_cell(plain / "desk").config.arm.model).name == "plain"


def test_import_says_what_was_left_out(trialcell, plain):
    hand = (
        '<link name="finger"/><joint name="grip" type="prismatic"><parent link="link6"/><child link="finger"/>'
        '<axis xyz="1 0 0"/></joint>'
    )
    (plain / "hand.urdf").write_text(urdf_text(more=hand))
    refused = trialcell("arm", "import", "hand.urdf")
    assert refused.code == 2
    assert "joint 'grip': it slides (prismatic)" in refused.err
    assert "--tip-link link6" in refused.err
    told = trialcell("arm", "import", "hand.urdf", "--tip-link", "link6")
    assert told.code == 0
    assert "not part of the arm: 1 joint (grip)" in told.out


def test_limits_can_be_given_for_a_joint_that_has_none(trialcell, plain):
    (plain / "free.urdf").write_text(urdf_text(last="continuous", limit=""))
    refused = trialcell("arm", "import", "free.urdf")
    assert refused.code == 2
    assert "--limits joint5=-170,170" in refused.err
    told = trialcell("arm", "import", "free.urdf", "--limits", "joint5=-170,170", "--json")
    assert told.object["joints"][5]["max_deg"] == 170.0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nowhere.urdf"], "nowhere.urdf: No such file"),
        (["."], "Is a directory"),
        (["plain.urdf", "--name", "a/b"], "letters, digits"),
        (["plain.urdf", "--name", "mecharm270"], "ships with the program"),
        (["plain.urdf", "--tool-axis", "w"], "--tool-axis: one of z, x, y"),
        (["plain.urdf", "--out", "arm.json"], "ends in .toml"),
        (["plain.urdf", "--limits", "joint5"], "--limits wants JOINT=MIN,MAX"),
        (["plain.urdf", "--limits", "nobody=-1,1"], "limits for a joint that is not in the arm"),
        (["plain.urdf", "--tip-link", "nothing"], "there is no link 'nothing'"),
        (["plain.urdf", "--out", "/proc/none/arm.toml"], "can't write"),
    ],
)
def test_every_mistake_is_one_sentence(trialcell, plain, arguments, told):
    answer = trialcell("arm", "import", *arguments)
    assert answer.code != 0
    assert told in answer.err
    assert "Traceback" not in answer.err
    assert not list(plain.glob("*.toml"))


def test_an_arm_file_that_is_there_is_not_written_over_unasked(trialcell, plain):
    (plain / "plain.toml").write_text("mine")
    assert "is there already" in trialcell("arm", "import", "plain.urdf").err
    assert (plain / "plain.toml").read_text() == "mine"
    assert trialcell("arm", "import", "plain.urdf", "--force").code == 0


def test_init_takes_the_tool_and_home_of_the_arm_and_refuses_one_that_no_cell_can_run(trialcell, tmp_path):
    trialcell("init", "--cell", tmp_path / "cell", "--arm", "mycobot_280", "--json")
    arm = open_cell(tmp_path / "cell").config.arm
    assert arm.tcp_mm == (0.0, 0.0, 96.3)
    assert arm.home_deg == (0.0, 0.0, -90.0, 90.0, 0.0, 0.0)
    assert arm.tool_roll_deg == 0.0
    refused = trialcell("init", "--cell", tmp_path / "other", "--arm", "teaching3")
    assert refused.code == 2
    assert "teaching3 has 3 joints, and a cell runs an arm of 6" in refused.err
    assert not (tmp_path / "other").exists()


def test_a_cell_whose_arm_can_not_be_used_says_so(trialcell, plain):
    trialcell("init", "--cell", "three", "--set", "arm.model=teaching3")
    told = trialcell("run", "--cell", "three")
    assert told.code == 2
    assert "teaching3 has 3 joints, not 6" in told.err


@pytest.mark.slow
def test_an_arm_without_shells_is_never_driven(trialcell, plain):
    trialcell("arm", "import", "plain.urdf")
    trialcell("init", "--cell", "desk", "--arm", "plain.toml")
    told = trialcell("run", "--cell", "desk")
    assert told.code == 2
    assert "plain has no collision shapes, so no path of it can be checked" in told.err


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_a_whole_trial_runs_with_the_mycobot_280(trialcell, tmp_path, seed):
    trialcell("init", "--cell", tmp_path / "cell", "--arm", "mycobot_280")
    told = trialcell("run", "--cell", tmp_path / "cell", "--seed", seed, "--json")
    assert told.code == 0, told.err
    assert told.object["result"] == "completed"
    assert told.object["truth"] == {"block_in_box": True}
