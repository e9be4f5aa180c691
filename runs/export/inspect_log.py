"""Trials as an evaluation log of Inspect (AISI): a trial is a sample, what stands for a step its score.

It writes the JSON form of the log, version 2, which `inspect view` and `inspect_ai.log.read_eval_log` read, one sample
after the other, so that memory stays flat. What is unsure or has no verdict has no score: nothing unknown becomes a
zero.
Source: https://inspect.aisi.org.uk/eval-logs.html, "Log File API".
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any

from runs.errors import RecordError
from runs.events import utc_text
from runs.index.questions import ManyRuns
from runs.index.scan import log_at
from runs.index.select import Selection
from runs.schema.run import RunLog
from runs.schema.verdict import JudgedStage
from runs.statistics import exact_rate
from runs.verdicts import Standing, standing_in, standing_result

LOG_VERSION = 2

STAGES: tuple[JudgedStage, ...] = ("pick", "place")

_VALUE = {"yes": "C", "no": "I"}
"""Inspect's words for right and wrong. It has one for no answer too, and counts it as wrong."""

_ENDED = ("complete", "interrupted")

_ASKED = {"pick": "Pick up the block.", "place": "Put the block into the box, and let go of it."}


@dataclass(frozen=True, slots=True)
class Written:
    """How many samples were written, and which runs could not be read."""

    samples: int
    left_out: list[dict[str, Any]]


def write_inspect(many: ManyRuns, selection: Selection, out: IO[str], *, version: str, name: str) -> Written:
    """The selected trials that moved and have ended, the oldest first, as one log; an agent's only where asked for.

    Args:
        version: of this program.
        name: of the task, as it stands in the viewer.

    Raises:
        BadSelection
        RecordError: there is none.
    """
    columns = ("cell", "run_id", "state", "started_at", "arm", "seed", *(f"{s}_word" for s in STAGES))
    rows = [row for row in many.stream(selection, columns, trials=True) if row["state"] in _ENDED]
    if not rows:
        raise RecordError("there are no such runs", next_step="list what there is: trialcell runs list")
    left_out = many.unreadable(selection)
    head = _head(rows, version=version, name=name)
    out.write(json.dumps(head, ensure_ascii=False, allow_nan=False)[:-1] + ', "samples": [')
    samples = 0
    for sample in _samples(many, rows, left_out):
        out.write(("," if samples else "") + "\n" + json.dumps(sample, ensure_ascii=False, allow_nan=False))
        samples += 1
    out.write("\n]}\n")
    return Written(samples, left_out)


def _samples(many: ManyRuns, rows: list[dict[str, Any]], left_out: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    several = len(many.labels) > 1
    dirs = {label: many.runs_dir(label) for label in many.labels}
    for row in rows:
        try:
            log, _ = log_at(dirs[row["cell"]], row["run_id"])
        except (RecordError, ValueError, OSError) as error:  # it was readable when the index was made
            why = error.message if isinstance(error, RecordError) else str(error)
            left_out.append({"cell": row["cell"], "run_id": row["run_id"], "problem": why})
            continue
        yield _sample(log, f"{row['cell']}/{row['run_id']}" if several else row["run_id"])


def _sample(log: RunLog, own_id: str) -> dict[str, Any]:
    made_with = log.provenance
    scores = {stage: _score(log, stage, found) for stage in STAGES if (found := standing_in(log, stage)) is not None}
    known = {stage: score for stage, score in scores.items() if score is not None}
    end = log.ending.reason if log.ending is not None else "cut off"
    result = standing_result(log)
    return {
        "id": own_id,
        "epoch": 1,
        "input": " ".join(_ASKED.values()),
        "target": "C",
        "messages": [
            {"id": f"{own_id}/asked", "role": "user", "content": " ".join(_ASKED.values())},
            {"id": f"{own_id}/ended", "role": "assistant", "content": f"{result or 'interrupted'}: {end}"},
        ],
        "output": {"model": _arm(log), "choices": []},
        "scores": known,
        "metadata": {
            "result": result,
            "result_then": log.result,
            "attempts": len(log.pick_attempts),
            "duration_s": log.duration_s,
            "seed": None if made_with is None else made_with.seed,
            "profile": None if made_with is None else made_with.profile,
            "tip_dist_mm": next((t.diff.dist_mm for t in reversed(log.tip_measurements) if t.diff is not None), None),
            "not_scored": sorted(stage for stage in STAGES if stage not in known and stage in log.judgments),
        },
        "started_at": log.started_at,
        "total_time": log.duration_s,
    }


def _score(log: RunLog, stage: JudgedStage, standing: Standing) -> dict[str, Any] | None:
    if standing.word not in _VALUE:
        return None
    verdicts = [verdict for verdict in log.verdicts if verdict.stage == stage]
    return {
        "value": _VALUE[standing.word],
        "answer": standing.word,
        "explanation": standing.reason,
        "metadata": {
            "by": standing.by,
            "source": standing.source,
            "confidence": standing.confidence,
            "judge_said": verdicts[-1].verdict if verdicts else None,
        },
    }


def _arm(log: RunLog) -> str:
    return f"trialcell/{log.provenance.arm_model if log.provenance is not None else 'unknown'}"


def _head(rows: list[dict[str, Any]], *, version: str, name: str) -> dict[str, Any]:
    ids = [f"{row['cell']}/{row['run_id']}" for row in rows]
    own = hashlib.sha256("\n".join(ids).encode()).hexdigest()[:22]
    started = [row["started_at"] for row in rows if row["started_at"]]
    arms = sorted({row["arm"] or "unknown" for row in rows})
    return {
        "version": LOG_VERSION,
        "status": "success",
        "eval": {
            "eval_id": own, "run_id": own, "created": utc_text(), "task": name, "task_id": own, "task_version": 0,
            "dataset": {"name": name, "samples": len(rows), "shuffled": False},
            "model": f"trialcell/{'+'.join(arms)}", "config": {}, "packages": {"trialcell": version},
            "metadata": {"cells": sorted({row["cell"] for row in rows})},
        },
        "plan": {"name": "trial", "steps": [], "config": {}},
        "results": {
            "total_samples": len(rows), "completed_samples": len(rows),
            "scores": [_of_stage(rows, stage) for stage in STAGES],
        },
        "stats": {"started_at": min(started, default=""), "completed_at": max(started, default=""), "model_usage": {}},
    }  # fmt: skip


def _of_stage(rows: list[dict[str, Any]], stage: JudgedStage) -> dict[str, Any]:
    words = [row[f"{stage}_word"] for row in rows]
    yes, no = words.count("yes"), words.count("no")
    rate = exact_rate(yes, yes + no)
    figures = {"accuracy": rate.rate, "low_95": rate.low, "high_95": rate.high} if rate.rate is not None else {}
    return {
        "name": stage, "scorer": "what stands", "scored_samples": yes + no, "unscored_samples": len(rows) - yes - no,
        "params": {}, "metrics": {key: {"name": key, "value": value} for key, value in figures.items()},
    }  # fmt: skip
