"""What an agent did, as a transcript: its task, what it said, each call with what came of it, what it proposes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from runner.cli.show.parts import NAME, QUIET, heading, indented, pairs, words
from runs.figures import Figures, clean
from runs.schema.agent import AgentAnswer, AgentBegun, AgentCall, AgentTurn
from runs.schema.run import RunLog
from runs.transcript import in_short, in_words, steps_of

_SHORT_CHARS = 300
_OUTCOME_STYLE = {"done": "green", "fault": "red"}


def agent(log: RunLog, figures: Figures) -> Iterator[RenderableType]:
    """The sitting, in order; nothing where no agent was at the arm."""
    if log.agent is None:
        return
    begun, ended = log.agent.begun, log.agent.ended
    yield heading("Agent", _asked(begun))
    yield indented(pairs([("task", words(begun.task)), ("limits", words(_limits(begun), QUIET))]))
    for number, step in enumerate(steps_of(log.agent)):
        yield from [Text("")] if number else []
        if isinstance(step, AgentTurn):
            yield indented(_turn(step, figures))
        else:
            yield indented(_call(*step, figures))
    decided = {decision.number: decision for decision in log.decisions}
    for proposal in log.agent.proposals:
        decision = decided.get(proposal.number)
        state = (
            "not decided" if decision is None else f"{'accepted' if decision.accepted else 'declined'} by {decision.by}"
        )
        head = Text.assemble((f"proposal {proposal.number}", NAME), f": {proposal.kind}, {clean(state)}")
        rows: list[tuple[RenderableType, RenderableType]] = [("proposes", words(proposal.text))]
        if proposal.command is not None:
            rows.append(("by", words(proposal.command, QUIET)))
        yield Text("")
        yield indented(head)
        yield indented(pairs(rows))
    if ended is not None:
        used = (
            f"{ended.calls} calls, {ended.motions} moves, {ended.turns} answers of the model, "
            f"{figures.number(ended.spent_usd, 4)} USD, {figures.number(ended.seconds, 1)} s"
        )
        yield Text("")
        yield indented(pairs([("ended", words(f"{ended.by}: {ended.detail}")), ("used", words(used, QUIET))]))


def _asked(begun: AgentBegun) -> str:
    of = {"claude": f"{begun.model or 'a model'} at {begun.host or 'a host not said'}", "scripted": "the script"}
    return clean(of.get(begun.by, f"over MCP, {begun.client or 'a client that does not say who it is'}"))


def _limits(begun: AgentBegun) -> str:
    each = begun.limits
    return (
        f"{each.time_s:g} s, {each.budget_usd:g} USD, {each.turns} answers, {each.calls} calls, {each.motions} moves, "
        f"{each.picks} picks"
    )


def _turn(turn: AgentTurn, figures: Figures) -> RenderableType:
    cost = "cost not known" if turn.cost_usd is None else f"{turn.cost_usd:.4f} USD"
    facts = [f"answer {turn.turn}", cost, f"{figures.number(turn.seconds, 1)} s"]
    facts += [f"{turn.gate}: {turn.detail}"] if turn.gate != "passed" else []
    facts += [f"left out: {', '.join(turn.left_out)}"] if turn.left_out else []
    return pairs([(words(f"says ({turn.turn})"), words(turn.text or "nothing")), ("", words(" · ".join(facts), QUIET))])


def _call(call: AgentCall, answer: AgentAnswer | None, figures: Figures) -> RenderableType:
    asked = call.arguments if call.arguments is not None else call.arguments_begin
    first = words(call.tool, NAME)
    if asked:
        first.append(f"  {clean(_told(asked, figures))}", QUIET)
    rows: list[tuple[RenderableType, RenderableType]] = [(f"call {call.call}", first)]
    if answer is None:
        return pairs([*rows, ("", Text("no answer: the log ends here", style="yellow"))])
    told = answer.reason if answer.result is None else _told(answer.result, figures)
    said = words(answer.outcome, _OUTCOME_STYLE.get(answer.outcome, "yellow"))
    said.append(f"  {clean(told or '')}", "")
    facts = [f"{answer.motions} moves"] if answer.motions else []
    facts += [f"{figures.number(answer.arm_s, 1)} s of the arm's"] if answer.arm_s else []
    facts += [f"judges {answer.cost_usd:.4f} USD"] if answer.cost_usd else []
    rows.append(("", said))
    return pairs([*rows, ("", words(" · ".join(facts), QUIET))] if facts else rows)


def _told(value: Any, figures: Figures) -> str:
    if figures.full:
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return in_short(in_words(value), _SHORT_CHARS)
