"""Runs a batch to its end, or to the point where it has to pause: round by round, sessions one by one or side by side.

All trials of a round have the same corrections; what they teach is taught when the last of them is in. What counts is
what stands on the disk, so a batch that was killed at any moment goes on from there.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby
from typing import Protocol

from runner.batch.desk import Cells
from runner.batch.ends import close_cut_off
from runner.batch.lessons import teach_round
from runner.batch.pause import Pause
from runner.batch.session import Halt, Session
from runner.cell import Cell, open_cell
from runner.config import Config
from runner.station import WrongRequest
from runner.trial.notebook import Observer
from runs.batch_records import BatchPlan, Enough, Finished, Paused, PlannedStart, Started
from runs.batch_state import BatchState
from runs.batches import BatchFolder
from runs.enough import why_enough
from runs.events import utc_text
from runs.lock import CellLock
from runs.store import RunStore

_OF_THE_DESK = ("twin", "camera", "block", "box", "workspace", "calibration", "cell", "batch")
"""Sections of settings that two arms of a test share, for they share desk and camera."""


@dataclass(frozen=True, slots=True)
class BatchRun:
    """How it went: the state at the end, and what halted it, None when the plan is done."""

    state: BatchState
    halt: Halt | None


class Engine(Protocol):
    """Who runs the sessions of a round."""

    def run(self, sessions: list[list[PlannedStart]]) -> Halt | None:
        """All of them, or why not."""
        ...


class InThisProcess:
    """Sessions one after the other, here."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def run(self, sessions: list[list[PlannedStart]]) -> Halt | None:
        """See `Engine`."""
        for starts in sessions:
            halt = self._session.run(starts)
            if halt is not None:
                return halt
        return None


def cells_of(cell: Cell, plan: BatchPlan) -> Cells:
    """The cell with the plan's settings; with two sets of them, one for each.

    Raises:
        WrongRequest: the two would need two desks.
        UnknownSetting, BadSetting: settings that can't be.
    """
    if not (plan.settings_a or plan.settings_b):
        return {None: open_cell(cell.folder, plan.settings)}
    a = open_cell(cell.folder, (*plan.settings, *plan.settings_a))
    b = open_cell(cell.folder, (*plan.settings, *plan.settings_b))
    for name in (*_OF_THE_DESK, "arm"):
        if not _same_desk(name, a.config, b.config):
            raise WrongRequest(
                f"A and B share one desk, so they can't differ in {name}.*",
                next_step="compare settings of table, guard, trial, judge or gripper, or run two batches",
            )
    return {"A": a, "B": b}


def _same_desk(name: str, a: Config, b: Config) -> bool:
    if name != "arm":
        return bool(getattr(a, name) == getattr(b, name))
    own = {"speed_percent", "send_wait_s", "corrective_min_deg", "still_deg", "j1_safe_max_deg"}
    return a.arm.model_dump(exclude=own) == b.arm.model_dump(exclude=own)


def alone(config: Config) -> bool:
    """Whether there can be but one worker, here: there is one arm of metal, or one person who judges."""
    return config.arm.kind != "twin" or config.judge.kind == "person"


def workers_for(config: Config, plan: BatchPlan, asked: int | None) -> int:
    """How many processes: what was asked, else the settings, else one a core; one for anything but a twin in process.

    Raises:
        WrongRequest: several, where there is one arm.
    """
    wanted = config.batch.workers if asked is None else asked
    if alone(config) and wanted > 1:
        raise WrongRequest("there is one arm, or one person, and so one worker", next_step="leave --workers out")
    if alone(config):
        return 1
    sessions = len({start.session for start in plan.starts})
    return max(1, min(wanted or os.cpu_count() or 1, sessions))


def run_batch(
    cell: Cell,
    batch: BatchFolder,
    pause: Pause,
    *,
    workers: int,
    engine: Engine | None = None,
    observer: Observer | None = None,
    preparing: Callable[[str], None] = lambda text: None,
) -> BatchRun:
    """Run what is left of a batch.

    Args:
        pause: asked by whoever wants it stopped; what was asked before is forgotten.
        workers: for the record.
        engine: who runs the sessions; None: this process.

    Raises:
        BatchRunning, CellBusy: another process works on it, or in this cell.
        TrialcellError: what the cell lacks, or a record that can't be written.
    """
    plan = batch.plan()
    with batch.running(), CellLock(cell.folder):
        cells = cells_of(cell, plan)
        own = next(iter(cells.values()))
        batch.forget_stop()
        batch.add(Started(at=utc_text(), pid=os.getpid(), workers=workers))
        state = BatchState.of(plan, batch.events())
        close_cut_off(batch, state, RunStore(own.runs_dir))
        here = InThisProcess(Session(cells, batch, plan, pause, observer=observer, preparing=preparing))
        halt = _rounds(own, batch, plan, engine or here)
        if halt is not None:
            batch.add(Paused(at=utc_text(), why=halt.why, by=halt.by))
            batch.forget_stop()
        state = BatchState.of(plan, batch.events())
        if state.done and halt is None:
            batch.add(Finished(at=utc_text()))
        return BatchRun(state, halt)


def _rounds(cell: Cell, batch: BatchFolder, plan: BatchPlan, engine: Engine) -> Halt | None:
    """Each round that is not taught yet: its starts that are due, then its lessons."""
    for number, members in groupby(plan.starts, key=lambda start: start.round):
        state = BatchState.of(plan, batch.events())
        if number in state.taught:
            continue
        enough = why_enough(state) if number > 0 else None
        if enough is not None:
            batch.add(Enough(at=utc_text(), round=number - 1, why=enough))
            return None
        starts = list(members)
        due = [start for start in starts if start.index not in state.final]
        sessions = [list(group) for _, group in groupby(due, key=lambda start: start.session)]
        halt = engine.run(sessions) if sessions else None
        if halt is not None:
            return halt
        state = BatchState.of(plan, batch.events())
        teach_round(cell, batch, state, starts)
        if any(start.index not in state.final for start in starts):
            batch.add(Enough(at=utc_text(), round=number, why=why_enough(state) or "the time is up"))
            return None
    return None
