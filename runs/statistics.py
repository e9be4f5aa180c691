"""Rates with exact intervals. It knows counts only: which trials count is for the caller to say."""

from __future__ import annotations

from dataclasses import dataclass

from scipy.special import betaincinv


@dataclass(frozen=True, slots=True)
class Rate:
    """`successes` of `n`, with the interval that holds the true rate with at least `confidence`.

    `rate` is None where nothing was counted; the interval is then 0 to 1.
    """

    successes: int
    n: int
    rate: float | None
    low: float
    high: float
    confidence: float


def exact_rate(successes: int, n: int, *, confidence: float = 0.95) -> Rate:
    """A rate with its two-sided Clopper-Pearson interval.

    Args:
        successes: 0 to n.
        n: how many were counted.
        confidence: between 0 and 1, both left out.

    Raises:
        ValueError: counts that can't be, or a confidence out of range.

    Source: Clopper and Pearson (1934), The use of confidence or fiducial limits illustrated in the case of the
    binomial; the limits are quantiles of beta distributions.
    """
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} successes of {n} can't be")
    if not 0 < confidence < 1:
        raise ValueError(f"a confidence lies between 0 and 1, not at {confidence}")
    tail = (1 - confidence) / 2
    low = 0.0 if successes == 0 else float(betaincinv(successes, n - successes + 1, tail))
    high = 1.0 if successes == n else float(betaincinv(successes + 1, n - successes, 1 - tail))
    return Rate(successes, n, successes / n if n else None, low, high, confidence)
