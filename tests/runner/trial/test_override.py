"""A pick judged yes although the tip was measured far off: flagged, and no where the settings say so."""

from __future__ import annotations

import pytest

from judges.person import PersonJudge
from judges.scripted import ScriptedJudge
from runs.queue import queue
from runs.verdicts import standing_in

FAR = "trial.dist_override_mm=0.0001"
IS_NO = "trial.dist_override_is_no=true"


class Agrees:
    """A person who says yes to everything."""

    def show(self, evidence):
        """See the pictures."""

    def tell(self, text):
        """Hear it."""

    def ask(self, question):
        return "y"


@pytest.mark.slow
def test_a_yes_with_the_tip_far_off_is_flagged_only_by_default(play):
    played = play(seed=8, answers={"pick": ["yes"], "place": ["yes"]}, overrides=[FAR])
    judgment = played.log.judgments["pick"]
    assert (judgment.verdict, judgment.vlm_verdict, judgment.dist_override) == ("yes", "yes", True)
    assert played.log.result == "completed"
    assert played.log.correction.learned == ()
    reasons = {item.stage: item.reasons for item in queue([played.store.open("latest")], share=0.0)}
    assert reasons == {"pick": ("the tip was measured far from the block",)}


@pytest.mark.slow
def test_where_the_settings_say_so_it_is_a_no_and_the_judges_word_stays_beside_it(play):
    played = play(seed=8, answers={"pick": ["yes", "yes"]}, overrides=[FAR, IS_NO, "trial.max_pick_attempts=2"])
    log = played.log
    assert log.result == "failed"
    assert [verdict.verdict for verdict in log.verdicts] == ["yes", "yes"], "the judge's own words"
    judgment = log.judgments["pick"]
    assert (judgment.verdict, judgment.vlm_verdict, judgment.dist_override) == ("no", "yes", True)
    assert "mm from the block (limit 0.0001 mm), though scripted says yes" in judgment.reason
    assert [(a.verdict, a.vlm_verdict, a.dist_override) for a in log.pick_attempts] == [("no", "yes", True)] * 2
    assert standing_in(log, "pick").word == "no"
    assert all(drop_mm < 1.0 for drop_mm in played.drops_mm), "the block is set down, not dropped"
    played.check_at_rest()


@pytest.mark.slow
def test_a_yes_with_the_tip_near_is_left_alone(play):
    played = play(seed=8, answers={"pick": ["yes"], "place": ["yes"]}, overrides=[IS_NO])
    judgment = played.log.judgments["pick"]
    assert (judgment.verdict, judgment.dist_override) == ("yes", False)
    assert played.log.judgments["place"].dist_override is None


@pytest.mark.slow
def test_a_persons_yes_is_flagged_but_stands(play):
    judge = PersonJudge(Agrees(), who="Maya", machine=ScriptedJudge({"pick": ["no"], "place": ["yes"]}))
    played = play(seed=8, judge=judge, overrides=[FAR, IS_NO])
    judgment = played.log.judgments["pick"]
    assert (judgment.verdict, judgment.human_verdict, judgment.vlm_verdict) == ("yes", "yes", "no")
    assert judgment.dist_override
    assert played.log.result == "completed"
    standing = standing_in(played.log, "pick")
    assert (standing.source, standing.by) == ("person", "Maya")
    assert [member.verdict for member in played.log.verdicts[0].members] == ["yes", "no"]
