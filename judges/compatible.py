"""The OpenAI-compatible door: `POST /v1/chat/completions` of llama.cpp, Ollama, LM Studio, vLLM and their like.

The same contract as the Claude door: sends once, follows no redirect, never raises for what a server does. What such a
server accepts it need not enforce, so a reply may come in one code fence; it is checked all the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx2

from judges.backend import AGAIN_STATUS, Answer, AnswerCode, Question, checked_url, host_of, is_loopback, status_code
from judges.backend import retry_after_s as told_to_wait_s
from judges.pictures import MEDIA_TYPE
from judges.reply import Unreadable, strict_json
from judges.rubric import name_of
from judges.wire import Unbounded, bounded_async

READ_TIMEOUT_S = 600.0
SCHEMA_NAME = "verdict"

_STOPS: dict[str, tuple[AnswerCode, str]] = {
    "length": ("truncated", "the reply was cut off at max_tokens"),
    "content_filter": ("refusal", "the server's filter withheld the reply"),
}


class CompatibleBackend:
    """A chat-completions server. `api_key` None: it wants none."""

    kind = "openai-compatible"
    allow_fence = True
    api_version: str | None = None

    def __init__(self, *, api_key: str | None, base_url: str, model: str) -> None:
        self._key, self._url = api_key, checked_url(base_url)
        self.model = model
        self.effort: str | None = None  # servers differ in what they make of it, so it is not sent
        self.host = host_of(self._url)
        self.sdk: str | None = f"httpx2 {httpx2.__version__}"

    async def send(self, question: Question, *, max_tokens: int) -> Answer:
        """Ask once; whatever the server does is in the answer."""
        headers = {} if self._key is None else {"Authorization": f"Bearer {self._key}"}
        status = None
        try:
            async with (
                httpx2.AsyncClient(
                    trust_env=not is_loopback(self._url),
                    follow_redirects=False,
                    timeout=READ_TIMEOUT_S,
                    event_hooks=bounded_async(),
                ) as client,
                client.stream(
                    "POST", f"{self._url}/v1/chat/completions", json=self._body(question, max_tokens), headers=headers
                ) as response,
            ):
                status = response.status_code
                body = await response.aread()
                return _without_key(_of_response(status, response.headers, body), self._key)
        except Unbounded as error:
            return Answer("malformed", str(error), http_status=status)
        except httpx2.TimeoutException as error:
            return Answer("timeout", f"the server was silent: {type(error).__name__}", again=True)
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            why = f"{type(error).__name__}: {error}"
            return _without_key(
                Answer("connection", f"no connection: {why}", again=True, http_status=status), self._key
            )

    def _body(self, question: Question, max_tokens: int) -> dict[str, Any]:
        content: list[dict[str, Any]] = []
        for picture in question.pictures:
            url = f"data:{MEDIA_TYPE};base64,{picture.base64}"
            content.append({"type": "text", "text": name_of(picture.index, question.language)})
            content.append({"type": "image_url", "image_url": {"url": url}})
        content.append({"type": "text", "text": question.prompt.text})
        form = {"name": SCHEMA_NAME, "schema": question.schema, "strict": True}
        return {
            "model": self.model,
            "max_tokens": max_tokens,
            "messages": [
                {"role": "system", "content": question.prompt.system},
                {"role": "user", "content": content},
            ],
            "response_format": {"type": "json_schema", "json_schema": form},
        }


def _of_response(status: int, headers: Mapping[str, str], body: bytes) -> Answer:
    request_id = headers.get("x-request-id") or headers.get("request-id")
    parsed = strict_json(body.decode("utf-8", "replace"))
    raw: dict[str, Any] = {} if isinstance(parsed, Unreadable) else parsed
    if not 200 <= status < 300:
        return _of_status(status, headers, raw, request_id)
    if isinstance(parsed, Unreadable):
        return Answer("malformed", f"the server's answer: {parsed.why}", http_status=status, request_id=request_id)
    if status != 200:
        return Answer("malformed", f"HTTP {status} is no finished answer", http_status=status, request_id=request_id)
    choices = raw.get("choices")
    choice = choices[0] if isinstance(choices, list) and len(choices) == 1 else None
    message = choice.get("message") if isinstance(choice, Mapping) else None
    stop = choice.get("finish_reason") if isinstance(choice, Mapping) else None
    usage = raw.get("usage")
    facts: dict[str, Any] = {
        "http_status": status,
        "request_id": request_id,
        "model": raw["model"] if isinstance(raw.get("model"), str) else None,
        "message_id": raw["id"] if isinstance(raw.get("id"), str) else None,
        "stop_reason": stop if isinstance(stop, str) else None,
        "usage": _usage(usage) if isinstance(usage, Mapping) else None,
    }
    if not isinstance(message, Mapping) or message.get("role", "assistant") != "assistant":
        return Answer("malformed", "the server's answer holds no single message", **facts)
    text = message.get("content")
    facts["text"] = text if isinstance(text, str) else None
    if message.get("refusal"):
        return Answer("refusal", "the model refused to answer", **facts)
    if stop is None:
        return Answer("stream_cut", "the answer ended without saying why", **facts)
    if stop != "stop":
        code, why = _STOPS.get(str(stop), ("unexpected_stop", f"the reply ended for another reason: {stop}"))
        return Answer(code, why, **facts)
    if message.get("tool_calls"):
        return Answer("malformed", "the reply calls a tool that was not offered", **facts)
    if facts["text"] is None:
        return Answer("malformed", "the reply holds no text", **facts)
    return Answer(None, "", **facts)


def _of_status(status: int, headers: Mapping[str, str], raw: dict[str, Any], request_id: str | None) -> Answer:
    error = raw.get("error")
    facts = error if isinstance(error, Mapping) else {}
    kind = next((facts[k] for k in ("code", "type") if isinstance(facts.get(k), str)), None)
    told = facts.get("message") if isinstance(facts.get("message"), str) else error if isinstance(error, str) else ""
    spent = kind == "insufficient_quota"
    return Answer(
        "spend_limit" if spent else status_code(status, error_type=kind),
        f"HTTP {status}" + (f" {kind}" if kind else "") + (f": {str(told)[:500]}" if told else ""),
        again=status in AGAIN_STATUS and not spent,
        billed=False,
        http_status=status,
        error_type=kind,
        retry_after_s=told_to_wait_s(headers),
        request_id=request_id,
    )


def _usage(usage: Mapping[str, Any]) -> dict[str, Any]:
    """Under the names of the audit, beside the server's own."""
    own = dict(usage)
    return {**own, "input_tokens": own.get("prompt_tokens"), "output_tokens": own.get("completion_tokens")}


def _without_key(answer: Answer, key: str | None) -> Answer:
    return answer if key is None else answer.without(key)
