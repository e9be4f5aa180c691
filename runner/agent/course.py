"""A sitting from its beginning to its complete log: preflight as in every trial, whoever drives, then judge and rest.

The driver decides what is done; how it ends, what is judged and that the arm comes to rest is decided here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from runner.agent.calls import CallBook
from runner.agent.cell_view import CellView
from runner.agent.limits import LimitedSwitch, Meter
from runner.agent.sitting import Sitting
from runner.trial.bench import Bench
from runner.trial.errors import Stopped
from runner.trial.found import UnderWay
from runner.trial.notebook import Observer
from runner.trial.sequence import run_course
from runner.trial.stages.start import start
from runner.trial.trial import Trial
from runs.errors import StorageUnwritable, TrialcellError
from runs.events import NotLearned, Payload
from runs.schema.agent import AgentBegun, AgentEnded, AgentEndedBy
from runs.schema.run import Ending, RunLog


@dataclass(frozen=True, slots=True)
class Drove:
    """How a driver came to its end; `said` is its last word."""

    by: AgentEndedBy
    detail: str
    said: str | None = None


Driver = Callable[[Sitting, CallBook], Drove]
"""Decides which tools are called. It raises what `CallBook.call` raises, and no more."""


def run_sitting(
    bench: Bench,
    cell: CellView,
    driver: Driver,
    begun: AgentBegun,
    *,
    meter: Meter,
    switch: LimitedSwitch,
    observer: Observer | None = None,
) -> RunLog:
    """One sitting; returns its finished log.

    Args:
        begun: who drives, and how it was asked; the first thing in the log.
        meter, switch: the sitting's limits; the bench was made with this switch.
        observer: told every record as it is written.

    Raises:
        StorageUnwritable: the log can't be written; before anything moves, or after the arm was brought to rest.
    """

    def watch(record: Payload) -> None:
        meter.observe(record)
        if observer is not None:
            observer(record)

    def course(trial: Trial, under_way: UnderWay | None) -> Ending:
        trial.book.add(begun)
        start(trial, under_way)
        meter.begin(trial.bench.clock.now_s)
        sitting = Sitting(cell, trial, meter)
        try:
            drove = driver(sitting, CallBook(sitting))
        except StorageUnwritable:
            raise
        except TrialcellError as error:
            by: AgentEndedBy = "stopped" if isinstance(error, Stopped) else "fault"
            trial.book.add(_ended(Drove(by, str(error)), meter))
            raise
        trial.book.add(_ended(drove, meter))
        switch.over()
        return _ending(sitting, drove)

    return run_course(course, bench, cell.store, switch=switch, observer=watch, lessons=_no_lessons)


def _ending(sitting: Sitting, drove: Drove) -> Ending:
    ending = sitting.ending()
    if sitting.standing == "final" or sitting.trial.dry_run:
        return ending
    if drove.by == "limit":
        return ending.model_copy(update={"result": "refused", "reason": drove.detail, "family": "refused"})
    if drove.by == "no_answer":
        return ending.model_copy(update={"result": "unjudged", "reason": drove.detail, "family": "verdict"})
    return ending


def _no_lessons(trial: Trial, ending: Ending) -> None:
    """Whoever decided the course of a trial does not teach by it."""
    trial.book.add(NotLearned(reason="an agent decided the course of this trial, so it teaches nothing"))


def _ended(drove: Drove, meter: Meter) -> AgentEnded:
    return AgentEnded(
        by=drove.by,
        detail=drove.detail,
        said=drove.said,
        turns=meter.turns,
        calls=meter.calls,
        motions=meter.motions,
        picks=meter.picks,
        spent_usd=round(meter.spent_usd, 6),
        seconds=round(meter.used_s, 3),
    )
