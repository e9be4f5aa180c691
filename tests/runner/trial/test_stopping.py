"""Ctrl-C at every stage, once and twice: the trial ends stopped, the arm at rest, the block not dropped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from runner.trial.errors import Stopped
from runner.trial.stop import StoppableClock, StopSwitch, listening
from runs.check import check_log
from runs.events import StageStarted
from runs.schema.motion import GuardRecord
from runs.store import RunStore

ROOT = Path(__file__).resolve().parents[3]
CLI = "from runner.cli.main import main; main()"
ANSWERS = {"pick": ["yes"], "place": ["yes"]}
HOLDING = {"stage6", "stage7_approach_place", "stage8_place"}


@pytest.mark.each_stage(quick=["stage9"])
def test_asked_once_the_trial_sets_the_block_down_goes_home_and_ends_stopped(play, press_at, stage):
    played = play(answers=ANSWERS, on=press_at(StageStarted, stage))
    log = played.log
    assert (log.result, log.ending.stage, log.ending.reason) == ("stopped", stage, "stopped by a person")
    assert log.ending.block_held is False
    assert not played.truth.block_held
    assert played.drops_mm == []
    assert played.truth.angles_deg == pytest.approx([0, 0, 0, 0, 0, -30], abs=2.5)
    assert played.truth.block_in_box == (stage in {"stage9", "stage9b_judge_place", "stage10"})
    assert all(outcome in {"done", "stopped"} for _, outcome in played.stages)
    played.check_at_rest()


@pytest.mark.each_stage(quick=["stage7_approach_place"])
def test_asked_twice_the_arm_holds_still_at_once_and_keeps_what_it_holds(play, press_at, stage):
    played = play(answers=ANSWERS, on=press_at(StageStarted, stage, times=2))
    log = played.log
    assert (log.result, log.ending.stage) == ("stopped", stage)
    assert log.ending.reason == "stopped by a person at once"
    assert played.stages[-1] == (stage, "stopped")
    assert any("holds still" in note.text for note in log.notes)
    assert played.truth.block_held == (stage in HOLDING - {"stage6"})
    assert log.ending.block_held in ((True,) if stage in HOLDING else (False, None))
    assert played.drops_mm == []
    played.check_at_rest()


def test_the_motion_in_flight_is_finished_when_asked_once(play, press_at):
    played = play(answers=ANSWERS, on=press_at(GuardRecord, "stage7_approach_place"))
    move = next(move for move in played.log.moves if move.label == "stage7_approach_place")
    assert move.arrived
    assert (played.log.result, played.log.ending.stage) == ("stopped", "stage7_approach_place")
    assert played.truth.block_on_table
    assert played.drops_mm == []
    played.check_at_rest()


def test_the_motion_in_flight_is_broken_off_when_asked_twice(play, press_at):
    played = play(answers=ANSWERS, on=press_at(GuardRecord, "stage7_approach_place", times=2))
    assert [move.arrived for move in played.log.moves if move.label == "stage7_approach_place"] == [False]
    assert played.log.ending.block_held is True
    assert played.truth.block_held
    played.check_at_rest()


def test_asked_again_on_the_way_to_rest_it_holds_still_there(play, press_at):
    first, second = press_at(StageStarted, "stage7_approach_place"), press_at(GuardRecord, "rest_above_start", times=2)

    def on(record, switch):
        first(record, switch)
        second(record, switch)

    played = play(answers=ANSWERS, on=on)
    assert played.log.result == "stopped"
    assert played.stages[-1] == ("rest", "stopped")
    assert played.log.ending.block_held is True
    played.check_at_rest()


def test_a_switch_is_heard_once_and_twice_means_now():
    switch = StopSwitch()
    switch.check()
    switch.press()
    assert (switch.asked, switch.now) == (True, False)
    with pytest.raises(Stopped, match=r"by a person$"):
        switch.check()
    switch.heard()
    switch.check()
    switch.press()
    with pytest.raises(Stopped, match="at once"):
        switch.check()


def test_the_clock_gives_up_waiting_only_when_asked_twice():
    class Clock:
        def __init__(self):
            self.t = 0.0

        def now_s(self):
            return self.t

        def sleep(self, seconds):
            self.t += seconds
            if self.t > 1.0:
                switch.press()

    switch = StopSwitch()
    clock = StoppableClock(Clock(), switch)
    clock.sleep(1.0)
    assert clock.now_s() == pytest.approx(1.0)
    clock.sleep(0.2)
    assert switch.asked
    assert not switch.now
    with pytest.raises(Stopped):
        clock.sleep(60.0)
    assert clock.now_s() < 2.0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_press_the_switch_and_the_handlers_of_before_come_back(number):
    before, switch, told = signal.getsignal(number), StopSwitch(), []
    with listening(switch, on_first=lambda: told.append("once")):
        signal.raise_signal(number)
        assert (switch.asked, switch.now) == (True, False)
        signal.raise_signal(number)
        assert switch.now
    assert told == ["once"]
    assert signal.getsignal(number) is before


def test_away_from_the_main_thread_no_handler_is_touched():
    before, inside = signal.getsignal(signal.SIGINT), []

    def run():
        with listening(StopSwitch()):
            inside.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert inside == [before]


def started(cell: Path, *more: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", CLI, "run", "--cell", str(cell), "--seed", "13", "--json", *more]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for(process: subprocess.Popen[str], cell: Path, words: str) -> None:
    """Until the run's events hold these words."""
    while process.poll() is None:
        events = next(iter(cell.glob("runs/run_*/events.jsonl")), None)
        if events is not None and words in events.read_text(encoding="utf-8"):
            return
        time.sleep(0.01)
    raise AssertionError(process.communicate())


@pytest.mark.parametrize("times", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_real_ctrl_c_is_130_with_one_object_and_a_valid_log(cell_copy, times):
    process = started(cell_copy)
    wait_for(process, cell_copy, '"stage3_approach_pick"')
    for _ in range(times):
        os.kill(process.pid, signal.SIGINT)
        time.sleep(0.02)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    told = json.loads(out)
    assert told["result"] == "stopped"
    assert told["reason"] == "stopped by a person" + (" at once" if times == 2 else "")
    store = RunStore(cell_copy / "runs")
    assert check_log(told["run_id"], store).valid
    assert store.open("latest").log.ending.at_rest is True
    assert "Traceback" not in err


def killed_and_recovered(cell: Path, seconds: float) -> None:
    before = len(RunStore(cell / "runs").list())
    process = started(cell)
    while process.poll() is None and len(RunStore(cell / "runs").list()) == before:
        time.sleep(0.01)
    time.sleep(seconds)
    process.kill()
    process.communicate()
    store = RunStore(cell / "runs")
    run_id = store.find("latest").run_id
    lines = (store.runs_dir / run_id / "events.jsonl").read_bytes().count(b"\n")
    log = store.recover(run_id)
    checked = check_log(run_id, store)
    assert checked.valid, checked.problems
    assert checked.pictures_missing == 0
    if process.returncode == -signal.SIGKILL and log.recovered:
        assert log.result == "crashed"
        assert 1 + len(log.detect) + len(log.moves) + len(log.vlm_captures) <= lines


@pytest.mark.parametrize("part", [0.45, *(pytest.param(part, marks=pytest.mark.slow) for part in (0.1, 0.8))])
def test_killed_at_any_moment_the_log_is_recovered(cell_copy, part):
    killed_and_recovered(cell_copy, 3.0 * part)


@pytest.mark.slow
def test_killed_at_thirty_random_moments_the_log_is_recovered_each_time(cell_copy):
    import random

    moments = random.Random(270)
    for _ in range(30):
        killed_and_recovered(cell_copy, moments.uniform(0.0, 6.0))
