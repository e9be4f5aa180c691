"""What a round of trials teaches the corrections, once all of it is in: in the plan's order, each run once.

So the corrections are the same for all trials of a round, and the same afterwards whoever ran them in which order. A
round that was cut off while it taught is taught to its end: a run whose lesson is in the table is not taught again.
"""

from __future__ import annotations

from runner.cell import Cell
from runner.trial.trial import Trial
from runs.batches import BatchFolder
from runs.corrections.file import CorrectionFile
from runs.corrections.table import BelongsTo
from runs.events import NotLearned, utc_text
from runs.schema.batch import RoundTaught, TrialEnded
from runs.schema.run import Ending, RunLog
from runs.store import RunStore


def later(trial: Trial, ending: Ending) -> None:
    """A trial of a batch teaches nothing by itself."""
    why = f"it is taught with its round of the batch, if at all ({ending.result})"
    trial.book.add(NotLearned(reason=why))


def teach_round(cell: Cell, batch: BatchFolder, number: int, ended: list[TrialEnded]) -> RoundTaught:
    """Teach what the runs of a round say, and write down that it was done.

    Args:
        ended: the final words of the round's starts, in the plan's order.

    Raises:
        CorrectionsUnreadable, NewerThanUs, StorageUnwritable: nothing more was taught.
    """
    file, store = CorrectionFile(cell.folder), RunStore(cell.runs_dir)
    before = after = ""
    lessons = 0
    for event in ended:
        log = store.open(event.run_id).log
        belongs_to = _belongs_to(log)
        if belongs_to is None:
            continue
        table = file.load(belongs_to)
        before = before or table.content_hash
        after = after or before
        if not cell.config.trial.learn or not _teaches(log, cell.config.trial.dist_override_mm):
            continue
        if any(sample.run_id == log.run_id for samples in table.cells.values() for sample in samples):
            lessons, after = lessons + 1, table.content_hash
            continue
        diff = log.tip_measurements[-1].diff
        assert diff is not None
        taught, change = table.learn(
            "pick",
            (diff.block_x, diff.block_z),
            (diff.dx_mm, diff.dz_mm),
            run_id=log.run_id,
            at=utc_text(),
            applied=log.correction.last,
        )
        file.save(table, taught, change, run_id=log.run_id)
        lessons, after = lessons + 1, taught.content_hash
    told = RoundTaught(at=utc_text(), round=number, lessons=lessons, hash_before=before, hash_after=after)
    batch.add(told)
    return told


def _belongs_to(log: RunLog) -> BelongsTo | None:
    made_with = log.provenance
    if made_with is None or made_with.table_hash is None or "plane" not in made_with.calibration_hashes:
        return None
    return BelongsTo(
        calibration_hash=made_with.calibration_hashes["plane"],
        table_hash=made_with.table_hash,
        profile=made_with.profile,
    )


def _teaches(log: RunLog, limit_mm: float) -> bool:
    """Only a completed trial with a pick judged yes and a believable tip measurement does."""
    pick = log.judgments.get("pick")
    if log.result != "completed" or log.dry_run or pick is None or pick.verdict != "yes" or not log.tip_measurements:
        return False
    diff = log.tip_measurements[-1].diff
    return diff is not None and diff.dist_mm <= limit_mm
