"""A small web server on a port of its own: what the served twin's camera and control port are made of.

Answers in threads that end with it. A client that stalls is dropped after a while; nothing is logged to the terminal.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from runner.twin.errors import AddressTaken

_STALLED_S = 10.0


class Handler(BaseHTTPRequestHandler):
    """What both handlers share. `timeout` drops a client that says or takes nothing."""

    protocol_version = "HTTP/1.1"
    timeout = _STALLED_S

    def setup(self) -> None:
        """Small answers go out at once."""
        super().setup()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class calls it so
        """Say nothing."""

    def answer(self, data: Mapping[str, Any], status: int = 200) -> None:
        """One JSON object."""
        body = json.dumps(data).encode() + b"\n"
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that vanished in the middle of an answer is none of our business."""


class WebServer:
    """Serves in the background from construction until it is closed."""

    def __init__(self, name: str, host: str, port: int, handler: type[Handler]) -> None:
        """Listen.

        Raises:
            AddressTaken: the port can't be had.
        """
        try:
            self._server = _Server((host, port), handler)
        except OSError as error:
            raise AddressTaken(f"{host}:{port}", error.strerror or str(error)) from error
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.1}, name=name, daemon=True
        )
        self._thread.start()

    @property
    def url(self) -> str:
        """Where it is reached."""
        host, port = self._server.server_address[:2]
        return f"http://{host if isinstance(host, str) else host.decode()}:{port}"

    def close(self) -> None:
        """Stop listening; answers under way end with their clients."""
        self._server.shutdown()
        self._server.server_close()
