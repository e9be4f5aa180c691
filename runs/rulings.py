"""A person's ruling on a step of a run: over every judge's verdict, with name, time, reason, and whether it was blind.

A ruling is added and never changes or removes another; the last one stands. One that was a slip is taken back by a line
more, and stays on record. Nothing of the run itself is touched.
"""

from __future__ import annotations

from runs.appended import RULINGS_FILE, append
from runs.errors import NothingToRule, RunInProgress
from runs.events import utc_text
from runs.schema.run import RunLog
from runs.schema.verdict import JudgedStage, Ruling, Word
from runs.store import RunStore, StoredRun
from runs.verdicts import not_taken_back


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


def take_back(store: RunStore, wanted: str, stage: JudgedStage, *, by: str) -> StoredRun:
    """Let a person's last ruling on a step no longer count; what stood before it stands again. It stays on record.

    Raises:
        RunNotFound, NotARunLog, NewerThanUs, AppendedUnreadable, StorageUnwritable
        NothingToRule: no ruling of that person counts there.
    """
    stored = store.open(wanted)
    counting = not_taken_back(stored.log.rulings)
    said = [ruling for ruling in counting if (ruling.stage, ruling.by) == (stage, by.strip())]
    if not said:
        raise NothingToRule(stored.entry.run_id, stage, f"{by.strip() or 'nobody'} has said nothing to take back")
    gone = said[-1].model_copy(update={"at": utc_text(), "takes_back": True})
    append(stored.entry.folder / RULINGS_FILE, [gone])
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
