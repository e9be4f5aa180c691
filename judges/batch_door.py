"""Message batches through the anthropic SDK: hand requests in, ask how far they are, fetch the results.

It talks to the server whose address it was given and to no other: a result address or a redirect that leads elsewhere
is refused before anything is sent there, because the key would go with it. It sends each thing once, so that no batch
is paid for twice. It reads a result's form and nothing of its meaning.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal
from urllib.parse import urlsplit

import anthropic
import httpx2
from anthropic.types import Message
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming
from anthropic.types.messages.batch_create_params import Request

from judges.backend import Answer, checked_url, is_loopback
from judges.client import of_message
from judges.errors import BatchFailed, ForeignResults
from judges.reply import Unreadable, strict_json

TIMEOUT_S = 300.0

Outcome = Literal["succeeded", "errored", "canceled", "expired"]


@dataclass(frozen=True, slots=True)
class BatchResult:
    """One line of results. `answer` has passed the same gate of form as an online one, or says why not."""

    custom_id: str
    outcome: Outcome
    answer: Answer


@dataclass(frozen=True, slots=True)
class BatchState:
    """How far a batch is."""

    ended: bool
    status: str


class BatchDoor:
    """The batches of one account at one server."""

    def __init__(self, *, api_key: str, base_url: str) -> None:
        self._key, self._url = api_key, checked_url(base_url)

    def hand_in(self, requests: Sequence[tuple[str, MessageCreateParamsNonStreaming]]) -> str:
        """Hand requests in under their custom ids; the batch's id.

        Raises:
            BatchFailed: the server took none of them, as far as anybody knows.
        """
        wanted: list[Request] = [{"custom_id": own_id, "params": params} for own_id, params in requests]
        with self._client() as client, _told("hand the batch in"):
            batch_id: object = client.messages.batches.create(requests=wanted).id
        if not isinstance(batch_id, str) or not batch_id:
            raise BatchFailed("hand the batch in", "the server's answer names no batch")
        return batch_id

    def state(self, batch_id: str) -> BatchState:
        """How far a batch is.

        Raises:
            BatchFailed
        """
        with self._client() as client, _told("ask about the batch"):
            status: object = client.messages.batches.retrieve(batch_id).processing_status
        return BatchState(status == "ended", str(status))

    def results(self, batch_id: str) -> Iterator[BatchResult]:
        """The results of a batch that has ended, in whatever order they come.

        Raises:
            ForeignResults: they are said to lie at another server; nothing was asked of it.
            BatchFailed
        """
        with self._client() as client, _told("fetch the results"):
            url: object = client.messages.batches.retrieve(batch_id).results_url
            self._check_origin(str(url))
            with client.messages.batches.with_streaming_response.results(batch_id) as response:
                for line in response.iter_lines():
                    result = _result(line)
                    if result is not None:
                        yield replace(result, answer=result.answer.without(self._key))

    @contextmanager
    def _client(self) -> Iterator[anthropic.Anthropic]:
        """A client that sends no request to another origin, whatever the SDK is told by the server."""
        hooks: dict[str, list[Callable[..., Any]]] = {"request": [lambda request: self._check_origin(str(request.url))]}
        local = is_loopback(self._url)
        http = anthropic.DefaultHttpxClient(trust_env=not local, follow_redirects=False, event_hooks=hooks)
        with anthropic.Anthropic(
            api_key=self._key,
            base_url=self._url,
            max_retries=0,
            timeout=TIMEOUT_S,
            http_client=http,
            open_telemetry=False,
        ) as client:
            yield client

    def _check_origin(self, url: str) -> None:
        if _origin(url) != _origin(self._url):
            raise ForeignResults(_origin(url), _origin(self._url))


def _result(line: str) -> BatchResult | None:
    """One line; a line that can't be read is the result of no request, whose id is then missing."""
    raw = strict_json(line)
    if isinstance(raw, Unreadable):
        return None
    custom_id, result = raw.get("custom_id"), raw.get("result")
    if not isinstance(custom_id, str) or not isinstance(result, dict):
        return None
    outcome = result.get("type")
    if outcome == "succeeded":
        message = result.get("message")
        built: object = Message.construct(**message) if isinstance(message, dict) else message
        return BatchResult(custom_id, "succeeded", of_message(built, 200, None))
    if outcome in ("canceled", "expired"):
        return BatchResult(custom_id, outcome, Answer("timeout", f"the batch was {outcome} before it came to this"))
    if outcome == "errored":
        kind, told = _error_in(result)
        return BatchResult(
            custom_id, "errored", Answer("bad_request", told, billed=False, error_type=kind, http_status=None)
        )
    return None


def _error_in(result: dict[str, Any]) -> tuple[str | None, str]:
    """Kind and text of an error, which lies two levels down."""
    outer = result.get("error")
    inner = outer.get("error") if isinstance(outer, dict) else None
    if not isinstance(inner, dict):
        return None, "the request failed; the server doesn't say why"
    kind = inner.get("type")
    return (kind if isinstance(kind, str) else None), f"the request failed: {inner.get('message', kind)}"


@contextmanager
def _told(what: str) -> Iterator[None]:
    """Whatever the SDK raises on the way becomes one error of ours; ours go through, also from inside its own."""
    try:
        yield
    except (anthropic.AnthropicError, httpx2.HTTPError, OSError, json.JSONDecodeError) as error:
        foreign = _cause_of(error, ForeignResults)
        if foreign is not None:
            raise foreign from None
        raise BatchFailed(what, f"{type(error).__name__}: {error}") from error
    except (ValueError, TypeError, AttributeError, LookupError) as error:
        raise BatchFailed(what, f"the SDK can't read the answer: {type(error).__name__}: {error}") from error


def _cause_of(error: BaseException, kind: type[ForeignResults]) -> ForeignResults | None:
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, kind):
            return seen
        seen = seen.__cause__ or seen.__context__
    return None


def _origin(url: str) -> str:
    parts = urlsplit(url)
    port = parts.port or {"https": 443, "http": 80}.get(parts.scheme, 0)
    return f"{parts.scheme}://{parts.hostname}:{port}"
