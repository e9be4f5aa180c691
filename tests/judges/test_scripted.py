"""The scripted judge says its lines in order, a stage at a time, and has no verdict when they have run out."""

from __future__ import annotations

from judges.scripted import ScriptedJudge


def test_it_answers_each_stage_from_its_own_list_in_order(start_picture, evidence):
    judge = ScriptedJudge({"pick": ["no", "yes"], "place": ["unsure"]})
    pick, place = (evidence(stage, start_picture, start_picture) for stage in ("pick", "place"))
    assert [judge.judge(one).verdict for one in (pick, place, pick)] == ["no", "unsure", "yes"]


def test_an_ended_script_is_no_verdict_and_never_a_yes(start_picture, evidence):
    judge = ScriptedJudge({"pick": ["yes"]})
    judge.judge(evidence("pick", start_picture, start_picture))
    for stage in ("pick", "place"):
        verdict = judge.judge(evidence(stage, start_picture, start_picture))
        assert verdict.verdict is None
        assert verdict.error == "script_ended"
        assert verdict.confidence is None


def test_the_script_it_was_given_is_not_used_up(start_picture, evidence):
    script = {"pick": ["yes"]}
    ScriptedJudge(script).judge(evidence("pick", start_picture, start_picture))
    assert script == {"pick": ["yes"]}
