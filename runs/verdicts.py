"""Which verdict stands for a stage once people have had their say.

A person's word stands over every judge's, the last one over those before. No verdict is None: it is not judged, and
nothing here turns that into an answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from runs.schema.run import RunLog
from runs.schema.verdict import JudgedStage, Ruling, Verdict, Word


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

    A field log keeps a person's word inside the judgment, without a name; it is a person's all the same.
    """
    rulings = [ruling for ruling in log.rulings if ruling.stage == stage]
    judgment = log.judgments.get(stage)
    if rulings or judgment is None:
        return standing_verdict(None, rulings)
    if judgment.human_verdict is not None:
        return Standing(judgment.human_verdict, "person", None, judgment.reason)
    if judgment.verdict is None:
        return None
    return Standing(judgment.verdict, "judge", judgment.model, judgment.reason, judgment.confidence)
