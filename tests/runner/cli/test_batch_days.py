"""Batches over days: hot servos are rested inside one, an arm that is gone for a while is reached again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from runs.batch_records import ResetEnded, Rested, TrialEnded
from runs.batches import BatchStore
from runs.store import RunStore

ROOT = Path(__file__).resolve().parents[3]
CLI = "from runner.cli.main import main; main()"
PATIENCE_S = 600.0  # for a machine with much else to do
QUICK = [
    arg
    for setting in (
        "arm.speed_percent=80",
        "arm.send_wait_s=0.1",
        "gripper.wait_s=1.3",
        "gripper.pre_release_wait_s=0",
        "camera.captures=1",
        "camera.settle_s=0.3",
    )
    for arg in ("--set", setting)
]


@pytest.mark.slow
def test_hot_servos_are_rested_inside_a_batch_and_their_rest_is_no_work(trialcell, cell_copy):
    hot = [arg for setting in ("twin.servos_c=57", "arm.rest_until_c=55") for arg in ("--set", setting)]
    told = trialcell("batch", 2, "--workers", 1, *QUICK, *hot, "--json", "--cell", cell_copy)
    assert told.code == 0, told.err
    assert told.object["finished"] == told.object["success"]["n"] == 2
    events = BatchStore(cell_copy).find("latest").events()
    first, second = (event for event in events if isinstance(event, TrialEnded))
    assert first.rested_s > 30.0
    assert second.rested_s == 0.0
    assert told.object["rested_s"] == first.rested_s
    worked_s = sum(e.duration_s - e.rested_s for e in events if isinstance(e, TrialEnded | ResetEnded))
    assert told.object["units_per_hour"] == pytest.approx(2 / worked_s * 3600.0)


@pytest.mark.slow
def test_an_arm_and_a_camera_that_are_gone_for_a_while_are_reached_again(trialcell, serve, cell_copy):
    """The served twin is held still in the middle of a carry, for longer than anybody waits for an answer."""
    serving = serve("--tcp", "0", "--speedup", "2", "--seed", "5", cell=cell_copy)
    there = serving.ready()
    wire = ("arm.kind=mycobot-tcp", f"arm.address={there['tcp']}", "arm.speed_percent=60", "camera.captures=1")
    settings = [arg for setting in wire for arg in ("--set", setting)]
    command = [sys.executable, "-c", CLI, "batch", "2", *settings, "--json", "--cell", str(cell_copy)]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    running = subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    _until(lambda: _wrote(cell_copy, '"name":"stage7_approach_place"') or running.poll() is not None)
    serving.process.send_signal(signal.SIGSTOP)
    try:
        _until(lambda: _wrote(cell_copy, '"kind":"run_ended"') or running.poll() is not None)
    finally:
        serving.process.send_signal(signal.SIGCONT)
    out, err = running.communicate(timeout=PATIENCE_S)
    assert running.returncode == 0, out + err
    told = trialcell("batch", "status", "--json", "--cell", cell_copy).object
    assert (told["finished"], told["calls"]) == (2, [])
    assert told["finished_crashed"] == 1
    assert told["success"]["successes"] == 1
    assert told["resets"]["done"] >= 1, "what it held is set down, and the block put to its start"
    log = RunStore(cell_copy / "runs").list()[0]
    assert RunStore(cell_copy / "runs").open(log.run_id).log.result == "crashed"
    events = list(BatchStore(cell_copy).find("latest").events())
    assert all(event.seconds > 0 for event in events if isinstance(event, Rested))


def _wrote(cell: Path, text: str) -> bool:
    return any(text in path.read_text(encoding="utf-8") for path in cell.glob("runs/*/events.jsonl"))


def _until(so) -> None:
    end_s = time.monotonic() + PATIENCE_S
    while not so():
        assert time.monotonic() < end_s
        time.sleep(0.1)
