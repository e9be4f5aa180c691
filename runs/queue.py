"""Which steps a person should look at, the most doubtful first, each with its reasons.

In the queue is what has no verdict, what is unsure, where judges disagree or one contradicts itself, a yes that the tip
measurement speaks against, and a random share of the confident ones: without those nobody would ever learn how often a
confident judge is wrong. What a person has ruled on is out of it. It decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Any, NamedTuple, get_args

from runs.rulings import came_to
from runs.schema.run import RunLog
from runs.schema.verdict import JudgedStage, Verdict, Word
from runs.store import StoredRun
from runs.verdicts import Standing, answers_in, last_verdict, standing_in

DEFAULT_SHARE = 0.07
"""Of the confident ones, how many a person looks at all the same: 5 to 10 % is enough to measure the judge."""

_LOW_CONFIDENCE = 0.7
_DISAGREE, _DOUBTED, _UNSURE, _NONE, _LOW = 1.0, 0.95, 0.9, 0.85, 0.5


class Reason(NamedTuple):
    """Why a person should look: in full, and without anybody's word for those who are to judge blind."""

    text: str
    blind: str
    doubt: float


@dataclass(frozen=True, slots=True)
class Doubtful:
    """One step for a person. `doubt` orders the queue, from 1 down to 0; `drawn` is one drawn from the confident."""

    run_id: str
    stage: JudgedStage
    doubt: float
    reasons: tuple[str, ...]
    blind_reasons: tuple[str, ...]
    word: Word | None
    confidence: float | None
    judge: str | None
    image: str | None
    drawn: bool = False

    def as_object(self) -> dict[str, Any]:
        """For programs."""
        return asdict(self)


def queue(runs: Iterable[StoredRun], *, share: float = DEFAULT_SHARE, seed: int = 0) -> list[Doubtful]:
    """The steps of these runs that a person should look at.

    Args:
        share: of the confident ones, 0 to 1. Whether one is drawn hangs on the seed and its own name alone, so it stays
            drawn when more runs come.
        seed: another one draws others.
    """
    found = [item for stored in runs for item in _of_run(stored, share, seed)]
    return sorted(found, key=lambda item: (-item.doubt, item.confidence or 0.0, item.run_id, item.stage))


def _of_run(stored: StoredRun, share: float, seed: int) -> Iterator[Doubtful]:
    if stored.entry.state == "running":
        return
    for stage in get_args(JudgedStage):
        standing = standing_in(stored.log, stage)
        item = doubtful_step(stored.log, stored.entry.run_id, stage, standing, share=share, seed=seed)
        if item is not None:
            yield item


def doubtful_step(
    log: RunLog,
    run_id: str,
    stage: JudgedStage,
    standing: Standing | None,
    *,
    share: float = DEFAULT_SHARE,
    seed: int = 0,
) -> Doubtful | None:
    """This step as one for a person to look at; None where there is nothing to look at, or a person has been there.

    `standing` is what stands for it.
    """
    reasons = reasons_to_look(log, stage, standing)
    word = None if standing is None else standing.word
    sure = None if standing is None else standing.confidence
    drawn = reasons is not None and not reasons and (share >= 1 or draw(seed, run_id, stage) < share)
    if drawn:
        reasons = [drawn_from_the_confident(word, sure)]
    if not reasons:
        return None
    judgment = log.judgments.get(stage)
    return Doubtful(
        run_id=run_id,
        stage=stage,
        doubt=reasons[0].doubt,
        reasons=tuple(reason.text for reason in reasons),
        blind_reasons=tuple(dict.fromkeys(reason.blind for reason in reasons)),
        word=word,
        confidence=sure,
        judge=None if standing is None else standing.by,
        image=None if judgment is None else judgment.image,
        drawn=drawn,
    )


def reasons_to_look(log: RunLog, stage: JudgedStage, standing: Standing | None) -> list[Reason] | None:
    """Why a person should look at this step, the most doubtful first: none of a confident one.

    None where there is nothing to look at, or a person has been there. `standing` is what stands for the step.
    """
    if log.dry_run or not came_to(log, stage) or (standing is not None and standing.source == "person"):
        return None
    found = list(_reasons(log, stage, standing))
    if len(found) > 1:
        found = list({reason.text: reason for reason in found}.values())
        found.sort(key=lambda reason: -reason.doubt)
    return found


def drawn_from_the_confident(word: Word | None, confidence: float | None) -> Reason:
    """The reason for looking at a step that nothing speaks against."""
    text, sure = "drawn from the confident ones", 1.0 if confidence is None else confidence
    return Reason(f"{text}: {word}", text, min(_LOW, 1.0 - sure) / 2)


def _reasons(log: RunLog, stage: JudgedStage, standing: Standing | None) -> Iterator[Reason]:
    judgment = log.judgments.get(stage)
    verdict = last_verdict(log, stage)
    attempt = 1 if verdict is None else verdict.attempt
    word = None if standing is None else standing.word
    if verdict is not None and (verdict.members or verdict.alongside):
        said = _said_by_members(verdict)
        if len(set(said.values())) > 1:
            words = ", ".join(f"{who} {what}" for who, what in said.items())
            yield Reason(f"judges disagree: {words}", "judges disagree", _DISAGREE)
        for who, code in _failed_members(verdict):
            yield Reason(f"no verdict by {who}: {code}", f"no verdict by {who}: {code}", _NONE)
    if verdict is not None and verdict.verdict is not None and verdict.error is not None:
        doubted = f"doubted: {verdict.error.replace('_', ' ')}"
        yield Reason(doubted, doubted, _DOUBTED)
    if judgment is not None and judgment.dist_override:
        yield Reason("the tip was measured far from the block", "measured otherwise", _DOUBTED)
    for later in log.rejudged:
        said_later = later.verdict.verdict
        asked_same = later.verdict.stage == stage and later.verdict.attempt == attempt
        if asked_same and said_later is not None and word is not None and said_later != word:
            by = later.verdict.audit.model or later.verdict.audit.judge
            yield Reason(f"{by} later said {said_later}", f"{by} later said another thing", _DOUBTED)
    if word == "unsure":
        yield Reason("unsure", "doubtful", _UNSURE)
    elif word is None:
        error = judgment.error if judgment is not None else verdict.error if verdict is not None else None
        missing = f"no verdict{f': {error}' if error else ''}"
        yield Reason(missing, missing, _NONE)
    elif standing is not None and standing.confidence is not None and standing.confidence < _LOW_CONFIDENCE:
        sure = f"a confidence of {standing.confidence:.2f}"
        yield Reason(f"{word} with {sure}", sure, _LOW + (_LOW_CONFIDENCE - standing.confidence) / 2)


def _said_by_members(verdict: Verdict) -> dict[str, Word]:
    """Each member's word, by its name; of several with one name the one that differs from the others shows."""
    said: dict[str, Word] = {}
    for number, member in enumerate(answers_in(verdict), start=1):
        if member.verdict is not None:
            name = member.audit.model or member.audit.judge
            said[name if said.get(name, member.verdict) == member.verdict else f"{name} (answer {number})"] = (
                member.verdict
            )
    return said


def _failed_members(verdict: Verdict) -> Iterator[tuple[str, str]]:
    for member in answers_in(verdict):
        if member.verdict is None and member is not verdict:
            yield member.audit.model or member.audit.judge, member.error or "no verdict"


def draw(seed: int, run_id: str, stage: str) -> float:
    """The lot of a step, from 0 up to but not 1: it is drawn where that is below the share."""
    return int.from_bytes(sha256(f"{seed}/{run_id}/{stage}".encode()).digest()[:8], "big") / 2**64
