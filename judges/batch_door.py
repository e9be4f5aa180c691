"""Message batches through the anthropic SDK: hand requests in, ask how far they are, fetch the results.

It talks to the server whose address it was given and to no other: a result address or a redirect that leads elsewhere
is refused before anything is sent there, because the key would go with it. It sends each thing once, so that no batch
is paid for twice, and says whether a server has refused one or nobody knows. It reads a result's form and nothing of
its meaning, and takes no more from a server than the requests can have come to.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal
from urllib.parse import urlsplit

import anthropic
import httpx2
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming
from anthropic.types.messages.batch_create_params import Request

from judges.backend import UNREADABLE, Answer, checked_url, clean, is_loopback
from judges.client import keep_environment_out, of_message
from judges.errors import BatchFailed, BatchRefused, ForeignResults
from judges.reply import Unreadable, one_line, strict_json
from judges.wire import MAX_BODY_BYTES, Unbounded, bounded, cause_of

TIMEOUT_S = 300.0
MOST_RESULT_BYTES = 200_000  # of one request, on the mean: 20,000 tokens of Japanese, escaped
MAX_WHY_CHARS = 500
OVERLOADED = 529
UNKNOWN_STATUS = frozenset({408, 409})  # the server may have the batch all the same

_BATCH_ID = re.compile(r"[\w.:-]{1,200}", re.ASCII)

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
            BatchRefused: the server has said that it takes none of them, or can't be reached at all.
            BatchFailed: nobody knows whether it has them.
        """
        wanted: list[Request] = [{"custom_id": own_id, "params": params} for own_id, params in requests]
        with self._client() as client, _told("hand the batch in", refusing=BatchRefused):
            batch_id: object = client.messages.batches.create(requests=wanted).id
        if not isinstance(batch_id, str) or not _BATCH_ID.fullmatch(batch_id):
            raise BatchFailed("hand the batch in", "the server's answer names no batch")
        return batch_id

    def state(self, batch_id: str) -> BatchState:
        """How far a batch is.

        Raises:
            BatchFailed
        """
        with self._client() as client, _told("ask about the batch"):
            status: object = client.messages.batches.retrieve(batch_id).processing_status
        return BatchState(status == "ended", str(clean(status)))

    def results(self, batch_id: str, n_requests: int) -> Iterator[BatchResult]:
        """The results of a batch of so many requests that has ended, in whatever order they come.

        Raises:
            ForeignResults: they are said to lie at another server; nothing was asked of it.
            BatchFailed
        """
        most_bytes = MAX_BODY_BYTES + n_requests * MOST_RESULT_BYTES
        with self._client(most_bytes) as client, _told("fetch the results"):
            url: object = client.messages.batches.retrieve(batch_id).results_url
            self._check_origin(str(url))
            with client.messages.batches.with_streaming_response.results(batch_id) as response:
                for line in _lines(response.iter_bytes()):
                    result = _result(line)
                    if result is not None:
                        yield replace(result, answer=result.answer.without(self._key))

    @contextmanager
    def _client(self, most_bytes: int = MAX_BODY_BYTES) -> Iterator[anthropic.Anthropic]:
        """A client that sends no request to another origin, whatever the SDK is told by the server."""
        hooks = bounded(most_bytes)
        hooks["request"].append(lambda request: self._check_origin(str(request.url)))
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
            keep_environment_out(client)
            yield client

    def _check_origin(self, url: str) -> None:
        if _origin(url) != _origin(self._url):
            raise ForeignResults(_origin(url), _origin(self._url))


def _lines(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Lines as JSONL has them: a line feed ends one, and no other sign that a text may hold."""
    held = bytearray()
    for chunk in chunks:
        *whole, rest = chunk.split(b"\n")
        for part in whole:
            yield bytes(held + part)
            held.clear()
        held += rest
    if held:
        yield bytes(held)


def _result(line: bytes) -> BatchResult | None:
    """One line; a line that can't be read is the result of no request, whose id is then missing."""
    raw = strict_json(line.decode("utf-8", "replace"))
    if isinstance(raw, Unreadable):
        return None
    custom_id, result = raw.get("custom_id"), raw.get("result")
    if not isinstance(custom_id, str) or not isinstance(result, dict):
        return None
    outcome = result.get("type")
    if outcome == "succeeded":
        message = result.get("message")
        if not isinstance(message, dict):
            return BatchResult(custom_id, "succeeded", Answer("malformed", "the result holds no message"))
        return BatchResult(custom_id, "succeeded", of_message(message, 200, None))
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
def _told(what: str, *, refusing: type[BatchFailed] = BatchFailed) -> Iterator[None]:
    """Whatever the SDK raises on the way becomes one error of ours; ours go through, also from inside its own."""
    try:
        yield
    except (anthropic.AnthropicError, httpx2.HTTPError, OSError, json.JSONDecodeError, Unbounded) as error:
        known = cause_of(error, ForeignResults)
        if known is not None:
            raise known from None
        unbounded = cause_of(error, Unbounded)
        why = one_line(str(unbounded) if unbounded is not None else f"{type(error).__name__}: {error}")[:MAX_WHY_CHARS]
        raise (refusing if _refused(error) else BatchFailed)(what, why) from error
    except UNREADABLE as error:
        why = one_line(f"the SDK can't read the answer: {type(error).__name__}: {error}")[:MAX_WHY_CHARS]
        raise BatchFailed(what, why) from error


def _refused(error: BaseException) -> bool:
    """Whether what was asked for has surely not been done: the server says so, or no connection came about."""
    if isinstance(error, anthropic.APIStatusError):
        status = error.status_code
        return status == OVERLOADED or (300 <= status < 500 and status not in UNKNOWN_STATUS)
    return cause_of(error, httpx2.ConnectError) is not None


def _origin(url: str) -> str:
    parts = urlsplit(one_line(url))
    port = parts.port or {"https": 443, "http": 80}.get(parts.scheme, 0)
    return f"{parts.scheme}://{parts.hostname}:{port}"
