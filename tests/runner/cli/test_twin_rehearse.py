"""`trialcell twin rehearse`, `sync` and `fit` from the command line, on one run of a cell."""

from __future__ import annotations

import json
import shutil

import cv2
import pytest

from runs.schema.run import Ending
from runs.store import RunHeader, RunStore


def test_other_choices_are_told_with_what_was_gone(trialcell, rehearsed_cell):
    few = ("--tries", 16, "--set", "rehearse.choices=2")
    told = trialcell("twin", "rehearse", "--cell", rehearsed_cell, "--log", "1", *few, "--json")
    assert told.code == 0, told.err
    (attempt,) = told.object["attempts"]
    assert attempt["way_gone"] == attempt["choices"][attempt["way_gone_is_choice"]]["name"]
    assert attempt["knowing_the_miss"] is True
    assert len(attempt["missed_mm"]) == 2
    assert attempt["chosen"] in [choice["name"] for choice in attempt["choices"]]


@pytest.mark.slow
def test_knowing_only_what_was_known_before(trialcell, rehearsed_cell):
    few = ("--tries", 16, "--set", "rehearse.choices=2")
    again = trialcell("twin", "rehearse", "--cell", rehearsed_cell, "--log", "1", *few, "--as-before")
    assert "the planner's own" in again.out
    assert "knowing what was known before" in again.out


def test_what_can_not_be_rehearsed_is_one_sentence(trialcell, rehearsed_cell):
    told = trialcell("twin", "rehearse", "--cell", rehearsed_cell, "--log", "1", "--attempt", 7)
    assert (told.code, told.err.count("\n") < 4) == (2, True)
    assert "it has no attempt 7" in told.err
    assert trialcell("twin", "rehearse", "--cell", rehearsed_cell, "--log", "99").code == 2
    assert trialcell("twin", "rehearse", "--cell", rehearsed_cell, "--log", "1", "--tries", 3).code == 2


def test_too_few_moves_for_a_fit_are_one_sentence(trialcell, rehearsed_cell):
    told = trialcell("twin", "fit", "--cell", rehearsed_cell, "--seeds", 1)
    assert told.code == 2
    assert "moves can't tell an arm's sag from its dead band" in told.err
    assert not (rehearsed_cell / "calibration" / "drive.json").exists()


def test_an_unreadable_run_among_the_last_is_named_and_left_out(trialcell, cell):
    store = RunStore(cell / "runs")
    broken = store.list()[0]
    (broken.folder / "run.json").write_text("{", encoding="utf-8")
    told = trialcell("twin", "fit", "--cell", cell)
    assert told.code == 2
    assert f"left out: {broken.run_id}" in told.err
    assert "moves can't tell" in told.err, "the fit goes on with the others"
    named = trialcell("twin", "fit", "--cell", cell, "--log", broken.run_id)
    assert named.code != 0
    assert "run.json" in named.err
    assert "left out" not in named.err


@pytest.mark.slow
def test_a_fit_is_kept_only_where_it_made_the_twin_truer_and_parity_uses_it(trialcell, rehearsed_cell, make_cell_copy):
    store = RunStore(rehearsed_cell / "runs")
    moves = store.open("1").log.moves
    writer = store.create(RunHeader())
    for shift_deg in (0.0, 0.9, -0.9):  # an arm that rests beside where any shipped twin's does
        for move in moves:
            read = tuple(a + 2.0 + 0.1 * shift_deg for a in move.post_actual)
            before = tuple(a + 2.0 for a in move.pre_actual)
            writer.add(move.model_copy(update={"post_actual": read, "pre_actual": before}))
    name = writer.finish(Ending(result="completed", stage="stage10", reason="a test")).run_id
    told = trialcell("twin", "fit", "--cell", rehearsed_cell, "--log", name, "--seeds", 1, "--dry-run", "--json")
    answer = told.object
    assert (told.code, answer["truer"], answer["kept"], answer["before"]) == (0, True, None, "field")
    assert not (rehearsed_cell / "calibration" / "drive.json").exists()
    rehearsed_cell = make_cell_copy()
    shutil.copytree(store.runs_dir, rehearsed_cell / "runs", dirs_exist_ok=True)
    kept = trialcell("twin", "fit", "--cell", rehearsed_cell, "--log", name, "--seeds", 1)
    assert "the twin was off by" in kept.out
    assert (rehearsed_cell / "calibration" / "drive.json").exists()
    file = rehearsed_cell / "calibration" / "drive.json"
    once = json.loads(file.read_text(encoding="utf-8"))
    again = trialcell("twin", "fit", "--cell", rehearsed_cell, "--log", name, "--seeds", 1, "--json")
    assert (again.code, again.object["before"], again.object["truer"]) == (1, "fitted", False)
    assert json.loads(file.read_text(encoding="utf-8"))["offset_deg"] == once["offset_deg"]
    before, after = (
        trialcell("twin", "parity", "--cell", rehearsed_cell, "--log", name, "--seeds", 1, "--json", *way).object
        for way in ((), ("--fitted",))
    )
    assert after["error_deg"] < before["error_deg"]
    assert after["profile"] == "fitted"


@pytest.mark.slow
def test_the_twin_is_put_into_the_state_of_a_run_or_of_a_picture(trialcell, rehearsed_cell, tmp_path):
    out = tmp_path / "sync.png"
    told = trialcell("twin", "sync", "--cell", rehearsed_cell, "--log", "1", "--out", out, "--json")
    assert told.code == 0, told.err
    assert told.object["differences"]["block"]["mm"] < 1.0
    assert cv2.imread(str(out)).shape[1] > 2000
    assert trialcell("twin", "sync", "--cell", rehearsed_cell).code == 2
    blank = tmp_path / "blank.png"
    cv2.imwrite(str(blank), cv2.imread(str(out))[:720, :1280] * 0)
    refused = trialcell("twin", "sync", "--cell", rehearsed_cell, blank)
    assert refused.code == 3
    assert "can't be put into this state" in refused.err
    bad = trialcell("twin", "sync", "--cell", rehearsed_cell, blank, "--joints", "1,2")
    assert bad.code == 2
