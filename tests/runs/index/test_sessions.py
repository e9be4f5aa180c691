"""Statistics by session and units per hour: what follows one another belongs together, a long pause parts it."""

from __future__ import annotations

import pytest

from runs.index.questions import ManyRuns
from runs.index.select import Selection
from runs.schema.run import Ending
from runs.store import RunHeader, RunStore


def test_runs_without_a_long_pause_between_them_are_a_session(tmp_path):
    store = RunStore(tmp_path / "cell" / "runs")
    for start, result in (("08:00", "completed"), ("08:20", "failed"), ("08:49", "completed"), ("09:30", "completed")):
        writer = store.create(RunHeader(started_at=f"2026-07-03T{start}:00Z"))
        writer.finish(Ending(result=result, stage="stage9b_judge_place", reason="so"), duration_s=90.0)
    with ManyRuns([tmp_path / "cell"]) as many:
        many.refresh()
        groups = many.stats("session", Selection())
        (whole,) = many.stats(None, Selection())
    assert [(group.key, group.n) for group in groups] == [("2026-07-03 08:00", 3), ("2026-07-03 09:30", 1)]
    assert [group.units_per_h for group in groups] == pytest.approx([2 * 3600 / 270, 40.0])
    assert whole.units_per_h == pytest.approx(3 * 3600 / 360)
    assert whole.results == {"completed": 3, "failed": 1}
