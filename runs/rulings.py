"""A person's ruling on a step of a run: over every judge's verdict, with name, time, reason, and whether it was blind.

A ruling is added and never changes or removes another; the last one stands. Nothing of the run itself is touched.
"""

from __future__ import annotations

from runs.appended import RULINGS_FILE, append
from runs.errors import NothingToRule, RunInProgress
from runs.events import utc_text
from runs.schema.run import RunLog
from runs.schema.verdict import JudgedStage, Ruling, Word
from runs.store import RunStore, StoredRun


def rule(
    store: RunStore, wanted: str, stage: JudgedStage, verdict: Word, *, by: str, reason: str, blind: bool = False
) -> StoredRun:
    """Put a person's word over the judges' for one step; the run as it then is.

    Args:
        wanted: a run as `RunStore.find` takes it.
        by: who says so.
        reason: what was seen.
        blind: whether it was said before any judge's verdict was seen.

    Raises:
        RunNotFound, NotARunLog, NewerThanUs, AppendedUnreadable, StorageUnwritable
        RunInProgress: the trial has not ended.
        NothingToRule: the run never came to that step, or nothing moved in it.
        ValueError: no name.
    """
    if not by.strip():
        raise ValueError("a ruling has a name")
    stored = store.open(wanted)
    check_rulable(stored, stage)
    ruling = Ruling(stage=stage, verdict=verdict, by=by.strip(), at=utc_text(), reason=reason.strip(), blind=blind)
    append(stored.entry.folder / RULINGS_FILE, [ruling])
    return store.open(stored.entry.run_id)


def check_rulable(stored: StoredRun, stage: JudgedStage) -> None:
    """Refuse a ruling on what can't be ruled on.

    Raises:
        RunInProgress, NothingToRule
    """
    if stored.entry.state == "running":
        raise RunInProgress(stored.entry.run_id)
    if stored.log.dry_run:
        raise NothingToRule(stored.entry.run_id, stage, "it was a dry run, nothing moved")
    if not came_to(stored.log, stage):
        ended = f"it ended {stored.log.result}" if stored.log.result else "it was cut off"
        where = f" in {stored.log.ending.stage}" if stored.log.ending is not None and stored.log.ending.stage else ""
        raise NothingToRule(stored.entry.run_id, stage, f"{ended}{where} before that step was judged")


def came_to(log: RunLog, stage: JudgedStage) -> bool:
    """Whether a judge was asked about that step, with or without an answer."""
    return stage in log.judgments or any(verdict.stage == stage for verdict in log.verdicts)
