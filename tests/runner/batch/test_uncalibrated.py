"""An arm that nobody has measured, left alone: its own trials bring it to the block, whatever fails meanwhile.

A short version of the thousand trials of docs/corrections.md; the twin's truth scores.
"""

from __future__ import annotations

import shutil

import pytest

from runner.cell import make_cell
from runner.cli.main import run
from runner.config import Config, with_overrides
from runs.batch_state import BatchState
from runs.batch_windows import scenes_by, windows
from runs.batches import BatchStore

DESK = ("twin.profile=uncalibrated", "twin.desk_seed=5", "twin.firmware=new", "batch.fault_share=0.02")


@pytest.mark.slow
def test_corrections_carry_an_unattended_batch_of_an_uncalibrated_arm(prepared_cell, tmp_path, quick):
    cell = make_cell(tmp_path / "desk", with_overrides(Config(), [*DESK, *quick, "batch.session=10"])).folder
    shutil.copy2(prepared_cell / "reach.parquet", cell)
    shutil.copytree(prepared_cell / "approach", cell / "approach", dirs_exist_ok=True)
    assert run(["batch", "160", "--seed", "2", "--workers", "2", "--cell", str(cell)]) == 0
    batch = BatchStore(cell).find("latest")
    state = BatchState.of(batch.plan(), batch.events())
    told = state.summary(running=False)
    assert told["false_successes"] == 0
    assert {"new desk", "arm", "called"} >= set(scenes_by(state)), "every start is reset or called for"
    assert any(end.faults for end in state.final.values())
    assert any(taught.promoted for taught in state.taught.values())
    first, last = windows(state, 50)
    assert first.first_attempt.high < 0.9
    assert last.first_attempt.rate >= 0.95
    assert first.truth_tip_mm.low > 4.0
    assert last.tip_mm.value <= 2.0
    assert last.truth_tip_mm.value <= 2.0
