"""Who has the arm: one client at a time, for as long as its lease runs.

Each lease is one sitting with a log of its own. A sitting runs on a thread of its own, which does one call after the
other. When the lease is given back, runs out, or the server ends, the sitting ends as any other: judged if something
was placed, the arm at rest, the log complete.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any

from runner.agent.calls import Answered, CallBook
from runner.agent.cell_view import CellView
from runner.agent.course import Drove, run_sitting
from runner.agent.errors import ArmIsHeld, NoLease
from runner.agent.limits import Clock, LimitedSwitch, Meter
from runner.agent.serving.lease import Lease
from runner.agent.sitting import Sitting
from runner.agent.toolbox import TOOLS
from runner.cell import Cell
from runner.rig import Request, build_rig
from runs.lock import CellLock
from runs.schema.agent import AgentBegun
from runs.schema.run import RunLog

_TICK_S = 0.05


@dataclass(slots=True, eq=False)
class _Job:
    """A call that waits for its turn."""

    name: str
    arguments: Any
    over: threading.Event = field(default_factory=threading.Event)
    answered: Answered | None = None
    error: BaseException | None = None


class ArmHolder:
    """The arm of one cell, for clients that take turns. Safe from several threads."""

    def __init__(
        self,
        cell: Cell,
        *,
        request: Request | None = None,
        now_s: Clock = monotonic,
        said: Callable[[str], None] = lambda text: None,
    ) -> None:
        self._cell, self._request, self._now_s, self._said = cell, request or Request(), now_s, said
        self._turn = threading.Lock()
        self._closed = False
        self._held: _Held | None = None

    def take(self, client: str, seconds: float | None = None) -> Lease:
        """Let a client have the arm; when it is there, the sitting has begun and the arm stands at home.

        Args:
            seconds: how long without a call, the settings' by default, and no longer than theirs.

        Raises:
            ArmIsHeld: another one has it. CellBusy: another process has the cell.
            NoLease: the server is ending. TrialcellError: the arm can't be had, or the sitting ended as it began.
        """
        settings = self._cell.config.agent
        wanted = settings.lease_s if seconds is None else min(seconds, settings.lease_s)
        with self._turn:
            if self._closed:
                raise NoLease("the server is ending; nobody gets the arm from it any more")
            if self._held is not None and self._held.is_alive():
                raise ArmIsHeld(self._held.lease.client, self._held.lease.left_s)
            lease = Lease(client, seconds=wanted, most_s=settings.lease_most_s, now_s=self._now_s)
            held = _Held(self._cell, self._request, lease, self._now_s, self._said)
            self._held = held
            held.start()
        held.ready.wait()
        if held.failed is not None:
            raise held.failed
        if not held.begun:
            reason = "" if held.log is None or held.log.ending is None else f": {held.log.ending.reason}"
            raise NoLease(f"the sitting ended as it began{reason}")
        lease.renew()
        return lease

    def call(self, key: str, name: str, arguments: Any) -> Answered:
        """One call of the holder's; it renews the lease.

        Raises:
            NoLease: that lease holds nothing. TrialcellError: a fault, or a stop; the sitting has ended.
        """
        return self._holding(key).call(name, arguments)

    def renew(self, key: str) -> float:
        """Keep the arm without a call; the seconds that are left then.

        Raises:
            NoLease
        """
        return self._holding(key).lease.renew()

    def give_back(self, key: str) -> RunLog | None:
        """Let go: the sitting ends, the arm comes to rest; its log, None where it could not be written.

        Raises:
            NoLease
        """
        held = self._holding(key)
        held.release()
        return held.log

    @property
    def client(self) -> str | None:
        """Who has the arm now."""
        held = self._held
        return held.lease.client if held is not None and held.is_alive() else None

    def close(self) -> None:
        """End what is under way, after the call in flight, with the arm at rest; nobody gets the arm after that."""
        with self._turn:
            self._closed, held = True, self._held
        if held is not None:
            held.release()

    def _holding(self, key: str) -> _Held:
        held = self._held
        if held is None or not held.lease.fits(key):
            raise NoLease("that lease holds nothing, or no longer")
        if not held.is_alive() or held.lease.over:
            raise NoLease(
                "that lease has run out; the arm is free again" if held.lease.over else "that sitting has ended"
            )
        return held


class _Held(threading.Thread):
    """One lease's sitting."""

    def __init__(
        self,
        cell: Cell,
        request: Request,
        lease: Lease,
        now_s: Clock,
        said: Callable[[str], None],
    ) -> None:
        super().__init__(name="sitting", daemon=False)
        self.lease = lease
        self.ready = threading.Event()
        self.begun = False
        self.failed: BaseException | None = None
        self.log: RunLog | None = None
        self._cell, self._request, self._said = cell, request, said
        self._meter = Meter(cell.config.agent, now_s=now_s)
        self._switch = LimitedSwitch(self._meter)
        self._jobs: SimpleQueue[_Job] = SimpleQueue()
        self._released = threading.Event()

    def run(self) -> None:
        begun = AgentBegun(
            by="mcp",
            task="whatever the client asks for, call by call",
            limits=self._meter.limits,
            tools=tuple(TOOLS),
            client=self.lease.client,
        )
        try:
            with (
                CellLock(self._cell.folder, command=f"trialcell mcp, for {self.lease.client}"),
                build_rig(self._cell, self._request, switch=self._switch, progress=self._said) as rig,
            ):
                self.log = run_sitting(
                    rig.bench, CellView(self._cell), self._pump, begun,
                    meter=self._meter, switch=self._switch,
                )  # fmt: skip
        except BaseException as error:  # noqa: BLE001 - handed to whoever waits for it
            self.failed = error
        finally:
            self.ready.set()
            self._refuse_the_rest()

    def call(self, name: str, arguments: Any) -> Answered:
        """Wait for its turn and for its answer."""
        job = _Job(name, arguments)
        self._jobs.put(job)
        while not job.over.wait(_TICK_S):
            if not self.is_alive():
                self._refuse_the_rest()
        if job.error is not None:
            raise job.error
        assert job.answered is not None
        return job.answered

    def release(self) -> None:
        """End the sitting after the call under way, and wait until the arm is at rest."""
        self._released.set()
        if not self.begun:
            self._switch.press()
        self.join()

    def _pump(self, sitting: Sitting, book: CallBook) -> Drove:
        """The driver: does what the client asks, until its time is over."""
        self.begun = True
        self.lease.renew()
        self.ready.set()
        while (over := self._over(sitting)) is None:
            sitting.check_stop()
            try:
                job = self._jobs.get(timeout=_TICK_S)
            except Empty:
                continue
            self._do(job, book)
            self.lease.renew()
        return over

    def _over(self, sitting: Sitting) -> Drove | None:
        """How it came to its end, None as long as calls may be done; one that waits then is refused, not done."""
        if self._released.is_set():
            return Drove("released", f"{self.lease.client} has given the arm back")
        if self.lease.over:
            return Drove("lease", f"{self.lease.client} has made no call for as long as a lease lasts")
        if sitting.meter.left_s <= 0:
            return Drove("limit", f"the limit of time is reached: {sitting.meter.limits.time_s:g} s")
        return None

    def _do(self, job: _Job, book: CallBook) -> None:
        try:
            job.answered = book.call(job.name, job.arguments)
        except BaseException as error:
            job.error = error
            raise
        finally:
            job.over.set()

    def _refuse_the_rest(self) -> None:
        """Whoever still waits is told that nothing comes any more."""
        while True:
            try:
                job = self._jobs.get_nowait()
            except Empty:
                return
            job.error = NoLease("the sitting has ended")
            job.over.set()
