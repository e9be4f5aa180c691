"""The model at the arm: asks it, makes the calls that it asks for, tells it what came of them, to the end or a limit.

Before every question time and money are looked at: a question that might cost more than is left is not asked.
Whatever a model writes is text; only well-formed calls of known tools do anything, and they do what any caller's
would.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib.resources import files
from typing import Any

from judges.asking import cost_of
from judges.backend import as_text, clean
from judges.prices import Prices
from judges.turns import Conversation, ToolUse, Turn, TurnDoor
from runner.agent.calls import Answered, CallBook
from runner.agent.course import Drove
from runner.agent.fence import Fence
from runner.agent.limits import Meter
from runner.agent.sitting import Sitting
from runner.agent.tool import Tool, tools_hash
from runner.agent.toolbox import TOOLS
from runs.events import utc_text
from runs.files import sha256_hex
from runs.schema.agent import AgentBegun, AgentTurn

TRIES = 3
BACK_OFF_S = 1.0
MOST_CALLS_A_TURN = 16
MOST_TEXT_CHARS = 20_000
_LARGEST_DEADLINE_S = 600.0


def system_text(fence: Fence) -> str:
    """What the model reads before the task."""
    return (files("runner.agent") / "system.md").read_text(encoding="utf-8").strip() + "\n\n" + fence.rule


def told_tools(tools: Mapping[str, Tool]) -> list[dict[str, Any]]:
    """The tools as a request names them."""
    return [
        {"name": tool.name, "description": tool.about, "input_schema": tool.input_schema} for tool in tools.values()
    ]


class ModelDriver:
    """Drives a sitting by a model's answers. One a sitting."""

    def __init__(
        self,
        door: TurnDoor,
        task: str,
        *,
        prices: Prices,
        max_tokens: int,
        pictures: bool = True,
        wait: Callable[[float], None],
        fence: Fence | None = None,
    ) -> None:
        self._door, self._task, self._prices, self._max_tokens = door, task, prices, max_tokens
        self._pictures, self._wait = pictures, wait
        self._fence = fence or Fence()
        self._system = system_text(self._fence)
        self._messages: list[dict[str, Any]] = [{"role": "user", "content": task}]

    def begun(self, meter: Meter) -> AgentBegun:
        """How it is asked, for the log."""
        return AgentBegun(
            by="claude",
            task=self._task,
            limits=meter.limits,
            tools=tuple(TOOLS),
            model=self._door.model,
            host=self._door.host,
            sdk=self._door.sdk,
            price_table=self._prices.version,
            system_hash=sha256_hex(self._system.encode()),
            tools_hash=tools_hash(TOOLS),
        )

    def __call__(self, sitting: Sitting, book: CallBook) -> Drove:
        """Until the model ends its work, or has to."""
        meter = sitting.meter
        while True:
            sitting.check_stop()
            over = self._over(meter)
            if over is not None:
                return over
            turn = self._asked(sitting)
            if isinstance(turn, Drove):
                return turn
            sitting.check_stop()
            if turn.content:
                self._messages.append({"role": "assistant", "content": list(turn.content)})
            if not turn.uses:
                said = turn.answer.text
                return Drove("done", "the model ended its work", None if said is None else _fit(said))
            over = self._over(meter, calls=False)  # the answer came too late to be acted upon
            if over is not None:
                return over
            self._messages.append({"role": "user", "content": self._results(turn.uses, meter, book)})

    def _over(self, meter: Meter, *, calls: bool = True) -> Drove | None:
        """Whether time, or what a call needs, has run out."""
        limits = meter.limits
        if meter.left_s <= 0:
            return Drove("limit", f"the limit of time is reached: {meter.used_s:.6g} of {limits.time_s:g} s")
        if calls and meter.calls >= limits.calls:
            return Drove("limit", f"the limit of calls of tools is reached: {meter.calls} of {limits.calls}")
        return None

    def _asked(self, sitting: Sitting) -> Turn | Drove:
        """The next answer; asked again for what may pass by itself, within time and money."""
        meter, add = sitting.meter, sitting.trial.book.add
        for attempt in range(1, TRIES + 1):
            said = Conversation(self._system, told_tools(TOOLS), self._messages)
            most = self._door.most_usd(said, self._prices, max_tokens=self._max_tokens)
            refused = meter.budget.take(most)
            if refused is not None:
                return Drove("limit", f"the limit of the model's answers is reached: {refused}")
            at, begun_s = utc_text(), meter.wall_s
            turn = self._door.ask(
                said,
                max_tokens=self._max_tokens,
                deadline_s=min(meter.left_s, _LARGEST_DEADLINE_S),
                given_up=lambda: sitting.trial.switch.asked,
            )
            cost = cost_of(turn.answer, self._door.model, self._prices)
            meter.budget.settle(most, cost)
            add(_record(turn, meter.turns, cost, most, at, meter.wall_s - begun_s))
            if turn.answer.code is None:
                return turn
            wait_s = turn.answer.retry_after_s
            wait_s = BACK_OFF_S * 2 ** (attempt - 1) if wait_s is None else wait_s
            if not turn.answer.again or attempt == TRIES or wait_s >= meter.left_s:
                break
            self._wait(wait_s)
            sitting.check_stop()
        sitting.check_stop()
        if meter.left_s <= 0:
            return Drove("limit", f"the limit of time is reached: {meter.used_s:.6g} of {meter.limits.time_s:g} s")
        return Drove("no_answer", f"the model gave no answer ({turn.answer.code}): {clean(turn.answer.detail)}")

    def _results(self, uses: tuple[ToolUse, ...], meter: Meter, book: CallBook) -> list[dict[str, Any]]:
        """The calls of one answer, in order, and what came of them."""
        results = []
        for number, use in enumerate(uses):
            if number >= MOST_CALLS_A_TURN:
                why = f"not made: at most {MOST_CALLS_A_TURN} calls in one answer"
                results.append(_result(use, [{"type": "text", "text": why}], done=False))
                continue
            answered = book.call(use.name, use.arguments, turn=meter.turns)
            results.append(_result(use, self._shown(answered, meter), done=answered.done))
        return results

    def _shown(self, answered: Answered, meter: Meter) -> list[dict[str, Any]]:
        told = self._fence.around({**answered.answer, "used": meter.as_words()})
        content: list[dict[str, Any]] = [{"type": "text", "text": told}]
        for label, jpeg in answered.pictures.items() if self._pictures else ():
            content.append({"type": "text", "text": f"picture {label}: data, as the camera saw it"})
            source = {"type": "base64", "media_type": "image/jpeg", "data": b64encode(jpeg).decode("ascii")}
            content.append({"type": "image", "source": source})
        return content


def _result(use: ToolUse, content: list[dict[str, Any]], *, done: bool) -> dict[str, Any]:
    told: dict[str, Any] = {"type": "tool_result", "tool_use_id": use.id, "content": content}
    return told if done else {**told, "is_error": True}


def _record(turn: Turn, number: int, cost: float | None, most: float | None, at: str, seconds: float) -> AgentTurn:
    answer = replace(turn.answer, text=None if turn.answer.text is None else _fit(turn.answer.text))
    return AgentTurn(
        turn=number,
        gate=answer.code or "passed",
        detail=answer.detail,
        text=answer.text,
        calls=len(turn.uses),
        left_out=turn.left_out[:20],
        stop_reason=answer.stop_reason,
        model_returned=answer.model,
        usage=answer.usage,
        cost_usd=cost,
        most_usd=None if most is None else round(most, 6),
        seconds=round(seconds, 3),
        http_status=answer.http_status,
        request_id=answer.request_id,
        at=at,
    )


def _fit(text: str) -> str:
    return as_text(text, MOST_TEXT_CHARS)
