"""Lessons wait until their round is in; what is proposed is tried in the next one, by a number known beforehand."""

from __future__ import annotations

import pytest

from runner.batch.lessons import teach_round, uses_in_round
from runner.cell import open_cell
from runs.batch_records import LessonKept, RoundTaught, TrialEnded
from runs.batch_state import BatchState
from runs.batches import BatchStore
from runs.corrections.file import CorrectionFile
from runs.corrections.table import BelongsTo, Lesson
from runs.schema.run import Ending
from runs.store import RunHeader, RunStore

AT = "2026-07-03T13:23:10.000Z"
BELONGS = BelongsTo(calibration_hash="c", table_hash="t", profile="field")


def _taught(number: int, tries: int) -> RoundTaught:
    return RoundTaught(at=AT, round=number, lessons=3, tries=tries)


def _lesson(run_id: str, dx_mm: float) -> Lesson:
    return Lesson.of("pick", (0.2, 0.1), (dx_mm, 1.0), run_id=run_id, at=AT)


def test_a_round_tries_what_the_one_before_has_said(planned):
    plan = planned(12, settings={"session": 3, "round": 6})
    uses = uses_in_round(BatchState.of(plan, [_taught(0, 2)]), 1)
    assert list(uses) == [6, 7, 8, 9, 10, 11]
    assert list(uses.values()).count("candidate") == 2
    assert set(uses_in_round(BatchState.of(plan, []), 0).values()) == {"live"}
    assert set(uses_in_round(BatchState.of(plan, [_taught(0, 0)]), 1).values()) == {"live"}


def test_a_test_of_a_against_b_tries_nothing_else(planned):
    plan = planned(6, settings={"session": 3, "round": 6}, settings_a=("guard.box_mm=3",))
    assert set(uses_in_round(BatchState.of(plan, [_taught(0, 2)]), 1).values()) == {"live"}


@pytest.fixture
def round_in(cell, planned):
    """A cell and a batch whose round is in: three runs, of which one was cut off after its lesson and run again."""
    store = RunStore(cell.runs_dir)
    batch = BatchStore(cell.folder).create(planned(2))
    for number, start in enumerate((0, 0, 1)):
        writer = store.create(RunHeader(started_at=AT))
        batch.add(LessonKept(at=AT, start=start, belongs_to=BELONGS, lesson=_lesson(writer.run_id, 5.0 + number)))
        cut_off = number == 0
        if cut_off:
            writer.close()
            store.recover(writer.run_id)
        else:
            writer.finish(Ending(result="completed", stage="stage10", reason="so it was"), duration_s=80.0)
        result = "crashed" if cut_off else "completed"
        batch.add(TrialEnded(at=AT, start=start, run_id=writer.run_id, result=result, attempts=1, cut_off=cut_off))
    return cell, batch


@pytest.fixture
def cell(tmp_path):
    return open_cell(tmp_path / "cell")


def test_each_final_run_teaches_once_however_often_a_round_is_taught(round_in):
    cell, batch = round_in
    plan = batch.plan()
    for _ in range(2):
        told = teach_round(cell, batch, BatchState.of(plan, batch.events()), list(plan.starts))
        lessons = CorrectionFile(cell.folder).load(BELONGS).table.lessons
        assert told.lessons == len(lessons) == 2
        assert [lesson.tip_minus_block_mm[0] for lesson in lessons] == [6.0, 7.0], "the one that was cut off counts not"


def test_a_round_that_was_cut_off_while_it_taught_is_taught_to_its_end(round_in):
    cell, batch = round_in
    plan = batch.plan()
    state = BatchState.of(plan, batch.events())
    first = state.lessons[state.final[0].run_id]
    CorrectionFile(cell.folder).learn(BELONGS, first.lesson)
    teach_round(cell, batch, state, list(plan.starts))
    lessons = CorrectionFile(cell.folder).load(BELONGS).table.lessons
    assert sorted(lesson.run_id for lesson in lessons) == sorted(state.final[i].run_id for i in (0, 1))
