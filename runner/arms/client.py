"""The real pymycobot client, taught to be careful: the one module that imports it.

It builds every request and reads every answer; what is ours is the transport underneath. A call sends one frame, never
three; an answer counts only if it carries the call's own command; connecting has a deadline. The vendor's way lets one
unread answer shift every later one by a call.
"""

from __future__ import annotations

import logging
import select
import socket
import struct
import time
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import serial
from pymycobot.error import MechArmDataException
from pymycobot.mecharm270 import MechArm270
from pymycobot.mecharmsocket import MechArmSocket
from serial.tools import list_ports

from runner.arms.errors import ArmUnreachable, CommandRejected
from runner.arms.wire import Parser, WireFrame

CONNECTION_ERRORS = (OSError, serial.SerialException)
UNREADABLE = (struct.error, TypeError, IndexError, KeyError, ValueError)
_CHUNK = 4096
_PI_PORT, _PI_BAUD, _USB_BAUD = "/dev/ttyAMA", 1_000_000, 115_200  # the arm's own Pi, and the M5 on a cable
DEFAULT_TCP_PORT = 9000


class Unanswered(Exception):
    """Inside a call: no answer to it came in time."""

    def __init__(self, command: int) -> None:
        self.command = command
        super().__init__(f"command {command:#04x}")


class _NotAwaited(Exception):
    """Inside a call: the request is out and nobody waits for an answer."""


class _Careful:
    """Comes before the vendor's class and replaces how it writes and reads.

    `sent_s` is when the last frame went out, by `now_s`; `strays` counts frames that nobody had asked for.
    """

    _parser: Parser
    _awaiting: bool = True
    answer_s: float = 0.5
    sent_s: float = 0.0
    strays: int = 0

    def now_s(self) -> float:
        """The time that answers are waited for in."""
        return time.monotonic()

    @abstractmethod
    def put(self, data: bytes) -> None:
        """Send bytes, whole."""

    @abstractmethod
    def take(self, patience_s: float) -> bytes:
        """Bytes that have come, waiting that long for the first; empty if none.

        Raises:
            OSError: the connection is gone.
        """

    def ask(self, name: str, *args: object) -> Any:
        """Call one of the client's questions; returns what it makes of the answer.

        Raises:
            Unanswered: nothing came. OSError: the connection is gone. UNREADABLE: the answer's content is no good.
            CommandRejected: the client finds the arguments wrong.
        """
        self._awaiting = True
        return self._called(name, args)

    def tell(self, name: str, *args: object) -> None:
        """Call one of the client's commands: one frame out, no answer waited for.

        Raises:
            OSError: the connection is gone. CommandRejected: the client finds the arguments wrong.
        """
        self._awaiting = False
        try:
            self._called(name, args)
        except _NotAwaited:
            return

    def drain(self) -> list[WireFrame]:
        """Frames that have come unasked; they are thrown away by whoever calls this."""
        frames: list[WireFrame] = []
        while data := self.take(0.0):
            frames += self._parser.feed(data)
        self._parser.clear()
        self.strays += len(frames)
        return frames

    def _called(self, name: str, args: tuple[object, ...]) -> Any:
        try:
            return getattr(self, name)(*args)
        except MechArmDataException as error:
            raise CommandRejected(name, " ".join(str(error).split())) from error

    def _write(self, command: list[int], method: str | None = None) -> None:
        """The vendor's hook for sending a frame."""
        self.put(bytes(command))
        self.sent_s = self.now_s()

    def _read(self, genre: int, method: str | None = None, **_: object) -> bytes:
        """The vendor's hook for reading an answer: the first frame that carries the command asked."""
        if not self._awaiting:
            raise _NotAwaited
        end_s = self.now_s() + self.answer_s
        while (left_s := end_s - self.now_s()) > 0:
            for frame in self._parser.feed(self.take(left_s)):
                if frame.command == int(genre):
                    return frame.encode()
                self.strays += 1
        raise Unanswered(int(genre))


class SerialClient(_Careful, MechArm270):  # type: ignore[misc]
    """The client on a serial port or a pseudo-terminal."""

    def __init__(self, port: str, baud: int) -> None:
        self._parser = Parser()
        super().__init__(port, baud, 0.05)

    def put(self, data: bytes) -> None:
        """Send bytes, whole."""
        self._serial_port.write(data)

    def take(self, patience_s: float) -> bytes:
        """Bytes that have come, waiting that long for the first."""
        port = self._serial_port
        waiting = int(port.in_waiting)
        if not waiting:
            if patience_s <= 0:
                return b""
            port.timeout = patience_s
        return bytes(port.read(min(max(1, waiting), _CHUNK)))


class TcpClient(_Careful, MechArmSocket):  # type: ignore[misc]
    """The client on a network address."""

    def __init__(self, host: str, port: int, deadline_s: float) -> None:
        self._parser = Parser()
        self._deadline_s = deadline_s
        super().__init__(host, port)

    def connect_socket(self) -> socket.socket:
        """The vendor's hook for connecting, with a deadline."""
        sock = socket.create_connection((self.SERVER_IP, self.SERVER_PORT), timeout=self._deadline_s)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return sock

    def put(self, data: bytes) -> None:
        """Send bytes, whole."""
        self.sock.sendall(data)

    def take(self, patience_s: float) -> bytes:
        """Bytes that have come, waiting that long for the first."""
        ready, _, _ = select.select([self.sock], [], [], max(patience_s, 0.0))
        if not ready:
            return b""
        data = bytes(self.sock.recv(_CHUNK))
        if not data:
            raise ConnectionResetError("the other side has closed the connection")
        return data


# The vendor's client looks up its limits under the name of its class.
SerialClient.__name__ = MechArm270.__name__
TcpClient.__name__ = MechArmSocket.__name__

Client = SerialClient | TcpClient
Connect = Callable[[], Client]


def connect(kind: str, address: str, *, baud: int, deadline_s: float) -> Client:
    """Connect to the arm.

    Args:
        kind: `mycobot-tcp` (HOST:PORT, port 9000 if not said) or `mycobot-serial` (a device path or port name).
        baud: of the serial port; 0: by the port.

    Raises:
        ArmUnreachable: nobody is there, or not in time.
    """
    try:
        with _without_its_log_handler():
            if kind == "mycobot-tcp":
                host, port = host_and_port(address)
                return TcpClient(host, port, deadline_s)
            return SerialClient(address, baud or (_PI_BAUD if address.startswith(_PI_PORT) else _USB_BAUD))
    except TimeoutError as error:
        raise ArmUnreachable(address, f"no connection within {deadline_s:g} s") from error
    except CONNECTION_ERRORS as error:
        raise ArmUnreachable(address, (getattr(error, "strerror", None) or str(error)).lower()) from error


def host_and_port(address: str) -> tuple[str, int]:
    """HOST:PORT taken apart; the port is 9000 where none is said.

    Raises:
        ArmUnreachable: it is no such address.
    """
    host, _, port = address.rpartition(":") if ":" in address else (address, ":", str(DEFAULT_TCP_PORT))
    if not host or not port.isdigit() or not 0 < int(port) < 65_536:
        raise ArmUnreachable(
            address or "(no address)", "it is no HOST:PORT", next_step="set arm.address, for example 192.168.1.20:9000"
        )
    return host.strip("[]"), int(port)


@contextmanager
def _without_its_log_handler() -> Iterator[None]:
    """The client puts a handler on the root logger that writes over whatever is on the terminal: not here."""
    root, quiet = logging.getLogger(), logging.NullHandler()
    root.addHandler(quiet)
    try:
        yield
    finally:
        root.removeHandler(quiet)


def serial_ports() -> list[tuple[str, str]]:
    """The machine's serial ports: what to open, and what the system calls it."""
    return sorted((port.device, port.description or "") for port in list_ports.comports())
