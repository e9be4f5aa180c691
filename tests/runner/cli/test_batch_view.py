"""What a batch shows as it goes: figures and what is under way on a terminal, lines with their time in a plain log."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from runner.cli.batch_now import under_way
from runner.cli.batch_view import BatchView, figures
from runs.batch_records import BatchPlan, PlannedStart, TrialEnded, TrialStarted
from runs.batch_state import BatchState
from runs.batches import BatchStore
from runs.events import utc_text


@pytest.fixture
def batch(tmp_path):
    starts = tuple(
        PlannedStart(index=i, pair=i, session=0, round=0, seed=i, block_xz_m=(0.2, 0.1), block_yaw_deg=0.0)
        for i in range(25)
    )
    store = BatchStore(tmp_path)
    plan = BatchPlan(batch_id=store.new_id(), made_at=utc_text(), kind="random", seed=1, first_number=1, starts=starts)
    return store.create(plan)


def _ended(i: int, result: str = "completed") -> TrialEnded:
    return TrialEnded(
        at=utc_text(), start=i, run_id=f"run_{i + 1:04d}_20260703_132310", result=result, reason="it lies there",
        attempts=1, duration_s=90.0,
    )  # fmt: skip


def test_a_plain_log_tells_each_trial_with_its_time_and_the_figures_now_and_then(batch, tmp_path):
    written = io.StringIO()
    view = BatchView(batch, batch.plan(), Console(file=written, width=300), tmp_path / "runs")
    with view.watching():
        for i in range(12):
            batch.add(_ended(i, "failed" if i == 3 else "completed"))
    lines = written.getvalue().splitlines()
    trials = [line for line in lines if re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d  ", line)]
    assert len(trials) == 12
    assert "10 of 25  start 9  completed  it lies there" in trials[9]
    told = [line for line in lines if line not in trials]
    assert len(told) == 1
    assert lines.index(told[0]) == 10
    assert "success 9 of 10 (0.555 … 0.997)" in told[0]
    assert "40 an hour" in told[0]


def test_what_is_under_way_is_read_from_the_end_of_the_logs(batch, tmp_path):
    log = tmp_path / "runs" / "run_0003_20260703_132310" / "events.jsonl"
    log.parent.mkdir(parents=True)
    state = BatchState.of(batch.plan(), [TrialStarted(at=utc_text(), start=2, run_id=log.parent.name)])
    assert under_way(state, tmp_path / "runs", batch.resets_dir) == []
    at = utc_text()
    log.write_text(
        f'{{"at":"{at}","kind":"stage_started","data":{{"name":"stage2"}}}}\n'
        f'{{"at":"{at}","kind":"stage_started","data":{{"name":"stage4_pick"}}}}\n{{"at":"{at}","kind":"stage_sta'
    )
    (line,) = under_way(state, tmp_path / "runs", batch.resets_dir)
    assert re.fullmatch(r"start 2: down to the block, \d s", line)


def test_a_batch_for_a_time_shows_how_much_of_it_is_over(batch):
    plan = batch.plan().model_copy(update={"stop_after_s": 7200.0})
    shown = io.StringIO()
    Console(file=shown, width=100).print(*figures(BatchState.of(plan, [_ended(i) for i in range(20)])))
    assert "20 in 0.5 of 2 h" in shown.getvalue()
