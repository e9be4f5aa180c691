"""Sessions on a Ray cluster: one that runs already, near or far, or one of this machine's own for one batch.

The only module that imports ray, which comes with the extra `trialcell[ray]`. Machines need share nothing with this
one but the program; a session that is lost with its machine is run again elsewhere, from its beginning. Ray sends no
usage statistics from here, and what was started here ends with the batch.
"""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
from collections import Counter, deque
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar

import ray
from ray.exceptions import RayError, RayTaskError

from runner.batch.away import AwaySession, Brought, Luggage, Order, bring_home
from runner.batch.desk import Cells
from runner.batch.pause import Pause
from runner.batch.session import Halt
from runs.batch_records import BatchPlan, PlannedStart, RoundTaught
from runs.batch_state import BatchState
from runs.batches import BatchFolder
from runs.errors import Family, TrialcellError
from runs.latch import StopLatch
from runs.store import RunStore

_LOSSES_OF_A_SESSION = 5
_LOOK_S = 0.5
_KNOCK_S = 10.0
_SPARE_NUMBERS = 4  # a start, for its resets and for a run of a start that had one already
_OBJECTS_BYTES = 512 * 2**20  # of a cluster that is started here: a cell and what some sessions bring
Answer = Halt | TrialcellError | None


class NoCluster(TrialcellError):
    """A Ray cluster can't be reached, or is gone."""

    family: ClassVar[Family] = "device"

    def __init__(self, address: str | None, why: str) -> None:
        self.address, self.why = address, why
        where = "a Ray cluster on this machine" if address is None else f"the Ray cluster at {address}"
        super().__init__(
            f"{where} can't be reached, or is gone: {why}",
            next_step="see to it with: ray status; then: trialcell batch resume --engine ray",
        )


def _knock(address: str) -> None:
    """Whether anybody listens at HOST:PORT: ray itself would try for minutes. Other addresses are left to it.

    Raises:
        OSError: nobody does.
    """
    host, colon, port = address.rpartition("://")[2].rpartition(":")
    if colon and port.isdigit():
        socket.create_connection((host.strip("[]"), int(port)), timeout=_KNOCK_S).close()


@dataclass(slots=True, eq=False)
class _Actor:
    """A worker on the cluster, the session that it is at, and whether it was told to stop: 1 softly, 2 at once."""

    handle: Any
    at: list[PlannedStart]
    there: Any  # ray's reference to a word that it has come to be
    answer: Any  # and to what it will bring
    told: int = 0


class OnRay:
    """An engine on a cluster. `connect` first; close it when the batch is over."""

    def __init__(self, cells: Cells, batch: BatchFolder, plan: BatchPlan, pause: Pause, address: str | None) -> None:
        """`address`: of a cluster, as `ray.init` takes it; None: one of this machine's own."""
        self._cells, self._batch, self._plan, self._pause, self._address = cells, batch, plan, pause, address
        self._cell = next(iter(cells.values()))
        self._runs, self._resets = RunStore(self._cell.runs_dir), RunStore(batch.resets_dir)
        self._scratch: str | None = None
        self._spare_runs = self._spare_resets = 0
        self._idle: list[Any] = []
        self._busy: list[_Actor] = []
        self._lost: Counter[int] = Counter()
        self._n = 1

    def connect(self, workers: int | None) -> int:
        """Reach the cluster, or start one; how many workers there will be.

        Args:
            workers: as many as that; None: one for each of the cluster's cores.

        Raises:
            NoCluster
        """
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # else it warns of what a later one will do
        quiet = {"log_to_driver": False, "logging_level": "ERROR"}
        try:
            if self._address is None:
                self._scratch = tempfile.mkdtemp(prefix="ray_")
                ray.init(
                    address="local",
                    num_cpus=workers or os.cpu_count() or 1,
                    include_dashboard=False,
                    object_store_memory=_OBJECTS_BYTES,
                    _temp_dir=self._scratch,
                    **quiet,
                )
            else:
                _knock(self._address)
                ray.init(address=self._address, **quiet)
            cores = int(ray.cluster_resources().get("CPU", 0))
        except (RayError, OSError, ValueError, RuntimeError) as error:
            raise NoCluster(self._address, str(error).splitlines()[0]) from error
        self._spare_runs = max(self._runs.last_number(), self._plan.first_number + len(self._plan.starts) - 1)
        self._spare_resets = self._resets.last_number()
        sessions = len({start.session for start in self._plan.starts})
        self._n = max(1, min(workers or cores, sessions))
        return self._n

    def run(self, sessions: list[list[PlannedStart]]) -> Halt | None:
        """See `Engine`.

        Raises:
            TrialcellError: what a worker could not do. NoCluster: it is gone.
        """
        waiting = deque(sessions)
        halt: Halt | None = None
        failed: TrialcellError | None = None
        latch = StopLatch(self._cell.folder)
        try:
            luggage = ray.put(Luggage.of(self._cell.folder))
            while waiting or self._busy:
                latched = latch.read()
                if latched is not None:
                    halt = halt or Halt("latch", f"a stop is latched: {latched.why} (by {latched.by})")
                if waiting and self._time_is_up:
                    waiting.clear()
                    continue
                going_on = halt is None and failed is None and not self._pause.asked
                if self._idle and not waiting:
                    self._take_back(waiting)  # nobody leaves, so that one who waits for room would wait for ever
                while going_on and waiting and len(self._busy) < self._n:
                    self._begin(waiting.popleft(), luggage)
                if not going_on:
                    self._tell_to_stop(waiting)
                if not self._busy:
                    break
                for actor in self._heard():
                    answer = self._answer(actor, waiting)
                    halt = halt or (answer if isinstance(answer, Halt) else None)
                    failed = failed or (answer if isinstance(answer, TrialcellError) else None)
        except RayTaskError:
            raise  # a mistake of ours, over there
        except (RayError, ConnectionError) as error:
            raise NoCluster(self._address, str(error).splitlines()[0]) from error
        if failed is not None:
            raise failed
        return halt or (Halt("person", "a person asked for it") if waiting else None)

    def close(self) -> None:
        """Let the workers go, and the cluster if it was started here."""
        self._busy.clear()
        self._idle.clear()
        ray.shutdown()
        if self._scratch is not None:
            shutil.rmtree(self._scratch, ignore_errors=True)

    def _begin(self, starts: list[PlannedStart], luggage: Any) -> None:
        handle = self._idle.pop() if self._idle else _Remote.remote()
        order = self._order(starts)
        self._busy.append(_Actor(handle, starts, handle.is_there.remote(), handle.run.remote(luggage, order)))

    def _order(self, starts: list[PlannedStart]) -> Order:
        """With numbers that no other session under way can come to use."""
        first, room = self._plan.first_number, _SPARE_NUMBERS * len(starts)
        had = [f"run_{first + start.index:04d}_*" for start in starts]
        events = self._batch.events()
        order = Order(
            plan=self._plan,
            starts=tuple(start.index for start in starts),
            events=tuple(event for event in events if isinstance(event, RoundTaught)),
            run_names=tuple(path.name for pattern in had for path in self._runs.runs_dir.glob(pattern)),
            runs_after=self._spare_runs,
            resets_after=self._spare_resets,
            clock_s=BatchState.of(self._plan, events).clock_s,
        )
        self._spare_runs, self._spare_resets = self._spare_runs + room, self._spare_resets + room
        return order

    @property
    def _time_is_up(self) -> bool:
        after_s = self._plan.stop_after_s
        return after_s is not None and BatchState.of(self._plan, self._batch.events()).clock_s >= after_s

    def _tell_to_stop(self, waiting: deque[list[PlannedStart]]) -> None:
        """Softly, or at once."""
        self._take_back(waiting)
        wanted = 2 if self._pause.now else 1
        for actor in self._busy:
            if actor.told >= wanted:
                continue
            actor.told = wanted
            with suppress(RayError):
                actor.handle.stop.remote(now=self._pause.now)

    def _take_back(self, waiting: deque[list[PlannedStart]]) -> None:
        """The sessions of those who have not come to be yet, for want of room on the cluster."""
        if not self._busy:
            return
        there, _ = ray.wait([actor.there for actor in self._busy], num_returns=len(self._busy), timeout=0)
        for actor in [actor for actor in self._busy if actor.there not in there]:
            self._busy.remove(actor)
            ray.kill(actor.handle)
            waiting.appendleft(actor.at)

    def _heard(self) -> list[_Actor]:
        ready, _ = ray.wait([actor.answer for actor in self._busy], num_returns=1, timeout=_LOOK_S)
        return [actor for actor in self._busy if actor.answer in ready]

    def _answer(self, actor: _Actor, waiting: deque[list[PlannedStart]]) -> Answer:
        self._busy.remove(actor)
        try:
            brought: Brought = ray.get(actor.answer)
        except RayTaskError:
            raise
        except RayError:  # it, its machine, or what it had put there
            return self._is_lost(actor, waiting)
        bring_home(brought, self._batch, self._runs)
        self._idle.append(actor.handle)
        if not actor.told or not isinstance(brought.answer, Halt) or brought.answer.by != "person":
            return brought.answer
        state = BatchState.of(self._plan, self._batch.events())
        left = [start for start in actor.at if start.index not in state.final]
        if left:
            waiting.appendleft(left)
        return None

    def _is_lost(self, actor: _Actor, waiting: deque[list[PlannedStart]]) -> Halt | None:
        """A machine or a process of the cluster is gone with what it had not brought home: the session waits again."""
        session = actor.at[0].session
        self._lost[session] += 1
        if self._lost[session] >= _LOSSES_OF_A_SESSION:
            return Halt(
                "faults", f"session {session} was lost {self._lost[session]} times with its worker on the cluster"
            )
        waiting.appendleft(actor.at)
        return None


_Remote = ray.remote(num_cpus=1, max_restarts=0, max_concurrency=2, scheduling_strategy="SPREAD")(AwaySession)
