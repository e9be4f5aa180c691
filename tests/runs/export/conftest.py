"""Runs with moves, a gripper and pictures, small enough to write out in a test."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from runs.schema.motion import GripperRecord, GripReading, MoveRecord
from runs.schema.run import Capture, Ending, RunLog
from runs.schema.verdict import Judgment
from runs.store import RunStore
from runs.writer import log_bytes


def made(number: int, word: str | None, goal: tuple[float, ...], size_px: tuple[int, int]) -> RunLog:
    """One run: two moves, a gripper that is read, a picture after each move."""
    run_id = f"run_{number:04d}_20260703_132310"

    def at(second: int) -> str:
        return f"2026-07-03T13:23:{10 + second:02d}.000Z"

    def move(second: int, to: tuple[float, ...], before: tuple[float, ...]) -> MoveRecord:
        return MoveRecord(
            label=f"move{second}", target_angles=to, reach_tol_deg=1, pre_actual=before, pre_max_delta_deg=None,
            dry_run=False, arrived=True, retried=False, post_actual=tuple(each + 0.25 for each in to),
            post_max_delta_deg=0.25, at=at(second), duration_s=1.5,
        )  # fmt: skip

    def picture(second: int) -> Capture:
        name = f"runs/{run_id}/{run_id}_{second}.png"
        return Capture(label=f"at{second}", image=name, dry_run=False, at=at(second), width_px=size_px[0])

    home = (0.0,) * len(goal)
    judgment = Judgment(verdict=word, confidence=0.9, reason="seen", model="measured")
    result = {"yes": "completed", "no": "failed"}.get(word or "", "unjudged")
    return RunLog(
        run_id=run_id, started_at=at(0), dry_run=False, frames_dir=f"runs/{run_id}", constants={},
        moves=(move(1, goal, home), move(4, home, goal)),
        gripper=(
            GripperRecord(
                stage="check", action="check", at=at(3),
                reading=GripReading(value=52, opening_mm=29, holding=True, reason="holds"),
            ),
        ),
        vlm_captures=(picture(2), picture(5)), judgments={"place": judgment}, result=result, ended_at=at(6),
        ending=Ending(result=result, stage=None, reason="seen"),
    )  # fmt: skip


@pytest.fixture
def moved(tmp_path) -> Path:
    """A cell with three runs that worked, failed and are unjudged, each with a brown and a blue picture."""
    cell = tmp_path / "desk"
    store = RunStore(cell / "runs")
    for number, word in enumerate(("yes", "no", None), start=1):
        log = made(number, word, (10.0 * number, 5.0, 0.0), (64, 48))
        pictures = {}
        for capture, colour in zip(log.vlm_captures, ((30, 60, 90), (200, 40, 20)), strict=True):
            path = tmp_path / Path(capture.image).name
            cv2.imwrite(str(path), np.full((48, 64, 3), colour, dtype=np.uint8))
            pictures[path.name] = path
        store.adopt(log.run_id, log_bytes(log), pictures)
    return cell
