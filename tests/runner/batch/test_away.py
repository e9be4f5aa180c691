"""What a session takes along and brings home; without a cluster, which only carries it."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest

from runner.batch.away import AnotherVersion, AwaySession, Brought, Luggage, Order, bring_home
from runner.cell import open_cell
from runs.batch_records import TrialEnded, TrialStarted
from runs.batch_state import BatchState
from runs.batches import BatchFolder, BatchStore, planned_run_id
from runs.errors import RunExists
from runs.store import RunStore

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "runs" / "v1.json"
AT = "2026-07-03T13:30:00.000Z"


@pytest.fixture
def batch(planned, tmp_path) -> BatchFolder:
    return BatchStore(tmp_path).create(planned(2))


def brought(batch: BatchFolder) -> Brought:
    run_id = planned_run_id(batch.plan(), 0)
    log = json.loads(GOLDEN.read_bytes()) | {"run_id": run_id}
    files = {"run.json": json.dumps(log).encode(), f"{run_id}_pick.jpg": b"picture", "events.jsonl": b"{}\n"}
    events = (
        TrialStarted(at=AT, start=0, run_id=run_id),
        TrialEnded(
            at=AT,
            start=0,
            run_id=run_id,
            result="completed",
            reason=None,
            attempts=1,
            duration_s=80.0,
            wall_s=4.0,
            truth_in_box=True,
        ),
    )
    return Brought(events, {run_id: files}, {}, None)


def test_what_is_brought_home_is_there_with_all_its_files_and_counts_once(batch, tmp_path):
    runs = RunStore(tmp_path / "runs")
    found = pickle.loads(pickle.dumps(brought(batch)))
    bring_home(found, batch, runs)
    (name,) = found.runs
    assert {path.name: path.read_bytes() for path in (runs.runs_dir / name).iterdir()} == found.runs[name]
    state = BatchState.of(batch.plan(), batch.events())
    assert list(state.final) == [0]
    with pytest.raises(RunExists):
        bring_home(found, batch, runs)
    assert BatchState.of(batch.plan(), batch.events()).summary(running=False)["finished"] == 1


def test_a_world_that_was_put_by_before_it_went_away_is_forgotten(batch, tmp_path):
    older = [batch.folder / f"world_{session:04d}.json" for session in (0, 7)]
    for path in older:
        path.write_text("{}")
    bring_home(brought(batch), batch, RunStore(tmp_path / "runs"))
    assert [path.exists() for path in older] == [False, True]


def test_no_trial_begins_there_once_the_time_is_up_here(planned, tmp_path):
    plan = planned(2).model_copy(update={"stop_after_s": 3600.0})
    luggage = Luggage.of(open_cell(tmp_path / "home").folder)
    found = AwaySession().run(luggage, Order(plan, (0, 1), (), (), 10, 10, clock_s=3600.0))
    assert found == Brought((), {}, {}, None)


def test_a_run_that_did_not_come_home_whole_is_due_again(batch, tmp_path):
    found = brought(batch)
    for event in found.events[:1]:
        batch.add(event)  # and then the home machine died
    state = BatchState.of(batch.plan(), batch.events())
    assert [start.index for start in state.due] == [0, 1]


def test_the_cell_travels_without_its_runs(tmp_path):
    for name in ("cell.toml", "calibration/lens.json", "runs/run_0001/run.json", "batches/b/plan.json", "reach.lock"):
        (tmp_path / "home" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "home" / name).write_text(name)
    luggage = pickle.loads(pickle.dumps(Luggage.of(tmp_path / "home")))
    luggage.unpack(tmp_path / "there")
    there = {path.relative_to(tmp_path / "there").as_posix(): path for path in (tmp_path / "there").rglob("*.*")}
    assert sorted(there) == ["calibration/lens.json", "cell.toml"]
    assert there["cell.toml"].stat().st_mtime_ns == (tmp_path / "home/cell.toml").stat().st_mtime_ns


def test_another_version_of_the_program_runs_nothing(batch):
    order = Order(batch.plan(), (0,), (), (), 10, 10, 0.0)
    answer = AwaySession().run(Luggage({}, {}, "0.0.0"), order).answer
    assert isinstance(answer, AnotherVersion)
    assert "0.0.0" in str(answer)
