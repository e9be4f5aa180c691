"""What every judge must do. A new judge joins by adding its maker to `MAKERS`."""

from __future__ import annotations

import numpy as np
import pytest

from judges.errors import JudgeError
from judges.measured import MeasuredJudge
from judges.protocol import Evidence, LabelledPicture
from judges.scripted import ScriptedJudge
from judges.truth import TruthJudge
from runner.config import Config
from runner.rig import detect_settings
from runs.schema.motion import GripReading
from runs.schema.verdict import Verdict

MAKERS = {
    "measured": MeasuredJudge,
    "scripted": lambda: ScriptedJudge({"pick": ["yes"] * 9, "place": ["no"] * 9}),
    "truth": lambda: TruthJudge(lambda: True, lambda: False),
}
LOOKING = {"measured"}
"""Judges that look at the pictures: what they can't see they can't say yes to."""

SETTINGS = detect_settings(Config())
NOISE = np.random.default_rng(1).integers(0, 255, (360, 640, 3), dtype=np.uint8)
BLACK = np.zeros((360, 640, 3), np.uint8)
HELD = GripReading(value=55.0, opening_mm=30.0, holding=True, reason="the jaws hold something 30.0 mm wide")


@pytest.fixture(params=sorted(MAKERS))
def judge(request):
    return MAKERS[request.param]()


def evidence_of(stage, *pictures, grip=None, attempt=1):
    roles = ("before", "after")[-len(pictures) :] if pictures else ()
    labelled = tuple(LabelledPicture(role, role, picture) for role, picture in zip(roles, pictures, strict=True))
    return Evidence(stage=stage, pictures=labelled, grip=grip, settings=SETTINGS, attempt=attempt)


@pytest.mark.parametrize("stage", ["pick", "place"])
def test_a_verdict_says_stage_attempt_judge_and_reason(judge, stage):
    verdict = judge.judge(evidence_of(stage, NOISE, NOISE, attempt=2))
    assert isinstance(verdict, Verdict)
    assert (verdict.stage, verdict.attempt) == (stage, 2)
    assert verdict.audit.judge == judge.name
    assert verdict.reason
    assert verdict.reason == verdict.reason.strip()


@pytest.mark.parametrize("stage", ["pick", "place"])
def test_a_word_or_an_error_but_never_both_or_neither(judge, stage):
    verdict = judge.judge(evidence_of(stage, NOISE, NOISE))
    assert (verdict.verdict is None) == (verdict.error is not None)
    assert verdict.confidence is None or 0 <= verdict.confidence <= 1


def test_the_pictures_it_was_shown_stand_in_the_audit_by_hash_or_not_at_all(judge):
    shown = evidence_of("place", NOISE, BLACK)
    hashes = judge.judge(shown).audit.image_hashes
    assert hashes in ((), tuple(picture.sha256 for picture in shown.pictures))


@pytest.mark.parametrize("grip", [None, HELD])
@pytest.mark.parametrize("picture", [BLACK, NOISE, np.full_like(BLACK, 255)], ids=["black", "noise", "white"])
@pytest.mark.parametrize("stage", ["pick", "place"])
def test_what_cannot_be_seen_is_never_a_yes(judge, stage, picture, grip):
    if judge.name not in LOOKING:
        pytest.skip(f"skipped: {judge.name} looks at no picture")
    assert judge.judge(evidence_of(stage, picture, picture, grip=grip)).verdict in {"unsure", "no", None}


@pytest.mark.parametrize("stage", ["pick", "place"])
def test_no_pictures_at_all_are_an_error_or_no_yes_by_looking(judge, stage):
    if judge.name not in LOOKING:
        pytest.skip(f"skipped: {judge.name} looks at no picture")
    with pytest.raises(JudgeError):
        judge.judge(evidence_of(stage, grip=HELD))


def test_it_leaves_its_evidence_as_it_was(judge):
    before, after = NOISE.copy(), BLACK.copy()
    judge.judge(evidence_of("place", before, after))
    assert np.array_equal(before, NOISE)
    assert np.array_equal(after, BLACK)


def test_it_says_the_same_of_the_same(judge):
    first, second = (judge.judge(evidence_of("pick", NOISE, NOISE)) for _ in range(2))
    assert (first.verdict, first.reason, first.confidence) == (second.verdict, second.reason, second.confidence)
