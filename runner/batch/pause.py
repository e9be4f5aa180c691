"""How a batch is asked to stop: Ctrl-C, `batch stop` from elsewhere, or the cell's latched stop.

Asked once, it ends after the trial under way; asked twice, the arm holds still now. A thread looks at the disk, for a
trial may take minutes.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic, sleep
from types import FrameType

from runner.trial.stop import StopSwitch
from runs.batches import BatchFolder

_LOOK_S = 0.3


class Pause:
    """Whether somebody wants the batch to stop. `switch` is the trial's, pressed only for a stop at once."""

    def __init__(self, batch: BatchFolder, *, passed_on: bool = False) -> None:
        """`passed_on`: what is asked of this process is written down for the workers, who hear no signals."""
        self.batch, self._passed_on, self._told = batch, passed_on, 0
        self.switch = StopSwitch()
        self.asked = False

    @property
    def now(self) -> bool:
        """Whether it is to be at once."""
        return self.switch.asked

    def ask(self, *, now: bool = False) -> None:
        """Ask; a second time, or with `now`, for a stop at once."""
        if self.asked or now:
            self._at_once()
        self.asked = True

    def waits(self, seconds: float) -> bool:
        """Let our own time pass; returns at once and true when somebody asks to stop."""
        until_s = monotonic() + seconds
        while not self.asked and monotonic() < until_s:
            sleep(min(_LOOK_S, seconds))
        return self.asked

    def _pass_on(self) -> None:
        wanted = int(self.asked) + int(self.now)
        if self._passed_on and wanted > self._told:
            self._told = wanted
            self.batch.ask_to_stop(now=self.now, by="a signal")

    def _at_once(self) -> None:
        while not self.switch.now:
            self.switch.press()

    @contextmanager
    def watching(self, on_signal: Callable[[], None] | None = None, *, signals: bool = True) -> Iterator[None]:
        """While inside, the disk is looked at, and signals are heard where this is the main thread."""
        over = threading.Event()

        def watch() -> None:
            while not over.wait(_LOOK_S):
                self._pass_on()
                wanted = self.batch.stop_asked()
                if wanted is not None:
                    self.asked = True
                    if wanted.get("now"):
                        self._at_once()

        def heard(_signal: int, _frame: FrameType | None) -> None:
            self.ask()
            if on_signal is not None:
                on_signal()

        main = signals and threading.current_thread() is threading.main_thread()
        before = {n: signal.signal(n, heard) for n in (signal.SIGINT, signal.SIGTERM)} if main else {}
        thread = threading.Thread(target=watch, name="pause", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
            for number, handler in before.items():
                signal.signal(number, handler)
