"""What a trial makes of its judge: the measuring one is never fooled by a block that still hangs in the gripper."""

from __future__ import annotations

import cv2
import pytest

from judges.measured import MeasuredJudge
from judges.protocol import Evidence, LabelledPicture
from runs.schema.motion import GripReading
from runs.schema.verdict import JudgeAudit, Verdict
from runs.store import picture_path


def test_a_judge_is_shown_before_and_after_and_nothing_that_the_controller_believes(good_trial):
    played = good_trial
    pick, place = played.judge.shown
    assert (pick.stage, place.stage) == ("pick", "place")
    for evidence in (pick, place):
        assert [picture.role for picture in evidence.pictures] == ["before", "after"]
    assert pick.grip.holding is True
    assert place.grip.holding is False
    about_asking = {"repeat", "keep", "sent", "given_up"}
    assert set(Evidence.__slots__) == {"stage", "pictures", "grip", "settings", "view", "attempt"} | about_asking
    for verdict, evidence in zip(played.log.verdicts, (pick, place), strict=True):
        assert verdict.audit.image_hashes == tuple(picture.sha256 for picture in evidence.pictures)
    for stage in ("pick", "place"):
        capture = next(c for c in played.log.vlm_captures if c.label == stage)
        assert played.log.judgments[stage].image == capture.image


@pytest.mark.parametrize("holding", [True, None])
def test_a_block_that_hangs_over_the_box_is_not_in_it(good_trial, holding):
    hanging = next(c for c in good_trial.log.vlm_captures if c.label == "place_pre")
    picture = cv2.imread(str(picture_path(hanging.image, good_trial.folder)))
    seen = good_trial.judge.shown[-1]
    grip = GripReading(value=None, opening_mm=None, holding=holding, reason="as the test says")
    evidence = Evidence(
        stage="place",
        pictures=(seen.pictures[0], LabelledPicture("after", "after", picture)),
        grip=grip,
        settings=seen.settings,
        view=seen.view,
    )
    assert MeasuredJudge().judge(evidence).verdict != "yes"


@pytest.mark.slow
def test_a_yes_for_a_tip_that_was_far_from_the_block_is_flagged(play):
    played = play(answers={"pick": ["yes"], "place": ["yes"]}, overrides=["trial.dist_override_mm=0.01"])
    assert played.log.judgments["pick"].dist_override is True
    assert played.log.judgments["pick"].verdict == "yes", "the judge's own word stays"
    assert played.log.pick_attempts[0].dist_override is True
    assert played.log.correction.learned == ()
    assert "not believed" in played.log.correction.not_learned


class OddJudge:
    """Has a word and calls it unreadable."""

    name = "odd"

    def judge(self, evidence):
        return Verdict(
            stage=evidence.stage, verdict=None, reason="unreadable", error="odd_reply", audit=JudgeAudit(judge="odd")
        )


def test_an_unreadable_reply_is_no_verdict_and_never_a_yes(play):
    played = play(judge=OddJudge())
    assert played.log.result == "unjudged"
    assert all(judgment.verdict is None for judgment in played.log.judgments.values())
    assert played.log.judgments["place"].error == "odd_reply"
