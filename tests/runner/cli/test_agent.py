"""`trialcell agent` as it is called: who does it, what it answers, what it refuses; proposals and decisions."""

from __future__ import annotations

import json

import pytest

from runs.schema.agent import AgentBegun, AgentCall, AgentEnded, AgentLimits, AgentTurn, Proposal
from runs.schema.run import Ending
from runs.store import RunHeader, RunStore


@pytest.fixture
def keyless(monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)


@pytest.fixture
def proposed(tmp_path):
    """A cell with a sitting that proposes a setting, and whose text would do harm to a terminal."""
    store = RunStore(tmp_path / "cell" / "runs")
    writer = store.create(RunHeader(started_at="2026-07-03T13:23:10Z"))
    limits = AgentLimits(time_s=60, budget_usd=1, turns=5, calls=5, motions=5, picks=1)
    writer.add(AgentBegun(by="claude", task="find out", limits=limits, tools=("note",), model="claude-sonnet-5-5"))
    writer.add(AgentTurn(turn=1, gate="passed", text="\x1b[2J <b>plan</b>", calls=1, cost_usd=0.01))
    writer.add(AgentCall(call=1, turn=1, tool="note", arguments={"text": "<script>x</script>"}, n_bytes=12))
    writer.add(Proposal(number=1, kind="setting", text="go slower", command="trialcell run --set arm.speed_percent=10"))
    writer.add(AgentEnded(by="done", detail="the model ended its work", said="See my proposal.", turns=1, calls=1))
    writer.finish(Ending(result="unjudged", stage=None, reason="nothing was picked up"))
    return tmp_path / "cell"


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [(["juggle"], "NoKey"), (["juggle", "--by", "scripted"], "NoModel"), (["--by", "claude"], "NoKey")],
)
def test_a_task_that_needs_a_model_says_so_before_anything_moves(trialcell, keyless, cell_copy, arguments, kind):
    told = trialcell("agent", *arguments, "--cell", cell_copy, "--json")
    assert told.code in (2, 6)
    assert json.loads(told.out)["error"]["type"] == kind
    assert not list((cell_copy / "runs").glob("run_*"))


def test_a_model_without_a_price_can_not_be_kept_to_a_budget(trialcell, cell_copy, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test-0123456789")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "https://example.org")
    told = trialcell("agent", "juggle", "--set", "agent.model=gpt", "--cell", cell_copy)
    assert told.code == 2
    assert "no budget can be kept" in told.err


def test_proposals_are_listed_and_decided_by_people(trialcell, proposed):
    told = trialcell("runs", "proposals", "--cell", proposed)
    assert "setting, not decided" in told.out
    assert "trialcell run --set arm.speed_percent=10" in told.out
    done = trialcell("runs", "decide", "latest", "1", "--accept", "--by", "Kim", "--cell", proposed)
    assert done.code == 0
    assert "nothing has changed yet; give it yourself" in done.out
    again = trialcell("runs", "decide", "latest", "1", "--decline", "--by", "Kim", "--cell", proposed, "--json")
    assert again.code == 2
    left = trialcell("runs", "proposals", "--open", "--cell", proposed, "--json")
    assert json.loads(left.out) == {"proposals": []}


def test_the_transcript_stands_on_the_page_and_in_the_report_and_obeys_nobody(trialcell, proposed, tmp_path):
    shown = trialcell("runs", "show", "latest", "--cell", proposed).out
    for words in ("find out", "plan", "call 1", "no answer: the log ends here", "go slower"):
        assert words in shown
    assert "\x1b[2J" not in shown
    out = tmp_path / "report.html"
    assert trialcell("runs", "report", "latest", "--out", out, "--cell", proposed).code == 0
    page = out.read_text(encoding="utf-8")
    assert 'id="agent"' in page
    assert "<script>x" not in page
    assert "&lt;script&gt;x" in page


@pytest.mark.slow
def test_the_standard_job_needs_no_key(trialcell, keyless, cell_copy):
    told = trialcell("agent", "Put the block into the box.", "--seed", "13", "--cell", cell_copy, "--json")
    assert told.code == 0, told.err
    answer = json.loads(told.out)
    assert (answer["by"], answer["result"]) == ("scripted", "completed")
    assert answer["truth"]["block_in_box"] is True
    assert answer["ended"]["by"] == "done"


@pytest.mark.slow
def test_a_question_is_answered_without_moving_more_than_home(trialcell, claude_server, cell_copy):
    claude_server.model = "claude-sonnet-5-5"
    use = {"type": "tool_use", "id": "toolu_1", "name": "history", "input": {"by": "square"}}
    claude_server.play(
        claude_server.reply([use], stop_reason="tool_use"), claude_server.reply("Nothing was run on the left yet.")
    )
    told = trialcell("agent", "why does the left side fail?", "--seed", "13", "--cell", cell_copy, "--json")
    assert told.code == 0, told.err
    answer = json.loads(told.out)
    assert (answer["by"], answer["result"], answer["verdicts"]) == ("claude", "unjudged", {})
    assert answer["ended"]["said"] == "Nothing was run on the left yet."
    assert answer["ended"]["motions"] == 0
    assert answer["ended"]["spent_usd"] > 0
