"""Killed programs, and stops from another terminal, with the arm behind a wire: what it does, and what comes next."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from runner.cell import open_cell
from runner.twin.serve import Doors, ServedTwin
from runner.twin.served import TwinControl, served_at
from runs.store import RunStore

ROOT = Path(__file__).resolve().parents[3]
PATIENCE_S = 120.0
QUICK = ("arm.speed_percent=50", "arm.send_wait_s=0.3", "camera.captures=1", "camera.settle_s=0.3")

pytestmark = pytest.mark.slow


@dataclass
class Desk:
    """A served twin that outlives the programs that drive it, and its cell."""

    cell: Path
    way: tuple[str, ...]
    control: TwinControl

    def begun(self, stage: str, *, seed: int = 7) -> subprocess.Popen[str]:
        """A run in a process of its own, at the moment at which the first motion of that stage is sent."""
        command = [sys.executable, "-c", "from runner.cli.main import main; main()", "run", "--cell", str(self.cell)]
        process = subprocess.Popen(
            [*command, "--seed", str(seed), "--json", *self.way],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        before = len(RunStore(self.cell / "runs").list())
        end_s = time.monotonic() + PATIENCE_S
        while time.monotonic() < end_s and process.poll() is None:
            entries = RunStore(self.cell / "runs").list()
            if len(entries) > before:
                events = (entries[-1].folder / "events.jsonl").read_text(encoding="utf-8")
                at = events.find(f'"stage_started","data":{{"name":"{stage}"')
                if at >= 0 and ('"kind":"guard"' in events[at:] or stage == "stage9"):
                    return process
            time.sleep(0.01)
        raise AssertionError(process.communicate())

    def angles_deg(self) -> np.ndarray:
        return np.array(self.control.truth()["angles_deg"])

    def settled_deg(self) -> np.ndarray:
        """The joints once they move no more; they must within a few of the twin's seconds."""
        for _ in range(60):
            first = self.angles_deg()
            self.wait(0.5)
            if np.abs(self.angles_deg() - first).max() < 0.05:
                return first
        raise AssertionError("the arm does not come to rest")

    def wait(self, seconds: float) -> None:
        """So much of the twin's time."""
        end_s = self.control.clock()[0] + seconds
        while self.control.clock()[0] < end_s:
            time.sleep(0.01)


@pytest.fixture
def desk(cell_copy) -> Iterator[Desk]:
    opened = open_cell(cell_copy)
    twin = ServedTwin(opened.config, "new", Doors(0, False), speedup=6.0)
    there = twin.start(cell_copy)
    settings = ("arm.kind=mycobot-tcp", f"arm.address={there.tcp}", *QUICK)
    found = served_at(cell_copy, str(there.tcp))
    assert found is not None
    control = TwinControl(found)
    yield Desk(cell_copy, tuple(part for setting in settings for part in ("--set", setting)), control)
    control.close()
    twin.close()


@pytest.mark.parametrize("stage", ["stage4_pick", "stage6", "stage7_approach_place", "stage8_place", "stage9"])
def test_killed_the_arm_holds_still_keeps_what_it_holds_and_the_next_run_goes_on(desk, trialcell, stage):
    process = desk.begun(stage)
    process.kill()
    process.communicate()
    desk.settled_deg()
    truth: dict[str, Any] = desk.control.truth()
    if stage in ("stage6", "stage7_approach_place", "stage8_place"):
        assert truth["block_held"] or truth["block_on_table"]
    told = trialcell("doctor", "--quick", "--cell", desk.cell, "--json", *desk.way)
    assert any(f"cut off in {stage}" in row["told"] for row in told.object["checks"])
    told = trialcell("run", "--cell", desk.cell, "--json", *desk.way)
    assert told.code == (3 if truth["block_in_box"] else 0), (told.out, told.err)
    store = RunStore(desk.cell / "runs")
    said = [note.text for note in store.open("latest").log.notes if "was cut off" in note.text]
    assert len(said) == 1
    assert f"cut off in {stage}" in said[0]
    assert [entry.state for entry in store.list()] == ["complete", "complete"]
    assert desk.control.truth()["block_in_box"]


def test_a_stop_from_another_terminal_holds_the_arm_still_in_its_motion(desk, trialcell):
    process = desk.begun("stage7_approach_place")
    assert trialcell("stop", "--cell", desk.cell, "--by", "Maya", "--why", "a hand").code == 0
    stood = desk.settled_deg()
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, (out, err)
    log = RunStore(desk.cell / "runs").open("latest").log
    goal = np.array(next(m for m in reversed(log.lookups) if m.label == "stage7_approach_place").target_angles)
    assert (log.ending.result, log.ending.block_held) == ("stopped", True)
    assert np.abs(stood - goal).max() > 5.0
    assert np.abs(desk.angles_deg() - stood).max() < 0.2
    refused = trialcell("run", "--cell", desk.cell, *desk.way)
    assert refused.code == 3
    assert trialcell("arm", "home", "--cell", desk.cell, *desk.way).code == 3
    assert trialcell("stop", "--clear", "--by", "Maya", "--cell", desk.cell).code == 0
    assert trialcell("run", "--cell", desk.cell, "--json", *desk.way).code == 0
    assert desk.control.truth()["block_in_box"]
