"""A program that died: the next trial says what it found, sets down what is held, and goes on."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from runner.arms.arrival import MoveControl
from runner.arms.guard import GuardedArm
from runner.cell import open_cell
from runner.rig import Request, Rig, build_rig
from runner.trial.found import what_was_under_way
from runner.trial.sequence import run_trial
from runner.trial.stop import StopSwitch
from runs.emptied import note_emptied
from runs.errors import StorageUnwritable
from runs.events import RunHeader, StageStarted
from runs.latch import StopLatch
from runs.schema.motion import GripperRecord
from runs.schema.run import Ending, RunLog
from runs.store import RunStore

QUICK = (
    "arm.speed_percent=80",
    "arm.send_wait_s=0.1",
    "gripper.wait_s=1.3",
    "gripper.pre_release_wait_s=0",
    "camera.captures=1",
    "camera.settle_s=0.3",
)
SET_DOWN_MM = 1.0


class DyingArm:
    """The twin's arm under a program that can be made to die at a reading: then nobody says stop to it."""

    def __init__(self, inner: Any) -> None:
        self._inner, self.left, self.dead, self.silent = inner, None, False, False
        self.opened_at: list[Any] = []
        self.truth: Callable[[], Any] = lambda: None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def read_angles_deg(self):
        self._perhaps_die()
        return self._inner.read_angles_deg()

    def read_gripper_value(self):
        self._perhaps_die()
        return None if self.silent else self._inner.read_gripper_value()

    def send_gripper_open(self) -> None:
        self.opened_at.append(self.truth())
        self._inner.send_gripper_open()

    def stop(self) -> None:
        if not self.dead:
            self._inner.stop()

    def _perhaps_die(self) -> None:
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                self.left, self.dead = None, True
                raise StorageUnwritable("runs", "killed")


@dataclass
class Desk:
    """One twin that outlives the programs that drive it."""

    rig: Rig
    arm: DyingArm
    store: RunStore

    def run(self, *, die_in: str | None = None, after: int = 2, **settings: Any) -> RunLog | None:
        """A trial; with `die_in` its program dies at the n-th reading of the arm in that stage, and None comes back."""
        config = self.rig.bench.config
        trial = config.trial.model_copy(update=settings)
        guard = GuardedArm(self.arm, self.rig.bench.base, self.rig.bench.arm.rules)
        guard.obstacles = self.rig.bench.arm.obstacles
        bench = replace(
            self.rig.bench,
            config=config.model_copy(update={"trial": trial}),
            arm=guard,
            mover=MoveControl(guard, self.rig.bench.clock, self.rig.bench.base, config.arm),
        )
        self.arm.dead = False

        def observe(record: Any) -> None:
            if isinstance(record, StageStarted) and record.name == die_in:
                self.arm.left = after

        try:
            log = run_trial(bench, self.store, switch=StopSwitch(), observer=observe)
        except StorageUnwritable:
            self.rig.twin.clock.sleep(4.0)
            return None
        finally:
            self.arm.left = None
        return log

    @property
    def dropped_mm(self) -> list[float]:
        """How high the block was held wherever the jaws were opened on it, but over the box."""
        half = self.rig.bench.config.block.side_mm / 2
        held = [t for t in self.arm.opened_at if t.block_held]
        away = [t for t in held if np.hypot(*np.subtract(t.block_m, t.box_m)[[0, 2]]) > 0.05]
        return [h for t in away if (h := t.block_m[1] * 1000 - half) > SET_DOWN_MM]


@pytest.fixture
def desk(cell_copy) -> Iterator[Desk]:
    with _desk(cell_copy) as made:
        yield made


@contextmanager
def _desk(cell) -> Iterator[Desk]:
    opened = open_cell(cell, QUICK)
    with build_rig(opened, Request(seed=13), switch=StopSwitch(), progress=lambda _: None) as rig:
        arm = DyingArm(rig.twin.arm)
        arm.truth = rig.twin.truth
        yield Desk(rig, arm, RunStore(opened.runs_dir))


@pytest.mark.each_stage(after=(0, 2, 5), quick=[("stage8_place", 2)])
def test_the_next_trial_says_what_it_found_and_goes_on_to_its_end(desk, stage, after):
    if desk.run(die_in=stage, after=after) is not None:
        pytest.skip("that stage reads the arm less often")
    before = what_was_under_way(desk.store)
    assert before is not None
    assert before.cut_off
    delivered = desk.rig.twin.truth().block_in_box
    log = desk.run()
    (said,) = [note.text for note in log.notes if before.run_id in note.text]
    assert f"cut off in {before.stage}" in said
    assert desk.store.open(before.run_id).entry.state == "complete"
    assert desk.dropped_mm == []
    assert (log.ending.at_rest, log.ending.block_held) == (True, False)
    assert log.result == ("invalid" if delivered else "completed"), log.ending
    assert desk.rig.twin.truth().block_in_box
    assert what_was_under_way(desk.store) is None


@pytest.mark.slow
def test_at_the_place_of_the_settings(desk):
    assert desk.run(die_in="stage7_approach_place") is None
    assert desk.rig.twin.truth().block_held
    log = desk.run(found_held="place", found_place_xz_m=(0.10, 0.20), max_pick_attempts=1)
    assert "at the place of the settings, (100, 200) mm" in " ".join(note.text for note in log.notes)
    assert np.hypot(*np.subtract(log.detect[0].block_xz_m, (0.10, 0.20))) < 0.006
    assert desk.dropped_mm == []
    assert log.result == "completed"


@pytest.mark.slow
def test_a_person_is_asked_and_until_then_nothing_moves(desk):
    assert desk.run(die_in="stage7_approach_place") is None
    stood = desk.rig.twin.truth()
    first = desk.run(found_held="ask")
    second = desk.run(found_held="ask")
    for log in (first, second):
        assert (log.result, log.ending.stage) == ("invalid", "stage1")
        assert "a person is to take it out" in log.ending.reason
        assert (log.ending.at_rest, log.ending.block_held, log.moves) == (True, True, ())
    assert desk.rig.twin.truth().angles_deg == pytest.approx(stood.angles_deg, abs=0.1)
    assert desk.rig.twin.truth().block_held
    log = desk.run()  # told otherwise, it knows from the first run where the block belongs
    assert log.result == "completed"
    assert desk.dropped_mm == []


def test_what_is_held_and_no_run_knows_of_is_held_still(desk):
    assert desk.run(die_in="stage7_approach_place") is None
    for entry in desk.store.list():
        (entry.folder / "events.jsonl").write_bytes(b"")
    log = desk.run()
    assert (log.result, log.ending.stage, log.moves) == ("invalid", "stage1", ())
    assert "was cut off, and its log can't be read" in log.ending.reason
    assert "where it came from is not known" in log.ending.reason
    assert log.ending.block_held is True
    assert desk.rig.twin.truth().block_held


@pytest.mark.slow
def test_a_latched_stop_keeps_what_was_held_in_mind(desk):
    assert desk.run(die_in="stage7_approach_place") is None
    latch = StopLatch(desk.store.runs_dir.parent)
    latch.set(by="Maya", why="looking")
    refused = desk.run()
    assert (refused.result, refused.ending.block_held, refused.moves) == ("refused", None, ())
    before = what_was_under_way(desk.store)
    assert before.may_hold
    assert before.pick is not None


@pytest.mark.slow
def test_what_somebody_put_between_the_jaws_is_held_still(desk):
    assert desk.run(die_in="stage7_approach_place") is None
    for entry in desk.store.list():
        shutil.rmtree(entry.folder)
    log = desk.run()
    assert (log.result, log.ending.stage, log.moves) == ("invalid", "stage1", ())
    assert "no run says where it came from" in log.ending.reason
    assert log.ending.block_held is True


@pytest.mark.slow
def test_a_gripper_that_gives_no_answer_is_not_said_to_be_empty(desk):
    desk.arm.silent = True
    desk.arm.send_path(np.array([[20.0, 10.0, 0.0, 0.0, 10.0, -30.0]]), speed_percent=80)
    desk.rig.twin.clock.sleep(3.0)
    log = desk.run()
    assert (log.result, log.ending.stage, log.moves) == ("invalid", "stage1", ())
    assert "gave no answer, and no run says whether it holds something" in log.ending.reason
    assert log.ending.block_held is not False
    assert desk.arm.opened_at == []
    again = desk.run()  # the run before knew no more
    assert (again.result, again.moves) == ("invalid", ())
    assert what_was_under_way(desk.store).may_hold
    note_emptied(desk.store.runs_dir.parent)  # as `trialcell arm open` does
    assert desk.run().result != "invalid"


def ended(store: RunStore, ending: Ending | None, *gripper: GripperRecord, stage: str = "stage5") -> str:
    writer = store.create(RunHeader())
    writer.stage_started(stage)
    for record in gripper:
        writer.add(record)
    if ending is None:
        writer.close()
    else:
        writer.finish(ending)
    return writer.run_id


def ending(*, at_rest: bool | None, block_held: bool | None) -> Ending:
    return Ending(result="crashed", stage="stage7", reason="a test", at_rest=at_rest, block_held=block_held)


def act(action: str) -> GripperRecord:
    return GripperRecord(stage="stage5_grip_close", action=action)


def test_what_the_log_says_of_the_jaws(tmp_path):
    store = RunStore(tmp_path / "runs")
    assert what_was_under_way(store) is None
    ended(store, ending(at_rest=True, block_held=False))
    assert what_was_under_way(store) is None


@pytest.mark.parametrize("cut_off", [True, False])
def test_a_last_run_that_can_t_be_read_may_have_left_anything_whatever_those_before_say(tmp_path, cut_off):
    store = RunStore(tmp_path / "runs")
    ended(store, None, act("close"), act("open"), stage="stage9")
    last = store.find(ended(store, None if cut_off else ending(at_rest=True, block_held=False))).folder
    (last / "events.jsonl").write_bytes(b"{torn")
    if not cut_off:
        (last / "run.json").write_text("{")
    under_way = what_was_under_way(store)
    assert (under_way.run_id, under_way.may_hold, under_way.readable) == (last.name, True, False)
    assert ("was cut off" in under_way.sentence) is cut_off
    ended(store, ending(at_rest=False, block_held=False))
    assert not what_was_under_way(store).may_hold
    ended(store, ending(at_rest=True, block_held=None))
    assert what_was_under_way(store).may_hold
    ended(store, None, act("close"), stage="stage6")
    assert what_was_under_way(store).may_hold
    assert what_was_under_way(store).sentence.endswith("was cut off in stage6")
    ended(store, None, act("close"), act("open"), stage="stage9")
    assert not what_was_under_way(store).may_hold
    ended(store, None, act("close"))
    ended(store, None, stage="stage1")  # it never came to ask the gripper
    under_way = what_was_under_way(store)
    assert under_way.may_hold
    assert under_way.stage == "stage1"
    store.recover("latest")
    assert what_was_under_way(store).may_hold
    (store.find("latest").folder / "run.json").unlink()
    (store.find("latest").folder / "events.jsonl").write_bytes(b"{torn")
    damaged = what_was_under_way(store)
    assert (damaged.may_hold, damaged.readable, damaged.cut_off) == (True, False, True)
    assert damaged.sentence.endswith("its log can't be read")
    ended(store, ending(at_rest=True, block_held=False))
    assert what_was_under_way(store) is None
