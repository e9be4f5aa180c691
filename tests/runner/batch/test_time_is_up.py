"""A batch for a time ends wherever in a round that is over: what was run is taught, and it is finished."""

from __future__ import annotations

import pytest

from runner.batch.pause import Pause
from runner.batch.run import run_batch
from runner.cell import open_cell
from runs.batch_records import LessonKept, RoundTaught, TrialEnded
from runs.batches import BatchStore, planned_run_id
from runs.corrections.file import CorrectionFile
from runs.corrections.table import BelongsTo, Lesson
from runs.schema.run import Ending
from runs.store import RunHeader, RunStore

AT = "2026-07-03T13:23:10.000Z"
BELONGS = BelongsTo(calibration_hash="c", table_hash="t", profile="field")


class Killed(Exception):
    """The process ends here."""


class TwoTrials:
    """An engine: writes down two trials of 80 s each that taught something; then its time is up, or it is killed."""

    def __init__(self, cell, batch, *, killed: bool) -> None:
        self.store, self.batch, self.killed = RunStore(cell.runs_dir), batch, killed

    def run(self, sessions):
        starts = [start for session in sessions for start in session]
        for start in starts[:2]:
            run_id = planned_run_id(self.batch.plan(), start.index)
            writer = self.store.create(RunHeader(started_at=AT), run_id=run_id)
            lesson = Lesson.of("pick", (0.2, 0.1), (5.0 + start.index, 1.0), run_id=run_id, at=AT)
            self.batch.add(LessonKept(at=AT, start=start.index, belongs_to=BELONGS, lesson=lesson))
            writer.finish(Ending(result="completed", stage="stage10", reason="so it was"), duration_s=80.0)
            end = TrialEnded(at=AT, start=start.index, run_id=run_id, result="completed", attempts=1, duration_s=80.0)
            self.batch.add(end)
        if self.killed:
            raise Killed


@pytest.fixture
def cell(tmp_path):
    return open_cell(tmp_path / "cell")


@pytest.fixture
def batch(cell, planned):
    """Two rounds of four starts, for a hundred seconds: the second trial is the last that begins."""
    plan = planned(8, settings={"session": 2, "round": 4}).model_copy(update={"stop_after_s": 100.0})
    return BatchStore(cell.folder).create(plan)


def check_over(cell, batch, ran) -> None:
    assert ran.halt is None
    assert (ran.state.word(running=False), list(ran.state.final)) == ("finished", [0, 1])
    assert "of the arm's clock are over" in ran.state.enough.why
    assert [event.lessons for event in batch.events() if isinstance(event, RoundTaught)] == [2]
    lessons = CorrectionFile(cell.folder).load(BELONGS).table.lessons
    assert [lesson.tip_minus_block_mm[0] for lesson in lessons] == [5.0, 6.0]


def test_time_that_is_up_in_the_middle_of_a_round_ends_the_batch(cell, batch):
    ran = run_batch(cell, batch, Pause(batch), workers=1, engine=TwoTrials(cell, batch, killed=False))
    check_over(cell, batch, ran)


def test_one_that_was_killed_when_its_time_was_up_ends_when_it_is_resumed(cell, batch):
    """Nothing more begins, in this process with the sessions of the program itself."""
    with pytest.raises(Killed):
        run_batch(cell, batch, Pause(batch), workers=1, engine=TwoTrials(cell, batch, killed=True))
    check_over(cell, batch, run_batch(cell, batch, Pause(batch), workers=1))
