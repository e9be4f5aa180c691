"""One connection with one arm: questions with their own answers, commands sent once, reconnecting.

Answers that come late are never believed. After a question that stayed without one, the next is asked only behind
another of a different kind whose answer has come: the arm answers in order, so whatever was owed has come before it.
Questions may be repeated on a new connection, commands never are, but for `stop`, which may be said again and again.
"""

from __future__ import annotations

import contextlib
import threading
from typing import Any

from runner.arms.client import CONNECTION_ERRORS, UNREADABLE, Client, Connect, Unanswered
from runner.arms.errors import ArmLost, ArmUnreachable, NoAnswer, OddAnswer

# Harmless questions that every firmware answers, and their commands.
_FENCES = (("is_power_on", 0x12), ("is_controller_connected", 0x14), ("is_paused", 0x27), ("is_moving", 0x2B))
_FORGET_S = 2.0  # nothing that is owed comes later than this after the last question


class Link:
    """Opened by the first use or by `open`. Safe from several threads; `shout` waits for nobody."""

    def __init__(self, connect: Connect, address: str, *, answer_s: float) -> None:
        self._connect, self._address, self._answer_s = connect, address, answer_s
        self._lock = threading.RLock()
        self._client: Client | None = None
        self._owed: set[int] = set()
        self.connections = 0
        self.strays = 0

    def open(self) -> None:
        """Connect, if that is not done yet.

        Raises:
            ArmUnreachable: nobody is there, or not in time.
        """
        with self._lock:
            self._ready()

    def ask(self, name: str, *args: object) -> Any:
        """One of the client's questions and what it makes of the answer.

        Raises:
            NoAnswer: the arm stayed silent. OddAnswer: the answer has the wrong content.
            ArmLost: the connection broke, and again after connecting anew.
        """
        with self._lock:
            for last in (False, True):
                try:
                    client = self._settled(name)
                    return client.ask(name, *args)
                except Unanswered as silent:
                    self._owed.add(silent.command)
                    raise NoAnswer(name, self._answer_s) from None
                except CONNECTION_ERRORS as error:
                    self._lose()
                    if last:
                        raise ArmLost(self._address, name, str(error)) from error
                except ArmUnreachable as error:
                    raise ArmLost(self._address, name, error.why) from error
                except UNREADABLE as error:
                    raise OddAnswer(name, str(error)) from error
        raise AssertionError("the second try answers or raises")

    def tell(self, name: str, *args: object) -> None:
        """One of the client's commands, sent once. That it was sent says nothing of what the arm does.

        Raises:
            ArmLost: the connection is gone; whether the arm has heard it is not known.
            CommandRejected: the client finds it wrong; nothing was sent.
        """
        with self._lock:
            client = self._listening(name)
            try:
                client.tell(name, *args)
            except CONNECTION_ERRORS as error:
                self._lose()
                raise ArmLost(self._address, name, str(error)) from error

    def shout(self, data: bytes) -> None:
        """Send frames at once, past whoever waits for an answer; repeated on a new connection if need be.

        Raises:
            ArmLost: they could not be sent.
        """
        client = self._client
        if client is not None:
            try:
                client.put(data)
            except CONNECTION_ERRORS:
                pass  # said again below
            else:
                return
        with self._lock:
            if client is self._client:
                self._lose()
            try:
                self._ready().put(data)
            except (*CONNECTION_ERRORS, ArmUnreachable) as error:
                self._lose()
                raise ArmLost(self._address, "stop", str(error)) from error

    def close(self) -> None:
        """Let go of the connection. Safe more than once."""
        with self._lock:
            self._lose()

    def _ready(self) -> Client:
        if self._client is None:
            client = self._connect()
            client.answer_s = self._answer_s
            self._owed.clear()
            self._client = client
            self.connections += 1
        return self._client

    def _listening(self, what: str) -> Client:
        """A connected client with nothing left in its buffer. A connection that was found dead is had anew."""
        for last in (False, True):
            try:
                client = self._ready()
                client.drain()
            except CONNECTION_ERRORS as error:
                self._lose()
                if last:
                    raise ArmLost(self._address, what, str(error)) from error
            except ArmUnreachable as error:
                raise ArmLost(self._address, what, error.why) from error
            else:
                return client
        raise AssertionError("the second try connects or raises")

    def _settled(self, what: str) -> Client:
        """A client to which the arm owes no answer.

        Raises:
            NoAnswer: it is still silent.
        """
        client = self._listening(what)
        if not self._owed:
            return client
        for name, command in _FENCES:
            if command not in self._owed:
                client.ask(name)
                client.drain()
                self._owed.clear()
                return client
        if client.now_s() - client.sent_s < _FORGET_S:
            raise NoAnswer(what, self._answer_s)
        self._owed.clear()
        return client

    def _lose(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            self.strays += client.strays
            with contextlib.suppress(*CONNECTION_ERRORS):
                client.close()
