"""`trialcell ik show`: a picture, one object for programs, and a sentence for each mistake."""

from __future__ import annotations

import sys

import cv2
import pytest

ARM = ("--arm", "mycobot_280")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_it_draws_and_says_how_it_went(trialcell, here):
    told = trialcell("ik", "show", "--x", "-0.1", "--y", "0.05", "--z", "0.15", "--tilt-deg", "90", *ARM, "--json")
    assert told.code == 0, told.err
    answer = told.object
    assert answer["status"] == "converged"
    assert answer["residual_mm"] < 0.01
    assert len(answer["joints_deg"]) == 6
    assert cv2.imread(str(here / answer["picture"])).shape == (1000, 1600, 3)


def test_out_of_reach_is_drawn_too_and_said(trialcell, here):
    told = trialcell("ik", "show", "--x", "0", "--y", "0.1", "--z", "0.9", *ARM, "--attempts", "2", "--out", "far.png")
    assert told.code == 0
    assert "stalled" in told.out
    assert (here / "far.png").exists()


def test_a_start_of_ones_own_and_a_heading(trialcell):
    told = trialcell(
        *("ik", "show", "--x", "0.1", "--y", "0.1", "--z", "0.15", "--tilt-deg", "90", "--heading-deg", "45"),
        *("--start", "10,-30,-60,0,0,0", *ARM, "--json"),
    )
    assert told.code == 0, told.err
    assert told.object["residual_deg"] < 0.01


def at(x, y, z):
    return ["--x", x, "--y", y, "--z", z]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([*at("120", "30", "200"), *ARM], "give metres, not mm"),
        ([*at("15", "3", "2"), *ARM], "give metres, not mm"),
        ([*at("nan", "0", "0"), *ARM], "three finite numbers"),
        ([*at("0.1", "0.1", "0.1"), "--tilt-deg", "inf", *ARM], "angles finite degrees"),
        ([*at("0.1", "0.1", "0.1"), "--heading-deg", "3", *ARM], "give --tilt-deg too"),
        ([*at("0.1", "0.1", "0.1"), "--arm", "nobody"], "no arm called 'nobody'"),
        ([*at("0.1", "0.1", "0.1"), "--start", "a,b", *ARM], "--start wants angles"),
        ([*at("0.1", "0.1", "0.1"), "--start", "1,2", *ARM], "has 6 joints"),
        ([*at("0.1", "0.1", "0.1"), "--start", "0,0,200,0,0,0", *ARM], "j2 at 200.00° is outside"),
        ([*at("0.1", "0.1", "0.1"), "--out", "x.jpg", *ARM], "the picture is a .png"),
        ([*at("0.1", "0.1", "0.1"), "--rerun", "x.mp4", *ARM], "ends in .rrd"),
        ([*at("0.1", "0.1", "0.1"), "--out", "/proc/none/x.png", *ARM], "can't write"),
        (["--x", "0.1", "--y", "0.1", *ARM], "Missing option"),
    ],
)
def test_every_mistake_is_one_sentence(trialcell, here, arguments, told):
    answer = trialcell("ik", "show", *arguments)
    assert answer.code != 0
    assert told in answer.err
    assert "Traceback" not in answer.err
    assert not list(here.glob("*.png"))


def test_without_the_extra_a_recording_is_refused_with_the_way_to_get_it(trialcell, monkeypatch):
    monkeypatch.setitem(sys.modules, "rerun", None)
    monkeypatch.delitem(sys.modules, "runner.pictures.recording", raising=False)
    told = trialcell("ik", "show", "--x", "0.1", "--y", "0.1", "--z", "0.1", *ARM, "--rerun", "x.rrd")
    assert told.code == 2
    assert 'pip install "trialcell[view]"' in told.err


def test_a_recording_and_a_viewer_without_a_screen(trialcell, here, monkeypatch):
    pytest.importorskip("rerun", reason="the extra trialcell[view] is not installed")
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    told = trialcell("ik", "show", "--x", "0.1", "--y", "0.1", "--z", "0.1", *ARM, "--view")
    assert told.code == 4
    assert "there is no screen here" in told.err
    assert "rerun --web-viewer ik.rrd" in told.err
    assert (here / "ik.rrd").stat().st_size > 1000
