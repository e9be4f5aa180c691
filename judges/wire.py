"""The HTTP under every door to a model: no redirect, no body without an end, no packed one.

What comes back is cut at a size that no reply has, before it fills the memory; that is why it must not come packed. It
knows nothing of what is said over it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, TypeVar

import httpx2

MAX_BODY_BYTES = 4_000_000  # a reply has a few thousand characters

Hooks = dict[str, list[Callable[..., Any]]]
"""What an HTTP client calls with each request before it goes, and with each response before its body is read."""


E = TypeVar("E", bound=BaseException)


class Unbounded(Exception):
    """An answer that is not taken in, because nobody knows how much it is."""


def bounded_async(most_bytes: int = MAX_BODY_BYTES) -> Hooks:
    """Hooks for an asynchronous client that takes no more than that many bytes of a body."""

    async def plain(request: httpx2.Request) -> None:
        _ask_plain(request)

    async def bound(response: httpx2.Response) -> None:
        _refuse_packed(response)
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _BoundedAsync(response.stream, most_bytes)

    return {"request": [plain], "response": [bound]}


def bounded(most_bytes: int = MAX_BODY_BYTES) -> Hooks:
    """The same for a client that blocks."""

    def bound(response: httpx2.Response) -> None:
        _refuse_packed(response)
        assert isinstance(response.stream, httpx2.SyncByteStream)
        response.stream = _Bounded(response.stream, most_bytes)

    return {"request": [_ask_plain], "response": [bound]}


def cause_of(error: BaseException, kind: type[E]) -> E | None:
    """The error of that kind that an error of a library was raised for; None where it was something else."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, kind):
            return seen
        seen = seen.__cause__ or seen.__context__
    return None


class _BoundedAsync(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, most_bytes: int) -> None:
        self._stream, self._most_bytes = stream, most_bytes

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._stream:
            size += len(chunk)
            _check(size, self._most_bytes)
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


class _Bounded(httpx2.SyncByteStream):
    def __init__(self, stream: httpx2.SyncByteStream, most_bytes: int) -> None:
        self._stream, self._most_bytes = stream, most_bytes

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        for chunk in self._stream:
            size += len(chunk)
            _check(size, self._most_bytes)
            yield chunk

    def close(self) -> None:
        self._stream.close()


def _ask_plain(request: httpx2.Request) -> None:
    request.headers["accept-encoding"] = "identity"


def _refuse_packed(response: httpx2.Response) -> None:
    if response.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
        raise Unbounded("the server's answer is packed, which was not asked for")


def _check(size: int, most_bytes: int) -> None:
    if size > most_bytes:
        raise Unbounded(f"the server's answer has no end: more than {most_bytes / 1e6:g} MB came")
