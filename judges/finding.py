"""What a measurement leads to: a word, how sure it is, and the reason. No default: who finds nothing says unsure."""

from __future__ import annotations

from dataclasses import dataclass
from math import erf, sqrt

from runs.schema.verdict import Word

MOST_CONFIDENT = 0.99


@dataclass(frozen=True, slots=True)
class Finding:
    """The word of a measuring judge with its reason."""

    word: Word
    confidence: float
    reason: str


def unsure(reason: str, confidence: float = 0.0) -> Finding:
    """Not to be told from this evidence."""
    return Finding("unsure", confidence, reason)


def confidence_of(*margins_sigma: float) -> float:
    """How sure a decision is whose margins are so many standard deviations wide: the narrowest counts."""
    narrowest = min(margins_sigma)
    return min(max(0.5 * (1 + erf(narrowest / sqrt(2))), 0.5), MOST_CONFIDENT)
