"""Corrections while nobody looks on: what to do with a candidate between two blocks of trials.

Within a block nothing that is applied changes; lessons are only collected. Between blocks the candidate is proved by
the pairs of trials that were had with it and without it, goes live if the proof holds, and makes way for the next one
if it is worse or if nothing has come of it. The same blocks give the same course, whoever ran them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from runs.corrections.file import CorrectionFile
from runs.corrections.model import NO_MODEL, CorrectionModel
from runs.corrections.proof import Pair, Proof, ProofSettings, decided, outcome_of, prove
from runs.corrections.rule import RuleSettings
from runs.corrections.table import BelongsTo
from runs.schema.run import RunLog

Use = Literal["live", "candidate"]


FIRST_TRIES = 3
"""So many trials of its first block a new candidate gets; twice as many as it has had in each block after that."""

FRESH_LESSONS = 10
"""No candidate is proposed before so many lessons more than the last one had; four times as many after each refusal."""


@dataclass(frozen=True, slots=True)
class BlockEnd:
    """What came of a block. `tries`: so many trials of the next one try the candidate, see `arms`."""

    tries: int
    proof: Proof | None
    promoted: CorrectionModel | None
    proposed: CorrectionModel | None


def arms(tries: int, trials: int) -> tuple[Use, ...]:
    """The values of `corrections.use` for a block of trials: every try of the candidate follows one of what is live.

    At most half of the block tries it.
    """
    tries = min(tries, trials // 2)
    at = {int(trials / tries * turn) + 1 for turn in range(tries)}
    return tuple("candidate" if number in at else "live" for number in range(trials))


def end_block(
    file: CorrectionFile,
    belongs_to: BelongsTo,
    pairs: Sequence[Pair],
    *,
    rule: RuleSettings,
    proof: ProofSettings,
    by: str,
    but: Collection[str] = (),
) -> BlockEnd:
    """Settle what a block has shown, and say how the next one goes on.

    A candidate is tried on a few trials first and on more only while nothing speaks against it, and after each refusal
    the next one is longer in coming: so wrong measurements cost few trials.

    Args:
        pairs: all that were had with the present candidate so far, from this block and those before.
        by: who is written into the history, as the batch's name.
        but: runs whose lessons don't count, see `overruled`.

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
            return BlockEnd(max(FIRST_TRIES, 2 * (found.pairs + found.dropped)), found, None, None)
        file.record_proof(belongs_to, found, by=by)
        if found.holds:
            promoted = file.promote(belongs_to, found, by=by)
        state = file.load(belongs_to)
    fresh = len(state.table.lessons) - state.proposed_from
    proposed = None
    if fresh >= FRESH_LESSONS * 4**state.refusals or (state.proposed_from == 0 and fresh > 0):
        proposed = file.propose(belongs_to, rule, by=by, but=but)
    return BlockEnd(0 if proposed is None else FIRST_TRIES, found, promoted, proposed)


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
