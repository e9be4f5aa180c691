"""Which verdict stands for a stage once people have had their say.

A person's word stands over every judge's, the last one over those before. No verdict is None: it is not judged, and
nothing here turns that into an answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
    """The last ruling, else the judge's verdict, else None: not judged.

    `judged` is a verdict without a word where the judge could not be asked or understood; that is None as well.
    """
    if rulings:
        last = rulings[-1]
        return Standing(last.verdict, "person", last.by, last.reason, at=last.at)
    if judged is None or judged.verdict is None:
        return None
    audit = judged.audit
    return Standing(judged.verdict, "judge", audit.model or audit.judge, judged.reason, judged.confidence, judged.at)


def standing_in(log: RunLog, stage: JudgedStage) -> Standing | None:
    """What stands for a stage of a log: its last ruling, else the judgment that stood when the trial ended.

    A field log keeps a person's word inside the judgment, without a name; it is a person's all the same. Where the
    trial ended without a word on the stage, the first word that a judge gave later stands; a later verdict never
    stands over an earlier one.
    """
    rulings = [ruling for ruling in log.rulings if ruling.stage == stage]
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


def last_attempt(log: RunLog, stage: JudgedStage) -> int:
    """The attempt that the judgment of a stage is about: the last one that was judged."""
    return max((verdict.attempt for verdict in log.verdicts if verdict.stage == stage), default=1)


def _later_standing(log: RunLog, stage: JudgedStage) -> Standing | None:
    """The first later word; unsure where a member of the panel that had no verdict then had said something else."""
    later = next(_later_words(log, stage), None)
    standing = standing_verdict(later, ())
    if standing is None or later is None:
        return None
    asked = [verdict for verdict in log.verdicts if verdict.stage == stage and verdict.attempt == later.attempt]
    for member in (member for verdict in asked for member in verdict.members):
        if member.verdict is not None and member.verdict != standing.word:
            why = f"{member.audit.judge} said {member.verdict}, {standing.by} later {standing.word}: {standing.reason}"
            return replace(standing, word="unsure", reason=why, confidence=None)
    return standing


def _later_words(log: RunLog, stage: JudgedStage) -> Iterator[Verdict]:
    """Later verdicts with a word on the attempt that counts, the earliest first."""
    attempt = last_attempt(log, stage)
    for later in log.rejudged:
        verdict = later.verdict
        if verdict.stage == stage and verdict.attempt == attempt and verdict.verdict is not None:
            yield verdict


def _person_in(log: RunLog, stage: JudgedStage) -> str | None:
    """The name of the person who judged while the trial ran, if the log knows it."""
    said = [v for v in log.verdicts if v.stage == stage and v.audit.judge == PERSON and v.verdict is not None]
    return said[-1].audit.model if said else None
