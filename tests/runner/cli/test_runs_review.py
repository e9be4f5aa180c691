"""`trialcell runs rule`, `queue`, `rates`."""

from __future__ import annotations

import io

import cv2
import numpy as np
import pytest

from judges.certificate import CameraPart, save_certificate
from runs.schema.run import Ending, Provenance
from runs.schema.verdict import JudgeAudit, Judgment, Verdict
from runs.store import RunHeader, RunStore

HASHES = {"lens": "l" * 64, "plane": "p" * 64}


def provenance():
    return Provenance(
        cell_id="desk", code_version="0", arm_kind="twin", arm_model="m", camera="twin", judge="measured",
        calibration_hashes=HASHES,
    )  # fmt: skip


@pytest.fixture
def judged(tmp_path):
    """A cell of runs with these place verdicts: `judged("yes", "no", None)`; its folder."""

    def make(*words):
        store = RunStore(tmp_path / "cell" / "runs")
        for word in words:
            writer = store.create(RunHeader(started_at="2026-07-03T13:23:10Z", provenance=provenance()))
            image = np.full((60, 80, 3), 90, dtype=np.uint8)
            capture = writer.picture("place", cv2.imencode(".jpg", image)[1].tobytes())
            error = None if word else "timeout"
            sure = 0.9 if word else None
            audit = JudgeAudit(judge="claude", model="haiku", template_hash="t")
            writer.add(Verdict(stage="place", verdict=word, confidence=sure, reason="seen", error=error, audit=audit))
            judgment = Judgment(
                verdict=word, confidence=sure, reason="seen", model="haiku", image=capture.image, error=error
            )
            writer.judgment("place", judgment)
            result = {"yes": "completed", "no": "failed"}.get(word, "unjudged")
            writer.finish(Ending(result=result, stage="stage9b_judge_place", reason="seen"))
        return tmp_path / "cell"

    return make


def test_a_ruling_changes_what_list_and_show_say(trialcell, judged):
    cell = judged("yes")
    told = trialcell(
        "runs", "rule", "latest", "--stage", "place", "--verdict", "no", "--by", "Maya", "--why", "on the rim",
        "--cell", cell, "--json",
    )  # fmt: skip
    assert told.code == 0, told.err
    assert told.object["ruling"]["by"] == "Maya"
    assert (told.object["result"], told.object["result_then"]) == ("failed", "completed")
    listed = trialcell("runs", "list", "--cell", cell)
    assert "failed" in listed.out
    assert "ruled, completed then" in " ".join(listed.out.split())
    (run,) = trialcell("runs", "list", "--cell", cell, "--json").object["runs"]
    assert (run["result"], run["place"], run["ruled"]) == ("failed", "no", True)
    shown = trialcell("runs", "show", "latest", "--cell", cell).out
    assert "by Maya" in shown
    assert "yes by haiku" in shown
    assert "on the rim" in shown
    assert trialcell("runs", "show", "latest", "--cell", cell, "--json").object["rulings"][0]["reason"] == "on the rim"
    assert trialcell("runs", "validate", "latest", "--cell", cell).code == 0


@pytest.mark.parametrize(
    ("args", "code", "word"),
    [
        (["latest", "--stage", "place", "--verdict", "maybe", "--why", "x"], 2, "yes, no or unsure"),
        (["latest", "--stage", "table", "--verdict", "no", "--why", "x"], 2, "pick or place"),
        (["latest", "--stage", "place", "--verdict", "no"], 2, "--why"),
        (["latest", "--stage", "pick", "--verdict", "no", "--why", "x"], 2, "no pick to rule on"),
        (["99", "--stage", "place", "--verdict", "no", "--why", "x"], 2, "no run '99'"),
    ],
)
def test_a_ruling_that_can_not_be_is_refused(trialcell, judged, args, code, word):
    told = trialcell("runs", "rule", *args, "--by", "Maya", "--cell", judged("yes"))
    assert told.code == code
    assert word in told.err
    assert "Traceback" not in told.err


def test_a_ruling_needs_a_name(trialcell, judged, monkeypatch):
    monkeypatch.delenv("USER", raising=False)
    told = trialcell(
        "runs", "rule", "latest", "--stage", "place", "--verdict", "no", "--why", "x", "--cell", judged("yes")
    )
    assert told.code == 2
    assert "--by" in told.err


class Keyboard(io.StringIO):
    def isatty(self):
        return True


def test_without_a_verdict_one_is_asked_blind_and_both_words_are_kept(trialcell, judged, monkeypatch):
    cell = judged("yes")
    monkeypatch.setattr("sys.stdin", Keyboard("n\nit hangs\ny\nno, it is inside\n"))
    told = trialcell("runs", "rule", "latest", "--stage", "place", "--by", "Maya", "--cell", cell, "--json")
    assert told.code == 0, told.err
    rulings = trialcell("runs", "show", "latest", "--cell", cell, "--json").object["rulings"]
    assert [(r["verdict"], r["blind"], r["reason"]) for r in rulings] == [
        ("no", True, "it hangs"), ("yes", False, "no, it is inside"),
    ]  # fmt: skip
    assert told.err.index("yes, no or unsure") < told.err.index("haiku says yes")


def test_without_a_terminal_nobody_is_asked(trialcell, judged, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    told = trialcell("runs", "rule", "latest", "--stage", "place", "--by", "Maya", "--cell", judged("yes"))
    assert told.code == 6
    assert "nobody can be asked" in told.err


def test_the_queue_names_the_most_doubtful_first(trialcell, judged):
    cell = judged("yes", "unsure", None, "no")
    told = trialcell("runs", "queue", "--share", "0", "--cell", cell, "--json").object
    assert [(item["run_id"][:8], item["reasons"]) for item in told["queue"]] == [
        ("run_0002", ["unsure"]), ("run_0003", ["no verdict: timeout"]),
    ]  # fmt: skip
    people = trialcell("runs", "queue", "--share", "0", "--cell", cell)
    assert "no verdict: timeout" in people.out
    assert "trialcell runs rule run_0002" in people.out
    assert "unsure" not in people.out  # nobody's word, so that people judge blind
    assert "unsure" in trialcell("runs", "queue", "--share", "0", "--verdicts", "--cell", cell).out
    assert len(trialcell("runs", "queue", "--share", "1", "--cell", cell, "--json").object["queue"]) == 4


def test_an_unreadable_run_is_told_not_hidden(trialcell, judged):
    cell = judged("yes", "no")
    next((cell / "runs").glob("run_0001*/run.json")).write_text("{")
    told = trialcell("runs", "queue", "--cell", cell, "--json").object
    assert [name[:8] for name in told["unreadable"]] == ["run_0001"]
    assert "can't be read" in trialcell("runs", "queue", "--cell", cell).out


def test_rates_tell_raw_undecided_and_why_nothing_is_corrected(trialcell, judged):
    cell = judged("yes", "yes", "no", "unsure", None)
    place = trialcell("runs", "rates", "--stage", "place", "--cell", cell, "--json").object["stages"]["place"]
    assert place["bounds"] == [0.4, 0.8]
    assert place["decided"]["rate"] == pytest.approx(2 / 3)
    assert place["judges"]["claude"]["corrected"] is None
    assert "judge calibrate" in place["judges"]["claude"]["why_not"]
    people = trialcell("runs", "rates", "--cell", cell).out
    assert "40.0% to 80.0%, whatever the undecided ones were" in people


def test_an_agents_sitting_counts_in_no_rate(trialcell, judged, by_agent):
    cell = judged("yes", "no", "yes")
    by_agent(RunStore(cell / "runs").find("3").folder)
    place = trialcell("runs", "rates", "--stage", "place", "--cell", cell, "--json").object["stages"]["place"]
    assert (place["yes"], place["no"]) == (1, 1)
    assert (place["judges"]["claude"]["raw"]["successes"], place["judges"]["claude"]["raw"]["n"]) == (1, 2)


@pytest.fixture
def certificate(certificate_for):
    """A certificate for the judge of these runs, by a camera with their hashes."""
    camera = CameraPart(name="twin", lens_hash=HASHES["lens"], plane_hash=HASHES["plane"])
    return certificate_for("claude", "haiku", "t", camera)


def test_rates_are_corrected_for_a_measured_judge(trialcell, judged, certificate):
    cell = judged(*["yes"] * 14, *["no"] * 6)
    save_certificate(cell / "calibration", certificate)
    claude = trialcell("runs", "rates", "--stage", "place", "--cell", cell, "--json").object["stages"]["place"][
        "judges"
    ]["claude"]
    assert claude["why_not"] is None, claude
    assert claude["corrected"]["rate"] == pytest.approx((0.7 - 0.1) / 0.8)
    assert claude["corrected"]["low"] < 0.7 < claude["corrected"]["high"]
    assert "corrected for its error: 75.0%" in trialcell("runs", "rates", "--cell", cell).out


def test_rates_are_not_corrected_for_a_judge_that_has_changed(trialcell, judged, certificate):
    cell = judged("yes", "no")
    parts = tuple(part.model_copy(update={"template_hash": "t2"}) for part in certificate.parts)
    save_certificate(cell / "calibration", certificate.model_copy(update={"parts": parts}))
    claude = trialcell("runs", "rates", "--stage", "place", "--cell", cell, "--json").object["stages"]["place"][
        "judges"
    ]["claude"]
    assert claude["corrected"] is None
    assert "in 2 of 2 runs the rubric has changed" in claude["why_not"]


def test_rates_are_not_corrected_in_another_light(trialcell, judged, certificate):
    cell = judged("yes", "no")
    brighter = certificate.light.model_copy(update={"low_level": 200.0, "high_level": 220.0})
    save_certificate(cell / "calibration", certificate.model_copy(update={"light": brighter}))
    place = trialcell("runs", "rates", "--stage", "place", "--cell", cell, "--json").object["stages"]["place"]
    assert place["judges"]["claude"]["corrected"] is None
    assert "in 2 of 2 runs the light has changed" in place["judges"]["claude"]["why_not"]


def test_rates_are_not_corrected_by_too_few_labels(trialcell, judged, certificate):
    cell = judged("yes", "no")
    few = certificate.model_copy(update={"sensitivity": (2, 2), "specificity": (2, 2)})
    save_certificate(cell / "calibration", few)
    claude = trialcell("runs", "rates", "--stage", "place", "--cell", cell, "--json").object["stages"]["place"][
        "judges"
    ]["claude"]
    assert "better than a coin" in claude["why_not"]
