"""Every command once, for people and for programs: init, table, calibrate, judge, detect, stop."""

from __future__ import annotations

import shlex

import cv2
import numpy as np
import pytest

from runner.cli.main import NOUNS, command
from runner.config import Config
from runner.twin.setup import build_twin
from runner.twin.world import Resting


def commands_with_help():
    """Every command line that has help of its own, as its words."""
    group = command()
    for noun in NOUNS:
        context = group.make_context("trialcell", [noun.name], resilient_parsing=True)
        _, found, _ = group.resolve_command(context, [noun.name])
        below = getattr(found, "commands", {})
        yield from ([noun.name, name] for name in below) if below else [[noun.name]]


COMMANDS = list(commands_with_help())


def examples_of(text: str) -> list[list[str]]:
    """The examples of a help text: what stands behind `Example:`, parted by `or`, `then`, `or, as …:`."""
    told = " ".join(text.partition("Example:")[2].split())
    assert told
    parts = told.split("trialcell ")[1:]
    for word in (" or", " then", " or, as the field:"):
        parts = [part.strip().removesuffix(word).strip() for part in parts]
    return [shlex.split(part.partition(" > ")[0]) for part in parts]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_has_help_with_an_example_that_parses(trialcell, words):
    told = trialcell(*words, "--help")
    assert told.code == 0
    assert told.out.startswith(f"Usage: trialcell {' '.join(words)}")
    assert "--json" in told.out
    examples = examples_of(told.out)
    assert examples
    for example in examples:
        assert example[: len(words)] == words
        found = command()
        context = found.make_context("trialcell", list(example), resilient_parsing=True)
        for word in words:
            _, found, _ = found.resolve_command(context, [word])
        found.make_context(" ".join(words), example[len(words) :])


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """A desk before and after: the block in the box."""
    folder = tmp_path_factory.mktemp("pictures")
    twin = build_twin(Config(), seed=8, block_xz_m=(0.22, 0.20), box_xz_m=(-0.19, 0.19))
    cv2.imwrite(str(folder / "before.png"), twin.camera.read().image_bgr)
    twin.world.put_block(Resting((-0.19, 0.19), 15.0), above_m=0.004)
    twin.clock.sleep(1.0)
    cv2.imwrite(str(folder / "after.png"), twin.camera.read().image_bgr)
    twin.close()
    return folder


def test_init_makes_a_cell_with_what_was_measured_and_never_over_another(trialcell, tmp_path):
    cell = tmp_path / "bench"
    told = trialcell("init", "--cell", cell, "--block-mm", 25, "--set", "cell.id=bench", "--json")
    assert told.code == 0
    assert told.object["cell"] == str(cell)
    settings = (cell / "cell.toml").read_text(encoding="utf-8")
    assert "side_mm = 25.0" in settings
    assert 'id = "bench"' in settings
    again = trialcell("init", "--cell", cell)
    assert again.code == 2
    assert "is there already" in again.err
    assert (cell / "cell.toml").read_text(encoding="utf-8") == settings


def test_init_with_a_wrong_setting_makes_nothing(trialcell, tmp_path):
    told = trialcell("init", "--cell", tmp_path / "bench", "--block-mm", 300)
    assert told.code == 2
    assert "block.side_mm" in told.err
    assert not (tmp_path / "bench").exists()


def test_table_show_says_what_is_in_it(trialcell, cell_copy):
    told = trialcell("table", "show", "--cell", cell_copy, "--json")
    assert told.code == 0
    assert told.object["rows"] > 100_000
    assert sum(batch["rows"] for batch in told.object["batches"]) == told.object["rows"]
    assert set(told.object["squares"]) == {"pick", "place"}
    for_people = trialcell("table", "show", "--cell", cell_copy)
    assert "pick band 10…40 mm" in for_people.out
    assert max(len(line) for line in for_people.out.splitlines() if "/" not in line) <= 110


def test_table_lookup_answers_and_refuses(trialcell, cell_copy):
    found = trialcell("table", "lookup", "--cell", cell_copy, "--x", 0.2, "--z", 0.2, "--json")
    assert found.code == 0
    assert found.object["method"] == "fk_nearest"
    assert found.object["pose_id"].startswith("fk_row_")
    far = trialcell("table", "lookup", "--cell", cell_copy, "--x", 0.39, "--z", 0.4, "--json")
    assert far.code == 3
    assert far.object["method"] == "out_of_range"
    assert far.object["abort_reason"]
    approach = trialcell("table", "lookup", "--cell", cell_copy, "--phase", "approach_place", "--x", -0.2, "--z", 0.2)
    assert approach.code == 0
    assert approach.out.startswith("approach_place  grid")


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--phase", "pik"], "no phase 'pik'"),
        (["--ref-joints", "1,2"], "ref_joints"),
        (["--ref-joints", "a,b"], "--ref-joints wants angles"),
        (["--dist-max-m", "-1"], "dist_max_m"),
        (["--x", "nan"], "must be a finite number"),
        (["--j3-tol-deg", "5"], "j3_"),
    ],
)
def test_a_lookup_that_is_asked_wrongly_is_refused(trialcell, cell_copy, args, words):
    told = trialcell("table", "lookup", "--cell", cell_copy, "--x", 0.2, "--z", 0.2, *args)
    assert told.code == 2, told.out
    assert words in told.err


@pytest.mark.parametrize("args", [["show"], ["lookup", "--x", "0.2", "--z", "0.2"]])
def test_without_a_table_it_says_how_to_make_one(trialcell, tmp_path, args):
    told = trialcell("table", *args, "--cell", tmp_path / "new")
    assert told.code == 2
    assert "trialcell table scan" in told.err


def test_a_scan_of_ones_own_replaces_the_table_and_keeps_the_old_one(trialcell, cell_copy):
    told = trialcell("table", "scan", "--cell", cell_copy, "--sample", 500, "--json")
    assert told.code == 0, told.err
    assert told.object["rows"] <= 500
    assert list((cell_copy / "archive").iterdir())
    assert trialcell("table", "show", "--cell", cell_copy, "--json").object["rows"] == told.object["rows"]


def test_calibrate_plane_and_lens_from_the_twins_own_board(trialcell, cell_copy):
    plane = trialcell("calibrate", "plane", "--cell", cell_copy, "--json")
    assert plane.code == 0, plane.err
    assert plane.object["held_out_mm"] < 1.0
    assert plane.object["file"] == str(cell_copy / "calibration" / "plane.json")


@pytest.mark.slow
def test_calibrate_lens_from_the_twins_own_board(trialcell, cell_copy):
    lens = trialcell("calibrate", "lens", "--cell", cell_copy, "--json")
    assert lens.code == 0, lens.err
    assert lens.object["held_out_px"] < 0.5


def test_calibrate_from_a_picture_without_a_board_says_so(trialcell, cell_copy, pictures):
    told = trialcell("calibrate", "plane", "--cell", cell_copy, "--picture", pictures / "before.png")
    assert told.code == 3
    assert "corners" in told.err


def test_judge_ask_gives_a_verdict_with_its_audit(trialcell, cell_copy, pictures):
    asked = ("judge", "ask", "--cell", cell_copy, "--stage", "place", "--before", pictures / "before.png")
    told = trialcell(*asked, "--after", pictures / "after.png", "--gripper-value", 100, "--json")
    assert told.code == 0, told.err
    answer = told.object
    assert answer["verdict"] == "yes"
    assert (answer["attempts"], answer["cost_usd"], answer["calibrated"]) == (1, 0.0, True)
    assert answer["audit"]["judge"] == "measured"
    assert answer["audit"]["seconds"] > 0
    for_people = trialcell(*asked, "--after", pictures / "before.png")
    assert for_people.code == 0
    assert for_people.out.startswith("no  ")


def test_judge_ask_works_without_a_cell_and_makes_none(trialcell, tmp_path, pictures):
    told = trialcell(
        "judge", "ask", "--cell", tmp_path / "none", "--stage", "place", "--after", pictures / "after.png", "--json"
    )
    assert told.code == 0
    assert told.object["calibrated"] is False
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--stage", "lift"], "--stage is pick or place"),
        (["--stage", "pick", "--judge", "oracle"], "judge.kind"),
        (["--stage", "pick", "--gripper-value", "300"], "--gripper-value"),
        (["--stage", "pick", "--before", "nowhere.jpg"], "nowhere.jpg is no picture"),
    ],
)
def test_judge_ask_with_a_wrong_wish_is_one_sentence(trialcell, tmp_path, pictures, args, words):
    told = trialcell("judge", "ask", "--cell", tmp_path / "none", "--after", pictures / "after.png", *args)
    assert told.code == 2
    assert words in told.err


def test_detect_says_where_and_draws_it(trialcell, cell_copy, pictures, tmp_path):
    told = trialcell("detect", pictures / "before.png", "--cell", cell_copy, "--overlay", tmp_path / "seen", "--json")
    assert told.code == 0, told.err
    (row,) = told.object["pictures"]
    assert row["calibrated"] is True
    assert row["block"]["xz_m"] == pytest.approx([0.22, 0.20], abs=0.004)
    assert row["box"]["xz_m"] == pytest.approx([-0.19, 0.19], abs=0.006)
    assert cv2.imread(row["overlay"]).shape == (720, 1280, 3)
    for_people = trialcell("detect", pictures / "before.png", "--cell", cell_copy)
    assert "mm, yaw" in for_people.out


def test_detect_works_on_any_picture_without_a_cell(trialcell, tmp_path, pictures):
    told = trialcell("detect", pictures / "before.png", pictures / "after.png", "--cell", tmp_path / "none", "--json")
    assert told.code == 0
    assert [row["calibrated"] for row in told.object["pictures"]] == [False, False]
    assert not (tmp_path / "none").exists()


def test_detect_with_nothing_to_see_is_a_failure_with_reasons(trialcell, tmp_path):
    cv2.imwrite(str(tmp_path / "night.png"), np.zeros((360, 640, 3), np.uint8))
    told = trialcell("detect", tmp_path / "night.png", "--cell", tmp_path / "none")
    assert told.code == 1
    assert "not found" in told.out


@pytest.mark.parametrize("content", [b"", b"no picture", b"\xff\xd8\xff\xe0 cut off"])
def test_a_picture_that_is_no_picture_is_one_sentence(trialcell, tmp_path, content):
    (tmp_path / "broken.jpg").write_bytes(content)
    told = trialcell("detect", tmp_path / "broken.jpg", "--cell", tmp_path / "none")
    assert told.code == 2
    assert "broken.jpg is no picture that can be read" in told.err
    assert len(told.err.strip().splitlines()) == 2


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--colour", "mauve"], "no colour is called 'mauve'"),
        (["--learn", "1"], "--learn wants a pixel"),
        (["--learn", "99999,5"], "99999"),
    ],
)
def test_detect_with_a_wrong_wish_is_one_sentence(trialcell, tmp_path, pictures, args, words):
    told = trialcell("detect", pictures / "before.png", "--cell", tmp_path / "none", *args)
    assert told.code == 2
    assert words in told.err


def test_stop_is_latched_and_cleared_by_a_person(trialcell, tmp_path):
    cell = tmp_path / "cell"
    told = trialcell("stop", "--cell", cell, "--why", "smoke", "--by", "Maya", "--json")
    assert told.code == 0
    assert told.object["latched"] is True
    assert told.object["stop"]["why"] == "smoke"
    nobody = trialcell("stop", "--cell", cell, "--clear")
    assert nobody.code == 2
    assert "say who has looked at the cell, --by NAME" in nobody.err
    cleared = trialcell("stop", "--cell", cell, "--clear", "--by", "Maya", "--json")
    assert (cleared.object["latched"], cleared.object["was"]["by"]) == (False, "Maya")
    assert "no stop was latched" in trialcell("stop", "--cell", cell, "--clear").out


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('{"schema_version": 1, "run_id": "run_0001', "is not a run log"),
        ('{"schema_version": 99}', "has schema version 99, this program reads up to 1"),
        ('{"schema_version": 1}', "is not a run log"),
        ("", "is not a run log"),
    ],
    ids=["cut off", "newer", "keys missing", "empty"],
)
def test_a_log_that_cannot_be_read_is_one_sentence_and_is_left_as_it_is(trialcell, tmp_path, content, words):
    log = tmp_path / "run.json"
    log.write_text(content, encoding="utf-8")
    for args in (("runs", "show", log), ("runs", "show", log, "--json")):
        told = trialcell(*args)
        assert told.code == 3
        assert words in " ".join((told.err + told.out).split())
        assert "Traceback" not in told.err
    assert log.read_text(encoding="utf-8") == content
