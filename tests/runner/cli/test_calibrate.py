"""`trialcell calibrate`: the wizard on the command line, its versions, and what it says to input that is of no use."""

from __future__ import annotations

import numpy as np
import pytest

from runner.cell import open_cell
from runner.kinematics.frames import tool_points_cell_m
from runner.table.postures import arm_of
from vision.calibration.file import load_plane, load_view
from vision.calibration.kept import content_hash

ZERO_DEG = np.array([1.0, -1.5, 0.8, -2.0, 1.2, 0.0])


@pytest.fixture
def marks(tmp_path, arm, base, config):
    """Marks that an arm with these zeros has touched, every way round."""
    rng = np.random.default_rng(6)
    encoder = np.array([0.0, 35.0, 5.0, 0.0, 25.0, -30.0]) + rng.uniform(-1, 1, (24, 6)) * [60, 15, 20, 70, 35, 90]
    points_mm = tool_points_cell_m(encoder + ZERO_DEG, arm, base) * 1000.0
    lines = ["j0,j1,j2,j3,j4,j5,x_mm,y_mm,z_mm"]
    lines += [",".join(f"{v:.4f}" for v in row) for row in np.hstack((encoder, points_mm))]
    path = tmp_path / "marks.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.slow
def test_touched_marks_calibrate_the_arm_for_all_of_the_program_and_can_be_taken_back(trialcell, cell_copy, marks):
    told = trialcell("calibrate", "joints", "--cell", cell_copy, "--touched", marks, "--json")
    assert told.code == 0
    answer = told.object
    assert np.array(answer["joint_zero_deg"])[:5] == pytest.approx(ZERO_DEG[:5], abs=0.2)
    assert answer["method"] == "touched"
    assert answer["tables_made_anew"] is True
    config = open_cell(cell_copy).config
    assert config.arm.joint_zero_deg == tuple(answer["joint_zero_deg"])
    x = trialcell("table", "lookup", "--cell", cell_copy, "--phase", "pick", "--x", 0.2, "--z", 0.2, "--json").object
    assert tool_points_cell_m(np.array(x["target_angles"]), *arm_of(config))[[0, 2]] == pytest.approx(
        [x["interp_xz_m"][0], x["interp_xz_m"][1]], abs=1e-6
    )

    again = trialcell("calibrate", "tip", "--cell", cell_copy, "--touched", marks, "--json").object
    assert again["joint_zero_deg"] == pytest.approx(answer["joint_zero_deg"])
    listed = trialcell("calibrate", "list", "--cell", cell_copy, "--json").object["versions"]
    arms = [each for each in listed if each["kind"] == "arm"]
    assert [(each["id"], each["current"]) for each in arms] == [(again["id"], True), (answer["id"], False)]
    diff = trialcell("calibrate", "diff", answer["id"], again["id"], "--cell", cell_copy)
    assert "tool_shift_mm[0]" in diff.out or "singular_values[0]" in diff.out
    back = trialcell("calibrate", "rollback", answer["id"], "--cell", cell_copy, "--json").object
    assert [each["id"] for each in back["put_back"]] == [answer["id"]]
    assert open_cell(cell_copy).config.arm.tool_shift_mm == tuple(answer["tool_shift_mm"])


@pytest.mark.parametrize("way", ["measured", "touched"])
def test_points_of_the_table_put_the_camera_where_it_is(trialcell, cell_copy, tmp_path, arm, base, way):
    """By the view that the twin's board has given: its pixels of points that a ruler or a tool has placed."""
    folder = cell_copy / "calibration"
    before, view = load_plane(folder), load_view(folder)
    rng = np.random.default_rng(3)
    bent = np.array([0.0, 60.0, -20.0, 0.0, 30.0, -30.0]) + rng.uniform(-1, 1, (12, 6)) * [60, 15, 20, 20, 15, 0]
    points_m = tool_points_cell_m(bent, arm, base)
    on_table = rng.uniform((-0.25, 0.12), (0.25, 0.32), (12, 2))
    xz_m = on_table if way == "measured" else points_m[:, [0, 2]]
    rows = np.hstack((view.table_to_pixel(xz_m), xz_m * 1000.0 if way == "measured" else bent))
    names = ["u_px", "v_px", *(["x_mm", "z_mm"] if way == "measured" else [f"j{i}" for i in range(6)])]
    path = tmp_path / "points.csv"
    path.write_text("\n".join([",".join(names), *(",".join(f"{v:.5f}" for v in row) for row in rows)]) + "\n")
    answer = trialcell("calibrate", "plane", "--touched", path, "--cell", cell_copy, "--json").object
    assert answer["camera_m"] == pytest.approx(before.camera_m, abs=0.002)
    assert answer["held_out_mm"] < 0.1
    assert answer["n_points"] == 12
    assert "12 points of the table" in answer["source"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("u_px,v_px,x_mm\n1,2,3\n", "there is no column z_mm"),
        ("u_px,v_px,x_mm,z_mm\n1,2,nan,4\n", "line 2 holds a number that is not finite"),
        ("u_px,v_px,x_mm,z_mm\n" + "640,360,0,200\n" * 5, "5 points, 6 needed"),
    ],
)
def test_points_that_say_nothing_are_refused_and_the_plane_stays(trialcell, cell_copy, tmp_path, text, said):
    before = (cell_copy / "calibration" / "plane.json").read_bytes()
    (tmp_path / "points.csv").write_text(text)
    told = trialcell("calibrate", "plane", "--touched", tmp_path / "points.csv", "--cell", cell_copy)
    assert told.code in (2, 3)
    assert said in " ".join(told.err.split())
    assert (cell_copy / "calibration" / "plane.json").read_bytes() == before


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (("joints", "--touched", "nowhere.csv"), 2, "nowhere.csv can't be used"),
        (("tip", "--poses", "3"), 2, "--poses"),
        (("approach", "--pose", "1,2,x"), 2, "--pose wants angles in degrees"),
        (("approach", "--phase", "carry"), 2, "'pick', 'place'"),
        (("rollback", "zz"), 2, "no version of the calibration begins with 'zz'"),
        (("diff", "zz", "yy"), 2, "trialcell calibrate list"),
    ],
)
def test_what_is_of_no_use_says_why(trialcell, cell_copy, args, code, said):
    told = trialcell("calibrate", *args, "--cell", cell_copy)
    assert told.code == code
    assert said in told.err


def test_a_cell_that_was_never_calibrated_says_what_to_do(trialcell, tmp_path):
    assert "trialcell calibrate all" in trialcell("calibrate", "list", "--cell", tmp_path / "new").out
    told = trialcell("calibrate", "check", "--cell", tmp_path / "new")
    assert told.code == 3
    assert "trialcell calibrate" in told.err


def test_an_arm_file_that_was_edited_is_refused_by_every_command(trialcell, cell_copy, marks):
    trialcell("calibrate", "joints", "--cell", cell_copy, "--touched", marks)
    path = cell_copy / "calibration" / "arm.json"
    path.write_text(path.read_text().replace('"n_poses": 24', '"n_poses": 25'))
    told = trialcell("run", "--cell", cell_copy)
    assert told.code == 3
    assert "its content was changed after it was written" in told.err


@pytest.mark.slow
def test_everything_at_once_ends_with_a_number_that_is_kept(trialcell, tmp_path):
    cell = tmp_path / "cell"
    trialcell("init", "--cell", cell, "--set", "twin.profile=uncalibrated", "--set", "twin.desk_seed=7")
    told = trialcell("calibrate", "all", "--cell", cell, "--json")
    answer = told.object
    assert answer["median_mm"] <= 2.0
    assert answer["worst_mm"] <= 5.0 < answer["check"]["before"]["worst_mm"] + 5.0
    assert answer["taught"] == {"approach_pick": 20, "approach_place": 20}
    listed = trialcell("calibrate", "list", "--cell", cell, "--json").object["versions"]
    now = {each["kind"]: each["hash"] for each in listed if each["current"]}
    assert now["check"] == answer["files"]["check"]
    assert answer["check"]["calibration_hashes"] == {k: now[k] for k in ("lens", "plane", "arm")}
    assert content_hash(load_plane(cell / "calibration")) == now["plane"]
    assert trialcell("run", "--cell", cell, "--seed", 3).code == 0
    taught = trialcell("calibrate", "approach", "--cell", cell, "--phase", "place", "--pairs", 8, "--use", "--json")
    assert taught.object["used_by_trials"] is True
    assert max(taught.object["off_mm"]) < 3.0


def test_a_latched_stop_lets_no_calibration_move_the_arm(trialcell, cell_copy):
    trialcell("stop", "--cell", cell_copy)
    told = trialcell("calibrate", "check", "--cell", cell_copy)
    assert told.code == 3
    assert "a stop is latched" in told.err
