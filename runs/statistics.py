"""Rates with exact intervals, rates corrected for the judge's error, two judges compared on the same steps.

It knows counts only: which trials count is for the caller to say. It gives no corrected rate where the labels can't
carry one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

from runs.errors import CannotCorrect


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
    _check(successes, n, confidence)
    from scipy.special import betaincinv  # noqa: PLC0415 - takes a third of a second to import; who lists needs no rate

    tail = (1 - confidence) / 2
    low = 0.0 if successes == 0 else float(betaincinv(successes, n - successes + 1, tail))
    high = 1.0 if successes == n else float(betaincinv(successes + 1, n - successes, 1 - tail))
    return Rate(successes, n, successes / n if n else None, low, high, confidence)


def wilson_rate(successes: int, n: int, *, confidence: float = 0.95) -> Rate:
    """A rate with its two-sided Wilson score interval: shorter than the exact one, right on average.

    Raises:
        ValueError: counts that can't be, or a confidence out of range.

    Source: Wilson (1927), Probable inference, the law of succession, and statistical inference.
    """
    _check(successes, n, confidence)
    if n == 0:
        return Rate(0, 0, None, 0.0, 1.0, confidence)
    z2 = _z(confidence) ** 2
    rate = successes / n
    middle = (rate + z2 / (2 * n)) / (1 + z2 / n)
    half = sqrt(z2 * (rate * (1 - rate) / n + z2 / (4 * n * n))) / (1 + z2 / n)
    low = 0.0 if successes == 0 else max(0.0, middle - half)
    high = 1.0 if successes == n else min(1.0, middle + half)
    return Rate(successes, n, rate, low, high, confidence)


@dataclass(frozen=True, slots=True)
class Median:
    """The middle of `n` values, with the interval that holds the true one with at least `confidence`.

    A limit is None where so few values can't give it: fewer than six at 95 %. `value` is None where there are none.
    """

    n: int
    value: float | None
    low: float | None
    high: float | None
    confidence: float


def exact_median(values: Sequence[float], *, confidence: float = 0.95) -> Median:
    """A median with its interval between two of the values, whatever they are spread like.

    Raises:
        ValueError: a confidence out of range.

    Source: the sign test turned round (Thompson, 1936, On confidence ranges for the median): the number of values below
    the true median is binomial with a half.
    """
    from scipy.special import bdtr  # noqa: PLC0415 - see `exact_rate`

    n, ordered = len(values), sorted(values)
    _check(0, n, confidence)
    if not n:
        return Median(0, None, None, None, confidence)
    middle = (ordered[(n - 1) // 2] + ordered[n // 2]) / 2
    out = sum(bdtr(k, n, 0.5) <= (1 - confidence) / 2 for k in range(n // 2))  # so many may be left out on either side
    low, high = (ordered[out - 1], ordered[n - out]) if out else (None, None)
    return Median(n, middle, low, high, confidence)


def rogan_gladen(raw: float, sensitivity: float, specificity: float) -> float:
    """The true rate behind a raw one, kept within 0 to 1.

    Args:
        raw: share of trials that the judge called a success.
        sensitivity: how often it says yes of a true success.
        specificity: how often it does not say yes of a true failure.

    Raises:
        CannotCorrect: sensitivity and specificity add up to 1 or less: the judge knows no more than a coin.

    Source: Rogan and Gladen (1978), Estimating prevalence from the results of a screening test.
    """
    knows = sensitivity + specificity - 1
    if knows <= 0:
        raise CannotCorrect(
            f"sensitivity {sensitivity:.2f} and specificity {specificity:.2f} add up to no more than 1: such a judge "
            "says nothing about success"
        )
    return min(1.0, max(0.0, (raw + specificity - 1) / knows))


@dataclass(frozen=True, slots=True)
class CorrectedRate:
    """A success rate behind a judge that errs. `raw` is what the judge said; `low` to `high` holds the true rate.

    The interval carries the chance in the trials and in the labels by which sensitivity and specificity are known.
    """

    raw: Rate
    rate: float
    low: float
    high: float
    sensitivity: Rate
    specificity: Rate
    confidence: float


def corrected_rate(
    said_yes: int, n: int, *, sensitivity: tuple[int, int], specificity: tuple[int, int], confidence: float = 0.95
) -> CorrectedRate:
    """The success rate corrected for the judge's error, with an interval that holds it at least `confidence` often.

    "Said yes" is what is counted on both sides, so a judge that may also say unsure needs no other treatment: an unsure
    is then one more way not to say yes, in the trials and among the labels alike.

    Args:
        said_yes: trials that the judge called a success, of `n` that it was heard on.
        sensitivity: of the labelled successes: how many it said yes of, and how many there are.
        specificity: of the labelled failures: how many it did not say yes of, and how many there are.

    Raises:
        CannotCorrect: no trials, no labels of one kind, or too few to know that the judge is better than a coin.
        ValueError: counts that can't be.

    Source: Lang and Reiczigel (2014), Confidence limits for prevalence of disease adjusted for estimated sensitivity
    and specificity; widened here by half a count in each of the three rates, as counts are whole: by simulation it then
    holds the truth at least as often as it says (see tests), without that in some cases a little less often.
    """
    raw = exact_rate(said_yes, n, confidence=confidence)
    sens, spec = exact_rate(*sensitivity, confidence=confidence), exact_rate(*specificity, confidence=confidence)
    _check_carries(raw, sens, spec)
    z = _z(confidence)
    said = (said_yes + z * z / 2) / (n + z * z)
    se, n_se = (sens.successes + 1) / (sens.n + 2), sens.n + 2
    sp, n_sp = (spec.successes + 1) / (spec.n + 2), spec.n + 2
    knows = se + sp - 1
    middle = (said + sp - 1) / knows
    shift = 2 * z * z * (middle * se * (1 - se) / n_se - (1 - middle) * sp * (1 - sp) / n_sp)
    spread = (
        said * (1 - said) / (n + z * z) + middle**2 * se * (1 - se) / n_se + (1 - middle) ** 2 * sp * (1 - sp) / n_sp
    )
    inside = min(1.0, max(0.0, middle))
    half_count = sqrt(1 / n**2 + (inside / sens.n) ** 2 + ((1 - inside) / spec.n) ** 2) / (2 * knows)
    half = z * sqrt(spread) / knows + half_count
    rate = rogan_gladen(said_yes / n, sens.successes / sens.n, spec.successes / spec.n)
    low = min(1.0, max(0.0, middle + shift - half))
    high = max(0.0, min(1.0, middle + shift + half))
    return CorrectedRate(raw, rate, min(low, rate), max(high, rate), sens, spec, confidence)


def _check_carries(raw: Rate, sens: Rate, spec: Rate) -> None:
    if raw.n == 0:
        raise CannotCorrect("no trial has been judged")
    if sens.n == 0 or spec.n == 0:
        what = "successes" if sens.n == 0 else "failures"
        raise CannotCorrect(f"there are no labelled {what}, so nobody knows how the judge does on them")
    if sens.successes / sens.n + spec.successes / spec.n <= 1 or sens.low + spec.low <= 1:
        raise CannotCorrect(
            f"the labels don't show that the judge is better than a coin: it says yes of {sens.successes} of {sens.n} "
            f"successes (at least {sens.low:.2f}) and not of {spec.successes} of {spec.n} failures (at least "
            f"{spec.low:.2f})"
        )


@dataclass(frozen=True, slots=True)
class Paired:
    """Two judges on the same steps: right both, one only, neither. `p_value` asks whether one is right more often."""

    both: int
    only_first: int
    only_second: int
    neither: int
    p_value: float


def mcnemar(both: int, only_first: int, only_second: int, neither: int) -> Paired:
    """The exact, two-sided McNemar test on the steps where just one of the two is right.

    Source: McNemar (1947), Note on the sampling error of the difference between correlated proportions; exact by the
    binomial distribution.
    """
    if min(both, only_first, only_second, neither) < 0:
        raise ValueError("counts are not negative")
    from scipy.special import bdtr  # noqa: PLC0415 - see `exact_rate`

    differ = only_first + only_second
    p = 1.0 if differ == 0 else min(1.0, 2 * float(bdtr(min(only_first, only_second), differ, 0.5)))
    return Paired(both, only_first, only_second, neither, p)


def _z(confidence: float) -> float:
    """How many standard deviations of a normal distribution hold that share of it, on both sides."""
    from scipy.special import ndtri  # noqa: PLC0415 - see `exact_rate`

    return float(ndtri((1 + confidence) / 2))


def _check(successes: int, n: int, confidence: float) -> None:
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} successes of {n} can't be")
    if not 0 < confidence < 1:
        raise ValueError(f"a confidence lies between 0 and 1, not at {confidence}")
