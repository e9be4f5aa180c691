"""Whom a session calls, how often, and what that costs on the clock: with trials and resets that end as a test says."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from runner.arms.errors import NoAnswer
from runner.batch import session as module
from runner.batch.ends import close_cut_off
from runner.batch.pause import Pause
from runner.batch.session import Session
from runner.cell import Cell, open_cell
from runner.config import with_overrides
from runner.trial.reset import Reset
from runs.batch_records import Called, Rested, SceneMade, TrialStarted
from runs.batch_state import BatchState
from runs.batches import BatchStore, planned_run_id
from runs.schema.run import Ending
from runs.store import RunHeader, RunStore

AT = "2026-07-03T13:23:10.000Z"
TRIAL_S, RESET_S, PERSON_S = 80.0, 60.0, 900.0


class Desk:
    """Arm, camera and twin of which nothing is asked but what a session does between two trials."""

    def __init__(self, ails: tuple[str, ...]) -> None:
        self.twin, self.ails = SimpleNamespace(state=dict), ails
        obstacles = SimpleNamespace(released=lambda: obstacles)
        self.bench = SimpleNamespace(
            clock=SimpleNamespace(sleep=lambda seconds: None), arm=SimpleNamespace(obstacles=obstacles)
        )

    def bench_for(self, start, batch_id, *, tries):
        return self.bench

    def scored(self, observer):
        return SimpleNamespace(truth_tip_mm=None)

    def faults_begun(self):
        return self.ails

    def block_held(self) -> bool:
        return False

    def in_box(self):
        return None

    def share(self, bench) -> None: ...
    def relight(self, start) -> None: ...
    def befall(self, start) -> None: ...
    def put_back(self, start) -> None: ...
    def close(self) -> None: ...


class Scripted:
    """A batch of which each trial and each reset ends as `trials` and `resets` say, in turn, and then well."""

    def __init__(self, cell, batch, monkeypatch) -> None:
        self.cell, self.batch, self.opened = cell, batch, 0
        self.trials: list[str] = []
        self.resets: list[str] = []
        self.ails: tuple[str, ...] = ()
        self.unplugged = 0
        monkeypatch.setattr(module, "open_desk", self._open)
        monkeypatch.setattr(module, "run_trial", self._trial)
        monkeypatch.setattr(module, "run_reset", self._reset)
        self.session = Session({None: cell}, batch, batch.plan(), Pause(batch))

    def run(self, number: int):
        return self.session.run([start for start in self.batch.plan().starts if start.session == number])

    @property
    def state(self) -> BatchState:
        return BatchState.of(self.batch.plan(), self.batch.events())

    def of(self, kind):
        return [event for event in self.batch.events() if isinstance(event, kind)]

    def _open(self, *args, **more):
        if self.unplugged:
            self.unplugged -= 1
            raise NoAnswer("where it is", 1.0)
        self.opened += 1
        return Desk(self.ails)

    def _trial(self, bench, store, *, run_id, **more):
        return self._log(store, run_id, self.trials.pop(0) if self.trials else "completed", TRIAL_S)

    def _reset(self, bench, store, goal, **more):
        how = self.resets.pop(0) if self.resets else "completed"
        done = how == "completed"
        return Reset(self._log(RunStore(store.runs_dir), None, how, RESET_S), done, 1, True, None, None)

    @staticmethod
    def _log(store, run_id, result, seconds):
        writer = store.create(RunHeader(started_at=AT), run_id=run_id)
        return writer.finish(Ending(result=result, stage="stage2", reason="so it was"), duration_s=seconds)


@pytest.fixture
def scripted(tmp_path, planned, monkeypatch):
    """`scripted("batch.faults_in_a_row=3")`: two sessions of four starts; the person takes a quarter of an hour."""

    def make(*settings: str, **plan: object) -> Scripted:
        quiet = (f"batch.person_after_s={PERSON_S}", "batch.call_desktop=false")
        cell = open_cell(tmp_path / "cell")
        cell = Cell(cell.folder, with_overrides(cell.config, [*quiet, *settings]))
        made = planned(8, settings={"session": 4, "round": 8}).model_copy(update=plan)
        return Scripted(cell, BatchStore(cell.folder).create(made), monkeypatch)

    return make


def test_a_second_crash_in_a_row_calls_once_and_the_wait_is_on_the_clock(scripted):
    batch = scripted()
    batch.trials = ["completed", "crashed", "crashed"]
    assert batch.run(0) is None
    assert [call.why for call in batch.of(Called)] == ["the arm has failed again after a reset of its own"]
    scenes = [(scene.start, scene.by, scene.waited_s) for scene in batch.of(SceneMade)]
    assert scenes == [(0, "new world", 0.0), (3, "twin person", PERSON_S)]
    assert batch.opened == 2, "the desk is set up anew by whoever came"
    assert batch.state.clock_s == batch.session._clock_s


def test_a_third_crash_in_a_row_is_one_call_more_and_pauses(scripted):
    batch = scripted()
    batch.trials = ["crashed", "crashed", "crashed"]
    assert batch.run(0).by == "faults"
    assert [call.why for call in batch.of(Called)] == [
        "the arm has failed again after a reset of its own",
        "3 trials in a row have crashed",
    ]
    assert batch.state.summary(running=False)["resets"]["by_twin_person"] == 1


def test_crashes_at_the_end_of_a_session_are_called_for_there(scripted):
    batch = scripted("batch.faults_in_a_row=2")
    batch.trials = ["completed", "completed", "crashed", "crashed"]
    assert batch.run(0).by == "faults"
    assert len(batch.of(Called)) == 1
    assert not list(batch.batch.folder.glob("world_*"))


@pytest.mark.parametrize("bad", ["crashed", "invalid"])
def test_a_session_of_the_twin_knows_nothing_of_the_one_before(scripted, bad):
    """One worker runs both, or two run one each: what is counted is the same."""
    batch = scripted("batch.invalid_in_a_row=2")
    batch.trials = ["completed", "completed", "completed", bad, bad]
    assert batch.run(0) is None
    assert batch.run(1) is None
    assert batch.of(Called) == []
    assert len(batch.state.final) == 8


def test_a_person_who_comes_after_the_last_start_is_waited_for_all_the_same(scripted):
    batch = scripted("batch.invalid_in_a_row=2")
    batch.trials = ["completed", "completed", "invalid", "invalid"]
    assert batch.run(0) is None
    assert [(s.start, s.waited_s) for s in batch.of(SceneMade) if s.by == "twin person"] == [(None, PERSON_S)]
    assert batch.state.arm_s == batch.session._clock_s == 4 * TRIAL_S + 3 * RESET_S + PERSON_S
    assert batch.run(1) is None
    assert [s.by for s in batch.of(SceneMade) if s.start == 4] == ["new world"]


@pytest.mark.parametrize(("ails", "opened"), [((), 1), (("ghost-motion",), 2)])
def test_who_puts_the_block_back_also_sees_to_what_ails_the_arm(scripted, ails, opened):
    batch = scripted()
    batch.ails, batch.resets = ails, ["failed"]
    assert batch.run(0) is None
    assert batch.opened == opened
    assert [(s.start, s.by) for s in batch.of(SceneMade)] == [(0, "new world"), (1, "twin person")]
    assert batch.state.arm_s == batch.session._clock_s


def test_a_wait_for_the_arm_to_come_back_is_on_the_clock(scripted, monkeypatch):
    monkeypatch.setattr(module.Pause, "waits", lambda self, seconds: False)
    batch = scripted(stop_after_s=3.0)
    batch.unplugged = 2
    assert batch.run(0) is None
    assert [rest.seconds for rest in batch.of(Rested)] == [1.0, 2.0]
    assert batch.state.clock_s == batch.session._clock_s == 3.0
    assert batch.state.final == {}, "the time was up when it came back"


def test_a_run_id_that_is_taken_meanwhile_is_none_of_this_arms_logs(scripted):
    batch = scripted()
    taken = planned_run_id(batch.batch.plan(), 0)
    RunStore(batch.cell.runs_dir).create(RunHeader(started_at=AT), run_id=taken).close()
    assert batch.run(0) is None
    own = batch.state.final[0].run_id
    assert own != taken
    assert [name for kind, name in batch.session._logs.told if kind == "run"] == [
        own,
        *(batch.state.final[index].run_id for index in (1, 2, 3)),
    ]


def test_a_trial_that_was_cut_off_has_the_fault_that_its_plan_has(scripted):
    batch = scripted()
    plan = batch.batch.plan()
    ailing = plan.starts[0].model_copy(update={"fault": "ghost-motion"})
    plan = plan.model_copy(update={"starts": (ailing, *plan.starts[1:])})
    store = RunStore(batch.cell.runs_dir)
    for index in (0, 1):
        run_id = planned_run_id(plan, index)
        store.create(RunHeader(started_at=AT), run_id=run_id).close()
        batch.batch.add(TrialStarted(at=AT, start=index, run_id=run_id))
    ended = close_cut_off(batch.batch, BatchState.of(plan, batch.batch.events()), store)
    assert [(end.cut_off, end.faults) for end in ended] == [(True, ("ghost-motion",)), (True, ())]
