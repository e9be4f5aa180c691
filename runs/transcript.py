"""An agent's sitting put in order for people: what it said, then the calls that it made, each with its answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

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


def in_words(value: Any, *, inner: bool = False) -> str:
    """What went into a tool or came out of it, without the signs of JSON; what is empty or not known is left out."""
    if isinstance(value, Mapping):
        told = [(str(key).replace("_", " "), in_words(item, inner=True)) for key, item in value.items()]
        parts = [f"{key} {text}" for key, text in told if text]
        return f"({', '.join(parts)})" if inner and parts else "; ".join(parts)
    if isinstance(value, list | tuple):
        return ", ".join(text for text in (in_words(item, inner=True) for item in value) if text)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else str(value)


def in_short(text: str, most: int) -> str:
    """A text in one line, cut."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
