"""The queue's steps as the index holds them: which are drawn, and what a row says of one."""

from __future__ import annotations

from typing import Any

from runs.queue import drawn_from_the_confident
from runs.schema.verdict import JudgedStage


def as_doubtful(step: dict[str, Any]) -> dict[str, Any]:
    """A row of the queue; why a confident step was drawn is not in the index."""
    drawn = step["lot"] is not None
    reasons, blind = step["reasons"], step["blind_reasons"]
    if drawn:
        reason = drawn_from_the_confident(step["word"], step["confidence"])
        reasons, blind = [reason.text], [reason.blind]
    return {
        "cell": step["cell"],
        "run_id": step["run_id"],
        "stage": step["stage"],
        "doubt": step["doubt"],
        "reasons": reasons,
        "blind_reasons": blind,
        "word": step["word"],
        "confidence": step["confidence"],
        "judge": step["by"],
        "image": step["image"],
        "drawn": drawn,
    }


def is_drawn(stage: JudgedStage, seed: int) -> str:
    """Whether the lot of a confident step is drawn: it is noted for the first seed; for others see `_draw`."""
    return f"{stage}_lot < ?" if seed == 0 else f"(cell, run_id, '{stage}') IN (SELECT * FROM drawn)"
