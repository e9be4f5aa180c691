"""What the tests of the command line share: calling it, golden logs, a cell with runs in it, a served twin."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from judges.certificate import CameraPart, Certificate, Counts, LightPart, Part
from runner.cli.main import run
from runs.schema.run import Ending
from runs.store import RunHeader, RunStore

ROOT = Path(__file__).resolve().parents[3]
PATIENCE_S = 60.0  # for a machine with much else to do


@dataclass(frozen=True)
class Told:
    """What a command line gave back."""

    code: int
    out: str
    err: str

    @property
    def object(self) -> dict[str, Any]:
        """The one object on stdout; fails where there is more or less than one."""
        found = json.loads(self.out)
        assert isinstance(found, dict)
        return found


@pytest.fixture
def trialcell(capsys, monkeypatch) -> Callable[..., Told]:
    monkeypatch.delenv("TRIALCELL_DIR", raising=False)
    monkeypatch.setenv("COLUMNS", "110")

    def call(*args: object) -> Told:
        capsys.readouterr()
        code = run([str(arg) for arg in args])
        caught = capsys.readouterr()
        return Told(code, caught.out, caught.err)

    return call


@pytest.fixture
def golden() -> Path:
    return ROOT / "tests" / "golden" / "runs"


@pytest.fixture
def cell(tmp_path) -> Path:
    """A cell with three runs: one completed, one refused, one cut off."""
    store = RunStore(tmp_path / "cell" / "runs")
    first = store.create(RunHeader(started_at="2026-07-03T13:23:10Z"))
    first.picture("pick", b"a picture")
    first.finish(Ending(result="completed", stage="stage10", reason="the block is in the box"), duration_s=71.5)
    second = store.create(RunHeader(started_at="2026-07-03T13:25:10Z", dry_run=True))
    second.stage_started("stage4_pick", started_s=8.0)
    second.finish(
        Ending(result="refused", stage="stage4_pick", reason="the elbow would touch the box"), duration_s=12.5
    )
    third = store.create(RunHeader(started_at="2026-07-03T13:27:10Z"))
    third.stage_started("stage2", started_s=1.0)
    third.close()
    return tmp_path / "cell"


@pytest.fixture
def certificate_for() -> Callable[..., Certificate]:
    """A certificate for a place by that judge, model, rubric and camera: right on 90 of 100 of each kind."""

    def make(judge: str, model: str | None, template_hash: str | None, camera: CameraPart) -> Certificate:
        return Certificate(
            judge=judge,
            stage="place",
            certified=True,
            why="right on 90 of 100 successes and on 90 of 100 failures",
            made_at="2026-07-03T13:23:10.000Z",
            parts=(Part(judge=judge, model=model, template_hash=template_hash),),
            cameras=(camera,),
            light=LightPart(names=("day",), low_level=80.0, high_level=100.0),
            labels_from=("by hand",),
            counts=Counts(yes_yes=90, yes_no=10, yes_unsure=0, yes_none=0, no_yes=10, no_no=90, no_unsure=0, no_none=0),
            tpr_low=0.83,
            tnr_low=0.83,
            risk=0.05,
            threshold=None,
            sensitivity=(90, 100),
            specificity=(90, 100),
        )

    return make


class Serving:
    """One server and what it said when it was ready."""

    def __init__(self, cell: Path, *options: str) -> None:
        self.cell = cell
        command = [sys.executable, "-c", "from runner.cli.main import main; main()", "twin", "serve", *options]
        self.process = subprocess.Popen(
            [*command, "--cell", str(cell), "--json"],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def ready(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.process.communicate()[1]
        return json.loads(line)

    def end(self, how: int = signal.SIGTERM) -> int:
        self.process.send_signal(how)
        return self.process.wait(PATIENCE_S)


@pytest.fixture
def serve(tmp_path) -> Iterator[Callable[..., Serving]]:
    started = []

    def make(*options: str, cell: Path = tmp_path / "cell") -> Serving:
        started.append(Serving(cell, *options))
        return started[-1]

    yield make
    for serving in started:
        serving.process.kill()
        serving.process.communicate()
