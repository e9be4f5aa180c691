"""Pictures thinned by a policy: what went well keeps the telling ones, the rest keeps all, the log stays valid."""

from __future__ import annotations

import pytest

from runner.batch.thin import thin
from runner.settings.batch import BatchSettings
from runs.check import check_log
from runs.schema.run import Ending
from runs.schema.verdict import Judgment
from runs.store import RunHeader, RunStore

LABELS = ("detect_1", "detect_2", "detect_3", "stage4_pick_tip", "pick", "place_pre", "place")
TELLING = BatchSettings(keep_pictures="telling")


@pytest.fixture
def run(tmp_path):
    """A run with its pictures: `run("completed")`."""

    def make(result: str, *, flagged: bool = False):
        store = RunStore(tmp_path / "runs")
        writer = store.create(RunHeader(started_at="2026-07-03T13:23:10Z"))
        for label in LABELS:
            writer.picture(label, b"a picture")
        judgment = Judgment(
            verdict="yes", confidence=0.9, reason="seen", model="measured", image="x.jpg", dist_override=flagged
        )
        writer.judgment("pick", judgment)
        log = writer.finish(Ending(result=result, stage="stage10", reason="so it was"), duration_s=71.5)
        return store, log

    return make


def left(store: RunStore, log) -> set[str]:
    return {path.stem.removeprefix(f"{log.run_id}_") for path in (store.runs_dir / log.run_id).glob("*.jpg")}


def test_a_completed_trial_keeps_what_tells_and_stays_valid(run):
    store, log = run("completed")
    assert thin(log, store.runs_dir / log.run_id, TELLING, 3) == 3
    assert left(store, log) == {"detect_1", "stage4_pick_tip", "pick", "place"}
    checked = check_log(log.run_id, store)
    assert checked.valid
    assert checked.pictures_missing == 3


@pytest.mark.parametrize(
    ("result", "settings", "start", "flagged"),
    [
        ("failed", TELLING, 3, False),
        ("crashed", TELLING, 3, False),
        ("completed", TELLING, 20, False),
        ("completed", TELLING, 3, True),
        ("completed", BatchSettings(), 3, False),
    ],
)
def test_everything_else_keeps_all(run, result, settings, start, flagged):
    store, log = run(result, flagged=flagged)
    assert thin(log, store.runs_dir / log.run_id, settings, start) == 0
    assert left(store, log) == set(LABELS)
