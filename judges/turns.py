"""One turn of a conversation in which a model may call tools: everything said so far out, one answer in.

Sends once through the one door to the SDK and comes back within its deadline. It runs no tool. Of an answer it takes
text, thinking and well-formed calls; whatever else stands in it, a tool's result among them, is named and left out.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from anthropic.types.message_create_params import MessageCreateParamsNonStreaming

from judges.backend import UNREADABLE, Answer, blotted, checked_url, host_of
from judges.client import FIRST_PARTY, SDK, THINKING, Sent, sent_once
from judges.prices import Prices
from judges.reply import one_line

TOKENS_PER_BYTE = 1.0  # of UTF-8, an upper bound whatever the script: no token is less than a byte
MOST_USES = 10_000  # of one answer; what comes beyond is not even counted
POLL_S = 0.05
GRACE_S = 1.0

_STOPS = {
    "refusal": ("refusal", "the model refused to go on"),
    "max_tokens": ("truncated", "the answer was cut off at max_tokens"),
    "model_context_window_exceeded": ("truncated", "the conversation has become too long for the model"),
}


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A call that the model asks for. `arguments` are JSON as it came; nobody has checked them."""

    id: str
    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Turn:
    """What came back. Calls are to be made only where `answer.code` is None.

    `content` is what the model said, to be sent back with the next turn; `left_out` names what no answer may hold.
    """

    answer: Answer
    uses: tuple[ToolUse, ...] = ()
    content: tuple[dict[str, Any], ...] = ()
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Conversation:
    """What goes out with every turn. `messages` grow from turn to turn."""

    system: str
    tools: Sequence[Mapping[str, Any]]
    messages: Sequence[Mapping[str, Any]]

    def most_tokens(self) -> int:
        """An upper bound of what it counts as input."""
        told = [self.system, *self.tools, *self.messages]
        return round(sum(_tokens(each) for each in told))


class TurnDoor:
    """The way to a model that calls tools. It keeps its key to itself."""

    sdk = SDK

    def __init__(self, *, api_key: str, base_url: str, model: str, effort: str | None = None) -> None:
        self._key, self._url = api_key, checked_url(base_url)
        self.model, self.effort = model, effort
        self.host = host_of(self._url)

    def most_usd(self, said: Conversation, prices: Prices, *, max_tokens: int) -> float | None:
        """The most that a turn can cost, all of its input written to the cache; None where there is no price."""
        usage = {
            "input_tokens": 0,
            "cache_creation_input_tokens": said.most_tokens(),
            "output_tokens": max_tokens,
        }
        return prices.cost_usd(self.model, usage)

    def ask(
        self,
        said: Conversation,
        *,
        max_tokens: int,
        deadline_s: float,
        given_up: Callable[[], bool] = lambda: False,
    ) -> Turn:
        """Ask once, on a thread of its own; back within the deadline, or soon after somebody gave up."""
        asking = _Asking(self._key, self._url, self._params(said, max_tokens), deadline_s)
        asking.start()
        while not asking.over.wait(POLL_S):
            if given_up() or asking.is_late():
                asking.cancel()
                asking.over.wait(GRACE_S)
                break
        if asking.crash is not None:
            raise asking.crash
        sent = asking.sent
        if sent is None:
            late = asking.is_late()
            why = (
                f"nothing came within {deadline_s:.3g} s" if late else "a person asked to stop while it was waited for"
            )
            return Turn(Answer("timeout", why))
        return _turn_of(sent, self._key)

    def _params(self, said: Conversation, max_tokens: int) -> MessageCreateParamsNonStreaming:
        params: dict[str, Any] = {
            "model": self.model,
            "max_tokens": max_tokens,
            "system": said.system,
            "messages": list(said.messages),
            "tools": list(said.tools),
        }
        if self.effort is not None:
            params["output_config"] = {"effort": self.effort}
        if self.host == FIRST_PARTY:
            params["cache_control"] = {"type": "ephemeral"}
        return params  # type: ignore[return-value]


class _Asking(threading.Thread):
    """One request in flight."""

    def __init__(self, key: str, url: str, params: MessageCreateParamsNonStreaming, deadline_s: float) -> None:
        super().__init__(name="turn", daemon=True)
        self._key, self._url, self._params, self._deadline_s = key, url, params, deadline_s
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._late = threading.Event()
        self.over = threading.Event()
        self.sent: Sent | Answer | None = None
        self.crash: BaseException | None = None

    def run(self) -> None:
        try:
            asyncio.run(self._within())
        except asyncio.CancelledError:
            pass
        except BaseException as error:  # noqa: BLE001 - handed to the caller's thread, which raises it
            self.crash = error
        finally:
            self.over.set()

    def is_late(self) -> bool:
        """Whether the deadline has passed."""
        return self._late.is_set()

    def cancel(self) -> None:
        """Stop waiting."""
        if self._loop is not None and self._task is not None and not self.over.is_set():
            self._loop.call_soon_threadsafe(self._task.cancel)

    async def _within(self) -> None:
        self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        try:
            async with asyncio.timeout(max(0.0, self._deadline_s)):
                self.sent = await sent_once(self._key, self._url, self._params)
        except TimeoutError:
            self._late.set()


def _turn_of(sent: Sent | Answer, key: str) -> Turn:
    """The gate of form: a message of an assistant that says why it ended."""
    if isinstance(sent, Answer):
        return Turn(sent.without(key))
    try:
        return _of_message(blotted(dict(sent.body), key), sent)
    except UNREADABLE as error:
        return Turn(Answer("malformed", f"the answer can't be read: {type(error).__name__}: {error}").without(key))


def _of_message(raw: dict[str, Any], sent: Sent) -> Turn:
    known = Answer(
        None,
        "",
        http_status=sent.status,
        model=_text(raw.get("model")),
        request_id=sent.request_id,
        message_id=_text(raw.get("id")),
        stop_reason=_text(raw.get("stop_reason")),
        usage=raw.get("usage") if isinstance(raw.get("usage"), dict) else None,
    )
    blocks = raw.get("content")
    if raw.get("type") != "message" or raw.get("role", "assistant") != "assistant" or not isinstance(blocks, list):
        return Turn(replace(known, code="malformed", detail="the server's answer is no message of an assistant"))
    if sent.status != 200:
        return Turn(replace(known, code="malformed", detail=f"HTTP {sent.status} is no finished answer"))
    content, uses, left_out = _taken_apart(blocks)
    written = "\n".join(block["text"] for block in content if block["type"] == "text") or None
    known = replace(known, text=written)
    stop = known.stop_reason
    if stop in ("end_turn", "stop_sequence"):
        return Turn(known, (), content, (*left_out, *(f"call of {use.name}" for use in uses)))
    if stop == "tool_use":
        if not uses:
            return Turn(replace(known, code="malformed", detail="it stops for a call and makes none"), (), content)
        return Turn(known, uses, content, left_out)
    code, why = _STOPS.get(stop or "", ("unexpected_stop", f"the answer ended for another reason: {stop}"))
    return Turn(replace(known, code=code, detail=why), (), content, left_out)  # type: ignore[arg-type]


def _taken_apart(blocks: list[Any]) -> tuple[tuple[dict[str, Any], ...], tuple[ToolUse, ...], tuple[str, ...]]:
    """What may be sent back, the calls in it, and the names of what was left out."""
    content: list[dict[str, Any]] = []
    uses: list[ToolUse] = []
    left_out: list[str] = []
    ids: set[str] = set()
    for block in blocks[: MOST_USES * 2]:
        kind = block.get("type") if isinstance(block, dict) else None
        if kind == "text" and isinstance(block.get("text"), str):
            if block["text"].strip():
                content.append({"type": "text", "text": block["text"]})
        elif kind in THINKING:
            content.append(block)
        elif kind == "tool_use" and _is_use(block) and block["id"] not in ids and len(uses) < MOST_USES:
            ids.add(block["id"])
            uses.append(ToolUse(block["id"], block["name"], block["input"]))
            content.append({name: block[name] for name in ("type", "id", "name", "input")})
        else:
            left_out.append(one_line(str(kind))[:60])
    return tuple(content), tuple(uses), tuple(dict.fromkeys(left_out))


def _is_use(block: dict[str, Any]) -> bool:
    named = all(isinstance(block.get(name), str) and 0 < len(block[name]) <= 200 for name in ("id", "name"))
    return named and isinstance(block.get("input"), dict)


def _tokens(part: Any) -> float:
    """An upper bound for one part of what goes out; pictures by their size as the service counts them."""
    if isinstance(part, str):
        return len(part.encode("utf-8", "surrogatepass")) * TOKENS_PER_BYTE
    if isinstance(part, Mapping) and part.get("type") == "image":
        return IMAGE_TOKENS
    if isinstance(part, Mapping):
        return sum(_tokens(str(key)) + 4 + _tokens(value) for key, value in part.items())
    if isinstance(part, list | tuple):
        return sum(2 + _tokens(value) for value in part)
    return float(len(json.dumps(part)))


IMAGE_TOKENS = 5000.0
"""More than any picture that is sent here counts."""


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
