"""Sessions side by side: one process a worker, each with a twin of its own, all writing into the one cell.

Run ids come from the plan, worlds and noise from the starts' seeds, corrections stand still within a round: so the
results are the same however many workers there are. A worker dies with its parent; one that dies alone is replaced,
and what it was at is run again.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import Counter, deque
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path

from runner.batch.desk import Cells
from runner.batch.ends import close_cut_off
from runner.batch.pause import Pause
from runner.batch.session import Halt, Session
from runs.batch_records import BatchPlan, PlannedStart
from runs.batch_state import BatchState
from runs.batches import BatchFolder
from runs.errors import TrialcellError
from runs.store import RunStore

_DEATHS_OF_A_SESSION = 3
_LOOK_S = 0.5
_ENOUGH_S = 10.0
Answer = Halt | TrialcellError | None


@dataclass(slots=True, eq=False)
class _Worker:
    process: SpawnProcess
    line: Connection
    at: list[PlannedStart] | None = None


class SideBySide:
    """An engine of several processes. Close it when the batch is over."""

    def __init__(self, cells: Cells, batch: BatchFolder, plan: BatchPlan, pause: Pause, workers: int) -> None:
        self._cells, self._batch, self._plan, self._pause, self._n = cells, batch, plan, pause, workers
        self._workers: list[_Worker] = []
        self._deaths: Counter[int] = Counter()

    def run(self, sessions: list[list[PlannedStart]]) -> Halt | None:
        """See `Engine`.

        Raises:
            TrialcellError: what a worker could not do.
        """
        waiting = deque(sessions)
        halt: Halt | None = None
        failed: TrialcellError | None = None
        while waiting or any(worker.at for worker in self._workers):
            going_on = halt is None and failed is None and not self._pause.asked
            if not going_on and not any(worker.at for worker in self._workers):
                break
            if going_on:
                self._hand_out(waiting)
            for worker in self._heard():
                answer = self._answer(worker, waiting)
                halt = halt or (answer if isinstance(answer, Halt) else None)
                failed = failed or (answer if isinstance(answer, TrialcellError) else None)
        if failed is not None:
            raise failed
        return halt or (Halt("person", "a person asked for it") if waiting else None)

    def close(self) -> None:
        """Let the workers go; one that does not is ended."""
        for worker in self._workers:
            worker.line.close()
        for worker in self._workers:
            worker.process.join(_ENOUGH_S)
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()
        self._workers.clear()

    def _hand_out(self, waiting: deque[list[PlannedStart]]) -> None:
        while waiting:
            free = next((worker for worker in self._workers if worker.at is None), None)
            if free is None and len(self._workers) >= self._n:
                return
            free = free or self._new()
            free.at = waiting.popleft()
            free.line.send([start.index for start in free.at])

    def _new(self) -> _Worker:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        arguments = (dict(self._cells), self._batch.folder, theirs)
        process = context.Process(target=work, args=arguments, name="trialcell worker", daemon=True)
        process.start()
        theirs.close()
        self._workers.append(_Worker(process, ours))
        return self._workers[-1]

    def _heard(self) -> list[_Worker]:
        busy = [worker for worker in self._workers if worker.at is not None]
        ready = wait([worker.line for worker in busy], timeout=_LOOK_S)
        return [worker for worker in busy if worker.line in ready]

    def _answer(self, worker: _Worker, waiting: deque[list[PlannedStart]]) -> Answer:
        at, worker.at = worker.at, None
        assert at is not None
        try:
            answer: Answer = worker.line.recv()
        except (EOFError, OSError):
            return self._died(worker, at, waiting)
        return answer

    def _died(self, worker: _Worker, at: list[PlannedStart], waiting: deque[list[PlannedStart]]) -> Halt | None:
        """A worker is gone in the middle of a session: its trial is closed, the rest of the session waits again."""
        self._workers.remove(worker)
        worker.process.join(_ENOUGH_S)
        state = BatchState.of(self._plan, self._batch.events())
        store = RunStore(next(iter(self._cells.values())).runs_dir)
        close_cut_off(self._batch, state, store, among={start.index for start in at})
        session = at[0].session
        self._deaths[session] += 1
        if self._deaths[session] >= _DEATHS_OF_A_SESSION:
            return Halt("faults", f"a worker died {self._deaths[session]} times at the starts of session {session}")
        left = [start for start in at if start.index not in state.final]
        if left:
            waiting.appendleft(left)
        return None


def work(cells: Cells, folder: Path, line: Connection) -> None:
    """A worker's whole life: sessions as they come over the line, an answer to each, until the line ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal's Ctrl-C is the parent's to hear
    _die_with_parent()
    batch = BatchFolder(folder)
    plan = batch.plan()
    pause = Pause(batch)
    session = Session(cells, batch, plan, pause)
    with pause.watching(signals=False):
        while True:
            try:
                indices = line.recv()
            except (EOFError, OSError):
                return
            answer: Answer
            try:
                answer = session.run([plan.starts[index] for index in indices])
            except TrialcellError as error:
                answer = error
            line.send(answer)


def _die_with_parent() -> None:
    parent = multiprocessing.parent_process()

    def watch() -> None:
        assert parent is not None
        parent.join()
        os._exit(1)

    if parent is not None:
        threading.Thread(target=watch, name="parent", daemon=True).start()
