"""Corrections while nobody looks on: what to do with a candidate between two blocks of trials.

Within a block nothing that is applied changes; lessons are only collected. Between blocks the candidate is proved by
the pairs of trials that were had with it and without it, goes live if the proof holds, and makes way for the next one
if it is worse or if nothing has come of it. The same blocks give the same course, whoever ran them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from runs.corrections.file import CorrectionFile
from runs.corrections.model import NO_MODEL, CorrectionModel
from runs.corrections.proof import Pair, Proof, ProofSettings, decided, outcome_of, prove
from runs.corrections.rule import RuleSettings
from runs.corrections.table import BelongsTo
from runs.schema.run import RunLog

Use = Literal["live", "candidate"]


@dataclass(frozen=True, slots=True)
class BlockEnd:
    """What came of a block. `arms`: the values of `corrections.use` that the next block's trials take in turn."""

    arms: tuple[Use, ...]
    proof: Proof | None
    promoted: CorrectionModel | None
    proposed: CorrectionModel | None


def end_block(
    file: CorrectionFile,
    belongs_to: BelongsTo,
    pairs: Sequence[Pair],
    *,
    rule: RuleSettings,
    proof: ProofSettings,
    by: str,
    fresh_lessons: int = 10,
) -> BlockEnd:
    """Settle what a block has shown, and say how the next one goes on.

    Args:
        pairs: all that were had with the present candidate so far, from this block and those before.
        by: who is written into the history, as the batch's name.
        fresh_lessons: no new candidate is proposed before so many lessons more than the last model had.

    Raises:
        StorageUnwritable, CorrectionsUnreadable, NewerThanUs: see `CorrectionFile`.
    """
    found, promoted = None, None
    state = file.load(belongs_to)
    settled = state.proof is not None and decided(state.proof, proof)
    if state.candidate is not None and not settled:
        live = None if state.live is None else state.live.content_hash
        found = prove(pairs, candidate=state.candidate.content_hash, against=live, settings=proof)
        if not decided(found, proof):
            return BlockEnd(("live", "candidate"), found, None, None)
        file.record_proof(belongs_to, found, by=by)
        if found.holds:
            promoted = file.promote(belongs_to, found, by=by)
        state = file.load(belongs_to)
    known = max((model.lessons for model in (state.live, state.candidate) if model is not None), default=0)
    taught = len(state.table.lessons)
    proposed = None
    if taught >= known + fresh_lessons or (known == 0 and taught >= 1):
        proposed = file.propose(belongs_to, rule, by=by)
    tried = proposed is not None
    return BlockEnd(("live", "candidate") if tried else ("live",), found, promoted, proposed)


def pairs_in_turn(logs: Sequence[RunLog], *, candidate: str, against: str | None) -> list[Pair]:
    """Pairs out of trials that took the two ways in turn: the first of one with the first of the other, and so on.

    Trials with another model than these two are left out.
    """
    ways: dict[str | None, list[RunLog]] = {candidate: [], against: []}
    for log in logs:
        ways.get(model_in(log), []).append(log)
    return [
        Pair(start=f"turn {turn}", with_it=outcome_of(a), without=outcome_of(b))
        for turn, (a, b) in enumerate(zip(ways[candidate], ways[against], strict=False), start=1)
    ]


def model_in(log: RunLog) -> str | None:
    """The hash of the model that a trial applied, or would have; None for no correction."""
    if log.correction.last is not None:
        return log.correction.last.model
    stood_on = log.provenance.corrections_hash if log.provenance is not None else None
    return None if stood_on == NO_MODEL.content_hash else stood_on
