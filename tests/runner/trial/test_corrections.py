"""The correction table in a trial: what a good one teaches, how it is applied, and what teaches nothing."""

from __future__ import annotations

import json

import numpy as np
import pytest

from runs.corrections.file import CorrectionFile
from runs.corrections.table import BelongsTo, cell_key
from runs.schema.run import TipDiff, TipMeasurement

ANSWERS = {"pick": ["yes"], "place": ["yes"]}


def plant(cell, log, sample_mm, times):
    """Teach the square of a trial's block the same lesson so many times."""
    stood_on = log.provenance
    belongs_to = BelongsTo(
        calibration_hash=stood_on.calibration_hashes["plane"], table_hash=stood_on.table_hash, profile=stood_on.profile
    )
    file, block = CorrectionFile(cell), log.detect[-1].block_xz_m
    for number in range(times):
        before = file.load(belongs_to)
        after, change = before.learn("pick", block, sample_mm, run_id=f"run_{number}", at="2026-12-01T00:00:00.000Z")
        file.save(before, after, change, run_id=f"run_{number}")


def test_a_completed_trial_teaches_one_sample_at_the_square_of_its_block(good_trial):
    log = good_trial.log
    diff = log.tip_measurements[-1].diff
    assert diff is not None
    (change,) = log.correction.learned
    assert change.cell_key == cell_key("pick", log.detect[-1].block_xz_m)
    assert change.before is None
    assert change.after == pytest.approx((diff.dx_mm, diff.dz_mm, 1))
    history = (good_trial.store.runs_dir.parent / "corrections_history.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["run_id"] for line in history] == [log.run_id]


def test_the_lesson_is_what_the_camera_saw_and_the_arm_is_where_it_was_seen(good_trial):
    assert good_trial.log.tip_measurements[-1].diff.dist_mm < 4.0


def test_three_equal_samples_shift_the_next_target_once_and_the_log_says_so(play, cell_copy, good_trial):
    plant(cell_copy, good_trial.log, (3.0, -2.0), times=3)
    log = play(answers=ANSWERS).log
    use = log.correction.last
    assert use.applied
    assert use.n == 3
    assert np.subtract(use.target_after_mm, use.target_before_mm) == pytest.approx((-3.0, 2.0), abs=1e-6)
    pick = next(look for look in log.lookups if look.label == "stage4_pick")
    shift = np.subtract(pick.target_xz_m, pick.requested_xz_m) * 1000
    assert shift == pytest.approx((-3.0, 2.0), abs=0.01)
    down = next(move for move in log.moves if move.label == "stage4_pick")
    reached = np.array([down.tcp_commanded_m[0], down.tcp_commanded_m[2]])
    assert (reached - pick.target_xz_m) * 1000 == pytest.approx((0, 0), abs=1.0)
    (change,) = log.correction.learned
    assert change.after[2] == 4
    diff = log.tip_measurements[-1].diff
    assert change.sample_mm == pytest.approx((diff.dx_mm + 3.0, diff.dz_mm - 2.0))


@pytest.mark.slow
def test_two_samples_are_not_enough(play, cell_copy, good_trial):
    plant(cell_copy, good_trial.log, (3.0, -2.0), times=2)
    use = play(answers=ANSWERS).log.correction.last
    assert (use.applied, use.n, use.target_after_mm) == (False, 2, use.target_before_mm)


def test_corrections_that_are_switched_off_are_neither_applied_nor_learned(play):
    log = play(answers=ANSWERS, overrides=["trial.corrections=false", "trial.learn=false"]).log
    assert log.correction.last is None
    assert log.correction.not_learned == "learning is switched off"


@pytest.mark.slow
def test_a_table_that_cannot_be_read_crashes_no_trial_that_does_not_use_it(play, cell_copy):
    def spoil(record, switch):
        if getattr(record, "name", None) == "stage1":
            (cell_copy / "corrections.json").write_text("{", encoding="utf-8")

    log = play(answers=ANSWERS, overrides=["trial.corrections=false"], on=spoil).log
    assert log.result == "completed"
    assert log.correction.learned == ()
    assert "corrections.json" in log.correction.not_learned
    assert (cell_copy / "corrections.json").read_text(encoding="utf-8") == "{"


def test_what_is_measured_is_kept_with_its_figures_or_its_reason(good_trial):
    (tip,) = good_trial.log.tip_measurements
    assert isinstance(tip, TipMeasurement)
    assert isinstance(tip.diff, TipDiff)
    assert tip.diff.dist_mm == pytest.approx(np.hypot(tip.diff.dx_mm, tip.diff.dz_mm))
    assert tip.image.endswith("stage4_pick_tip.jpg")
