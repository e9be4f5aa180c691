"""Judged no, unsure or not at all: what a trial does next, and how it ends."""

from __future__ import annotations

import pytest

from judges.errors import JudgeError
from runner.twin.world import Resting
from runs.schema.run import StageRecord


def attempts_of(stages: tuple[StageRecord, ...], name: str) -> list[int | None]:
    return [stage.attempt for stage in stages if stage.name == name]


@pytest.mark.slow
def test_a_pick_judged_no_twice_is_tried_a_third_time_and_the_block_is_set_down_in_between(play):
    played = play(answers={"pick": ["no", "no", "yes"], "place": ["yes"]})
    log = played.log
    assert log.result == "completed", log.ending
    assert played.truth.block_in_box
    assert [(a.attempt, a.verdict) for a in log.pick_attempts] == [(1, "no"), (2, "no"), (3, "yes")]
    labels = {capture.label for capture in log.vlm_captures}
    assert {
        "pick",
        "pick_a2",
        "pick_a3",
        "stage4_pick_tip_a2",
        "stage4_pick_tip_a3",
        "detect_a2",
        "detect_a3",
    } <= labels
    assert attempts_of(log.stage_records, "stage6_set_down") == [1, 2]
    assert attempts_of(log.stage_records, "stage4_pick") == [1, 2, 3]
    assert log.judgments["pick"].verdict == "yes"
    assert played.drops_mm == [], "the jaws were opened on a block in the air before the release"
    played.check_at_rest()


@pytest.mark.slow
def test_a_pick_judged_no_three_times_has_failed_and_the_block_is_back_on_the_table(play):
    played = play(answers={"pick": ["no", "no", "no"]})
    assert played.log.result == "failed"
    assert played.log.ending.stage == "stage6"
    assert "3 attempts" in played.log.ending.reason
    assert played.stages[-1] == ("rest", "done")
    assert played.truth.block_on_table
    assert played.drops_mm == []
    assert "pick" in played.log.judgments
    assert played.log.correction.learned == ()
    played.check_at_rest()


@pytest.mark.slow
def test_how_often_a_pick_is_tried_is_a_setting(play):
    played = play(answers={"pick": ["no"]}, overrides=["trial.max_pick_attempts=1"])
    assert played.log.result == "failed"
    assert len(played.log.pick_attempts) == 1


def test_an_unsure_pick_goes_on_when_the_gripper_holds_and_teaches_nothing(play):
    played = play(answers={"pick": ["unsure"], "place": ["yes"]})
    assert played.log.result == "completed"
    assert played.truth.block_in_box
    assert len(played.log.pick_attempts) == 1
    assert played.log.tip_measurements[-1].diff is not None
    assert played.log.correction.learned == ()
    assert "not judged yes" in played.log.correction.not_learned


@pytest.mark.slow
def test_an_unsure_pick_is_tried_again_when_the_gripper_does_not_say_that_it_holds(play):
    played = play(answers={"pick": ["unsure", "unsure", "unsure"]}, mute_gripper=True)
    assert played.log.result == "unjudged"
    assert len(played.log.pick_attempts) == 3
    assert all(attempt.grip_holding is None for attempt in played.log.pick_attempts)
    assert played.drops_mm == [], "an unknown hold is no empty hand"
    played.check_at_rest()


@pytest.mark.slow
def test_an_unsure_place_is_unjudged(play):
    played = play(answers={"pick": ["yes"], "place": ["unsure"]})
    assert (played.log.result, played.log.ending.stage) == ("unjudged", "stage9b_judge_place")
    assert played.stages[-1] == ("stage10", "done")
    assert played.log.correction.learned == ()
    played.check_at_rest()


def test_a_place_judged_no_has_failed(play):
    played = play(answers={"pick": ["yes"], "place": ["no"]})
    assert (played.log.result, played.log.ending.stage) == ("failed", "stage9b_judge_place")
    played.check_at_rest()


class NoJudge:
    """Has no verdict to give."""

    name = "broken"

    def judge(self, evidence):
        raise JudgeError("the judge did not answer")


@pytest.mark.slow
def test_a_judge_that_gives_no_verdict_leaves_the_trial_unjudged(play):
    played = play(judge=NoJudge())
    log = played.log
    assert log.result == "unjudged"
    assert [v.verdict for v in log.verdicts] == [None, None]
    assert all(v.error == "JudgeError" and "did not answer" in v.reason for v in log.verdicts)
    assert log.judgments["place"].verdict is None
    played.check_at_rest()


@pytest.mark.slow
def test_a_block_that_is_lost_on_the_way_is_looked_for_and_picked_again(play):
    twins, lost = [], []

    def lose(record, switch):
        if getattr(record, "name", None) == "stage7_approach_place" and not lost:
            lost.append(record)
            twins[0].arm.send_gripper_open()
            twins[0].clock.sleep(1.5)

    played = play(on=lose, arrange=twins.append)
    log = played.log
    assert ("stage7_approach_place", "failed") in played.stages
    assert len(log.pick_attempts) == 2
    assert log.result == "completed", log.ending
    assert played.truth.block_in_box
    assert "stage6_retreat" in log.stages
    played.check_at_rest()


@pytest.mark.slow
def test_a_block_that_is_gone_after_a_missed_pick_makes_a_failure_not_an_invalid_trial(play):
    twins = []

    def take_away(record, switch):
        if getattr(record, "name", None) == "stage6_retreat":
            twins[0].world.put_block(Resting((0.0, -0.30), 0.0))

    played = play(answers={"pick": ["no"]}, on=take_away, arrange=twins.append)
    assert played.log.result == "failed"
    assert "not picked in 1 attempt" in played.log.ending.reason
    assert "no block was found" in played.log.ending.reason
    played.check_at_rest()
