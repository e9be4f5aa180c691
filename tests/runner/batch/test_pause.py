"""Asked to stop: after the trial under way, or now; by a signal, by another process, by hand."""

from __future__ import annotations

import os
import signal
import time

import pytest

from runner.batch.pause import Pause
from runner.batch.run import run_batch
from runner.cell import open_cell
from runs.batches import BatchStore
from runs.events import StageStarted
from runs.store import RunStore


@pytest.fixture
def batch(tmp_path, planned):
    return BatchStore(tmp_path / "cell").create(planned(2))


def _until(so) -> bool:
    for _ in range(400):
        if so():
            return True
        time.sleep(0.02)
    return False


def test_what_is_asked_on_the_disk_is_heard(batch):
    pause = Pause(batch)
    with pause.watching(signals=False):
        batch.ask_to_stop(now=False, by="Maya")
        assert _until(lambda: pause.asked)
        assert not pause.now
        batch.ask_to_stop(now=False, by="Maya")
        assert _until(lambda: pause.now)


def test_signals_are_heard_and_passed_on_to_workers(batch):
    before = signal.getsignal(signal.SIGINT)
    pause = Pause(batch, passed_on=True)
    with pause.watching():
        os.kill(os.getpid(), signal.SIGINT)
        assert _until(lambda: batch.stop_asked() is not None)
        assert not batch.stop_asked()["now"]
        os.kill(os.getpid(), signal.SIGINT)
        assert _until(lambda: batch.stop_asked()["now"])
    assert pause.now
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.slow
def test_the_trial_under_way_is_brought_to_its_end_unless_it_is_to_be_now(cell_copy, planned, quick):
    """Asked once in the first trial: it completes, the second doesn't begin. Asked twice in the second: it stops."""
    plan = planned(2).model_copy(update={"settings": quick})
    batch, cell, asked = BatchStore(cell_copy).create(plan), open_cell(cell_copy), []

    def run(times: int):
        pause = Pause(batch)

        def observe(record: object) -> None:
            if isinstance(record, StageStarted) and record.name == "stage4_pick":
                asked.append(record.name)
                for _ in range(times):
                    pause.ask()

        return run_batch(cell, batch, pause, workers=1, observer=observe)

    first = run(1)
    assert (first.halt.by, len(first.state.final), first.state.paused.by) == ("person", 1, "person")
    assert first.state.final[0].result == "completed"
    second = run(2)
    assert (second.halt.by, len(second.state.final)) == ("person", 1)
    assert second.state.summary(running=False)["stopped"] == 1
    assert [start.index for start in second.state.due] == [1]
    assert len(asked) == 2
    assert [entry.state for entry in RunStore(cell_copy / "runs").list()] == ["complete", "complete"]
