"""Two runs of one trial are alike but for the clock; anything else that differs is named."""

from __future__ import annotations

import json
from pathlib import Path

from runs.likeness import differing, timeless
from runs.schema.run import RunLog

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "runs"


def test_a_log_is_like_itself_run_at_another_time_under_another_name():
    log = RunLog.model_validate(json.loads((GOLDEN / "v1.json").read_bytes()))
    text = json.dumps(log.model_dump(mode="json"))
    later = RunLog.model_validate(json.loads(text.replace("20260703_132310", "20270102_030405")))
    later = later.model_copy(update={"started_at": "2027-01-02T03:04:05.000Z", "wall_s": 99.0})
    assert differing(log, later) == []
    assert timeless(log) == timeless(later)


def test_whatever_else_differs_is_named():
    log = RunLog.model_validate(json.loads((GOLDEN / "v1.json").read_bytes()))
    move = log.moves[0].model_copy(update={"post_max_delta_deg": 1e-12})
    other = log.model_copy(update={"result": "crashed", "moves": (move, *log.moves[1:])})
    assert differing(log, other) == ["moves.post_max_delta_deg", "result"]
    assert differing(log, log.model_copy(update={"moves": log.moves[1:]})) == ["moves"]
