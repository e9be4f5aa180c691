"""Serves the review page: one process, its own port, until a person ends it.

A connection that never says what it wants is closed after a while; beyond so many at once new ones are told to come
again. It listens where it is told to, on this machine alone unless there is a token.
"""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from runner.review.app import Review
from runner.review.doors import Doors
from runner.review.errors import AddressTaken
from runner.review.records import Records
from runs.queue import DEFAULT_SHARE

DEFAULT_PORT = 8270
"""After the arm; any free one with 0."""

SPEAKS_WITHIN_S = 15.0
MOST_AT_ONCE = 2000
_ENDS_WITHIN_S = 3


@dataclass(frozen=True, slots=True)
class Address:
    """Where the page is: what to open, with the token in it where there is one, and the port."""

    url: str
    port: int


class Patient(H11Protocol):
    """HTTP, with an end to the patience for whoever connects and says nothing whole."""

    def connection_made(self, transport: Any) -> None:
        """Begin to wait."""
        super().connection_made(transport)
        self.loop.call_later(SPEAKS_WITHIN_S, self._close_if_silent)

    def _close_if_silent(self) -> None:
        if self.cycle is None and self.transport is not None and not self.transport.is_closing():
            self.transport.close()


class ReadyServer(uvicorn.Server):
    """Says when it listens, and can be told to end from another thread."""

    def __init__(self, config: uvicorn.Config, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen."""
        await super().startup(sockets)
        if self.started:
            self._on_ready()


class ReviewServer:
    """A server of some cells at an address. Making one opens the port and nothing else; `run` serves."""

    def __init__(
        self, cells: Sequence[Path], *, host: str = "127.0.0.1", port: int = DEFAULT_PORT, token: str | None = None,
        share: float = DEFAULT_SHARE, version: str,
    ) -> None:  # fmt: skip
        """Open the port.

        Raises:
            NeedsToken: that address can be reached from elsewhere, and there is no token or a short one.
            AddressTaken: the port can't be had.
        """
        names = [socket.gethostname(), socket.getfqdn()] if token is not None else []
        Doors.at(host, port, token)  # refused before anything is opened
        self._socket = bound_socket(host, port)
        bound_port = int(self._socket.getsockname()[1])
        self._doors = Doors.at(host, bound_port, token, own_names=[name.lower() for name in names if name])
        self._cells, self._share, self._version = list(cells), share, version
        self._server: ReadyServer | None = None
        shown = host if host not in ("", "0.0.0.0", "::") else socket.gethostname()
        shown = f"[{shown}]" if ":" in shown else shown
        query = "" if token is None else f"?token={token}"
        self.address = Address(f"http://{shown}:{bound_port}/{query}", bound_port)

    def run(self, on_ready: Callable[[], None] = lambda: None) -> None:
        """Serve until `stop`, Ctrl-C or the end of the process."""
        with Records(self._cells, share=self._share) as records:
            records.unreadable()  # an index that has to be made is made now, not while somebody waits for a page
            app = Review(records, self._doors, version=self._version).app()
            config = uvicorn.Config(
                app, http=Patient, ws="none", lifespan="off", log_config=None, access_log=False, server_header=False,
                timeout_keep_alive=10, limit_concurrency=MOST_AT_ONCE, timeout_graceful_shutdown=_ENDS_WITHIN_S,
                backlog=MOST_AT_ONCE, h11_max_incomplete_event_size=16_384, proxy_headers=False,
            )  # fmt: skip
            self._server = ReadyServer(config, on_ready)
            try:
                with suppress(KeyboardInterrupt):
                    asyncio.run(self._server.serve(sockets=[self._socket]))
            finally:
                self._socket.close()

    def stop(self) -> None:
        """End it, from any thread."""
        if self._server is not None:
            self._server.should_exit = True


def bound_socket(host: str, port: int) -> socket.socket:
    """A socket that listens at an address.

    Raises:
        AddressTaken: it can't be had.
    """
    bare = host.strip("[]")
    family = socket.AF_INET6 if _is_v6(bare) else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((bare, port))
        found.listen(MOST_AT_ONCE)
    except (OSError, OverflowError) as error:
        found.close()
        taken = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
        why = "another program listens there" if taken else (getattr(error, "strerror", None) or str(error)).lower()
        raise AddressTaken(host, port, why) from None
    return found


def _is_v6(host: str) -> bool:
    try:
        return ip_address(host).version == 6
    except ValueError:
        return False
