"""An agent's sitting put in order for people: what it said, then the calls that it made, each with its answer."""

from __future__ import annotations

from collections.abc import Iterator

from runs.schema.agent import AgentAnswer, AgentCall, AgentLog, AgentTurn

Step = AgentTurn | tuple[AgentCall, AgentAnswer | None]


def steps_of(agent: AgentLog) -> Iterator[Step]:
    """Turns and calls in the order in which they came."""
    answers = {answer.call: answer for answer in agent.answers}
    left = list(agent.calls)
    for turn in agent.turns:
        while left and left[0].turn is None:
            yield left[0], answers.get(left.pop(0).call)
        yield turn
        while left and left[0].turn is not None and left[0].turn <= turn.turn:
            yield left[0], answers.get(left.pop(0).call)
    for call in left:
        yield call, answers.get(call.call)


def in_short(text: str, most: int) -> str:
    """A text in one line, cut."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
