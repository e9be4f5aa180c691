"""A judge that says what it was told to say, in order. For tests, and for trying out how a trial goes on.

It looks at nothing; when its script has run out it has no verdict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from judges.protocol import Evidence
from runs.schema.verdict import JudgeAudit, JudgedStage, Verdict, Word


class ScriptedJudge:
    """Answers from a list a stage."""

    name = "scripted"

    def __init__(self, answers: Mapping[JudgedStage, Sequence[Word]]) -> None:
        self._left = {stage: list(words) for stage, words in answers.items()}

    def judge(self, evidence: Evidence) -> Verdict:
        """The next answer of the script for this stage."""
        left = self._left.get(evidence.stage, [])
        word = left.pop(0) if left else None
        return Verdict(
            stage=evidence.stage,
            verdict=word,
            confidence=None,
            reason="as scripted" if word else "the script has no more answers",
            error=None if word else "script_ended",
            audit=JudgeAudit(judge=self.name, image_hashes=tuple(p.sha256 for p in evidence.pictures)),
            attempt=evidence.attempt,
        )
