"""The standard job by the tools: scripted, by a model, dry; and what is told of a verdict before it is final."""

from __future__ import annotations

import json

import pytest

from judges.scripted import ScriptedJudge
from runs.schema.agent import AgentAnswer, AgentCall


def test_the_script_does_the_standard_job_and_its_log_tells_all(sit):
    sat = sit()
    sat.check()
    assert (sat.log.result, sat.truth.block_in_box) == ("completed", True)
    assert sat.tools == ["note", "look", "pick", "place", "look", "judge"]
    assert set(sat.outcomes) == {"done"}
    assert sat.log.correction.not_learned == "an agent decided the course of this trial, so it teaches nothing"
    assert sat.log.correction.learned == ()
    kinds = [type(record) for record in sat.records if isinstance(record, AgentCall | AgentAnswer)]
    assert kinds == [AgentCall, AgentAnswer] * 6, "a call is in the log before its answer"
    picked, judged = sat.answer("pick"), sat.answer("judge")
    assert picked.motions == 3
    assert picked.result["grip"]["holding"] is True
    assert abs(picked.result["tip_minus_block_mm"][0]) < 5
    told_before = json.dumps([a.result for a in sat.log.agent.answers if a.call < judged.call])
    assert picked.result["verdict"] == "withheld until the trial is final"
    for verdict in sat.log.verdicts:
        assert verdict.reason not in told_before
    assert [one["verdict"] for one in judged.result["verdicts"]] == ["yes", "yes"]


@pytest.mark.slow
def test_a_dry_sitting_moves_nothing_and_says_what_it_would_have_sent(sit):
    before = {}
    sat = sit(dry_run=True, arrange=lambda twin: before.update(angles=twin.arm.read_angles_deg()))
    sat.check()
    assert sat.log.dry_run
    assert all(move.dry_run for move in sat.log.moves)
    assert sat.tools[:4] == ["note", "look", "pick", "place"]
    assert sat.log.verdicts == () or all(v.error == "dry_run" for v in sat.log.verdicts)
    assert not sat.truth.block_in_box


@pytest.mark.slow
def test_a_model_does_the_standard_job(sit, model):
    model.says("Plan: look, pick, place, judge.", model.use("look"))
    model.says(model.use("pick"))
    model.says(model.use("where_is", what="gripper"), model.use("place"))
    model.says(model.use("look", aside=False))
    model.says(model.use("judge"))
    model.says("The block is in the box.")
    driver = model.driver("put the block into the box", pictures=True)
    sat = sit(driver, begun=driver.begun)
    sat.check()
    assert (sat.log.result, sat.truth.block_in_box) == ("completed", True)
    agent = sat.log.agent
    assert agent.begun.task == "put the block into the box"
    assert agent.turns[0].text == "Plan: look, pick, place, judge."
    assert [call.turn for call in agent.calls] == [1, 2, 3, 3, 4, 5]
    assert agent.ended.said == "The block is in the box."
    each = (3000 * 2 + 400 * 10) / 1e6
    assert agent.ended.spent_usd == pytest.approx(6 * each)
    assert all(turn.cost_usd == pytest.approx(each) for turn in agent.turns)
    shown = [block["type"] for block in model.server.seen[1].body["messages"][-1]["content"][0]["content"]]
    assert shown == ["text", "text", "image"]
    assert "verdict" not in json.dumps(model.told(2)).replace('"verdict": "withheld until the trial is final"', "")


@pytest.mark.slow
def test_a_dropped_block_is_picked_up_again(sit):
    """The block slips out on the way to the box; the script retreats and tries again."""
    dropped = []

    def drop(record, twin):
        if getattr(record, "label", None) == "stage7_approach_place" and not dropped and hasattr(record, "arrived"):
            dropped.append(record)
            from runner.twin.world import Resting

            twin.world.put_block(Resting((0.19, 0.19), 10.0))

    sat = sit(on=drop)
    sat.check()
    assert dropped
    assert sat.log.result == "completed", (sat.log.ending, sat.tools, sat.outcomes)
    assert sat.truth.block_in_box
    assert "retreat" in sat.tools
    assert sat.answer("place", 0).outcome == "failed"
    assert sat.log.agent.ended.picks == 2


@pytest.mark.slow
def test_who_places_and_never_asks_is_judged_all_the_same(sit, model):
    model.says(model.use("look"))
    model.says(model.use("pick"))
    model.says(model.use("place"))
    model.says("Done, I am sure that it is in.")
    sat = sit(model.driver())
    sat.check()
    assert "judge" not in sat.tools
    assert sat.log.judgments["place"].verdict == "yes"
    assert sat.log.result == "completed"


@pytest.mark.slow
@pytest.mark.parametrize("asks", [False, True])
def test_who_places_and_retreats_is_judged_all_the_same(sit, model, asks):
    model.says(model.use("look"))
    model.says(model.use("pick"))
    model.says(model.use("place"))
    model.says(model.use("retreat"))
    if asks:
        model.says(model.use("judge"))
    model.says("Done.")
    sat = sit(model.driver())
    sat.check()
    assert sat.outcomes == ["done"] * (5 if asks else 4)
    assert sat.log.judgments["place"].verdict == "yes"
    assert (sat.log.result, sat.truth.block_in_box) == ("completed", True)


@pytest.mark.slow
def test_what_was_placed_before_a_newer_pick_is_not_what_counts(sit, model):
    """The block is put back on the desk after the place, picked again and set down: nothing is placed at the end."""
    moved = []

    def put_back(record, twin):
        if getattr(record, "label", None) == "stage6_retreat" and not moved and hasattr(record, "arrived"):
            moved.append(record)
            from runner.twin.world import Resting

            twin.world.put_block(Resting((0.19, 0.19), 10.0))

    for name in ("look", "pick", "place", "retreat", "look", "pick", "retreat"):
        model.says(model.use(name))
    model.says("That is all.")
    sat = sit(model.driver(), on=put_back)
    sat.check()
    assert moved
    assert sat.outcomes == ["done"] * 7
    assert [v.stage for v in sat.log.verdicts] == ["pick", "pick"]
    assert sat.log.result == "unjudged"
    assert "not placed" in sat.log.ending.reason


@pytest.mark.slow
def test_a_place_refused_over_the_box_is_retreated_from_by_way_of_the_start(sit, model, monkeypatch):
    from runner.agent import sitting
    from runner.arms.errors import Refused

    def refuse(trial, plan):
        raise Refused("test", "the way down is not clear", value=1.0, limit=2.0, next_step="nothing")

    monkeypatch.setattr(sitting, "place", refuse)
    for name in ("look", "pick", "place", "retreat"):
        model.says(model.use(name))
    model.says("That is all.")
    start = {}
    sat = sit(model.driver(), arrange=lambda twin: start.update(at=twin.truth().block_m))
    sat.check()
    assert sat.outcomes == ["done", "done", "refused", "done"]
    labels = [move.label for move in sat.log.moves]
    at = labels.index("stage6_above_start")
    assert labels[at : at + 3] == ["stage6_above_start", "stage6_set_down", "stage6_back_up"]
    assert sat.truth.block_m == pytest.approx(start["at"], abs=0.004)


@pytest.mark.slow
def test_a_verdict_that_is_no_stays_no_whatever_the_agent_does_then(sit, model):
    model.says(model.use("look"))
    model.says(model.use("pick"))
    model.says(model.use("place"))
    model.says(model.use("judge"))
    model.says(model.use("pick"), model.use("retreat"), model.use("judge"), model.use("note", text="it was a yes"))
    model.says("It counts as a success.")
    sat = sit(model.driver(), judge=ScriptedJudge({"pick": ["no"], "place": ["no"]}))
    sat.check()
    assert sat.log.result == "failed"
    assert [v.verdict for v in sat.log.verdicts] == ["no", "no"]
    assert sat.outcomes[4:] == ["not_now", "not_now", "not_now", "done"]
    assert sat.log.rulings == ()


@pytest.mark.slow
def test_a_pick_can_be_rehearsed_first_and_a_place_can_not(sit, model):
    model.says(model.use("look"))
    model.says(model.use("rehearse", x_m=0.1, z_m=0.25), model.use("rehearse", phase="place", x_m=-0.15, z_m=0.14))
    model.says(model.use("rehearse", x_m=0.45, z_m=0.45))
    model.says("That is all.")
    sat = sit(model.driver(), overrides=["rehearse.tries=16", "rehearse.choices=2"])
    sat.check()
    assert sat.outcomes == ["done", "done", "wrong_arguments", "refused"]
    (record,) = sat.log.rehearsals
    assert (record.policy, record.because) == ("asked", "the agent asked")
    told = sat.answer("rehearse", 0)
    assert told.result["best"] == record.chosen
    assert [way["picked"] for way in told.result["ways"]] == [way.picked for way in record.choices]
    assert told.motions == 0
