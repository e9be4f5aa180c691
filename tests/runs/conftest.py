"""What the tests of the record share: golden logs, the field's log where it is present, stores, a child to kill."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from runs.schema.detection import DetectRecord
from runs.schema.motion import GripperRecord, GuardRecord, LookupRecord, MoveRecord
from runs.store import RunHeader, RunStore

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def golden() -> Path:
    return ROOT / "tests" / "golden" / "runs"


@pytest.fixture
def store(tmp_path) -> RunStore:
    return RunStore(tmp_path / "cell" / "runs")


@pytest.fixture
def header() -> RunHeader:
    return RunHeader(started_at="2026-07-03T13:23:10.629Z", constants={"HOME": [0, 0, 0, 0, 0, -30], "SPEED": 20})


@pytest.fixture
def some_records(golden):
    """One record of many kinds, taken from the golden log."""
    raw = json.loads((golden / "v1.json").read_text(encoding="utf-8"))
    return [
        DetectRecord.model_validate(raw["detect"][0]),
        LookupRecord.model_validate(raw["lookups"][0]),
        GuardRecord.model_validate(raw["guards"][0]),
        MoveRecord.model_validate(raw["moves"][0]),
        GripperRecord.model_validate(raw["gripper"][0]),
    ]


@pytest.fixture
def child():
    """Start a Python child on some code; it is killed at the end if it still runs."""
    started: list[subprocess.Popen[str]] = []

    def start(code: str, *arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", code, *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()
