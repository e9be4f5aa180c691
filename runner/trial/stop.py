"""Ctrl-C, heard politely: once means finish the motion, stop, park, write; twice means hold still now. So does a stop
that is latched from another terminal.

The handler only counts; the trial asks between its steps, and the clock asks while it waits, so that nothing is torn
out of the middle of a write.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from runner.arms.protocol import Clock
from runner.trial.errors import Stopped
from runs.latch import StopLatch

_SLICE_S = 0.25  # the longest wait during which nobody looks whether to hold still


class StopSwitch:
    """How often a person asked to stop."""

    def __init__(self) -> None:
        self._asked = 0
        self._heard = False

    def press(self) -> None:
        """Ask to stop; a second time: at once."""
        self._asked += 1

    @property
    def asked(self) -> bool:
        """Whether anybody asked."""
        return self._asked > 0

    @property
    def now(self) -> bool:
        """Whether it was asked twice."""
        return self._asked > 1

    def press_for_good(self) -> None:
        """Ask to stop at once."""
        self._asked = max(self._asked, 2)

    def check(self) -> None:
        """Between two steps.

        Raises:
            Stopped: somebody asked.
        """
        if self.now or (self.asked and not self._heard):
            raise Stopped(at_once=self.now)

    def heard(self) -> None:
        """The first asking has been answered: on the way to rest only a stop at once still counts."""
        self._heard = True


@contextmanager
def listening(switch: StopSwitch, on_first: Callable[[], None] | None = None) -> Iterator[None]:
    """While inside, SIGINT and SIGTERM press the switch; the handlers of before come back afterwards."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may set handlers; the others are stopped through the switch itself
        return

    def heard(_signal: int, _frame: FrameType | None) -> None:
        switch.press()
        if on_first is not None and not switch.now:
            on_first()

    before = {number: signal.signal(number, heard) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class StoppableClock:
    """A clock that gives up waiting when a person asked for a stop at once, or latched one while it waits."""

    def __init__(self, clock: Clock, switch: StopSwitch, latch: StopLatch | None = None) -> None:
        self._clock, self._switch, self._latch = clock, switch, latch

    def now_s(self) -> float:
        """The inner clock's time."""
        return self._clock.now_s()

    def sleep(self, seconds: float) -> None:
        """Wait in short slices.

        Raises:
            Stopped: asked twice, or latched; the caller tells the arm to hold still.
        """
        left = seconds
        while left > 0:
            if self._switch.now:
                raise Stopped(at_once=True)
            self._obey_latch()
            part = min(left, _SLICE_S)
            self._clock.sleep(part)
            left -= part

    def _obey_latch(self) -> None:
        stop = None if self._latch is None else self._latch.read()
        if stop is not None:
            self._switch.press_for_good()
            raise Stopped(at_once=True, by=stop.by, why=stop.why)
