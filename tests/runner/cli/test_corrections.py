"""`trialcell corrections`: see, propose, prove, promote, take back, merge; and what it says to wrong wishes."""

from __future__ import annotations

import re
import shutil

import cv2
import pytest

from runner.cell import open_cell
from runner.learning import belongs_here
from runs.corrections.file import CorrectionFile
from runs.corrections.table import Lesson
from runs.schema.run import CorrectionUse, Ending, PickAttempt, TipDiff, TipMeasurement
from runs.schema.verdict import Judgment
from runs.store import RunHeader, RunStore


@pytest.fixture
def taught(cell_copy):
    """A cell that has had twelve lessons round two squares, 6 mm to the left."""
    file, belongs = CorrectionFile(cell_copy), belongs_here(open_cell(cell_copy))
    for n in range(12):
        at, mm = (0.20 + 0.04 * (n % 2), 0.20 + 0.0005 * n), (-6.0 + 0.2 * (n % 3), 1.0)
        file.learn(belongs, Lesson.of("pick", at, mm, run_id=f"run_{n:04}", at="2026-12-01T00:00:00Z"))
    return cell_copy


def trial(cell, model, *, good, tip_mm):
    """A trial that ended so, with that model applied."""
    writer = RunStore(cell / "runs").create(RunHeader())
    before, after = (200.0, 200.0), (206.0, 200.0) if model else (200.0, 200.0)
    use = {"phase": "pick", "cell_key": "pick_x200_z200", "dx_mm": -6.0, "dz_mm": 0.0, "n": 6}
    use |= {"target_before_mm": before, "target_after_mm": after, "applied": model is not None, "model": model}
    writer.add(CorrectionUse.model_validate(use))
    diff = TipDiff(tip_x=0.2, tip_z=0.2, block_x=0.2, block_z=0.2, dx_mm=tip_mm, dz_mm=0.0, dist_mm=tip_mm)
    writer.add(TipMeasurement(attempt=1, image="x.jpg", diff=diff))
    word = "yes" if good else "no"
    writer.add(PickAttempt(attempt=1, verdict=word, reason="", block_xz_m=(0.2, 0.2)))
    for stage in ("pick", "place") if good else ("pick",):
        writer.judgment(stage, Judgment(verdict=word, reason="", confidence=1.0, image="x.jpg", model=None))
    writer.finish(Ending(result="completed" if good else "failed", stage="stage6", reason="so"))


def test_show_says_what_is_learned_as_a_table_a_map_and_a_picture(trialcell, taught, tmp_path):
    for name in ("a.svg", "a.png"):
        told = trialcell("corrections", "show", "--cell", taught, "--out", tmp_path / name)
        assert told.code == 0, told.err
    assert "12 on 2 squares" in told.out
    assert "←" in told.out
    assert "nothing: targets are not corrected" in told.out
    assert max(map(len, told.out.splitlines())) <= 110
    assert "spread" in (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert cv2.imread(str(tmp_path / "a.png")).shape[1] > 300
    said = trialcell("corrections", "show", "--cell", taught, "--json").object
    assert (said["lessons"], said["live"], said["candidate"]) == (12, None, None)
    assert {square["square"]: square["n"] for square in said["squares"]} == {"pick_x200_z200": 6, "pick_x240_z200": 6}


def test_from_lessons_to_live_on_a_proof_read_from_runs_and_back(trialcell, taught, by_agent):
    proposed = trialcell("corrections", "propose", "--cell", taught, "--json").object
    assert proposed["lessons"] == 12
    assert "no proof yet" in trialcell("corrections", "promote", "--cell", taught).err
    for _ in range(12):
        trial(taught, proposed["candidate"], good=True, tip_mm=1.0)
        trial(taught, None, good=False, tip_mm=6.0)
    for use, good in ((proposed["candidate"], False), (None, True)):
        trial(taught, use, good=good, tip_mm=3.0)
        by_agent(RunStore(taught / "runs").find("latest").folder)
    proved = trialcell("corrections", "prove", "--runs", "all", "--cell", taught, "--json")
    assert proved.code == 0, proved.err
    assert (proved.object["word"], proved.object["only_with"], proved.object["holds"]) == ("better", 12, True)
    assert (proved.object["pairs"], proved.object["dropped"]) == (12, 0)
    live = trialcell("corrections", "promote", "--cell", taught, "--json").object
    assert live == {"live": proposed["candidate"], "by": None}
    shown = trialcell("corrections", "show", "--cell", taught, "--json").object
    assert shown["live"]["hash"] == proposed["candidate"]
    assert all(square["applied"] for square in shown["squares"])
    moved = trialcell("corrections", "diff", "now-1", "--cell", taught, "--json").object
    assert [round(square["moved_mm"]) for square in moved["squares"]] == [6, 6]
    back = trialcell("corrections", "rollback", "now-1", "--by", "Maya", "--why", "bumped", "--cell", taught, "--json")
    assert (back.object["live"], back.object["candidate"]) == (None, proposed["candidate"])
    kinds = [line["kind"] for line in trialcell("corrections", "history", "--cell", taught, "--json").object["changes"]]
    assert kinds[-4:] == ["proposed", "proved", "promoted", "rolled_back"]
    told = trialcell("corrections", "history", "--last", "3", "--cell", taught).out
    assert "to point 14: bumped" in told
    then = trialcell("corrections", "show", "--at", "15", "--cell", taught, "--json").object
    assert then["live"]["hash"] == proposed["candidate"]


def test_trials_that_speak_against_it_promote_nothing(trialcell, taught):
    proposed = trialcell("corrections", "propose", "--cell", taught, "--json").object
    for _ in range(12):
        trial(taught, proposed["candidate"], good=False, tip_mm=0.5)
        trial(taught, None, good=True, tip_mm=6.0)
    proved = trialcell("corrections", "prove", "--runs", "all", "--cell", taught)
    assert proved.code == 1
    assert "worse" in proved.out
    refused = trialcell("corrections", "promote", "--cell", taught)
    assert refused.code == 3
    assert "success is lower with it" in refused.err
    assert trialcell("corrections", "show", "--cell", taught, "--json").object["live"] is None


def test_a_persons_word_promotes_with_name_and_reason(trialcell, taught, monkeypatch):
    trialcell("corrections", "propose", "--cell", taught)
    monkeypatch.delenv("USER", raising=False)
    assert "--by NAME" in trialcell("corrections", "promote", "--why", "measured", "--cell", taught).err
    told = trialcell("corrections", "promote", "--by", "Maya", "--why", "measured", "--cell", taught)
    assert told.code == 0
    assert "on the word of Maya" in told.out
    assert "Maya: measured" in " ".join(trialcell("corrections", "history", "--cell", taught).out.split())


def test_lessons_of_another_cell_are_taken_in_once(trialcell, taught, make_cell_copy):
    other = make_cell_copy("other")
    told = trialcell("corrections", "merge", taught, "--cell", other, "--json")
    assert told.object == {"new": 12, "offered": 12, "left_out": []}
    assert trialcell("corrections", "merge", taught / "corrections.json", "--cell", other, "--json").object["new"] == 0
    candidates = [trialcell("corrections", "propose", "--cell", at, "--json").object for at in (taught, other)]
    assert candidates[0] == candidates[1]


@pytest.mark.slow
def test_what_was_learned_with_another_tool_is_neither_applied_nor_merged_and_it_says_so(trialcell, taught, tmp_path):
    other = tmp_path / "longer"
    shutil.copytree(taught, other)
    settings = (other / "cell.toml").read_text(encoding="utf-8")
    (other / "cell.toml").write_text(settings.replace("tool_roll_deg = 30.0", "tool_roll_deg = 25.0"), encoding="utf-8")
    trialcell("table", "scan", "--cell", other)
    told = trialcell("corrections", "show", "--cell", other)
    assert told.code == 0, told.err
    assert "0 on 0 squares" in told.out
    assert "12 lessons learned with another reach table and tool are not applied here" in " ".join(told.out.split())
    merged = trialcell("corrections", "merge", taught, "--cell", other)
    assert merged.code == 3
    assert "left out: what was learned with another reach table and tool" in merged.out


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (["show", "--out", "map.pdf"], 2, ".svg or .png"),
        (["show", "--of", "future"], 2, "live, candidate or lessons"),
        (["show", "--at", "999"], 2, "has no point '999'"),
        (["diff", "yesterday"], 2, "has no point 'yesterday'"),
        (["rollback", "0", "--by", "Maya"], 2, "needs a reason"),
        (["rollback", "77", "--by", "Maya", "--why", "x"], 2, "has no point"),
        (["promote"], 3, "no correction has been proposed"),
        (["prove", "--pairs", "1"], 3, "no correction has been proposed"),
        (["merge", "nowhere"], 2, "has no corrections.json"),
        (["show", "--out", "/proc/none/a.svg"], 4, "can't write"),
    ],
)
def test_a_wrong_wish_is_one_sentence(trialcell, taught, args, code, words):
    told = trialcell("corrections", *args, "--cell", taught)
    assert told.code == code, told.err
    assert words in " ".join(told.err.split())
    assert "Traceback" not in told.err


def test_a_cell_that_is_new_says_what_it_lacks(trialcell, tmp_path):
    told = trialcell("corrections", "show", "--cell", tmp_path / "new")
    assert told.code == 2
    assert "trialcell table scan" in told.err
    assert "nothing has been learned" in trialcell("corrections", "history", "--cell", tmp_path / "new").out


def test_a_file_that_cannot_be_read_is_one_sentence_and_is_left_alone(trialcell, taught):
    (taught / "corrections.json").write_text("{", encoding="utf-8")
    told = trialcell("corrections", "show", "--cell", taught)
    assert told.code == 3
    assert "is not a correction table" in told.err
    assert (taught / "corrections.json").read_text(encoding="utf-8") == "{"


def test_by_the_fields_rule_there_is_nothing_to_propose(trialcell, taught):
    settings = (taught / "cell.toml").read_text(encoding="utf-8")
    (taught / "cell.toml").write_text(settings.replace('rule = "robust"', 'rule = "field"'), encoding="utf-8")
    told = trialcell("corrections", "propose", "--cell", taught)
    assert told.code == 2
    assert "apply at once" in told.err
    shown = trialcell("corrections", "show", "--cell", taught)
    assert "at once" in shown.out
    assert "not applied" not in shown.out.split("Squares")[1].split("square  ")[1]


@pytest.mark.slow
def test_prove_runs_pairs_on_the_twin_and_stops_once_it_is_clear(trialcell, cell_copy):
    """Lessons that are a lie, 20 mm: picks fail with them, so the proof says worse and nothing goes live."""
    file, belongs = CorrectionFile(cell_copy), belongs_here(open_cell(cell_copy))
    for n in range(12):
        at = (0.1 + 0.015 * n, 0.15 + 0.01 * (n % 5))
        file.learn(belongs, Lesson.of("pick", at, (20.0, 0.0), run_id=f"run_{n:04}", at="2026-12-01T00:00:00Z"))
    trialcell("corrections", "propose", "--cell", cell_copy)
    told = trialcell(
        "corrections", "prove", "--pairs", "20", "--set", "trial.max_pick_attempts=1", "--cell", cell_copy, "--json"
    )
    assert told.code == 1, told.err
    assert told.object["word"] == "worse"
    assert told.object["pairs"] < 20
    assert trialcell("corrections", "promote", "--cell", cell_copy).code == 3


@pytest.mark.slow
def test_what_trials_of_an_uncalibrated_arm_taught_is_proved_and_goes_live(trialcell, cell_copy):
    settings = (cell_copy / "cell.toml").read_text(encoding="utf-8")
    for key, value in (("profile", '"uncalibrated"'), ("desk_seed", "5")):
        settings = re.sub(rf"(?m)^{key} = \S+", f"{key} = {value}", settings)
    (cell_copy / "cell.toml").write_text(settings, encoding="utf-8")
    shutil.rmtree(cell_copy / "calibration")  # of another desk's camera
    told = trialcell(
        *("batch", 12, "--workers", 1, "--set", "batch.reset=teleport", "--set", "arm.speed_percent=80"),
        *("--set", "batch.round=100", "--cell", cell_copy, "--json"),
    )
    assert told.code == 0, told.err
    before = told.object["first_attempt"]
    shown = trialcell("corrections", "show", "--cell", cell_copy, "--json").object
    assert shown["lessons"] >= 8
    assert shown["candidate"] is not None, "the batch has proposed it itself"
    told = trialcell("corrections", "prove", "--pairs", "20", "--seed", "100", "--cell", cell_copy, "--json")
    assert told.code == 0, told.err
    proof = told.object
    assert (proof["word"], proof["holds"]) == ("better", True)
    assert proof["success_low"] > 0 or proof["tip_better_low"] > 0.5
    assert proof["tip_with_mm"] < 0.5 * proof["tip_without_mm"]
    assert proof["only_with"] > proof["only_without"], before
    assert trialcell("corrections", "promote", "--cell", cell_copy, "--json").object["live"] == proof["candidate"]
    trialcell("run", "--seed", 200, "--cell", cell_copy)
    store = RunStore(cell_copy / "runs")
    use = store.open(store.list()[-1].run_id).log.correction.last
    assert (use.applied, use.model) == (True, proof["candidate"])
