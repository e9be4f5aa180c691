"""Errors keep their facts, also on the way out of a worker process."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from runner.calibrate.judge_set.errors import SceneNotPossible
from runs.errors import NewerThanUs, NotARunLog, StorageUnwritable, TrialcellError


@pytest.mark.parametrize(
    "error",
    [
        TrialcellError("a sentence", next_step="a step"),
        NotARunLog(Path("run.json"), "cut off", problems=["moves.3: missing"]),
        NewerThanUs("run.json", 7, 1),
        StorageUnwritable(Path("/full"), "no space left on device", errno=28),
        SceneNotPossible("on_rim", 300),
    ],
)
def test_an_error_survives_the_way_out_of_a_worker(error):
    came = pickle.loads(pickle.dumps(error))
    assert type(came) is type(error)
    assert str(came) == str(error)
    assert vars(came) == vars(error)
