"""Whole trials in process: played on the twin with a watched arm, hooks for faults, and the truth of the end."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from judges.measured import MeasuredJudge
from judges.protocol import Evidence
from judges.scripted import ScriptedJudge
from runner.arms.arrival import MoveControl
from runner.arms.guard import GuardedArm
from runner.cell import open_cell
from runner.rig import Request, build_rig
from runner.trial.sequence import run_trial
from runner.trial.stop import StopSwitch
from runner.twin.setup import Twin
from runner.twin.world import Truth
from runs.check import check_log
from runs.schema.run import RunLog
from runs.schema.verdict import Verdict
from runs.store import RunStore

QUICK = (
    "arm.speed_percent=80",
    "arm.send_wait_s=0.2",
    "gripper.wait_s=1.3",
    "gripper.pre_release_wait_s=0",
    "camera.captures=1",
    "camera.settle_s=0.3",
)
"""Settings that make a trial short; how it goes is the same."""


SET_DOWN_MM = 1.0
"""A block let go no higher over the table than this was set down, not dropped."""


class WatchedArm:
    """The twin's arm, with the truth kept at every opening of the jaws. `trouble` is called before each reading."""

    def __init__(self, twin: Twin, trouble: Callable[[str], None], *, mute: bool, jams: Callable[[int], bool]) -> None:
        self._inner, self._twin, self._trouble, self._mute, self._jams = twin.arm, twin, trouble, mute, jams
        self.opened_at: list[Truth] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def read_angles_deg(self):
        self._trouble("read_angles_deg")
        return self._inner.read_angles_deg()

    def read_gripper_value(self):
        self._trouble("read_gripper_value")
        return None if self._mute else self._inner.read_gripper_value()

    def send_path(self, waypoints_deg, *, speed_percent):
        self._trouble("send_path")
        self._inner.send_path(waypoints_deg, speed_percent=speed_percent)

    def send_gripper_open(self) -> None:
        self.opened_at.append(self._twin.truth())
        if not self._jams(len(self.opened_at)):
            self._inner.send_gripper_open()


class WatchedCamera:
    """The twin's camera; `trouble` is called before each picture."""

    def __init__(self, twin: Twin, trouble: Callable[[str], None]) -> None:
        self._inner, self._trouble = twin.camera, trouble

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def read(self):
        self._trouble("camera")
        return self._inner.read()


@dataclass
class Played:
    """A trial that was played, and how things stood two seconds after its end."""

    log: RunLog
    truth: Truth
    twin: Twin
    opened_at: list[Truth]
    moved_afterwards_deg: float
    store: RunStore
    records: list[Any] = field(default_factory=list)
    judge: Any = None

    @property
    def folder(self) -> Path:
        return self.store.runs_dir / self.log.run_id

    @property
    def stages(self) -> list[tuple[str, str]]:
        return [(stage.name, stage.outcome) for stage in self.log.stage_records]

    @property
    def drops_mm(self) -> list[float]:
        """How high the block was held wherever the jaws were opened on it in the air, but over the box."""
        half_mm = self.twin.config.block.side_mm / 2
        held = [t for t in self.opened_at if t.block_held and np.hypot(*np.subtract(t.block_m, t.box_m)[[0, 2]]) > 0.05]
        heights = [t.block_m[1] * 1000 - half_mm for t in held]
        return [height for height in heights if height > SET_DOWN_MM]

    def check_at_rest(self) -> None:
        """What holds after every trial, however it ended: a valid and complete log, and an arm that moves no more."""
        checked = check_log(self.log.run_id, self.store)
        assert checked.valid, checked.problems
        assert self.store.open(self.log.run_id).log == self.log
        assert self.log.ending.at_rest is True
        assert self.moved_afterwards_deg < 0.2
        assert all(stage.outcome != "cut_off" and stage.duration_s is not None for stage in self.log.stage_records)
        jaws = self.twin.world.scene.arm.data.gripper
        closed_on_it = self.truth.block_on_table and self.truth.jaw_opening_theta_rad < jaws.theta_open_rad - 0.1
        told = self.log.ending.block_held
        if told is not None:
            assert told == (self.truth.block_held or (told and closed_on_it)), "what the log says of the block is wrong"


def play_trial(
    cell: Path,
    seed: int = 13,
    *,
    overrides: Sequence[str] = (),
    quick: bool = True,
    answers: Mapping[str, Sequence[str]] | None = None,
    judge: Any = None,
    on: Callable[[Any, StopSwitch], None] = lambda record, switch: None,
    trouble: Callable[[str], None] = lambda name: None,
    arrange: Callable[[Twin], None] = lambda twin: None,
    mute_gripper: bool = False,
    jams: Callable[[int], bool] = lambda opening: False,
    into: list[Played] | None = None,
    **request: Any,
) -> Played:
    """Play one trial.

    Args:
        answers: of a scripted judge; the cell's own judge where neither this nor `judge` is given.
        on: told every record as it is written, with the stop switch.
        trouble: called before the arm is read or sent and before each picture; may raise what a driver would.
        arrange: puts things elsewhere on the twin's desk before the trial.
        mute_gripper: the gripper never says where it is.
        jams: whether the jaws stay as they are at the n-th command to open, from 1.
        into: gets a trial that raises.
        request: `block_xz_m`, `box_xz_m`, `dry_run`.
    """
    opened = open_cell(cell, [*(QUICK if quick else ()), *overrides])
    switch, store, records = StopSwitch(), RunStore(opened.runs_dir), []
    with build_rig(opened, Request(seed=seed, **request), switch=switch, progress=lambda _: None) as rig:
        arrange(rig.twin)
        arm = WatchedArm(rig.twin, trouble, mute=mute_gripper, jams=jams)
        guard = GuardedArm(arm, rig.bench.base, rig.bench.arm.rules)
        guard.obstacles = rig.bench.arm.obstacles
        bench = replace(
            rig.bench,
            arm=guard,
            mover=MoveControl(guard, rig.bench.clock, rig.bench.base, opened.config.arm),
            camera=WatchedCamera(rig.twin, trouble),
            judge=judge or (rig.bench.judge if answers is None else ScriptedJudge(answers)),
        )

        def observe(record: Any) -> None:
            records.append(record)
            on(record, switch)

        def ended(log: RunLog) -> Played:
            rig.twin.clock.sleep(1.0)
            stood = rig.twin.arm.read_angles_deg()
            rig.twin.clock.sleep(1.0)
            moved = float(np.abs(rig.twin.arm.read_angles_deg() - stood).max())
            return Played(log, rig.twin.truth(), rig.twin, arm.opened_at, moved, store, records, bench.judge)

        try:
            return ended(run_trial(bench, store, switch=switch, observer=observe))
        except BaseException:
            if into is not None:
                into.append(ended(store.open("latest").log))
            raise


@pytest.fixture
def play(cell_copy):
    """Plays a trial in a cell of the test's own: `play(answers={"pick": ["no", "yes"]}, on=…)`, see `play_trial`."""

    def playing(*args: Any, cell: Path = cell_copy, **how: Any) -> Played:
        return play_trial(cell, *args, **how)

    return playing


@pytest.fixture(scope="session")
def good_trial(prepared_cell, tmp_path_factory) -> Played:
    """One trial that completed with the measuring judge, for tests that only read."""
    folder = tmp_path_factory.mktemp("good") / "cell"
    shutil.copytree(prepared_cell, folder, ignore=shutil.ignore_patterns("cell.lock*"))
    return play_trial(folder, judge=Witness())


class Witness:
    """The measuring judge, with what it was shown kept in `shown`."""

    name = "measured"

    def __init__(self) -> None:
        self.shown: list[Evidence] = []

    def judge(self, evidence: Evidence) -> Verdict:
        self.shown.append(evidence)
        return MeasuredJudge().judge(evidence)


@pytest.fixture
def press_at():
    """`press_at(StageStarted, "stage5", times=2)` presses the stop switch when that record is first written."""

    def make(kind: type, name: str, times: int = 1):
        def on(record: Any, switch: StopSwitch) -> None:
            if isinstance(record, kind) and name in (getattr(record, "name", None), getattr(record, "label", None)):
                while not (switch.now if times > 1 else switch.asked):
                    switch.press()

        return on

    return make
