"""`trialcell judge rejudge --batch` and `collect`: what becomes of a batch that a server does not take."""

from __future__ import annotations

import json

import cv2
import numpy as np
import pytest

from runs.schema.run import Ending
from runs.schema.verdict import JudgeAudit, Judgment, Verdict
from runs.store import RunHeader, RunStore


@pytest.fixture
def judged(trialcell, tmp_path):
    """A cell with one finished run whose place was judged."""
    cell = tmp_path / "cell"
    assert trialcell("init", "--cell", cell).code == 0
    writer = RunStore(cell / "runs").create(RunHeader(started_at="2026-07-03T13:23:10Z"))
    images = []
    for label in ("detect_1", "place"):
        image = np.random.default_rng(3).integers(60, 200, (240, 320, 3)).astype(np.uint8)
        images.append(writer.picture(label, cv2.imencode(".jpg", image)[1].tobytes()).image)
    writer.add(Verdict(stage="place", verdict="yes", reason="seen", audit=JudgeAudit(judge="measured")))
    said = Judgment(verdict="yes", confidence=None, reason="seen", model="measured", image=images[1])
    writer.judgment("place", said)
    writer.finish(Ending(result="completed", stage="stage10", reason="seen"))
    return cell


@pytest.fixture
def hand_in(trialcell, judged):
    return lambda *more: trialcell("judge", "rejudge", "all", "--judge", "claude", "--batch", "--cell", judged, *more)


@pytest.mark.parametrize("status", [400, 401, 413, 429, 529])
def test_a_batch_that_was_refused_leaves_no_note_and_is_handed_in_again(claude_server, hand_in, judged, status):
    claude_server.play(claude_server.error(status, "some_error"))
    told = hand_in()
    assert told.code == 6
    assert "nothing of it is under way" in told.err
    assert list((judged / "batches").glob("*")) == []
    claude_server.play(claude_server.step(body=json.dumps({"id": "msgbatch_1"}).encode()))
    assert hand_in("--json").object["handed_in"] == 1


def test_a_batch_that_may_have_arrived_is_under_way_until_it_is_given_up(trialcell, claude_server, hand_in, judged):
    for number in (1, 2):
        claude_server.play(claude_server.error(500, "some_error"))
        assert hand_in().code == 6
        again = hand_in("--json").object
        assert (again["handed_in"], again["answered_or_under_way"]) == (0, 1)
        name = f"batch_000{number}"
        told = trialcell("judge", "collect", "--cell", judged, "--json")
        assert (told.code, told.object["batches"][0]["status"]) == (6, "handing_in")
        assert trialcell("judge", "collect", "--forget", name, "--cell", judged).code == 0
    kept = {path.name for path in (judged / "batches").glob("*.json")}
    assert kept == {"forgotten_batch_0001.json", "forgotten_batch_0002.json"}


def test_the_cost_of_a_lost_answer_is_unknown(trialcell, claude_server, judged):
    claude_server.always = claude_server.step(body=b"<html>")
    told = trialcell("judge", "rejudge", "all", "--judge", "claude", "--cell", judged, "--json")
    assert (told.code, told.object["without_verdict"], told.object["cost_usd"]) == (6, 1, None)
    assert "cost unknown" in trialcell("judge", "rejudge", "all", "--judge", "claude", "--cell", judged).out
