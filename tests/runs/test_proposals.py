"""What agents propose changes nothing; what people decide is on record, and an accepted ruling is theirs."""

from __future__ import annotations

import pytest

from runs.check import check_log
from runs.errors import NothingToRule
from runs.index.questions import ManyRuns
from runs.index.select import Selection
from runs.proposals import NothingToDecide, all_proposals, decide, proposals_in
from runs.recover import read_events
from runs.schema.agent import AgentAnswer, AgentBegun, AgentCall, AgentEnded, AgentLimits, AgentTurn, Proposal
from runs.schema.run import Ending
from runs.schema.verdict import JudgeAudit, Judgment, Verdict
from runs.transcript import in_words, steps_of

LIMITS = AgentLimits(time_s=60, budget_usd=1, turns=5, calls=5, motions=5, picks=1)


@pytest.fixture
def trial(store, header):
    """A trial that was judged no; its id."""
    writer = store.create(header)
    audit = JudgeAudit(judge="measured")
    writer.add(Verdict(stage="place", verdict="no", reason="beside the box", audit=audit))
    writer.judgment("place", Judgment(verdict="no", confidence=0.9, reason="beside the box", model="measured"))
    writer.finish(Ending(result="failed", stage="stage9b_judge_place", reason="beside the box"))
    return writer.run_id


@pytest.fixture
def sitting(store, header, trial):
    """An agent's sitting that proposes a ruling on the trial, and a setting; its id."""
    writer = store.create(header)
    writer.add(AgentBegun(by="claude", task="look at the last trial", limits=LIMITS, tools=("note",), model="m"))
    writer.add(AgentTurn(turn=1, gate="passed", text="I read first.", calls=2, cost_usd=0.01))
    writer.add(AgentCall(call=1, turn=1, tool="note", arguments={"text": "a"}, n_bytes=12))
    writer.add(Proposal(number=1, kind="ruling", text="it is inside", run_id=trial, stage="place", verdict="yes"))
    writer.add(AgentAnswer(call=1, outcome="done", result={"kept": True, "proposal": 1}))
    writer.add(AgentCall(call=2, turn=1, tool="note", arguments={"text": "b"}, n_bytes=12))
    writer.add(Proposal(number=2, kind="setting", text="slower", command="trialcell run --set arm.speed_percent=10"))
    writer.add(AgentAnswer(call=2, outcome="done", result={"kept": True, "proposal": 2}))
    writer.add(AgentEnded(by="done", detail="ended", said="Look at my proposals.", turns=1, calls=2))
    writer.finish(Ending(result="unjudged", stage=None, reason="nothing was picked up"))
    return writer.run_id


def test_a_sitting_is_in_the_log_in_order_and_in_its_events(store, sitting):
    log = store.open(sitting).log
    assert check_log(sitting, store).valid
    assert read_events(store.runs_dir / sitting / "events.jsonl").state.log().agent == log.agent
    steps = list(steps_of(log.agent))
    assert steps[0].text == "I read first."
    assert [(call.call, answer.outcome) for call, answer in steps[1:]] == [(1, "done"), (2, "done")]
    cut = log.agent.model_copy(update={"answers": log.agent.answers[:1]})
    assert list(steps_of(cut))[-1] == (log.agent.calls[1], None)


def test_nothing_has_changed_by_a_proposal(store, sitting, trial):
    assert store.open(trial).log.rulings == ()
    assert [each.decision for each in proposals_in(store.open(sitting).log)] == [None, None]


def test_an_accepted_ruling_becomes_that_persons_and_the_judges_word_stays(store, sitting, trial):
    decide(store, sitting, 1, accepted=True, by="Maya", why="seen on the pictures")
    log = store.open(trial).log
    (ruling,) = log.rulings
    assert (ruling.by, ruling.verdict, ruling.reason) == ("Maya", "yes", "seen on the pictures")
    assert log.judgments["place"].verdict == "no"
    first, second = proposals_in(store.open(sitting).log)
    assert (first.decision.accepted, first.decision.by, second.decision) == (True, "Maya", None)
    with pytest.raises(NothingToDecide, match="Maya has accepted it"):
        decide(store, sitting, 1, accepted=False, by="Ben")


def test_what_is_declined_changes_nothing_and_what_is_none_can_not_be_decided(store, sitting, trial):
    decide(store, sitting, 1, accepted=False, by="Ben")
    assert store.open(trial).log.rulings == ()
    with pytest.raises(NothingToDecide, match="there is none"):
        decide(store, sitting, 7, accepted=True, by="Ben")
    with pytest.raises(ValueError, match="name"):
        decide(store, sitting, 2, accepted=True, by=" ")


def test_an_accepted_ruling_that_can_not_be_made_is_not_on_record_as_accepted(store, header, sitting):
    writer = store.create(header)
    writer.add(AgentBegun(by="claude", task="t", limits=LIMITS, tools=()))
    writer.add(Proposal(number=1, kind="ruling", text="x", run_id=sitting, stage="pick", verdict="yes"))
    writer.finish(Ending(result="unjudged", stage=None, reason="-"))
    with pytest.raises(NothingToRule):
        decide(store, writer.run_id, 1, accepted=True, by="Maya")
    assert store.open(writer.run_id).log.decisions == ()


def test_sittings_count_in_no_rate_unless_asked_for(store, sitting, trial):
    cell = store.runs_dir.parent
    with ManyRuns([cell]) as many:
        many.refresh()
        assert [group.n for group in many.stats(None, Selection())] == [1]
        by_agent = {group.key: group.n for group in many.stats("agent", Selection())}
        assert by_agent == {"claude": 1, None: 1}
        assert [group.n for group in many.stats(None, Selection.parse(["agent=claude"]))] == [1]
    assert [(each.run_id, each.proposal.number) for each in all_proposals(cell)] == [(sitting, 1), (sitting, 2)]


def test_words_for_people_leave_out_what_is_not_known():
    value = {"block": {"x_m": 0.1, "yaw_deg": None}, "holding": True, "pictures": ["a", "b"], "empty": []}
    assert in_words(value) == "block (x m 0.1); holding yes; pictures a, b"
