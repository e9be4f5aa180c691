"""Intervals that stay right however often one looks: for a rate, and for the difference of two rates over pairs.

A fixed interval holds the truth 95 times in 100 only if one looks once, at a number of trials said beforehand. Whoever
looks after each trial and stops when it suits needs these, which are wider. They depend on counts alone, not on the
order in which they came; which trials count is for the caller to say.

Source: Robbins (1970), Statistical methods related to the law of the iterated logarithm: a likelihood averaged over a
prior, divided by the likelihood of the truth, is a martingale under the truth, so by Ville (1939) it ever reaches 1/α
with a chance of at most α. What has not been ruled out that way is the interval.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import lgamma, log, sqrt

from scipy.optimize import brentq
from scipy.special import logsumexp

from runs.statistics import Rate

_PRIORS = ((0.5, 20.0, 0.5), (0.5, 0.5, 0.5))
"""Of pairs lost, alike and won: two good ways are mostly alike, a good and a bad one are not. Half the weight each."""


def rate_so_far(successes: int, n: int, *, confidence: float = 0.95) -> Rate:
    """A rate with an interval that holds the true one at every n at once, with at least `confidence`.

    Raises:
        ValueError: counts that can't be, or a confidence out of range.
    """
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} successes of {n} can't be")
    _check_confidence(confidence)
    if n == 0:
        return Rate(0, 0, None, 0.0, 1.0, confidence)
    failures, rate = n - successes, successes / n
    averaged = _log_beta(successes + 0.5, failures + 0.5) - _log_beta(0.5, 0.5)
    limit = averaged + log(1 - confidence)  # a truth less likely than this has been ruled out

    def above(p: float) -> float:
        return _times_log(successes, p) + _times_log(failures, 1 - p) - limit

    low = 0.0 if successes == 0 else _edge(above, 0.0, rate)
    high = 1.0 if failures == 0 else _edge(above, 1.0, rate)
    return Rate(successes, n, rate, low, high, confidence)


@dataclass(frozen=True, slots=True)
class DifferenceSoFar:
    """Second rate minus first over `n` pairs, with an interval that holds the true one at every n at once."""

    n: int
    value: float | None
    low: float
    high: float
    confidence: float


def paired_difference_so_far(
    both: int, only_first: int, only_second: int, neither: int, *, confidence: float = 0.95
) -> DifferenceSoFar:
    """The difference of two rates over pairs, second minus first, to be looked at as often as one likes.

    Raises:
        ValueError: counts that can't be, or a confidence out of range.
    """
    if min(both, only_first, only_second, neither) < 0:
        raise ValueError("counts are not negative")
    _check_confidence(confidence)
    alike = both + neither
    n = alike + only_first + only_second
    if n == 0:
        return DifferenceSoFar(0, None, -1.0, 1.0, confidence)
    counts = (only_first, alike, only_second)
    averaged = float(logsumexp([_log_averaged(counts, prior) for prior in _PRIORS])) - log(len(_PRIORS))
    limit = averaged + log(1 - confidence)

    def above(difference: float) -> float:
        return _log_likely(only_first, alike, only_second, difference) - limit

    value = (only_second - only_first) / n
    low = -1.0 if only_first == n else _edge(above, -1.0, value)
    high = 1.0 if only_second == n else _edge(above, 1.0, value)
    return DifferenceSoFar(n, value, low, high, confidence)


def _log_averaged(counts: tuple[int, ...], prior: tuple[float, ...]) -> float:
    """The likelihood of counts averaged over a Dirichlet prior, its logarithm."""
    each = sum(lgamma(k + a) - lgamma(a) for k, a in zip(counts, prior, strict=True))
    return each + lgamma(sum(prior)) - lgamma(sum(prior) + sum(counts))


def _log_likely(lost: int, alike: int, won: int, difference: float) -> float:
    """The largest log-likelihood of the counts among all truths in which wins are likelier than losses by so much.

    With p of a loss, p + difference of a win and 1 - 2p - difference of a tie, the best p solves a quadratic equation.
    """
    d, lowest, highest = difference, max(0.0, -difference), (1.0 - difference) / 2
    a = 2.0 * (lost + alike + won)
    b = 2 * d * alike - (1 - 3 * d) * lost - (1 - d) * won
    c = -d * (1 - d) * lost
    root = (-b + sqrt(max(0.0, b * b - 4 * a * c))) / (2 * a)
    best = min(highest, max(lowest, root))
    return _times_log(lost, best) + _times_log(won, best + difference) + _times_log(alike, 1.0 - 2 * best - difference)


def _edge(above: Callable[[float], float], outer: float, inner: float) -> float:
    """Where a function that is positive inside and falls outwards goes through zero."""
    if above(outer) >= 0:
        return outer
    return float(brentq(above, outer, inner, xtol=1e-10))


def _times_log(count: float, p: float) -> float:
    """`count` times the logarithm of `p`; no count of an impossible thing costs nothing, a count of one all."""
    if count == 0:
        return 0.0
    return count * log(p) if p > 1e-300 else -1e300


def _log_beta(a: float, b: float) -> float:
    return lgamma(a) + lgamma(b) - lgamma(a + b)


def _check_confidence(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise ValueError(f"a confidence lies between 0 and 1, not at {confidence}")
