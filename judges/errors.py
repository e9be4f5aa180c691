"""What can go wrong while judging. None of it is ever a yes."""

from __future__ import annotations

from typing import ClassVar

from runs.errors import Family, TrialcellError


class JudgeError(TrialcellError):
    """No verdict could be had."""

    family: ClassVar[Family] = "verdict"


class BadEvidence(JudgeError):
    """What was handed to the judge can't be judged at all."""

    family: ClassVar[Family] = "usage"

    def __init__(self, why: str, *, next_step: str | None = None) -> None:
        super().__init__(why, next_step=next_step)
