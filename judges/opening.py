"""Opens a way to a model on a thread of its own, so that loading a library can't outlast a judgement's deadline.

What was opened is kept; what failed is tried anew the next time. It sends nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic

from judges.backend import Backend

POLL_S = 0.05

OpenBackend = Callable[[], Backend]


class Opening:
    """One backend, opened at the first question. Safe from several threads."""

    def __init__(self, open_backend: OpenBackend) -> None:
        self._open = open_backend
        self._turn = threading.Lock()
        self._under_way: _Attempt | None = None

    def until(self, end_s: float, given_up: Callable[[], bool] | None = None) -> Backend | None:
        """The backend; None where it is not open at that moment of `monotonic`, or somebody gave up before.

        Raises:
            Whatever opening raises.
        """
        with self._turn:
            if self._under_way is None:
                self._under_way = _Attempt(self._open)
                self._under_way.start()
            attempt = self._under_way
        while not attempt.over.wait(min(POLL_S, max(0.0, end_s - monotonic()))):
            if monotonic() >= end_s or (given_up is not None and given_up()):
                return None
        if attempt.failed is not None:
            with self._turn:
                if self._under_way is attempt:
                    self._under_way = None
            raise attempt.failed
        return attempt.backend


class _Attempt(threading.Thread):
    def __init__(self, open_backend: OpenBackend) -> None:
        super().__init__(name="opening", daemon=True)
        self._open = open_backend
        self.over = threading.Event()
        self.backend: Backend | None = None
        self.failed: BaseException | None = None

    def run(self) -> None:
        try:
            self.backend = self._open()
        except BaseException as error:  # noqa: BLE001 - handed to the caller's thread, which raises it
            self.failed = error
        finally:
            self.over.set()
