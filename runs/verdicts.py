"""Which verdict stands for a stage once people have had their say.

A person's word stands over every judge's, the last one over those before. No verdict is None: it is not judged, and
nothing here turns that into an answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from runs.schema.run import Result, RunLog
from runs.schema.verdict import JudgedStage, Ruling, Verdict, Word

PERSON = "person"
"""What the audit of a person's verdict names as its judge; the person's own name stands where a model's would."""


@dataclass(frozen=True, slots=True)
class Standing:
    """The word that stands and whose it is: `by` is a person's name, or the judge or model."""

    word: Word
    source: Literal["person", "judge"]
    by: str | None
    reason: str
    confidence: float | None = None
    at: str | None = None


def standing_verdict(judged: Verdict | None, rulings: Sequence[Ruling]) -> Standing | None:
    """The last ruling that was not taken back, else the judge's verdict, else None: not judged.

    `judged` is a verdict without a word where the judge could not be asked or understood; that is None as well.
    """
    counting = not_taken_back(rulings)
    if counting:
        last = counting[-1]
        return Standing(last.verdict, "person", last.by, last.reason, at=last.at)
    if judged is None or judged.verdict is None:
        return None
    audit = judged.audit
    return Standing(judged.verdict, "judge", audit.model or audit.judge, judged.reason, judged.confidence, judged.at)


def not_taken_back(rulings: Iterable[Ruling]) -> list[Ruling]:
    """The rulings that count, in their order: each one that takes back is gone with that person's last one before it.

    Nobody takes back another's word.
    """
    counting: list[Ruling] = []
    for ruling in rulings:
        if not ruling.takes_back:
            counting.append(ruling)
            continue
        own = [at for at, one in enumerate(counting) if (one.stage, one.by) == (ruling.stage, ruling.by)]
        if own:
            del counting[own[-1]]
    return counting


def standing_in(log: RunLog, stage: JudgedStage) -> Standing | None:
    """What stands for a stage of a log: its last ruling, else the judgment that stood when the trial ended.

    A field log keeps a person's word inside the judgment, without a name; it is a person's all the same. Where the
    trial ended without a word on the stage, later answers may settle it; they never stand over a word that was given.
    """
    rulings = not_taken_back(ruling for ruling in log.rulings if ruling.stage == stage) if log.rulings else []
    judgment = log.judgments.get(stage)
    if rulings:
        return standing_verdict(None, rulings)
    if judgment is not None and judgment.human_verdict is not None:
        return Standing(judgment.human_verdict, "person", _person_in(log, stage), judgment.reason)
    if judgment is None or judgment.verdict is None:
        return _later_standing(log, stage)
    return Standing(judgment.verdict, "judge", judgment.model, judgment.reason, judgment.confidence)


def standing_result(log: RunLog) -> Result | None:
    """How the run counts once people have had their say: a ruling on the last judged step changes the trial's result.

    Only completed, failed and unjudged change into each other: what was refused, stopped or invalid stays so. A pick
    ruled yes makes no trial completed that ended there.
    """
    return result_with(log, standing_in(log, "pick"), standing_in(log, "place"))


def result_with(log: RunLog, pick: Standing | None, place: Standing | None) -> Result | None:
    """The same for whoever knows already what stands for the two steps."""
    if log.result not in ("completed", "failed", "unjudged") or log.dry_run:
        return log.result
    if "place" in log.judgments:
        return _RESULT_OF[place.word if place is not None else None]
    if "pick" not in log.judgments or pick is None or pick.word == "yes":
        return log.result
    return _RESULT_OF[pick.word]


_RESULT_OF: dict[Word | None, Result] = {"yes": "completed", "no": "failed", "unsure": "unjudged", None: "unjudged"}


def last_verdict(log: RunLog, stage: JudgedStage) -> Verdict | None:
    """The verdict that the judgment of a stage is about: the last one of the last attempt that was judged."""
    last: Verdict | None = None
    for verdict in log.verdicts:
        if verdict.stage == stage and (last is None or verdict.attempt >= last.attempt):
            last = verdict
    return last


def last_attempt(log: RunLog, stage: JudgedStage) -> int:
    """The attempt that the judgment of a stage is about: the last one that was judged."""
    last = last_verdict(log, stage)
    return 1 if last is None else last.attempt


def answers_in(verdict: Verdict) -> Iterator[Verdict]:
    """Every single answer in a verdict: its members' or its own, and those that were had alongside."""
    if verdict.members:
        for member in verdict.members:
            yield from answers_in(member)
    else:
        yield verdict
    yield from verdict.alongside


def _later_standing(log: RunLog, stage: JudgedStage) -> Standing | None:
    """What answers given later make of a step that the trial left without a word.

    Only the judge that was missing settles it, a person, a measurement or a model: one that has spoken already can't
    take the missing one's place. All who gave a word, then and later, must say the same; else it is unsure.
    """
    attempt = last_attempt(log, stage)
    then = [a for v in log.verdicts if (v.stage, v.attempt) == (stage, attempt) for a in answers_in(v)]
    answered = [one.verdict for one in log.rejudged if (one.verdict.stage, one.verdict.attempt) == (stage, attempt)]
    later = [a for v in answered if v.verdict is not None for a in answers_in(v) if a.verdict is not None]
    missing = {_kind(answer) for answer in then if answer.verdict is None}
    standing = standing_verdict(later[-1], ()) if later else None
    if standing is None or not missing <= {_kind(answer) for answer in later}:
        return None
    given = [answer for answer in (*then, *later) if answer.verdict is not None]
    if len({answer.verdict for answer in given}) == 1:
        return standing
    told = "; ".join(f"{answer.audit.model or answer.audit.judge} said {answer.verdict}" for answer in given)
    return replace(standing, word="unsure", reason=f"they disagree: {told}", confidence=None)


def _kind(answer: Verdict) -> str:
    """Who can stand in for whom: models for models, a person for a person, a measurement for a measurement."""
    return answer.audit.judge if answer.audit.judge in (PERSON, "measured") else "model"


def _person_in(log: RunLog, stage: JudgedStage) -> str | None:
    """The name of the person who judged while the trial ran, if the log knows it."""
    said = [v for v in log.verdicts if v.stage == stage and v.audit.judge == PERSON and v.verdict is not None]
    return said[-1].audit.model if said else None
