"""How trials and resets of a batch ended, in the batch's own words: from their logs, whoever has brought that about."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from time import monotonic, sleep

from runner.trial.condition import RESTED
from runner.trial.reset import Reset
from runs.batch_records import ResetEnded, TrialEnded, TrialStarted
from runs.batch_state import BatchState
from runs.batches import BatchFolder
from runs.errors import NotARunLog, RunInProgress
from runs.events import utc_text
from runs.schema.run import RunLog
from runs.store import RunStore

_WRITER_GONE_S = 10.0


def ended_of(
    log: RunLog,
    start: int,
    *,
    in_box: bool | None = None,
    truth_tip_mm: float | None = None,
    faults: tuple[str, ...] = (),
) -> TrialEnded:
    """The end of a run as an event, with what the twin says of it. One without an end of its own was cut off."""
    tips = [tip.diff.dist_mm for tip in log.tip_measurements if tip.diff is not None]
    return TrialEnded(
        at=utc_text(),
        start=start,
        run_id=log.run_id,
        result=log.result or "crashed",
        reason=None if log.ending is None else log.ending.reason,
        attempts=len(log.pick_attempts),
        duration_s=log.duration_s,
        wall_s=log.wall_s,
        truth_in_box=in_box,
        truth_tip_mm=truth_tip_mm,
        faults=faults,
        cut_off=log.recovered and log.duration_s is None,
        tip_mm=tips[0] if tips else None,
        rested_s=_rested_s(log),
    )


def _rested_s(log: RunLog) -> float:
    """How long the first stage of a trial or a reset took that had to wait for hot servos; 0 where none had."""
    if not any(record.stage == RESTED for record in log.health) or not log.stage_records:
        return 0.0
    return log.stage_records[0].duration_s or 0.0


def reset_ended_of(reset: Reset, start: int) -> ResetEnded:
    """A reset to a start as an event."""
    log = reset.log
    return ResetEnded(
        at=utc_text(),
        start=start,
        log=log.run_id,
        done=reset.done,
        tries=reset.tries,
        reason=None if log.ending is None else log.ending.reason,
        off_mm=reset.off_mm,
        off_deg=reset.off_deg,
        duration_s=log.duration_s,
        rested_s=_rested_s(log),
        found=next(
            (note.text for note in log.notes if note.stage == "reset_start" and "the arm stands" in note.text), None
        ),
    )


def close_cut_off(
    batch: BatchFolder, state: BatchState, store: RunStore, *, among: Collection[int] | None = None
) -> list[TrialEnded]:
    """Every trial that began and whose end was not told: told now, from its log, which is closed first.

    A run that came to its end and was not told of counts with the result that it had. One that was cut off is closed as
    crashed, and its start is due again. One that never began leaves nothing behind. Nobody is left to say whether the
    fault that the plan has for it had begun: it counts as if it had.

    Args:
        among: only these starts, while others may be under way; None: all.

    Raises:
        RunInProgress: its writer is still alive.
        StorageUnwritable: it can't be closed.
    """
    found: list[TrialEnded] = []
    for begun in [each for each in state.open.values() if among is None or each.start in among]:
        fault = state.plan.starts[begun.start].fault
        ended = _closed(begun, store, () if fault is None else (fault,))
        if ended is None:
            continue
        batch.add(ended)
        state.add(ended)
        found.append(ended)
    if among is not None:
        return found
    resets = RunStore(batch.resets_dir)
    for entry in resets.list():
        if entry.state == "interrupted":
            with suppress(NotARunLog):
                resets.recover(entry.run_id)
    return found


def _closed(begun: TrialStarted, store: RunStore, faults: tuple[str, ...]) -> TrialEnded | None:
    if not (store.runs_dir / begun.run_id).is_dir():
        return None
    patience_s = monotonic() + _WRITER_GONE_S
    while True:
        try:
            return ended_of(store.recover(begun.run_id), begun.start, faults=faults)
        except RunInProgress:  # a worker whose parent has died goes too, but not in the same moment
            if monotonic() > patience_s:
                raise
            sleep(0.1)
