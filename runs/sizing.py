"""How many trials it takes: to see a difference between two ways, or to know a rate so well.

Worked out from the exact tests that the results will be put to, not from approximations of them. It plans; it judges
nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import bdtr, gammaln, ndtri

from runs.statistics import exact_rate

MOST_TRIALS = 100_000
"""More than so many a way is no plan."""


@dataclass(frozen=True, slots=True)
class TrialsNeeded:
    """`pairs` of trials, one each way from the same start, find the difference with a chance of `power`."""

    pairs: int
    power: float
    difference: float
    base: float
    confidence: float

    @property
    def trials(self) -> int:
        """Of both ways together."""
        return 2 * self.pairs


def trials_to_detect(
    difference: float, *, base: float = 0.9, power: float = 0.8, confidence: float = 0.95
) -> TrialsNeeded | None:
    """The fewest pairs with which the exact McNemar test finds a difference; None beyond `MOST_TRIALS`.

    The two trials of a pair share their start and are otherwise taken for independent, which asks for more rather than
    fewer pairs than are needed where a hard start is hard for both.

    Args:
        difference: by which the better way succeeds more often, as 0.05.
        base: how often the worse way succeeds, before the difference; at most 1 - `difference` counts.
        power: the chance with which the difference is to be found.

    Raises:
        ValueError: a figure that can't be.
    """
    if not (0 < difference < 1 and 0 <= base <= 1 and 0 < power < 1 and 0 < confidence < 1):
        raise ValueError("difference, power and confidence lie between 0 and 1, and so does the base rate")
    base = min(base, 1 - difference)
    better = base + difference
    won, lost = better * (1 - base), base * (1 - better)
    pairs = 4
    while pairs <= MOST_TRIALS and _power(pairs, won, lost, confidence) < power:
        pairs *= 2
    if pairs > MOST_TRIALS:
        return None
    low, high = pairs // 2, pairs
    while high - low > 1:  # the power climbs in small steps that also go down a little: see below
        middle = (low + high) // 2
        low, high = (low, middle) if _power(middle, won, lost, confidence) >= power else (middle, high)
    while any(_power(high + k, won, lost, confidence) < power for k in (1, 2, 3)):
        high += 1
    return TrialsNeeded(high, _power(high, won, lost, confidence), difference, base, confidence)


def trials_to_know(rate: float, half_width: float, *, confidence: float = 0.95) -> int | None:
    """The fewest trials whose exact interval is at most so wide to either side where that rate comes out.

    None beyond `MOST_TRIALS`.
    """
    if not (0 <= rate <= 1 and 0 < half_width < 1):
        raise ValueError("a rate lies between 0 and 1, and so does half the width of its interval")

    def wide_enough(n: int) -> bool:
        found = exact_rate(round(rate * n), n, confidence=confidence)
        middle = found.rate if found.rate is not None else 0.5
        return max(found.high - middle, middle - found.low) <= half_width

    n = 1
    while n <= MOST_TRIALS and not wide_enough(n):
        n *= 2
    if n > MOST_TRIALS:
        return None
    low, high = n // 2, n
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if wide_enough(middle) else (middle, high)
    return high


def _power(pairs: int, won: float, lost: float, confidence: float) -> float:
    """The chance that the exact McNemar test says that the better way is the better one."""
    differ = won + lost
    counts = np.arange(pairs + 1)
    log_choose = gammaln(pairs + 1) - gammaln(counts + 1) - gammaln(pairs - counts + 1)
    if differ >= 1:
        weights = (counts == pairs).astype(float)
    else:
        weights = np.exp(log_choose + counts * np.log(differ) + (pairs - counts) * np.log1p(-differ))
    matter = np.flatnonzero(weights > 1e-9)
    chance = 0.0
    for m in matter:
        most_lost = _most_lost(int(m), (1 - confidence) / 2)
        if most_lost >= 0:
            chance += float(weights[m]) * float(bdtr(most_lost, int(m), lost / differ))
    return chance


def _most_lost(differ: int, tail: float) -> int:
    """Of so many pairs that differ, the most that may be lost for the test to say better; -1 where none are enough."""
    k = int(differ / 2 + float(ndtri(tail)) * np.sqrt(differ) / 2)  # about there; then step by step
    while k >= 0 and bdtr(k, differ, 0.5) > tail:
        k -= 1
    while bdtr(k + 1, differ, 0.5) <= tail:
        k += 1
    return k
