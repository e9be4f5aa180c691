"""What a round of trials teaches the corrections, once all of it is in: in the plan's order, each run once.

Within a round nothing that is applied changes: so it is the same for all its trials, and afterwards the same whoever
ran them in which order. Between two rounds a proposed correction is proved, goes live or makes way. A round that was
cut off while it taught is taught to its end: what is in the table is not taught again.
"""

from __future__ import annotations

from typing import Literal

from runner.cell import Cell
from runner.learning import proof_of, rule_of
from runner.trial.sequence import Lessons
from runner.trial.stages.learn import lesson_of
from runner.trial.trial import Trial
from runs.batch_records import LessonKept, PlannedStart, RoundTaught
from runs.batch_state import BatchState
from runs.batches import BatchFolder
from runs.corrections.file import CorrectionFile
from runs.corrections.overruled import overruled
from runs.corrections.table import BelongsTo
from runs.corrections.unattended import BlockEnd, arms, end_block, pairs_in_turn
from runs.events import NotLearned, utc_text
from runs.schema.run import Ending
from runs.store import RunStore


def kept_for_the_round(batch: BatchFolder, start: int) -> Lessons:
    """A trial of a batch teaches nothing by itself; what it has to teach is kept with the batch.

    It is kept before the run has its end, so that a crash between the two loses nothing.
    """

    def keep(trial: Trial, ending: Ending) -> None:
        lesson = lesson_of(trial, ending)
        if isinstance(lesson, str):
            trial.book.add(NotLearned(reason=lesson))
            return
        batch.add(LessonKept(at=utc_text(), start=start, belongs_to=trial.bench.belongs_to, lesson=lesson))
        trial.book.add(trial.bench.corrections.load(trial.bench.belongs_to).table.change(lesson))

    return keep


def uses_in_round(state: BatchState, number: int) -> dict[int, Literal["live", "candidate"]]:
    """Which correction each start of a round is tried with; in a test of A against B always what is live."""
    members = [start for start in state.plan.starts if start.round == number]
    before = state.taught.get(number - 1)
    if before is None or any(start.arm is not None for start in members):
        return {start.index: "live" for start in members}
    return dict(zip([start.index for start in members], arms(before.tries, len(members)), strict=True))


def teach_round(cell: Cell, batch: BatchFolder, state: BatchState, members: list[PlannedStart]) -> RoundTaught:
    """Teach what the final runs of a round have to, settle what it has shown, and write down that it was done.

    Where the time was up in the middle of a round, some of its starts have no final run.

    Raises:
        CorrectionsUnreadable, NewerThanUs, StorageUnwritable: nothing more was taught.
    """
    file = CorrectionFile(cell.folder)
    finals = [state.final[member.index].run_id for member in members if member.index in state.final]
    kept = [state.lessons[run] for run in finals if run in state.lessons]
    for each in kept:
        known = {lesson.run_id for lesson in file.load(each.belongs_to).table.lessons}
        if each.lesson.run_id not in known:
            file.learn(each.belongs_to, each.lesson)
    ended = None
    settled = kept or list(state.lessons.values())  # a candidate that spoils every trial leaves a round without any
    if settled and cell.config.corrections.rule == "robust" and cell.config.trial.corrections:
        ended = _settled(cell, file, state, settled[-1].belongs_to)
    told = RoundTaught(
        at=utc_text(),
        round=members[0].round,
        lessons=len(kept),
        tries=0 if ended is None else ended.tries,
        promoted=None if ended is None or ended.promoted is None else ended.promoted.content_hash,
        proposed=None if ended is None or ended.proposed is None else ended.proposed.content_hash,
        proved=None if ended is None or ended.proof is None else ended.proof.holds,
    )
    batch.add(told)
    return told


def _settled(cell: Cell, file: CorrectionFile, state: BatchState, belongs_to: BelongsTo) -> BlockEnd:
    """What all trials of the batch so far say of the candidate, if there is one."""
    found, store = file.load(belongs_to), RunStore(cell.runs_dir)
    pairs = []
    if found.candidate is not None:
        logs = [store.open(state.final[start].run_id).log for start in sorted(state.final)]
        live = None if found.live is None else found.live.content_hash
        pairs = pairs_in_turn(logs, candidate=found.candidate.content_hash, against=live)
    return end_block(
        file,
        belongs_to,
        pairs,
        rule=rule_of(cell.config),
        proof=proof_of(cell.config),
        by=state.plan.batch_id,
        but=overruled(cell.runs_dir, found.table.lessons),
    )
