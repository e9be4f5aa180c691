"""The correction table in a trial: what a good one teaches, how it is applied, and what teaches nothing."""

from __future__ import annotations

import json

import numpy as np
import pytest

from runner.cell import open_cell
from runner.learning import belongs_to
from runner.table.errors import NoPlan
from runner.table.plan import Planner
from runs.corrections.file import CorrectionFile
from runs.corrections.history import PersonsWord
from runs.corrections.rule import RuleSettings
from runs.corrections.table import Lesson, cell_key
from runs.schema.run import TipDiff, TipMeasurement

ANSWERS = {"pick": ["yes"], "place": ["yes"]}


AT_ONCE = ["corrections.rule=field"]
MAYA = PersonsWord(by="Maya", reason="a test")


def of(cell, log):
    """What is learned in that cell belongs to."""
    return belongs_to(open_cell(cell), log.provenance.table_hash, log.provenance.profile)


def plant(cell, log, sample_mm, times, *, belonging=None):
    """Teach the square of a trial's block the same lesson so many times."""
    block = log.detect[-1].block_xz_m
    for number in range(times):
        lesson = Lesson.of("pick", block, sample_mm, run_id=f"run_{number}", at="2026-12-01T00:00:00.000Z")
        CorrectionFile(cell).learn(belonging or of(cell, log), lesson)


def plant_live(cell, log, sample_mm):
    """The same, proposed and promoted."""
    plant(cell, log, sample_mm, times=6)
    file = CorrectionFile(cell)
    file.propose(of(cell, log), RuleSettings(), by="test")
    return file.promote(of(cell, log), MAYA, by="Maya")


def down(log):
    """Where the tool was told to go, and where the target was, both (x, z) in metres."""
    move = next(one for one in log.moves if one.label == "stage4_pick")
    look = next(one for one in log.lookups if one.label == "stage4_pick")
    return np.array([move.tcp_commanded_m[0], move.tcp_commanded_m[2]]), look


def test_a_completed_trial_teaches_one_sample_at_the_square_of_its_block(good_trial):
    log = good_trial.log
    diff = log.tip_measurements[-1].diff
    assert diff is not None
    (change,) = log.correction.learned
    assert change.cell_key == cell_key("pick", log.detect[-1].block_xz_m)
    assert change.before is None
    assert change.after == pytest.approx((diff.dx_mm, diff.dz_mm, 1))
    history = (good_trial.store.runs_dir.parent / "corrections_history.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["by"] for line in history] == [log.run_id]


def test_the_lesson_is_what_the_camera_saw_and_the_arm_is_where_it_was_seen(good_trial):
    assert good_trial.log.tip_measurements[-1].diff.dist_mm < 4.0


@pytest.mark.slow
def test_by_the_fields_rule_three_equal_samples_shift_the_next_target_once(play, cell_copy, good_trial):
    plant(cell_copy, good_trial.log, (3.0, -2.0), times=3)
    log = play(answers=ANSWERS, overrides=AT_ONCE).log
    use = log.correction.last
    assert use.applied
    assert use.n == 3
    assert np.subtract(use.target_after_mm, use.target_before_mm) == pytest.approx((-3.0, 2.0), abs=1e-6)
    reached, pick = down(log)
    shift = np.subtract(pick.target_xz_m, pick.requested_xz_m) * 1000
    assert shift == pytest.approx((-3.0, 2.0), abs=0.01)
    assert (reached - pick.target_xz_m) * 1000 == pytest.approx((0, 0), abs=1.0)
    (change,) = log.correction.learned
    assert change.after[2] == 4
    diff = log.tip_measurements[-1].diff
    assert change.sample_mm == pytest.approx((diff.dx_mm + 3.0, diff.dz_mm - 2.0))


@pytest.mark.slow
def test_two_samples_are_not_enough(play, cell_copy, good_trial):
    plant(cell_copy, good_trial.log, (3.0, -2.0), times=2)
    use = play(answers=ANSWERS, overrides=AT_ONCE).log.correction.last
    assert (use.applied, use.n, use.target_after_mm) == (False, 2, use.target_before_mm)


def test_what_was_promoted_is_applied_once_and_sticks_and_what_was_only_learned_is_not(play, cell_copy, good_trial):
    plant(cell_copy, good_trial.log, (3.0, -2.0), times=6)
    learned = play(answers=ANSWERS).log
    assert not learned.correction.last.applied
    assert learned.correction.last.model is None
    live = plant_live(cell_copy, good_trial.log, (3.0, -2.0))
    log = play(answers=ANSWERS).log
    use = log.correction.last
    assert (use.applied, use.model) == (True, live.content_hash)
    assert log.provenance.corrections_hash == live.content_hash
    reached, pick = down(log)
    told = -np.array([use.dx_mm, use.dz_mm])
    assert np.subtract(pick.target_xz_m, pick.requested_xz_m) * 1000 == pytest.approx(told, abs=0.01)
    assert (reached - pick.requested_xz_m) * 1000 == pytest.approx(told, abs=1.0)
    assert log.correction.place_last.model == live.content_hash
    (change,) = log.correction.learned
    diff = log.tip_measurements[-1].diff
    assert change.sample_mm == pytest.approx((diff.dx_mm + use.dx_mm, diff.dz_mm + use.dz_mm))
    lessons = CorrectionFile(cell_copy).load(of(cell_copy, log)).table.lessons
    (taught,) = [lesson for lesson in lessons if lesson.run_id == log.run_id]
    assert len(taught.way.per_joint_mm) == 6
    assert taught.way.parallax_mm is not None


def test_a_large_correction_moves_the_block_that_the_guard_reckons_with_as_well(play, cell_copy, good_trial):
    """An arm that misses by so much is told to go beside where the block is seen, and comes to where it is."""
    plant_live(cell_copy, good_trial.log, (13.0, -8.0))
    log = play(answers=ANSWERS, dry_run=True).log
    assert log.correction.last.applied
    assert log.result == "unjudged", log.ending.reason


def test_what_was_learned_with_another_tool_is_not_applied_and_the_log_says_so(play, cell_copy, good_trial):
    belonging = of(cell_copy, good_trial.log).model_copy(update={"tool": "a longer one"})
    plant(cell_copy, good_trial.log, (9.0, 9.0), times=6, belonging=belonging)
    log = play(answers=ANSWERS, overrides=AT_ONCE, dry_run=True).log
    assert (log.correction.last.applied, log.correction.last.n) == (False, 0)
    assert any("learned with another tool is not applied" in note.text for note in log.notes)


def test_a_correction_that_would_hit_something_is_refused_like_any_other_target(play, cell_copy, good_trial):
    """A huge offset is bounded by the cap, and what is left of it goes through the guard."""
    log = good_trial.log
    (x, z), box = log.detect[-1].block_xz_m, log.detect[-1].box_xz_m
    toward = np.subtract(box, (x, z)) * 1000
    live = plant_live(cell_copy, log, tuple(-400 * toward / np.linalg.norm(toward)))
    played = play(answers=ANSWERS, dry_run=True)
    use = played.log.correction.last
    assert use.capped
    assert np.hypot(use.dx_mm, use.dz_mm) == pytest.approx(live.cap_mm)
    assert any("most that is allowed" in note.text for note in played.log.notes)
    assert played.log.result in ("refused", "unjudged")
    assert played.log.result == "refused" or all(guard.allowed for guard in played.log.guards)


@pytest.mark.slow
def test_a_measurement_that_contradicts_a_proved_correction_teaches_nothing(play, cell_copy, good_trial):
    plant_live(cell_copy, good_trial.log, (3.0, -2.0))
    log = play(answers=ANSWERS, overrides=["corrections.contradiction_mm=0.5"]).log
    assert log.correction.learned == ()
    assert "although the correction is a proved one" in log.correction.not_learned


@pytest.mark.slow
def test_after_a_miss_the_next_attempt_takes_off_what_the_camera_saw(play):
    log = play(answers={"pick": ["no", "no", "yes"], "place": ["yes"]}, overrides=["trial.max_pick_attempts=2"]).log
    first = next(one.diff for one in log.tip_measurements if one.attempt == 1)
    use = log.correction.last
    assert use.missed_mm == pytest.approx((first.dx_mm, first.dz_mm))
    assert use.applied
    assert np.subtract(use.target_before_mm, use.target_after_mm) == pytest.approx((first.dx_mm, first.dz_mm))
    again = next(look for look in log.lookups if look.label == "stage4_pick" and look.attempt == 2)
    shift = np.subtract(again.requested_xz_m, again.target_xz_m) * 1000
    assert shift == pytest.approx((first.dx_mm, first.dz_mm), abs=0.01)


@pytest.mark.slow
def test_a_miss_that_can_not_be_taken_off_costs_no_attempt(play, monkeypatch):
    as_it_is = Planner.plan_pick

    def only_where_it_was_seen(planner, target, yaw_deg, obstacles, *, requested_xz_m=None):
        if requested_xz_m is not None and target != requested_xz_m:
            raise NoPlan("pick", target, "an invented wall stands there", next_step="none")
        return as_it_is(planner, target, yaw_deg, obstacles, requested_xz_m=requested_xz_m)

    monkeypatch.setattr(Planner, "plan_pick", only_where_it_was_seen)
    log = play(answers={"pick": ["no", "yes"], "place": ["yes"]}).log
    assert log.result == "completed"
    assert (log.correction.last.missed_mm, log.correction.last.applied) == (None, False)
    assert any("not taken off: no way to pick" in note.text for note in log.notes)


@pytest.mark.slow
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
