"""Two sets of trials held against each other: how far apart their success rates are, and whether that can be chance.

Where trials come in pairs that share a start, the pairs are what counts: they differ only in what was changed. It knows
counts alone.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from math import exp, lgamma, log, sqrt

from runs.statistics import exact_rate, mcnemar, wilson_rate


@dataclass(frozen=True, slots=True)
class Difference:
    """Second rate minus the first, with its interval. `p_value` asks whether they differ at all."""

    value: float
    low: float
    high: float
    p_value: float
    confidence: float


def difference(first: tuple[int, int], second: tuple[int, int], *, confidence: float = 0.95) -> Difference | None:
    """The difference of two independent rates, each as successes and trials; None where one has no trials.

    Source: Newcombe (1998), Interval estimation for the difference between independent proportions, method 10; the
    p-value is Fisher's exact one, two-sided.
    """
    (a, m), (b, n) = first, second
    if m == 0 or n == 0:
        return None
    one, two = wilson_rate(a, m, confidence=confidence), wilson_rate(b, n, confidence=confidence)
    p1, p2 = a / m, b / n
    low = (p2 - p1) - sqrt((p2 - two.low) ** 2 + (one.high - p1) ** 2)
    high = (p2 - p1) + sqrt((two.high - p2) ** 2 + (p1 - one.low) ** 2)
    return Difference(p2 - p1, max(-1.0, low), min(1.0, high), fisher(a, m - a, b, n - b), confidence)


def paired_difference(
    both: int, only_first: int, only_second: int, neither: int, *, confidence: float = 0.95
) -> Difference | None:
    """The difference of two rates over pairs; None without pairs.

    The interval holds the true difference at least `confidence` often, at any number of pairs: it is put together from
    the exact limits of how often only the first and only the second succeed, each with half of the error (Clopper and
    Pearson, 1934; Bonferroni). The p-value is McNemar's exact one.
    """
    n = both + only_first + only_second + neither
    p_value = mcnemar(both, only_first, only_second, neither).p_value
    if n == 0:
        return None
    each = (1 + confidence) / 2
    lost, won = exact_rate(only_first, n, confidence=each), exact_rate(only_second, n, confidence=each)
    return Difference((only_second - only_first) / n, won.low - lost.high, won.high - lost.low, p_value, confidence)


def fisher(a: int, b: int, c: int, d: int) -> float:
    """Fisher's exact test of a 2×2 table, two-sided: how likely a table at most as likely as this one is by chance.

    Source: Fisher (1922), On the interpretation of χ² from contingency tables, and the calculation of P.
    """
    if min(a, b, c, d) < 0:
        raise ValueError("counts are not negative")
    rows, first_column, n = a + b, a + c, a + b + c + d
    lowest, highest = max(0, first_column - (c + d)), min(rows, first_column)

    def log_likely(k: int) -> float:
        return _log_choose(rows, k) + _log_choose(n - rows, first_column - k) - _log_choose(n, first_column)

    def next_to(k: int) -> float:  # how likely k + 1 is, in parts of k
        return (rows - k) * (first_column - k) / ((k + 1) * (n - rows - first_column + k + 1))

    def tail(k: int, step: int) -> float:
        likely, total = exp(log_likely(k)), 0.0
        while lowest <= k <= highest and likely > total * 1e-17:
            total += likely
            if lowest <= k + step <= highest:
                likely *= next_to(k) if step > 0 else 1 / next_to(k - 1)
            k += step
        return total

    here = log_likely(a) + log(1 + 1e-7)  # equal but for rounding counts as equal
    most = min(highest, max(lowest, (rows + 1) * (first_column + 1) // (n + 2)))
    if log_likely(most) <= here:
        return 1.0
    below = lowest + bisect_right(range(lowest, most), here, key=log_likely) - 1
    above = most + bisect_left(range(most, highest + 1), -here, key=lambda k: -log_likely(k))
    return min(1.0, (tail(below, -1) if below >= lowest else 0.0) + (tail(above, 1) if above <= highest else 0.0))


def _log_choose(n: int, k: int) -> float:
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)
