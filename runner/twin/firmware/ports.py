"""The firmware's doors: TCP and a pseudo-terminal, served by one thread.

Takes requests apart by length, whatever pieces they come in, and sends each answer whole in one write to whoever asked.
A client that vanishes, stalls or talks rubbish hurts nobody else. What requests mean is `commands.py`'s business.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import socket
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from heapq import heappop, heappush

from runner.arms.wire import Parser, WireFrame
from runner.twin.errors import AddressTaken, NoPseudoTerminal

Reply = tuple[float, bytes]  # seconds until it is sent, and its bytes
Handle = Callable[[WireFrame], list[Reply]]
_PATIENCE_S = 0.2  # a frame that has begun and gets no further is given up
_CHUNK = 4096


@dataclass(frozen=True, slots=True)
class Doors:
    """Where to listen. `tcp_port` None: no TCP; 0: any port that is free."""

    tcp_port: int | None
    pty: bool
    host: str = "127.0.0.1"
    camera_port: int = 0
    control_port: int = 0


class _Line:
    """One client's line: how to read, write and close it, and what has come of a frame."""

    def __init__(
        self, fd: int, read: Callable[[int], bytes], write: Callable[[bytes], int], close: Callable[[], None]
    ) -> None:
        self.fd, self.read, self.write, self.close = fd, read, write, close
        self.parser = Parser()
        self.heard_s = 0.0
        self.open = True


class WirePorts:
    """Listens from the first door on, and answers from `start` until it is closed."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._wake_r, self._wake_w = os.pipe()
        self._selector.register(self._wake_r, selectors.EVENT_READ, None)
        self._listeners: list[socket.socket] = []
        self._lines: dict[int, _Line] = {}
        self._kept_open: list[int] = []
        self._terminals: set[int] = set()
        self._later: list[tuple[float, int, _Line, bytes]] = []
        self._count = 0
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self.tcp: tuple[str, int] | None = None
        self.pty: str | None = None

    @property
    def clients(self) -> int:
        """How many lines are open, pseudo-terminals included."""
        return len(self._lines)

    @classmethod
    def at(cls, doors: Doors) -> WirePorts:
        """Open the arm's doors; who comes waits until `start`.

        Raises:
            AddressTaken, NoPseudoTerminal: one can't be had; none stays open.
        """
        ports = cls()
        try:
            ports.tcp = ports.listen(doors.host, doors.tcp_port) if doors.tcp_port is not None else None
            ports.pty = ports.open_pty() if doors.pty else None
        except BaseException:
            ports.close()
            raise
        return ports

    def listen(self, host: str, port: int) -> tuple[str, int]:
        """Open a TCP port (0: any that is free); returns the address that it has.

        Raises:
            AddressTaken: it can't be had.
        """
        try:
            listener = socket.create_server((host, port), backlog=16)
        except OSError as error:
            raise AddressTaken(f"{host}:{port}", error.strerror or str(error)) from error
        listener.setblocking(False)
        self._listeners.append(listener)
        self._selector.register(listener, selectors.EVENT_READ, listener)
        bound = listener.getsockname()
        return str(bound[0]), int(bound[1])

    def open_pty(self) -> str:
        """Open a pseudo-terminal; returns the path that a client opens like a serial port.

        Raises:
            NoPseudoTerminal: this system has none.
        """
        if sys.platform == "win32":
            raise NoPseudoTerminal
        import pty  # noqa: PLC0415 - there is no such module on Windows
        import tty  # noqa: PLC0415

        try:
            master, slave = pty.openpty()
        except OSError as error:
            raise NoPseudoTerminal from error
        tty.setraw(slave)
        os.set_blocking(master, False)
        self._kept_open.append(slave)  # so that the line stays up while no client has it open
        line = _Line(
            master, lambda n: os.read(master, n), lambda data: os.write(master, data), lambda: os.close(master)
        )
        self._lines[master] = line
        self._terminals.add(master)
        self._selector.register(master, selectors.EVENT_READ, line)
        return os.ttyname(slave)

    def start(self, handle: Handle, is_down: Callable[[], bool] = lambda: False) -> None:
        """Serve in a thread of its own, which calls both.

        Args:
            handle: is called with one request at a time.
            is_down: whether the line is dead just now: who talks then is cut off, or unheard on a pseudo-terminal.
        """
        self._handle, self._is_down = handle, is_down
        self._thread = threading.Thread(target=self._serve, name="firmware", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop serving and close everything. Safe more than once."""
        if self._over.is_set():
            return
        self._over.set()
        os.write(self._wake_w, b"x")
        if self._thread is not None:
            self._thread.join(2.0)
        for line in list(self._lines.values()):
            self._drop(line)
        for listener in self._listeners:
            listener.close()
        for fd in (*self._kept_open, self._wake_r, self._wake_w):
            os.close(fd)
        self._selector.close()

    def _serve(self) -> None:
        while not self._over.is_set():
            for key, _ in self._selector.select(self._wait_s()):
                if isinstance(key.data, _Line):
                    self._hear(key.data)
                elif key.data is not None:
                    self._accept(key.data)
            self._expire()
            self._send_due()

    def _wait_s(self) -> float | None:
        now, waits = time.monotonic(), []
        if self._later:
            waits.append(self._later[0][0] - now)
        if any(line.parser.waiting for line in self._lines.values()):
            waits.append(_PATIENCE_S)
        return max(0.0, min(waits)) if waits else None

    def _accept(self, listener: socket.socket) -> None:
        try:
            client, _ = listener.accept()
        except OSError:
            return  # it was gone before we came
        if self._is_down():
            client.close()
            return
        client.setblocking(False)
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        line = _Line(client.fileno(), client.recv, client.send, client.close)
        self._lines[line.fd] = line
        self._selector.register(client, selectors.EVENT_READ, line)

    def _hear(self, line: _Line) -> None:
        try:
            data = line.read(_CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._drop(line)
            return
        if self._is_down():
            if line.fd in self._terminals:
                line.parser.clear()
            else:
                self._drop(line)
            return
        line.heard_s = time.monotonic()
        self._answer(line, line.parser.feed(data))

    def _expire(self) -> None:
        now = time.monotonic()
        for line in list(self._lines.values()):
            if line.parser.waiting and now - line.heard_s >= _PATIENCE_S:
                self._answer(line, line.parser.expire())

    def _answer(self, line: _Line, requests: list[WireFrame]) -> None:
        for request in requests:
            for delay_s, data in self._handle(request):
                if delay_s <= 0:
                    self._send(line, data)
                else:
                    self._count += 1
                    heappush(self._later, (time.monotonic() + delay_s, self._count, line, data))

    def _send_due(self) -> None:
        while self._later and self._later[0][0] <= time.monotonic():
            _, _, line, data = heappop(self._later)
            self._send(line, data)

    def _send(self, line: _Line, data: bytes) -> None:
        if not line.open:
            return
        try:
            line.write(data)
        except BlockingIOError:
            pass  # nobody reads: the answer is lost, as on a serial line
        except OSError:
            self._drop(line)

    def _drop(self, line: _Line) -> None:
        if not line.open:
            return
        line.open = False
        self._lines.pop(line.fd, None)
        with contextlib.suppress(KeyError, ValueError):
            self._selector.unregister(line.fd)
        line.close()
