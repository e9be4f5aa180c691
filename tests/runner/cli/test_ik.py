"""`ik solve` and `ik compare`, for people and for programs, and what they refuse."""

from __future__ import annotations

import pytest

AT = ("--x", "0.12", "--y", "0.03", "--z", "0.2")


def test_a_place_is_solved_and_said_in_a_line(trialcell, tmp_path):
    told = trialcell("ik", "solve", *AT, "--cell", tmp_path / "cell")
    assert told.code == 0
    assert "reached" in told.out
    assert "dls" in told.out


def test_a_stance_is_solved_in_closed_form_with_every_branch(trialcell, tmp_path):
    told = trialcell("ik", "solve", *AT, "--tilt-deg", "50", "--all", "--json", "--cell", tmp_path / "cell")
    assert told.code == 0
    answer = told.object
    assert (answer["solver"], answer["status"]) == ("closed", "converged")
    assert answer["residual_mm"] < 1e-6
    assert len(answer["joints_deg"]) == 6
    assert [one["status"] for one in answer["branches"]] == ["converged"] * len(answer["branches"])


def test_out_of_reach_is_said_with_the_nearest_pose(trialcell, tmp_path):
    told = trialcell("ik", "solve", "--x", "0.6", "--y", "0.03", "--z", "0.2", "--cell", tmp_path / "cell")
    assert told.code == 3
    assert "not reached" in told.out
    assert "misses by" in told.out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--x", "120", "--y", "30", "--z", "200"), "give metres, not mm"),
        (("--x", "nan", "--y", "0.03", "--z", "0.2"), "finite"),
        ((*AT, "--heading-deg", "30"), "give --tilt-deg too"),
        ((*AT, "--solver", "newton"), "no solver called 'newton'"),
        ((*AT, "--solver", "closed"), "how the tool must stand"),
        ((*AT, "--start", "0,200,0,0,0,0"), "j1 at 200.00° is outside"),
        ((*AT, "--start", "0,1"), "6 joints"),
        ((*AT, "--start", "a,b"), "wants angles"),
        ((*AT, "--all"), "knows no branches"),
        ((*AT, "--tilt-deg", "30", "--solver", "fabrik"), "no rotation"),
    ],
)
def test_wrong_questions_get_a_sentence(trialcell, tmp_path, words, sentence):
    told = trialcell("ik", "solve", *words, "--cell", tmp_path / "cell")
    assert told.code == 2
    assert sentence in told.err
    assert "Traceback" not in told.err


def test_solvers_are_compared_on_the_same_targets(trialcell, tmp_path):
    told = trialcell(
        *("ik", "compare", "--targets", "4", "--solver", "closed", "--solver", "dls", "--wait", "--json"),
        *("--cell", tmp_path / "cell"),
    )
    assert told.code == 0
    figures = {one["solver"]: one for one in told.object["solvers"]}
    assert figures["closed"]["code"] == "compiled"
    assert all(one["reached_percent"] == 100.0 for one in figures.values())


def test_a_comparison_says_what_was_left_out_and_which_code_ran(trialcell, tmp_path):
    told = trialcell("ik", "compare", "--targets", "1", "--places", "--cell", tmp_path / "cell")
    assert told.code == 0
    assert "closed: needs the rotation too" in told.out
    assert "compiled" in told.out
    assert "fabrik" in told.out
