"""The twin's own state as a judge: scores other judges, never runs a trial.

Built from what the twin says of itself; a cell without a twin has none, and no part of a trial may ask it.
"""

from __future__ import annotations

from collections.abc import Callable

from judges.protocol import Evidence
from runs.schema.verdict import JudgeAudit, Verdict


class TruthJudge:
    """Knows whether the block is held and whether it lies in the box."""

    name = "truth"

    def __init__(self, block_held: Callable[[], bool], block_in_box: Callable[[], bool]) -> None:
        self._held, self._in_box = block_held, block_in_box

    def judge(self, evidence: Evidence) -> Verdict:
        """Yes or no, from the twin's state at this moment."""
        word, fact = (self._held(), "in the gripper") if evidence.stage == "pick" else (self._in_box(), "in the box")
        return Verdict(
            stage=evidence.stage,
            verdict="yes" if word else "no",
            confidence=1.0,
            reason=f"the twin's block is {'' if word else 'not '}{fact}",
            audit=JudgeAudit(judge=self.name),
            attempt=evidence.attempt,
        )
