"""What goes on in a cell now: who drives it, which trials run, how the last ones ended, whether a stop is latched.

It looks at files that others write, and asks no arm and no program.
"""

from __future__ import annotations

import os
import socket
from datetime import UTC, datetime
from typing import Any

from runner.review.records import CellOfPage, Records
from runs.batch_state import BatchState
from runs.batches import BatchStore
from runs.errors import RecordError
from runs.figures import Figures
from runs.index.select import Condition, Selection
from runs.latch import StopLatch
from runs.lock import holder_of
from runs.statistics import Rate

LAST = 12
"""So many of the trials that ended last."""

_FIGURES = Figures()


def live(records: Records, cell: CellOfPage) -> dict[str, Any]:
    """The cell now, as plain values."""
    here = (Condition("cell", "=", cell.label),)
    holder = _living_holder(cell)
    running = records.listed(Selection((*here, Condition("state", "=", "running"))), page=1, size=20).rows
    ended = records.listed(Selection((*here, Condition("state", "!=", "running"))), page=1, size=LAST)
    told: dict[str, Any] = {
        "cell": cell.number,
        "label": cell.label,
        "stop": stop_of(cell),
        "holder": holder,
        "running": [_running(records, cell, row["run_id"]) for row in running],
        "last": [_ended(row) for row in reversed(ended.rows)],
        "runs": ended.total,
        "batch": None,
        "planned": planned(cell),
    }
    if holder is not None and isinstance(holder["since"], str):
        since = Selection(here, since=holder["since"][:19])
        groups = records.ask(lambda many: many.stats(None, since))
        if groups:
            group = groups[0]
            n = sum(group.results.values())
            told["batch"] = {
                "since": _FIGURES.moment(holder["since"]), "n": n, "results": group.results,
                "success": rate(group.success), "per_hour": _per_hour(holder["since"], n),
            }  # fmt: skip
    return told


def planned(cell: CellOfPage) -> dict[str, Any] | None:
    """How far the batch is that runs in the cell; None where none runs. One that can't be read is named."""
    batches = BatchStore(cell.folder).list()
    if not batches or not batches[-1].is_running():
        return None
    try:
        state = BatchState.of(batches[-1].plan(), batches[-1].events())
    except RecordError as error:
        return {"batch_id": batches[-1].batch_id, "problem": error.message}
    return {
        "batch_id": batches[-1].batch_id,
        "problem": None,
        "done": len(state.final),
        "of": len(state.plan.starts),
        "results": dict(state.counts()),
        "success": rate(state.success()),
        "paused": state.paused is not None,
    }


def stop_of(cell: CellOfPage) -> dict[str, str] | None:
    """The latched stop, None where there is none."""
    stop = StopLatch(cell.folder).read()
    if stop is None:
        return None
    return {"by": stop.by, "why": stop.why, "at": _FIGURES.moment(stop.at, with_day=True)}


def rate(found: Rate) -> dict[str, Any]:
    """A rate with its exact interval."""
    return {"yes": found.successes, "n": found.n, "rate": found.rate, "low": found.low, "high": found.high}


def _living_holder(cell: CellOfPage) -> dict[str, Any] | None:
    """Who drives the cell, by its own note; None where there is no note, or its process on this machine is gone."""
    note = holder_of(cell.folder)
    pid = note["pid"]
    if not isinstance(pid, int) or pid <= 0:
        return None
    if note["host"] == socket.gethostname() and not _lives(pid):
        return None
    command = note["command"] if isinstance(note["command"], str) else "another program"
    return {"pid": pid, "host": str(note["host"]), "command": command, "since": note["since"]}


def _lives(pid: int) -> bool:
    if os.name == "nt":  # there the signal would end it
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _running(records: Records, cell: CellOfPage, run_id: str) -> dict[str, Any]:
    told: dict[str, Any] = {"run_id": run_id, "stage": None, "since": None, "attempt": None}
    try:
        log = records.opened(cell.number, run_id).log
    except RecordError:
        return told
    if log.stage_records:
        last = log.stage_records[-1]
        told |= {"stage": last.name, "attempt": last.attempt, "done": len(log.stage_records)}
    told["since"] = _FIGURES.moment(log.started_at)
    return told


def _ended(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "run_id": row["run_id"],
        "result": row["result"],
        "started": _FIGURES.moment(row["started_at"]),
        "took": _FIGURES.of(row["duration_s"], "duration_s"),
        "attempts": row["attempts"],
        "reason": row["reason"] or row["problem"],
        "tip": _FIGURES.of(row["tip_dist_mm"], "tip_dist_mm"),
    }


def _per_hour(since: str, n: int) -> float | None:
    try:
        seconds = (datetime.now(UTC) - datetime.fromisoformat(since)).total_seconds()
    except (ValueError, TypeError):
        return None
    return n * 3600 / seconds if seconds > 1 else None
