"""A batch as it goes, for people: how many of how many, success so far with its interval, time left, the last verdict.

Follows the batch's events on the disk, so it shows the same whoever runs the trials. On a terminal the lines live, with
what is under way; elsewhere each trial is one line with its time when it is over, and every tenth brings the figures.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from runner.cli.batch_now import under_way
from runs.batch_records import (
    BatchEvent,
    BatchPlan,
    Called,
    Enough,
    Paused,
    ResetEnded,
    Rested,
    RoundTaught,
    TrialEnded,
)
from runs.batch_state import BatchState
from runs.batches import BatchFolder
from runs.figures import clean
from runs.statistics import Rate

_LOOK_S = 0.5
_STYLES = {"completed": "green", "failed": "red", "crashed": "red", "unjudged": "yellow", "invalid": "yellow"}
_FIGURES_EVERY = 10  # trials, where there is no terminal
PAUSING = "pausing after the trial under way; Ctrl-C again to stop now"


class BatchView:
    """Watches a batch's folder; use `watching` round whatever runs it."""

    def __init__(self, batch: BatchFolder, plan: BatchPlan, console: Console, runs_dir: Path) -> None:
        self._batch, self._console, self._runs_dir = batch, console, runs_dir
        self._now: list[str] = []
        self.state = BatchState.of(plan, ())
        self._offset, self._pausing, self._doing = 0, False, ""
        self._live = Live(console=console, refresh_per_second=4, get_renderable=self._all, transient=True)
        self._told = False

    def preparing(self, text: str) -> None:
        """What is being made before the first trial."""
        topic = text.partition(":")[0]
        if not self._console.is_terminal and topic != self._doing:
            self._console.print(Text(topic, style="dim"))
        self._doing = text if self._console.is_terminal else topic

    def pausing(self) -> None:
        """Somebody pressed Ctrl-C. Called from a signal's handler, so it only makes a note of it."""
        self._pausing = True

    @contextmanager
    def watching(self) -> Iterator[None]:
        """While inside, what happens is shown."""
        for offset, event in self._batch.events_from(0):
            self._offset = offset
            self.state.add(event)
        over = threading.Event()
        thread = threading.Thread(target=self._follow, args=(over,), name="view", daemon=True)
        thread.start()
        if self._console.is_terminal:
            self._live.__enter__()
        try:
            yield
        finally:
            over.set()
            thread.join()
            self._look()
            if self._console.is_terminal:
                self._live.__exit__(None, None, None)

    def _follow(self, over: threading.Event) -> None:
        while not over.wait(_LOOK_S):
            self._look()

    def _look(self) -> None:
        for offset, event in self._batch.events_from(self._offset):
            self._offset = offset
            self.state.add(event)
            told = _told(event, self.state)
            if self._console.is_terminal:
                self._now = []
                self._live.refresh()
            if told is not None:
                at = Text(f"{_local(event.at, short=self._console.is_terminal)}  ", style="dim")
                self._console.print(at + told, soft_wrap=True)
            if isinstance(event, TrialEnded) and not self._console.is_terminal:
                self._now_and_then()
        if self._console.is_terminal:
            self._now = under_way(self.state, self._runs_dir, self._batch.resets_dir)
        if self._pausing and not self._told:
            self._told = True
            self._console.print(Text(PAUSING, style="yellow"))

    def _now_and_then(self) -> None:
        """The figures in a plain log."""
        if self.state.final and len(self.state.final) % _FIGURES_EVERY == 0 and not self.state.done:
            _, *lines = figures(self.state)
            words = "; ".join([_so_far(self.state), *(str(line) for line in lines), _left(self.state)])
            self._console.print(Text(f"                     {words}", style="dim"), soft_wrap=True)

    def _all(self) -> Group:
        if not self.state.ended and self._doing:
            return Group(Text(self._doing, style="dim"))
        now = [Text(f"now  {line}", style="cyan") for line in self._now]
        return Group(*figures(self.state), *now)


def _local(at: str, *, short: bool) -> str:
    """A time of the log by the clock on the wall here; without the date where one sits and watches."""
    try:
        return f"{datetime.fromisoformat(at).astimezone():{'%H:%M' if short else '%Y-%m-%d %H:%M:%S'}}"
    except ValueError:
        return at


def figures(state: BatchState) -> list[Any]:
    """The batch so far in a few lines."""
    bar = Table.grid(padding=(0, 1))
    bar.add_row(
        ProgressBar(total=1.0, completed=_share_done(state), width=40), Text(_so_far(state)), Text(_left(state))
    )
    lines: list[Any] = [bar]
    arms: list[str | None] = [arm for arm in ("A", "B") if any(start.arm == arm for start in state.plan.starts)]
    for arm in arms or [None]:
        name = f"{arm}  " if arm else ""
        first, all_ = state.success(first_attempt=True, arm=arm), state.success(arm=arm)
        told = f"success {rate_in_words(all_)}; on the first attempt {rate_in_words(first)}"
        lines.append(Text(f"{name}{told if all_.n else 'nothing judged yet'}"))
    if arms:
        both, only_a, only_b, neither = state.pairs()
        lines.append(Text(f"pairs: both {both}, only A {only_a}, only B {only_b}, neither {neither}"))
    if state.enough is not None:
        lines.append(Text(f"enough: {state.enough.why}", style="green"))
    counts = state.counts()
    apart = [f"{counts[name]} {name}" for name in ("invalid", "refused", "crashed") if counts[name]]
    cut_off = sum(event.cut_off for event in state.ended)
    apart += [f"{cut_off} cut off and run again"] if cut_off else []
    if apart:
        lines.append(Text("apart from that: " + ", ".join(apart), style="yellow"))
    per_hour = state.per_hour()
    if per_hour is not None:
        lines.append(Text(f"{per_hour:.0f} an hour of the arm's clock, resets included", style="dim"))
    return lines


def rate_in_words(rate: Rate) -> str:
    """`18 of 20 (0.68 … 0.99)`."""
    return "none judged yet" if rate.n == 0 else f"{rate.successes} of {rate.n} ({rate.low:.3f} … {rate.high:.3f})"


def _share_done(state: BatchState) -> float:
    if state.plan.stop_after_s is None:
        return len(state.final) / len(state.plan.starts)
    return min(1.0, state.clock_s / state.plan.stop_after_s)


def _so_far(state: BatchState) -> str:
    """How many of how many; of a batch that goes on for a time, how much of that."""
    if state.plan.stop_after_s is None:
        return f"{len(state.final)} of {len(state.plan.starts)}"
    return f"{len(state.final)} in {state.clock_s / 3600.0:.1f} of {state.plan.stop_after_s / 3600.0:g} h"


def _left(state: BatchState) -> str:
    per_hour = state.per_hour_wall()
    if per_hour is None or state.done:
        return ""
    seconds = (len(state.plan.starts) - len(state.final)) / per_hour * 3600.0
    if state.plan.stop_after_s is not None and state.clock_s > 0.0:
        wall_s = max(0.0, state.plan.stop_after_s - state.clock_s) * state.worked_wall_s / state.clock_s
        seconds = min(seconds, wall_s)
    hours, minutes = divmod(round(seconds / 60.0), 60)
    return f"about {hours} h {minutes:02d} min left" if hours else f"about {max(1, minutes)} min left"


def _told(event: BatchEvent, state: BatchState) -> Text | None:
    """One line on what has happened, None for what goes without saying."""
    match event:
        case TrialEnded():
            count = f"{_so_far(state):>9}  "
            arm = state.plan.starts[event.start].arm
            word = "cut off" if event.cut_off else event.result
            return Text.assemble(
                (count, "dim"),
                (f"start {event.start}{f' {arm}' if arm else ''}  ", "dim"),
                (word, _STYLES.get(event.result, "yellow")),
                f"  {clean(event.reason or '')}",
            )
        case ResetEnded(found=found) if found:
            return Text(clean(found), style="yellow")
        case Called():
            ways = f" (told by {', '.join(event.told_by)})" if event.told_by else ""
            return Text(f"a person was called{ways}: {clean(event.why)}\n  → {clean(event.suggestion)}", style="yellow")
        case Paused(by=by) if by != "call":
            return Text(f"paused: {clean(event.why)}", style="yellow")
        case Enough():
            return Text(f"enough: {event.why}", style="green")
        case Rested():
            return Text(f"waited {event.seconds:.0f} s: {clean(event.why)}", style="dim")
        case RoundTaught(lessons=lessons) if lessons:
            live = "; the proposed correction is proved and live" if event.promoted else ""
            return Text(f"round {event.round} is in: {lessons} lessons for the corrections{live}", style="dim")
    return None
