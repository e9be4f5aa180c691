"""`trialcell run`: one object, the right exit code, live lines, a log; and every wrong wish refused in one sentence."""

from __future__ import annotations

import cv2
import pytest

from runner.cell import open_cell
from runner.config import Config
from runner.twin.camera import TwinCamera
from runner.twin.setup import build_twin
from runs.check import check_log
from runs.lock import CellLock
from runs.store import RunStore
from vision.errors import CameraUnavailable

QUICK = [
    *("--set", "arm.speed_percent=80"),
    *("--set", "arm.send_wait_s=0.2"),
    *("--set", "gripper.wait_s=1.3"),
    *("--set", "gripper.pre_release_wait_s=0"),
    *("--set", "camera.captures=1"),
]


def runs_of(cell) -> int:
    return len(RunStore(cell / "runs").list())


def test_json_is_exactly_one_object_with_what_a_program_needs(trialcell, cell_copy):
    told = trialcell("run", "--cell", cell_copy, "--seed", 13, "--json", *QUICK)
    assert told.code == 0, told.err
    answer = told.object
    assert answer["result"] == "completed"
    assert answer["verdicts"] == {"pick": "yes", "place": "yes"}
    assert answer["truth"] == {"block_in_box": True}
    assert answer["attempts"] == 1
    assert 10 < answer["duration_s"] < 60
    assert answer["wall_s"] > 0
    assert answer["run_dir"] == str(cell_copy / "runs" / answer["run_id"])
    assert check_log(answer["run_id"], RunStore(cell_copy / "runs")).valid
    assert "find block and box" in told.err


@pytest.mark.slow
def test_people_see_one_line_a_stage_and_then_how_it_ended(trialcell, cell_copy):
    told = trialcell("run", "--cell", cell_copy, "--seed", 13, *QUICK)
    assert told.code == 0
    lines = told.out.splitlines()
    marked = [line for line in lines if line.startswith("✓ ")]
    assert len(marked) == 11
    assert marked[0].split("  ")[0] == "✓ home, gripper open"
    assert any(line.startswith("completed") for line in lines)
    assert any(line.startswith("truth     the twin's block is in the box") for line in lines)
    run_id = RunStore(cell_copy / "runs").find("latest").run_id
    assert f"trialcell runs show {run_id} --cell {cell_copy}" in lines[-1]
    assert max(len(line.rstrip()) for line in lines if "/" not in line) <= 110
    assert "{" not in told.out


def test_a_dry_run_moves_nothing_and_is_done(trialcell, cell_copy):
    told = trialcell("run", "--cell", cell_copy, "--seed", 13, "--dry-run", "--json")
    assert told.code == 0
    assert (told.object["result"], told.object["dry_run"]) == ("unjudged", True)
    assert told.object["verdicts"] == {"pick": None, "place": None}
    assert told.object["duration_s"] == 0
    assert "would send" in told.err


@pytest.fixture(scope="module")
def own_picture(tmp_path_factory):
    """A picture of a desk, as a camera would have taken it."""
    twin = build_twin(Config(), seed=8)
    path = tmp_path_factory.mktemp("pictures") / "desk.png"
    cv2.imwrite(str(path), twin.camera.read().image_bgr)
    twin.close()
    return path


def test_a_folder_of_pictures_goes_through_detection_lookups_and_guards(trialcell, cell_copy, own_picture):
    told = trialcell("run", "--cell", cell_copy, "--camera", f"folder:{own_picture.parent}", "--dry-run", "--json")
    assert told.code == 0, told.err
    assert told.object["truth"] is None
    log = RunStore(cell_copy / "runs").open(told.object["run_id"]).log
    assert log.detect[0].block_xz_m is not None
    assert {look.label for look in log.lookups} >= {"stage4_pick", "stage8_place"}
    assert log.guards
    assert all(move.dry_run for move in log.moves)
    assert log.provenance.camera == f"folder:{own_picture.parent}"


def test_pictures_of_another_size_are_used_with_a_note_that_says_how(trialcell, cell_copy, own_picture, tmp_path):
    small = tmp_path / "small.png"
    cv2.imwrite(str(small), cv2.resize(cv2.imread(str(own_picture)), (1000, 562), interpolation=cv2.INTER_AREA))
    told = trialcell("run", "--cell", cell_copy, "--camera", f"folder:{small}", "--dry-run", "--json")
    log = RunStore(cell_copy / "runs").open(told.object["run_id"]).log
    assert any("1000×562 px are not those of the calibration (1280×720 px)" in note.text for note in log.notes)
    assert (log.vlm_captures[0].width_px, log.vlm_captures[0].height_px) == (1000, 562)


def test_a_picture_of_a_real_desk_goes_into_a_log(trialcell, cell_copy, shared):
    picture = shared / "frames" / "leo_rgb1.jpg"
    fallback = ("--set", "box.fallback=true", "--set", "box.fallback_xz_m=[-0.18, 0.18]")
    told = trialcell("run", "--cell", cell_copy, "--camera", f"folder:{picture}", "--dry-run", "--json", *fallback)
    assert told.code in {0, 3}, told.err
    log = RunStore(cell_copy / "runs").open(told.object["run_id"]).log
    assert log.vlm_captures
    assert log.detect
    if log.detect[0].block is not None:
        assert log.lookups or log.result == "refused"
        assert log.guards


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (["--set", "arm.sped_percent=30"], 2, "there is no setting 'arm.sped_percent'"),
        (["--set", "arm.speed_percent=fast"], 2, "arm.speed_percent: Input should be a valid integer"),
        (["--set", "arm.speed_percent=0"], 2, "greater than or equal to 1"),
        (["--set", "table.grasp_y_m=nan"], 2, "table.grasp_y_m"),
        (["--set", "speed"], 2, "section.key=value"),
        (["--set", "box.outside_mm=[-1,0]"], 2, "box.outside_mm: each side must be more than two walls"),
        (["--set", "guard.table_mm=-1000"], 2, "guard.table_mm: Input should be greater than or equal to 0"),
        (["--set", "workspace.x_m=[0.4,-0.4]"], 2, "workspace.x_m: it must run upwards"),
        (["--set", "twin.timestep_s=1e-7"], 2, "twin.timestep_s: Input should be greater than or equal to 0.0005"),
        (["--set", "block.colour=mauve"], 2, "no colour is called 'mauve'"),
        (["--block", "nan,0.2"], 2, "--block wants two numbers in metres"),
        (["--block", "0.2"], 2, "--block wants two numbers in metres"),
        (["--block", "inf,0.2"], 2, "got 'inf,0.2'"),
        (["--box", "left"], 2, "--box wants two numbers in metres"),
        (["--block", "2,2"], 3, "not be on the table"),
        (["--box", "-2,2"], 3, "not be on the table"),
        (["--block", "0,0"], 3, "in the arm's base"),
        (["--block", "-0.2,0.2", "--box", "-0.2,0.2"], 3, "block and box overlap"),
        (["--profile", "ideal"], 2, "'perfect', 'field', 'uncalibrated'"),
        (["--seed", "-1"], 2, "--seed"),
        (["--seed", "two"], 2, "--seed"),
        (["--camera", "folder:nowhere"], 2, "be moved by pictures"),
        (["--camera", "folder:nowhere", "--dry-run"], 4, "there is no such file or folder"),
        (["--camera", "folder", "--dry-run"], 2, "needs a source"),
        (["--camera", "webcam:0", "--dry-run"], 2, "--camera is twin, folder:PATH or opencv:NAME"),
        (["--camera", "folder:nowhere", "--dry-run", "--block", "0.2,0.2"], 2, "pictures are not the twin's"),
    ],
)
def test_a_wrong_wish_is_one_sentence_and_begins_no_run(trialcell, cell_copy, args, code, words):
    told = trialcell("run", "--cell", cell_copy, *args)
    assert told.code == code, told.err
    assert told.out == ""
    assert words in told.err
    assert "Traceback" not in told.err
    assert len(told.err.strip().splitlines()) <= 2
    as_object = trialcell("run", "--cell", cell_copy, *args, "--json")
    assert as_object.code == code
    assert words in as_object.object["error"]["message"]
    assert runs_of(cell_copy) == 0


def test_an_unknown_setting_is_met_with_the_nearest(trialcell, cell_copy):
    assert (
        "did you mean 'arm.speed_percent'?" in trialcell("run", "--cell", cell_copy, "--set", "arm.sped_percent=3").err
    )


def test_an_unknown_key_in_the_cells_own_file_is_refused_with_its_file(trialcell, cell_copy):
    file = cell_copy / "cell.toml"
    file.write_text(file.read_text(encoding="utf-8").replace("grip_value =", "grip_vaule ="), encoding="utf-8")
    told = trialcell("run", "--cell", cell_copy)
    assert told.code == 2
    assert str(file) in told.err.replace("\n", "")
    assert "did you mean 'gripper.grip_value'?" in told.err


def test_a_cells_file_that_is_no_toml_says_so(trialcell, cell_copy):
    (cell_copy / "cell.toml").write_text("[arm\n", encoding="utf-8")
    told = trialcell("run", "--cell", cell_copy)
    assert told.code == 2
    assert "can't read" in told.err


@pytest.mark.parametrize(
    ("args", "words"), [(["--block", "0.36,0.38"], "out of reach"), (["--box", "-0.34,0.37"], "out of reach")]
)
def test_what_is_out_of_reach_is_refused_with_the_way_to_mend_it(trialcell, cell_copy, args, words):
    told = trialcell("run", "--cell", cell_copy, "--seed", 13, *args, *QUICK, "--json")
    assert told.code == 3
    assert told.object["result"] == "refused"
    assert words in told.object["reason"]
    assert "150 to 300 mm from the arm's base axis" in told.object["reason"]
    assert check_log(told.object["run_id"], RunStore(cell_copy / "runs")).valid


@pytest.mark.parametrize("cell", ["/proc/trialcell", "a_file"])
def test_a_cell_that_cannot_be_written_is_a_device_error_and_nothing_is_written_elsewhere(
    trialcell, tmp_path, monkeypatch, cell
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a_file").write_text("not a folder", encoding="utf-8")
    told = trialcell("run", "--cell", cell)
    assert told.code == 4
    assert "can't write to" in told.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a_file"]


def test_runs_that_cannot_be_written_abort_before_anything_moves(trialcell, cell_copy):
    (cell_copy / "runs").rmdir()
    (cell_copy / "runs").write_text("in the way", encoding="utf-8")
    told = trialcell("run", "--cell", cell_copy, "--seed", 13)
    assert told.code == 4
    assert "can't write to" in told.err
    assert "home, gripper open" not in told.out
    assert (cell_copy / "runs").read_text(encoding="utf-8") == "in the way"


def test_a_second_process_on_the_same_cell_is_told_who_has_it(trialcell, cell_copy):
    with CellLock(cell_copy, command="trialcell run --seed 1"):
        told = trialcell("run", "--cell", cell_copy)
    assert told.code == 5
    assert "trialcell run --seed 1" in told.err
    assert "trialcell stop" in told.err
    assert runs_of(cell_copy) == 0


def test_a_latched_stop_is_refused_with_the_command_that_clears_it(trialcell, cell_copy):
    trialcell("stop", "--cell", cell_copy, "--why", "a loose cable", "--by", "Maya")
    told = trialcell("run", "--cell", cell_copy, "--seed", 13)
    assert told.code == 3
    assert "a loose cable (by Maya" in " ".join(told.out.split())
    assert "trialcell stop --clear" in " ".join(told.out.split())


def test_a_table_made_for_another_tool_is_refused_and_left_alone(trialcell, cell_copy):
    before = (cell_copy / "reach.parquet").stat()
    told = trialcell("run", "--cell", cell_copy, "--set", "arm.tcp_mm=[0, 0, 90]")
    assert told.code == 3
    assert "was made for another cell" in told.err
    assert (cell_copy / "reach.parquet").stat().st_mtime == before.st_mtime


def test_a_table_that_is_cut_off_is_refused(trialcell, cell_copy):
    whole = (cell_copy / "reach.parquet").read_bytes()
    (cell_copy / "reach.parquet").unlink()
    (cell_copy / "reach.parquet").write_bytes(whole[: len(whole) // 2])
    told = trialcell("run", "--cell", cell_copy)
    assert told.code == 3
    assert "can't be used" in told.err


def test_a_calibration_that_is_cut_off_is_refused(trialcell, cell_copy):
    (cell_copy / "calibration" / "lens.json").write_text("{", encoding="utf-8")
    told = trialcell("run", "--cell", cell_copy)
    assert told.code == 3
    assert "calibrate again" in told.err


def test_the_settings_of_a_run_are_not_kept_in_the_cell(trialcell, cell_copy):
    before = (cell_copy / "cell.toml").read_text(encoding="utf-8")
    trialcell("run", "--cell", cell_copy, "--dry-run", "--profile", "field", "--set", "arm.speed_percent=33")
    assert (cell_copy / "cell.toml").read_text(encoding="utf-8") == before
    settings = RunStore(cell_copy / "runs").open("latest").log.provenance.settings
    assert (settings["twin"]["profile"], settings["arm"]["speed_percent"]) == ("field", 33)
    assert open_cell(cell_copy).config.twin.profile == "perfect"


def test_a_camera_that_fails_is_a_device_error_with_a_whole_log(trialcell, cell_copy, monkeypatch):
    taken = []
    read = TwinCamera.read

    def failing(camera):
        taken.append(camera)
        if len(taken) > 1:
            raise CameraUnavailable("twin", "the cable is out")
        return read(camera)

    monkeypatch.setattr(TwinCamera, "read", failing)
    told = trialcell("run", "--cell", cell_copy, "--seed", 13, "--json", *QUICK)
    assert told.code == 4
    assert (told.object["result"], told.object["stage"]) == ("crashed", "stage2")
    assert "the cable is out" in told.object["reason"]
    assert check_log(told.object["run_id"], RunStore(cell_copy / "runs")).valid


def test_ctrl_c_while_the_cell_is_still_being_prepared_begins_no_run(trialcell, cell_copy, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("runner.rig.open_tables", interrupted)
    told = trialcell("run", "--cell", cell_copy, "--json")
    assert told.code == 130
    assert told.object["error"]["type"] == "Interrupted"
    assert runs_of(cell_copy) == 0
    with CellLock(cell_copy):
        pass


@pytest.mark.parametrize("missing", ["lens.json", "plane.json"])
def test_half_a_calibration_is_left_alone_and_asked_for(trialcell, cell_copy, missing):
    (other,) = {"lens.json", "plane.json"} - {missing}
    (cell_copy / "calibration" / missing).unlink()
    before = (cell_copy / "calibration" / other).read_bytes()
    told = trialcell("run", "--cell", cell_copy)
    assert told.code in (2, 3)
    assert f"trialcell calibrate {missing.removesuffix('.json')}" in told.err
    assert (cell_copy / "calibration" / other).read_bytes() == before
    assert not list((cell_copy / "runs").glob("run_*"))
