"""An agent's sitting on a run's page: task, what it said, each call with what came of it, what it proposes."""

from __future__ import annotations

from collections.abc import Iterator

from runs.report.bricks import pairs, section, table
from runs.report.markup import Child, Markup, tag
from runs.schema.agent import AgentTurn
from runs.schema.run import RunLog
from runs.transcript import in_short, in_words, steps_of

_SHOWN_CHARS = 600


def agent_section(log: RunLog) -> Iterator[Markup]:
    """The transcript; nothing where no agent was at the arm."""
    if log.agent is None:
        return
    begun, ended = log.agent.begun, log.agent.ended
    rows: list[tuple[Child, Child]] = [("task", begun.task), ("by", begun.model or begun.client or begun.by)]
    if ended is not None:
        used = (
            f"{ended.calls} calls, {ended.motions} moves, {ended.turns} answers, {ended.spent_usd:.4f} USD, "
            f"{ended.seconds:.1f} s"
        )
        rows += [("ended", f"{ended.by}: {ended.detail}"), ("used", used)]
    steps = table(("", "what", "what came of it"), _rows(log), small=True)
    yield section(
        "Agent", pairs(rows), steps, _proposals(log), name="agent", lead="What it was asked, and what it did."
    )


def _rows(log: RunLog) -> Iterator[tuple[Child, Child, Child]]:
    assert log.agent is not None
    for step in steps_of(log.agent):
        if isinstance(step, AgentTurn):
            cost = "" if step.cost_usd is None else f"{step.cost_usd:.4f} USD"
            trouble = "" if step.gate == "passed" else f"{step.gate}: {step.detail} "
            yield "says", step.text or "nothing", f"{trouble}{cost}"
            continue
        call, answer = step
        asked = in_words(call.arguments) if call.arguments else call.arguments_begin or ""
        told = "no answer: the log ends here"
        if answer is not None:
            said = answer.reason if answer.result is None else in_words(answer.result)
            told = f"{answer.outcome}: {in_short(said or '', _SHOWN_CHARS)}"
        yield f"call {call.call}", (tag("b", call.tool), " ", in_short(asked, _SHOWN_CHARS)), told


def _proposals(log: RunLog) -> Child:
    assert log.agent is not None
    if not log.agent.proposals:
        return None
    decided = {decision.number: decision for decision in log.decisions}
    rows: list[tuple[Child, Child, Child, Child]] = []
    for one in log.agent.proposals:
        decision = decided.get(one.number)
        state = (
            "not decided" if decision is None else f"{'accepted' if decision.accepted else 'declined'}, {decision.by}"
        )
        rows.append((f"{one.number}, {one.kind}", one.text, one.command or "", state))
    return table(("proposal", "what", "a person would give", "decision"), rows, small=True)
