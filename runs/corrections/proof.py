"""Does a candidate help? Trials with it and without it, in pairs; a proof that a promotion can stand on.

What decides is the judged outcome, which does not come from the measurement that the lessons came from: whoever lies
about the tip can make the tip look better, but not the picks succeed. Counts alone are used, with intervals that stay
right however often one looks, so a batch may ask after each pair.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from pydantic import Field
from scipy.special import bdtr

from runs.schema.base import Record
from runs.schema.run import Result, RunLog
from runs.sequential import DifferenceSoFar, paired_difference_so_far, rate_so_far
from runs.verdicts import standing_result

Word = Literal["better", "worse", "unpromising", "no worse", "undecided"]

UNPROMISING = 0.125
"""A candidate that does so badly with no more than this chance, were it as good, is not worth more trials: 0 of 3."""

COUNTED: tuple[Result, ...] = ("completed", "failed", "refused")
"""How a trial must have ended to say something; a refusal is the correction's fault as far as anybody knows."""


class Outcome(Record):
    """One trial of a pair. `succeeded`: on the first attempt; None where the trial says nothing about it."""

    run_id: str
    succeeded: bool | None
    tip_mm: float | None = None


class Pair(Record):
    """A trial with the candidate and one without it, otherwise alike."""

    start: str
    with_it: Outcome
    without: Outcome


class ProofSettings(Record):
    """What a proof asks for: how much worse success may at most be, and how sure that is to be."""

    margin: float = Field(0.05, gt=0, lt=1)
    confidence: float = Field(0.95, gt=0.5, lt=1)
    most_pairs: int = Field(400, ge=1)


class Proof(Record):
    """What pairs say of a candidate against what is live (None: no correction).

    `success_*` is the first-attempt success with it minus that without; `tip_better_*` the share of pairs in which the
    tip was nearer with it. Intervals hold at every look. `dropped` pairs said nothing: a trial was invalid, stopped,
    crashed or unjudged.
    """

    candidate: str
    against: str | None
    pairs: int
    dropped: int
    both: int
    only_with: int
    only_without: int
    neither: int
    success_value: float | None
    success_low: float
    success_high: float
    tip_pairs: int
    tip_better: float | None
    tip_better_low: float
    tip_better_high: float
    tip_with_mm: float | None
    tip_without_mm: float | None
    margin: float
    confidence: float
    word: Word
    holds: bool
    reason: str
    run_ids: tuple[str, ...] = ()


def outcome_of(log: RunLog) -> Outcome:
    """What a trial says in a proof, by what stands of its verdicts today; an agent's sitting says nothing."""
    result = standing_result(log)
    tip = next((one.missed_dist_mm for one in log.tip_measurements if one.diff is not None), None)
    if log.dry_run or log.agent is not None or result not in COUNTED:
        return Outcome(run_id=log.run_id, succeeded=None, tip_mm=None)
    first = result == "completed" and max((one.attempt for one in log.pick_attempts), default=1) == 1
    return Outcome(run_id=log.run_id, succeeded=first, tip_mm=tip)


def prove(pairs: Sequence[Pair], *, candidate: str, against: str | None, settings: ProofSettings) -> Proof:
    """What the pairs say so far.

    It holds if success is surely not worse by more than the margin, and either success or the tip is surely better.
    """
    said = [p for p in pairs if p.with_it.succeeded is not None and p.without.succeeded is not None]
    both, only_with, only_without, neither = (
        sum((p.with_it.succeeded, p.without.succeeded) == kind for p in said)
        for kind in ((True, True), (True, False), (False, True), (False, False))
    )
    success = paired_difference_so_far(both, only_without, only_with, neither, confidence=settings.confidence)
    tips = [(p.with_it.tip_mm, p.without.tip_mm) for p in said]
    measured = [(a, b) for a, b in tips if a is not None and b is not None]
    nearer, farther = sum(a < b for a, b in measured), sum(a > b for a, b in measured)
    tip = rate_so_far(nearer, nearer + farther, confidence=settings.confidence)
    word, reason = _word(success, tip.low, len(said), len(pairs), settings)
    if word in ("undecided", "no worse") and bdtr(only_with, only_with + only_without, 0.5) <= UNPROMISING:
        word, reason = "unpromising", f"only {only_with} of {only_with + only_without} pairs that differ speak for it"
    return Proof(
        candidate=candidate,
        against=against,
        pairs=len(said),
        dropped=len(pairs) - len(said),
        both=both,
        only_with=only_with,
        only_without=only_without,
        neither=neither,
        success_value=success.value,
        success_low=success.low,
        success_high=success.high,
        tip_pairs=len(measured),
        tip_better=tip.rate,
        tip_better_low=tip.low,
        tip_better_high=tip.high,
        tip_with_mm=_median([a for a, _ in measured]),
        tip_without_mm=_median([b for _, b in measured]),
        margin=settings.margin,
        confidence=settings.confidence,
        word=word,
        holds=word == "better",
        reason=reason,
        run_ids=tuple(one.run_id for p in pairs for one in (p.with_it, p.without)),
    )


def decided(proof: Proof, settings: ProofSettings) -> bool:
    """Whether more pairs are not worth their time: it is better, worse, looks so, or as many as may be tried were."""
    return proof.word in ("better", "worse", "unpromising") or proof.pairs + proof.dropped >= settings.most_pairs


def paired(with_it: Iterable[tuple[str, RunLog]], without: Iterable[tuple[str, RunLog]]) -> list[Pair]:
    """Trials of two ways in pairs, each given with its start: those that share a start, in the order they came in.

    A start that only one way had makes no pair.
    """
    others: dict[str, list[RunLog]] = {}
    for start, log in without:
        others.setdefault(start, []).append(log)
    found = []
    for start, log in with_it:
        if others.get(start):
            other = others[start].pop(0)
            found.append(Pair(start=start, with_it=outcome_of(log), without=outcome_of(other)))
    return found


def _word(success: DifferenceSoFar, tip_low: float, said: int, pairs: int, settings: ProofSettings) -> tuple[Word, str]:
    low, high, margin = success.low, success.high, f"{settings.margin:.0%}"
    if said == 0:
        return "undecided", "no pair says anything yet"
    if high < 0:
        return "worse", f"success is lower with it: by at least {-high:.0%}"
    if said < pairs * 2 / 3:
        return "undecided", f"{pairs - said} of {pairs} pairs say nothing: find out why before any is believed"
    if low > 0:
        return "better", f"success is higher with it: by at least {low:.0%}"
    if low <= -settings.margin:
        return "undecided", f"success could still be lower with it by {-low:.0%}, and {margin} is the most allowed"
    if tip_low > 0.5:
        return "better", f"the tip is nearer with it, and success is lower by {-low:.0%} at most"
    return "no worse", f"success is lower by {-low:.0%} at most, but nothing is surely better"


def _median(values: list[float]) -> float | None:
    ordered = sorted(values)
    if not ordered:
        return None
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2
