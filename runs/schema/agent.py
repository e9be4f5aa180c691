"""What an agent was asked to do at the arm and what it did: its task, its answers, its calls of tools, its proposals.

A call is written down before anything is done for it, its answer afterwards, so that a log that was cut off shows what
was under way. A proposal changes nothing: what a person decided about it is a record of its own.
"""

from __future__ import annotations

from typing import Any, Literal

from runs.schema.base import Record
from runs.schema.verdict import JudgedStage, Word

AgentKind = Literal["claude", "scripted", "mcp"]
CallOutcome = Literal["done", "refused", "not_now", "failed", "limit", "wrong_arguments", "no_such_tool", "fault"]
AgentEndedBy = Literal["done", "limit", "no_answer", "stopped", "fault", "released", "lease"]
ProposalKind = Literal["correction", "ruling", "setting", "experiment"]


class AgentLimits(Record):
    """What a sitting may use up. `time_s` is the arm's clock or ours, whichever has gone farther."""

    time_s: float
    budget_usd: float
    turns: int
    calls: int
    motions: int
    picks: int


class AgentBegun(Record):
    """Who sat down at the arm, with which task, within which limits; for a model also how it was asked.

    `system_hash` and `tools_hash` are SHA-256 of the text that the model read before the task and of the tools' JSON.
    `client` is what a program that came over MCP says of itself.
    """

    by: AgentKind
    task: str
    limits: AgentLimits
    tools: tuple[str, ...]
    model: str | None = None
    host: str | None = None
    sdk: str | None = None
    price_table: str | None = None
    system_hash: str | None = None
    tools_hash: str | None = None
    client: str | None = None


class AgentTurn(Record):
    """One answer of the model: what it wrote, how many calls it asked for, what it cost.

    `gate` is "passed", or the code of what kept it from being used. `left_out` names parts that no answer may have,
    which nothing was done with. What a server does not say is None, never 0.
    """

    turn: int
    gate: str
    detail: str = ""
    text: str | None = None
    calls: int = 0
    left_out: tuple[str, ...] = ()
    stop_reason: str | None = None
    model_returned: str | None = None
    usage: dict[str, Any] | None = None
    cost_usd: float | None = None
    most_usd: float | None = None
    seconds: float | None = None
    http_status: int | None = None
    request_id: str | None = None
    at: str | None = None


class AgentCall(Record):
    """One call of a tool, before it was done. Arguments that are too long stand as their beginning, with their size."""

    call: int
    tool: str
    turn: int | None = None
    arguments: dict[str, Any] | None = None
    arguments_begin: str | None = None
    n_bytes: int
    at: str | None = None


class AgentAnswer(Record):
    """What came of a call: the tool's result, or why there is none.

    `cost_usd` is what judges have cost during the call, `spent_usd` what the agent's own answers have cost so far.
    `motions` counts the moves of the arm during the call, `arm_s` the arm's seconds, `seconds` ours.
    """

    call: int
    outcome: CallOutcome
    result: dict[str, Any] | None = None
    reason: str | None = None
    images: tuple[str, ...] = ()
    seconds: float | None = None
    arm_s: float | None = None
    motions: int = 0
    cost_usd: float | None = None
    spent_usd: float = 0.0
    at: str | None = None


class Proposal(Record):
    """What an agent proposes: a correction, a ruling, a setting, an experiment. `command` is how a person would do it.

    It is a sentence on record and changes nothing by itself.
    """

    number: int
    kind: ProposalKind
    text: str
    command: str | None = None
    run_id: str | None = None
    stage: JudgedStage | None = None
    verdict: Word | None = None
    at: str | None = None


class AgentEnded(Record):
    """Why the sitting ended, the agent's last word, and what it has used up."""

    by: AgentEndedBy
    detail: str
    said: str | None = None
    turns: int = 0
    calls: int = 0
    motions: int = 0
    picks: int = 0
    spent_usd: float = 0.0
    seconds: float = 0.0


class AgentLog(Record):
    """An agent's sitting at the arm, in order."""

    begun: AgentBegun
    turns: tuple[AgentTurn, ...] = ()
    calls: tuple[AgentCall, ...] = ()
    answers: tuple[AgentAnswer, ...] = ()
    proposals: tuple[Proposal, ...] = ()
    ended: AgentEnded | None = None


class ProposalDecision(Record):
    """A person's decision on a proposal of a run, made after it."""

    number: int
    accepted: bool
    by: str
    at: str
    why: str = ""
