"""The one door to the anthropic SDK: key, address, one request out, one answer in.

It sends once; deadline and retries are the caller's (`asking.py`), because the SDK's own have no useful cap. It follows
no redirect, because that would post the pictures to another host, and takes key, address and headers from its caller
only, never from the environment. What came back is read here and not by the SDK, so that no body can make it fail.
Importing this module takes seconds: it is imported only where such a judge is asked for.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import anthropic
import httpx2
from anthropic.types import MessageParam, OutputConfigParam
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming

from judges.backend import (
    AGAIN_STATUS,
    SPEND_LIMITS,
    UNREADABLE,
    Answer,
    AnswerCode,
    Question,
    checked_url,
    host_of,
    is_loopback,
    status_code,
)
from judges.backend import retry_after_s as told_to_wait_s
from judges.pictures import MEDIA_TYPE
from judges.reply import Unreadable, strict_json
from judges.rubric import name_of
from judges.wire import Unbounded, bounded_async, cause_of

FIRST_PARTY = "api.anthropic.com"
SDK = f"anthropic {anthropic.__version__}"
READ_TIMEOUT_S = 600.0  # a read's; the judgement's deadline is shorter and counts the whole
THINKING = frozenset({"thinking", "redacted_thinking"})

_STOPS: dict[str, tuple[AnswerCode, str]] = {
    "refusal": ("refusal", "the model refused to answer"),
    "max_tokens": ("truncated", "the reply was cut off at max_tokens"),
    "model_context_window_exceeded": ("truncated", "the reply was cut off at the model's context window"),
}


class AnthropicBackend:
    """The Messages API through the SDK: Anthropic's own, or a server that speaks it."""

    kind = "anthropic"
    allow_fence = False

    def __init__(self, *, api_key: str, base_url: str, model: str, effort: str | None) -> None:
        self._key, self._url = api_key, checked_url(base_url)
        self.model, self.effort = model, effort
        self.host = host_of(self._url)
        self.sdk: str | None = SDK
        self.api_version: str | None = anthropic._constants.ANTHROPIC_API_VERSION

    @property
    def _first_party(self) -> bool:
        return self.host == FIRST_PARTY

    async def send(self, question: Question, *, max_tokens: int) -> Answer:
        """Ask once; whatever the server does is in the answer."""
        return (await self._sent(question, max_tokens)).without(self._key)

    async def _sent(self, question: Question, max_tokens: int) -> Answer:
        sent = await sent_once(self._key, self._url, self.params(question, max_tokens=max_tokens))
        if isinstance(sent, Answer):
            return sent
        try:
            return of_message(sent.body, sent.status, sent.request_id)
        except UNREADABLE as error:
            return Answer("malformed", f"the answer can't be read: {type(error).__name__}: {error}")

    def params(self, question: Question, *, max_tokens: int) -> MessageCreateParamsNonStreaming:
        """The request: what is sent for one question, online and in a batch alike."""
        return {
            "model": self.model,
            "max_tokens": max_tokens,
            "system": question.prompt.system,
            "messages": [self._message(question)],
            "output_config": self._output(question),
        }

    def _message(self, question: Question) -> MessageParam:
        """Pictures first, each named by its number, then the text: names in the text don't depend on what is beside."""
        content: list[Any] = []
        for picture in question.pictures:
            source = {"type": "base64", "media_type": MEDIA_TYPE, "data": picture.base64}
            block: dict[str, Any] = {"type": "image", "source": source}
            if self._first_party:  # never judge other pixels than those hashed; local servers don't know it
                block["transformations"] = {"oversized_image": "error"}
            content += [{"type": "text", "text": name_of(picture.index, question.language)}, block]
        content.append({"type": "text", "text": question.prompt.text})
        return {"role": "user", "content": content}

    def _output(self, question: Question) -> OutputConfigParam:
        output: dict[str, Any] = {"format": {"type": "json_schema", "schema": question.schema}}
        if self.effort is not None:
            output["effort"] = self.effort
        return output  # type: ignore[return-value]


@dataclass(frozen=True, slots=True)
class Sent:
    """What a server answered: strict JSON, not yet looked at."""

    body: Mapping[str, Any]
    status: int
    request_id: str | None


async def sent_once(key: str, url: str, params: MessageCreateParamsNonStreaming) -> Sent | Answer:
    """One request and its body; an `Answer` with its code where nothing that can be read came back."""
    async with _client(key, url) as client:
        try:
            response = await client.messages.with_raw_response.create(**params)
            strict = strict_json(await response.text())
            if isinstance(strict, Unreadable):
                why = f"the server's answer: {strict.why}"
                return Answer("malformed", why, http_status=response.status_code)
            return Sent(strict, response.status_code, response.headers.get("request-id"))
        except anthropic.APIStatusError as error:
            return _of_status(error)
        except (anthropic.APITimeoutError, httpx2.TimeoutException) as error:
            return Answer("timeout", f"the server was silent: {error}", again=True)
        except (anthropic.APIConnectionError, httpx2.HTTPError, OSError) as error:
            unbounded = cause_of(error, Unbounded)
            if unbounded is not None:
                return Answer("malformed", str(unbounded))
            return Answer("connection", f"no connection: {_cause(error)}", again=True)
        except (*UNREADABLE, anthropic.AnthropicError) as error:
            return Answer("malformed", f"the SDK can't read the answer: {type(error).__name__}: {error}")


def _client(key: str, url: str) -> anthropic.AsyncAnthropic:
    """A client for one request: the SDK's own retries, environment and tracing stay out."""
    client = anthropic.AsyncAnthropic(
        api_key=key,
        base_url=url,
        max_retries=0,
        timeout=READ_TIMEOUT_S,
        http_client=anthropic.DefaultAsyncHttpxClient(
            trust_env=not is_loopback(url), follow_redirects=False, event_hooks=bounded_async()
        ),
        open_telemetry=False,
    )
    keep_environment_out(client)
    return client


def keep_environment_out(client: anthropic.Anthropic | anthropic.AsyncAnthropic) -> None:
    """Take out of a client what the SDK lets the environment put in without being asked.

    Headers of `ANTHROPIC_CUSTOM_HEADERS` are another program's and may hold its secrets; what `ANTHROPIC_LOG` turns on
    writes whole requests, and so the pictures.
    """
    client._custom_headers = {}
    for name in ("anthropic", "httpx2"):
        logging.getLogger(name).setLevel(logging.WARNING)


def of_message(raw: Mapping[str, Any], status: int, request_id: str | None) -> Answer:
    """The gate of form: one finished text of an assistant's message, and nothing besides but thinking.

    Args:
        raw: the message as `strict_json` reads it.
    """
    known = Answer(
        None,
        "",
        http_status=status,
        model=_text(raw.get("model")),
        request_id=request_id,
        message_id=_text(raw.get("id")),
        stop_reason=_text(raw.get("stop_reason")),
        stop_details=_mapping(raw.get("stop_details")),
        usage=_mapping(raw.get("usage")),
    )
    content = raw.get("content")
    if raw.get("type") != "message" or raw.get("role", "assistant") != "assistant" or not isinstance(content, list):
        return _with(known, "malformed", "the server's answer is no message of an assistant")
    if status != 200:
        return _with(known, "malformed", f"HTTP {status} is no finished answer")
    texts = [b.get("text") for b in content if isinstance(b, Mapping) and b.get("type") == "text"]
    written = "\n".join(t for t in texts if isinstance(t, str)) or None
    stop = known.stop_reason
    if stop is None:
        return _with(known, "stream_cut", "the answer ended without saying why", written)
    if stop != "end_turn":
        code, why = _STOPS.get(stop, ("unexpected_stop", f"the reply ended for another reason: {stop}"))
        return _with(known, code, why + _category(known.stop_details), written)
    odd = [str(b.get("type")) if isinstance(b, Mapping) else "?" for b in content]
    odd = [kind for kind in odd if kind != "text" and kind not in THINKING]
    if odd:
        return _with(known, "malformed", f"the reply holds what was not asked for: {', '.join(odd)}", written)
    if len(texts) != 1 or not isinstance(texts[0], str):
        return _with(known, "malformed", f"the reply holds {len(texts)} texts instead of one", written)
    return _with(known, None, "", texts[0])


def _of_status(error: anthropic.APIStatusError) -> Answer:
    status = error.status_code
    code = status_code(status, error_type=error.type, error_code=error.error_code)
    wait_s = told_to_wait_s(error.response.headers)
    told = error.api_message if isinstance(error.api_message, str) else None
    kind = error.error_code or error.type
    detail = f"HTTP {status}" + (f" {kind}" if kind else "") + (f": {told[:500]}" if told else "")
    may = status in AGAIN_STATUS and error.error_code not in SPEND_LIMITS
    return Answer(
        code,
        detail,
        again=may and error.response.headers.get("x-should-retry") != "false",
        billed=False,
        http_status=status,
        error_type=kind,
        retry_after_s=wait_s,
        request_id=error.request_id,
    )


def _with(known: Answer, code: AnswerCode | None, detail: str, text: str | None = None) -> Answer:
    return replace(known, code=code, detail=detail, text=text)


def _category(details: dict[str, Any] | None) -> str:
    category = None if details is None else details.get("category")
    return f" ({category})" if isinstance(category, str) else ""


def _cause(error: BaseException) -> str:
    """The innermost reason of a failed connection, which says more than the outermost."""
    while error.__cause__ is not None:
        error = error.__cause__
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _mapping(value: object) -> dict[str, Any] | None:
    return dict(value) if isinstance(value, Mapping) else None
