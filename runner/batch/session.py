"""One session of a batch: starts in a row with the box in one place, in one world or at one arm.

Puts the scene to each start, runs its trial under the plan's run id and writes both down. What it can't do it says: a
person is called, or the batch pauses. It decides nothing about what a trial was worth.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from runner.batch.call import call_person
from runner.batch.desk import Cells, Desk, last_picture, open_desk
from runner.batch.ends import ended_of, reset_ended_of
from runner.batch.lessons import kept_for_the_round, uses_in_round
from runner.batch.logs import LogsSoFar, TellingStore
from runner.batch.one_core import keeping_to_one_core
from runner.batch.pause import Pause
from runner.batch.thin import thin
from runner.batch.world_kept import WorldFile
from runner.config import Config
from runner.trial.bench import Bench
from runner.trial.notebook import Observer
from runner.trial.reset import Goal, Reset, run_reset
from runner.trial.sequence import run_trial
from runs.batch_records import BatchPlan, PlannedStart, Rested, SceneMade, TrialStarted
from runs.batch_state import BatchState
from runs.batches import BatchFolder, planned_run_id
from runs.errors import RunExists, TrialcellError
from runs.events import Payload, utc_text
from runs.latch import StopLatch
from runs.schema.run import RunLog
from runs.store import RunStore, run_name

_WAITS_S = (1.0, 2.0, 5.0, 10.0, 20.0, 30.0)


@dataclass(frozen=True, slots=True)
class Halt:
    """The batch can't go on, or shall not: why, and whose doing it is."""

    by: Literal["person", "call", "disk", "faults", "latch"]
    why: str


_DOCTOR = "trialcell doctor"
_ASKED = Halt("person", "a person asked for it")


class _DeskLost(Exception):
    """Arm or camera failed between two trials."""


class Session:
    """Runs planned starts, one after the other, in one process."""

    def __init__(
        self,
        cells: Cells,
        batch: BatchFolder,
        plan: BatchPlan,
        pause: Pause,
        *,
        observer: Observer | None = None,
        preparing: Callable[[str], None] = lambda text: None,
        elsewhere_s: float = 0.0,
    ) -> None:
        """`elsewhere_s`: the arm's clock over what `batch` here does not tell of, as it is at home."""
        self._cells, self._batch, self._plan, self._pause = cells, batch, plan, pause
        self._observer, self._preparing = observer, preparing
        self._cell = next(iter(cells.values()))
        self._store = RunStore(self._cell.runs_dir)
        self._logs = LogsSoFar(self._store, RunStore(batch.resets_dir))
        self._resets = TellingStore(batch.resets_dir, self._logs.begins)
        self._taken = {start.index for start in plan.starts if self._number_taken(start)}
        self._world: WorldFile | None = None
        self._torn = False  # whether an earlier process may have left a world of this session
        self._faults = self._invalid = self._made_for = 0
        self._why_invalid = ""
        self._put_right = False  # somebody has been called and came: the desk is set up anew
        self._tries: set[int] = set()
        self._elsewhere_s = elsewhere_s
        self._clock_s = 0.0  # the arm's, over the whole batch

    @property
    def _config(self) -> Config:
        return self._cell.config

    def run(self, starts: list[PlannedStart]) -> Halt | None:
        """All these starts, or why not.

        Raises:
            TrialcellError: what the cell lacks, or a record that can't be written.
        """
        left = list(starts)
        if self._config.arm.kind == "twin":  # whose sessions know nothing of each other, whoever runs them
            self._faults, self._invalid, self._put_right = 0, 0, False
        state = BatchState.of(self._plan, self._batch.events())
        self._clock_s = self._elsewhere_s + state.clock_s
        uses = uses_in_round(state, starts[0].round)
        self._tries = {start.index for start in starts if uses[start.index] == "candidate"}
        self._world, self._torn = WorldFile(self._batch, starts[0].session), True
        halt: Halt | None = None
        with keeping_to_one_core():
            while left and not self._time_is_up:
                halt = self._asked() or self._some_of(left)
                if halt is not None and left:
                    return halt
        self._world.forget()
        return halt

    def _some_of(self, left: list[PlannedStart]) -> Halt | None:
        """At a desk that is opened for it, as many of the starts as can be had; they are taken off the list."""
        desk = self._reached(left[0])
        if isinstance(desk, Halt):
            return desk
        try:
            same = desk.twin is not None and self._goes_on(desk, left[0])
            return self._at(desk, left, same=same)
        finally:
            desk.close()

    def _goes_on(self, desk: Desk, start: PlannedStart) -> bool:
        """Whether the twin's world is that of an earlier process that did not come to the end of this session."""
        kept = self._world.read() if self._world is not None and self._torn else None
        self._torn = False
        same = kept is not None and desk.take_up(kept, self._plan)
        if kept is not None and same:
            self._logs.same_world(kept.logs)
            self._made_for = kept.made_for
            self._batch.add(SceneMade(at=utc_text(), start=start.index, by="same world"))
        else:
            if kept is not None:
                desk.renew(start)
            self._logs.new_world()
            self._made_for = start.index
            if not self._put_right:
                self._batch.add(SceneMade(at=utc_text(), start=start.index, by="new world"))
        self._put_right = False
        return same

    def _at(self, desk: Desk, left: list[PlannedStart], *, same: bool) -> Halt | None:
        """See `_some_of`. `same`: in a world that has been gone on with, as at a desk of metal."""
        fresh = desk.twin is not None and not same
        while left and not self._time_is_up:
            try:
                halt = self._asked() or self._one(desk, left[0], fresh=fresh)
            except _DeskLost:
                return None
            if halt is not None:
                return halt
            tried = left.pop(0)
            fresh = False
            halt = self._after_one(desk, tried, left[0] if left else None)
            if halt is not None or self._put_right or (self._faults and not self._own_reset(desk)):
                return halt  # whatever has failed is connected anew, or made anew
        return None

    @property
    def _time_is_up(self) -> bool:
        return self._plan.stop_after_s is not None and self._clock_s >= self._plan.stop_after_s

    def _own_reset(self, desk: Desk) -> bool:
        """Whether the arm puts the twin's scene right itself after a crash, whatever still ails it."""
        return desk.twin is not None and self._config.batch.reset == "arm"

    def _after_one(self, desk: Desk, tried: PlannedStart, then: PlannedStart | None) -> Halt | None:
        """Whether what the last trials came to needs a person; one call says so.

        Crash after crash pauses the batch also where somebody has been there meanwhile: that did not help. An arm that
        crashes a second time after having reset the scene itself needs somebody before that.
        """
        if self._invalid >= self._config.batch.invalid_in_a_row:
            self._invalid = 0
            why = f"start after start is invalid: {self._why_invalid}"
            return self._somebody_comes(tried.index, then, why, "call", "look at the desk")
        halt = self._too_many_faults()
        if halt is not None or self._faults < 2 or not self._own_reset(desk):
            return halt
        return self._somebody_comes(None, then, "the arm has failed again after a reset of its own", "faults", _DOCTOR)

    def _too_many_faults(self) -> Halt | None:
        if self._faults < self._config.batch.faults_in_a_row:
            return None
        return self._called(None, f"{self._faults} trials in a row have crashed", "faults", _DOCTOR)

    def _asked(self) -> Halt | None:
        """Whether to stop before the next start."""
        if self._pause.asked:
            return _ASKED
        stop = StopLatch(self._cell.folder).read()
        if stop is not None:
            return Halt("latch", f"a stop is latched: {stop.why} (by {stop.by})")
        settings = self._config.batch
        free_mb = shutil.disk_usage(self._batch.folder).free / 2**20
        if free_mb < settings.min_free_mb:
            return Halt("disk", f"only {free_mb:.0f} MB of disk are free (batch.min_free_mb: {settings.min_free_mb})")
        return None

    def _reached(self, start: PlannedStart) -> Desk | Halt:
        """Arm, camera and benches. A device that does not answer is tried again for a while."""
        waits, waited_s = iter(_WAITS_S), 0.0
        while True:
            try:
                desk = open_desk(self._cells, start, self._pause.switch, self._preparing, tries=bool(self._tries))
            except TrialcellError as error:
                wait_s = next(waits, _WAITS_S[-1])
                if error.family != "device":
                    raise
                if waited_s + wait_s > self._config.batch.reconnect_s:
                    return self._called(start.index, error.message, "faults", error.next_step or _DOCTOR)
                self._batch.add(Rested(at=utc_text(), seconds=wait_s, why=error.message))
                self._clock_s += wait_s
                if self._pause.waits(wait_s):
                    return _ASKED
                waited_s += wait_s
            else:
                return desk

    def _one(self, desk: Desk, start: PlannedStart, *, fresh: bool) -> Halt | None:
        """The scene, then the trial."""
        bench = desk.bench_for(start, self._plan.batch_id, tries=start.index in self._tries)
        if not fresh:
            desk.relight(start)
            halt = self._scene(desk, bench, start)
            if halt is not None:
                return halt
        desk.befall(start)
        scored = desk.scored(self._watched(desk))
        log = self._tried(bench, start, scored)
        desk.share(bench)
        self._clock_s += log.duration_s or 0.0
        self._faults = self._faults + 1 if log.result == "crashed" else 0
        self._invalid = self._invalid + 1 if log.result == "invalid" else 0
        thin(log, self._store.runs_dir / log.run_id, self._config.batch, start.index)
        self._batch.add(
            ended_of(
                log,
                start.index,
                in_box=desk.in_box(),
                truth_tip_mm=scored.truth_tip_mm,
                faults=desk.faults_begun(),
            )
        )
        self._why_invalid = "" if log.ending is None else log.ending.reason
        return _ASKED if log.result == "stopped" else None

    def _tried(self, bench: Bench, start: PlannedStart, observer: Observer) -> RunLog:
        """One trial of this start; a run id that is taken meanwhile is left to whoever took it."""
        while True:
            run_id = self._run_id(start)
            self._taken.add(start.index)
            self._batch.add(TrialStarted(at=utc_text(), start=start.index, run_id=run_id))
            self._logs.begins(self._store, run_id)
            try:
                return run_trial(
                    bench,
                    self._store,
                    switch=self._pause.switch,
                    observer=observer,
                    run_id=run_id,
                    lessons=kept_for_the_round(self._batch, start.index),
                    before=self._logs.under_way,
                )
            except RunExists:
                self._logs.is_anothers(self._store, run_id)

    def _watched(self, desk: Desk) -> Observer:
        """Tells whoever watches, and puts the twin's world by, after each record."""
        twin, world, observer = desk.twin, self._world, self._observer

        def seen(record: Payload) -> None:
            if observer is not None:
                observer(record)
            if twin is not None and world is not None:
                world.keep(twin, self._made_for, self._logs.told)

        return seen

    def _run_id(self, start: PlannedStart) -> str:
        """The plan's for a first try, else the next number that no plan and no run has."""
        if start.index not in self._taken:
            return planned_run_id(self._plan, start.index)
        last = max(self._store.last_number(), self._plan.first_number + len(self._plan.starts) - 1)
        return run_name(last + 1, datetime.now(UTC))

    def _number_taken(self, start: PlannedStart) -> bool:
        return any(self._store.runs_dir.glob(f"run_{self._plan.first_number + start.index:04d}_*"))

    def _scene(self, desk: Desk, bench: Bench, start: PlannedStart) -> Halt | None:
        """The block to the planned start: by the arm, else by whoever is called."""
        settings = self._config.batch
        if settings.reset == "teleport" and desk.twin is not None and not desk.block_held():
            desk.put_back(start)
            self._batch.add(SceneMade(at=utc_text(), start=start.index, by="teleport"))
            return None
        goal = Goal(start.block_xz_m, start.block_yaw_deg, settings.start_tolerance_mm, settings.start_tolerance_deg)
        switch = self._pause.switch
        reset = run_reset(
            bench,
            self._resets,
            goal,
            attempts=settings.reset_attempts,
            switch=switch,
            observer=self._watched(desk),
            before=self._logs.under_way,
        )
        desk.share(bench)
        thin(reset.log, self._resets.runs_dir / reset.log.run_id, settings, start.index)
        self._batch.add(reset_ended_of(reset, start.index))
        self._clock_s += reset.log.duration_s or 0.0
        if reset.done:
            return None
        if reset.log.result == "stopped":
            return _ASKED
        why = "" if reset.log.ending is None else reset.log.ending.reason
        if reset.log.result == "crashed" and desk.twin is None:
            self._faults += 1
            halt = self._too_many_faults()
            if halt is not None:
                return halt
            raise _DeskLost
        return self._person_comes(desk, bench, start, reset, why)

    def _person_comes(self, desk: Desk, bench: Bench, start: PlannedStart, reset: Reset, why: str) -> Halt | None:
        """Call a person. In the twin one may come at once; else the batch pauses until somebody has been there."""
        x, z = (round(metres * 1000) for metres in start.block_xz_m)
        suggestion = f"put the block on the table at ({x}, {z}) mm, then: trialcell batch resume"
        told = f"the scene can't be reset: {why}"
        halt = self._somebody_comes(start.index, start, told, "call", suggestion, reset.log.run_id)
        if halt is not None:
            return halt
        if reset.log.result == "crashed" or desk.block_held() or desk.faults_begun():
            raise _DeskLost  # the arm is switched off and on, what it holds is taken out of its jaws
        self._put_right = False
        bench.clock.sleep(self._config.batch.person_after_s)
        desk.put_back(start)
        bench.arm.obstacles = bench.arm.obstacles.released()
        desk.share(bench)
        return None

    def _somebody_comes(
        self,
        start: int | None,
        then: PlannedStart | None,
        why: str,
        by: Literal["call", "faults"],
        suggestion: str,
        reset_id: str | None = None,
    ) -> Halt | None:
        """Call a person. In the twin one may come and put everything right for the start that is next; None then."""
        halt = self._called(start, why, by, suggestion, reset_id)
        if self._config.batch.person != "twin" or self._config.arm.kind != "twin":
            return halt
        waited_s, index = self._config.batch.person_after_s, None if then is None else then.index
        self._batch.add(SceneMade(at=utc_text(), start=index, by="twin person", waited_s=waited_s))
        self._clock_s += waited_s
        self._put_right = True
        return None

    def _called(
        self, start: int | None, why: str, by: Literal["call", "faults"], suggestion: str, reset_id: str | None = None
    ) -> Halt:
        picture = None if reset_id is None else last_picture(self._batch.resets_dir / reset_id)
        call_person(self._batch, self._config.batch, start=start, why=why, suggestion=suggestion, picture=picture)
        return Halt(by, why)
