"""A run over the wire that is asked to stop, told to end, or killed, at each stage: arm, block, log, and the next run.

The served twin goes on as an arm of metal would, and its truth tells how the run left the desk.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from runner.twin.served import Addresses, TwinControl, TwinTime
from runs.check import check_log
from runs.store import RunStore

ROOT = Path(__file__).resolve().parents[3]
SEED = "13"
QUICK = ("arm.speed_percent=60", "arm.send_wait_s=0.3", "camera.captures=1", "gripper.pre_release_wait_s=0")
HOLDING = {"stage7_approach_place", "stage8_place"}
MAY_HOLD = HOLDING | {"stage5", "stage6", "stage9"}
KILLED = signal.SIGKILL


def trialcell_run(cell: Path, tcp: str, *more: str) -> subprocess.Popen[str]:
    settings = [part for s in (*QUICK, "arm.kind=mycobot-tcp", f"arm.address={tcp}") for part in ("--set", s)]
    command = [sys.executable, "-c", "from runner.cli.main import main; main()", "run", "--cell", str(cell), "--json"]
    return subprocess.Popen(
        [*command, *settings, *more],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for_stage(process: subprocess.Popen[str], cell: Path, stage: str) -> None:
    while process.poll() is None:
        events = next(iter(cell.glob("runs/run_*/events.jsonl")), None)
        if events is not None and f'"stage_started","data":{{"name":"{stage}"' in events.read_text(encoding="utf-8"):
            return
        time.sleep(0.01)
    raise AssertionError(process.communicate())


def at_rest(control: TwinControl) -> dict[str, Any]:
    """The truth once the arm stands; fails if it does not come to stand within ten of the twin's seconds."""
    clock, before = TwinTime(control), control.truth()
    for _ in range(10):
        clock.sleep(1.0)
        now = control.truth()
        if np.abs(np.subtract(now["angles_deg"], before["angles_deg"])).max() < 0.2:
            return now
        before = now
    raise AssertionError("the arm does not come to rest")


def check_block(truth: dict[str, Any]) -> None:
    """It is held, or it lies on the table or in the box: nobody has thrown it."""
    assert truth["block_held"] or truth["block_on_table"] or truth["block_in_box"]
    assert np.abs(truth["block_m"]).max() < 0.45


@pytest.mark.each_stage(how=(signal.SIGINT, signal.SIGTERM, KILLED), quick=[])
def test_a_run_that_is_ended_leaves_arm_block_and_log_in_order(serve, cell_copy, how, stage):
    told = serve("--tcp", "0", "--speedup", "6", cell=cell_copy).ready()
    control = TwinControl(Addresses.model_validate({k: v for k, v in told.items() if k != "cell"}))
    run = trialcell_run(cell_copy, told["tcp"], "--seed", SEED)
    wait_for_stage(run, cell_copy, stage)
    run.send_signal(how)
    out, err = run.communicate(timeout=180)
    assert "Traceback" not in err
    truth, store = at_rest(control), RunStore(cell_copy / "runs")
    check_block(truth)
    assert truth["beyond_limits"] == 0
    assert not truth["block_held"] or stage in MAY_HOLD
    if how == KILLED:
        log = store.recover("latest")
        assert (log.result, log.ending.stage) == ("crashed", stage)
        assert truth["block_held"] or stage not in HOLDING
    else:
        assert run.returncode == 130, err
        assert json.loads(out)["result"] == "stopped"
        log = store.open("latest").log
        assert log.ending.at_rest is True
        assert not truth["block_held"]  # it was set down, or let go in the box
        assert truth["angles_deg"] == pytest.approx([0, 0, 0, 0, 0, -30], abs=2.5)
    checked = check_log(log.run_id, store)
    assert checked.valid, checked.problems


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["stage4_pick", "stage6", "stage7_approach_place", "stage8_place", "stage10"])
def test_the_run_after_one_that_was_killed_says_what_it_found_and_throws_nothing(serve, cell_copy, stage):
    told = serve("--tcp", "0", "--speedup", "6", cell=cell_copy).ready()
    control = TwinControl(Addresses.model_validate({k: v for k, v in told.items() if k != "cell"}))
    killed = trialcell_run(cell_copy, told["tcp"], "--seed", SEED)
    wait_for_stage(killed, cell_copy, stage)
    killed.kill()
    killed.communicate()
    held = at_rest(control)["block_held"]
    run = trialcell_run(cell_copy, told["tcp"])
    out, err = run.communicate(timeout=300)
    assert "Traceback" not in err
    answer, truth = json.loads(out), at_rest(control)
    check_block(truth)
    log = RunStore(cell_copy / "runs").open("latest").log
    said = " ".join((err, str(answer.get("reason")), *(note.text for note in log.notes)))
    assert "gripper" in said or not held
    assert answer["result"] != "completed" or truth["block_in_box"]
