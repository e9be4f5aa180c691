"""How well a judge's answers agree with the truth: confusion, kappa, reliability of its confidence, risk and coverage.

It knows labels and answers only. An unsure is no answer, and no verdict is none either: both are counted for
themselves and never as right or wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from runs.schema.verdict import Word
from runs.statistics import Rate, exact_rate

Label = Literal["yes", "no"]

ENOUGH_FOR_ECE = 100
"""Below so many answers with a confidence, a calibration error says more about chance than about the judge."""


@dataclass(frozen=True, slots=True)
class Kappa:
    """Cohen's kappa: agreement `po`, what chance alone would give `pe`, and what is beyond. None: all on one side."""

    po: float
    pe: float
    kappa: float | None
    note: str | None


def cohen_kappa(table: Sequence[Sequence[int]]) -> Kappa:
    """Kappa of a 2×2 table, rows the one rater's yes and no, columns the other's.

    `note` explains a kappa that is low although the two agree, as happens where nearly all cases are of one kind.

    Source: Cohen (1960), A coefficient of agreement for nominal scales; Feinstein and Cicchetti (1990), High agreement
    but low kappa.
    """
    (a, b), (c, d) = table
    n = a + b + c + d
    if n == 0:
        raise ValueError("nothing was rated")
    po = (a + d) / n
    pe = ((a + b) * (a + c) + (c + d) * (b + d)) / (n * n)
    if pe >= 1:
        return Kappa(po, pe, None, "all cases are of one kind, on both sides: kappa has no value there")
    kappa = (po - pe) / (1 - pe)
    lopsided = abs((a + b) - (c + d)) / n >= 0.5 or abs((a + c) - (b + d)) / n >= 0.5
    note = None
    if po >= 0.8 and kappa < 0.6 and lopsided:
        note = (
            f"they agree on {po:.0%}, yet kappa is only {kappa:.2f}: nearly all cases are of one kind, so chance alone "
            f"would give {pe:.0%}; read the rates of each kind instead"
        )
    return Kappa(po, pe, kappa, note)


@dataclass(frozen=True, slots=True)
class Confusion:
    """Labels against answers. Rows: labelled yes and labelled no. None stands for no verdict at all."""

    yes: Counter[Word | None]
    no: Counter[Word | None]

    @classmethod
    def of(cls, pairs: Iterable[tuple[Label, Word | None]]) -> Confusion:
        """From pairs of label and answer."""
        rows: dict[Label, Counter[Word | None]] = {"yes": Counter(), "no": Counter()}
        for label, answer in pairs:
            rows[label][answer] += 1
        return cls(rows["yes"], rows["no"])

    @property
    def n(self) -> int:
        """How many were labelled."""
        return self.yes.total() + self.no.total()

    @property
    def table(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """The decided ones: ((true yes, false no), (false yes, true no))."""
        return (self.yes["yes"], self.yes["no"]), (self.no["yes"], self.no["no"])

    @property
    def decided(self) -> int:
        """How many got a yes or a no."""
        return sum(sum(row) for row in self.table)

    @property
    def right(self) -> int:
        """How many of the decided ones are right."""
        return self.yes["yes"] + self.no["no"]

    @property
    def tpr(self) -> Rate:
        """Of the decided, labelled yes: how many were called yes. Exact interval."""
        return exact_rate(self.yes["yes"], self.yes["yes"] + self.yes["no"])

    @property
    def tnr(self) -> Rate:
        """Of the decided, labelled no: how many were called no. Exact interval."""
        return exact_rate(self.no["no"], self.no["yes"] + self.no["no"])

    @property
    def false_success(self) -> Rate:
        """Of all labelled no: how many were called yes. Exact interval."""
        return exact_rate(self.no["yes"], self.no.total())

    @property
    def coverage(self) -> Rate:
        """Of all: how many were decided. Exact interval."""
        return exact_rate(self.decided, self.n)

    @property
    def always_yes(self) -> Rate:
        """How often a judge that always says yes would be right: the share of successes."""
        return exact_rate(self.yes.total(), self.n)

    @property
    def accuracy(self) -> Rate:
        """Of the decided: how many are right. Exact interval."""
        return exact_rate(self.right, self.decided)

    @property
    def kappa(self) -> Kappa | None:
        """Cohen's kappa over the decided ones, None where there are none."""
        return cohen_kappa(self.table) if self.decided else None

    @property
    def said_yes(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """For `corrected_rate`: (sensitivity, specificity) of "says yes", over all that got any word."""
        heard = (self.yes.total() - self.yes[None], self.no.total() - self.no[None])
        return (self.yes["yes"], heard[0]), (heard[1] - self.no["yes"], heard[1])


@dataclass(frozen=True, slots=True)
class Sure:
    """One decided answer: how confident, whether right, and whether it was a yes."""

    confidence: float
    right: bool
    said_yes: bool


@dataclass(frozen=True, slots=True)
class Bin:
    """Answers of like confidence: how sure they were on average, and how many were right."""

    low: float
    high: float
    mean_confidence: float
    right: Rate


@dataclass(frozen=True, slots=True)
class Reliability:
    """Does the judge's confidence mean what it says? `ece` is None below `ENOUGH_FOR_ECE` answers."""

    bins: tuple[Bin, ...]
    n: int
    brier: float | None
    ece: float | None


def reliability(answers: Sequence[Sure], *, n_bins: int = 10) -> Reliability:
    """Bins of equal mass (equal confidences stay together), the Brier score, and the expected calibration error.

    Source: Guo et al. (2017), On calibration of modern neural networks, with bins of equal mass instead of equal width.
    """
    if not answers:
        return Reliability((), 0, None, None)
    ordered = sorted(answers, key=lambda answer: answer.confidence)
    n = len(ordered)
    bins, start = [], 0
    for number in range(1, n_bins + 1):
        end = max(start, round(n * number / n_bins))
        while 0 < end < n and ordered[end].confidence == ordered[end - 1].confidence:
            end += 1
        if end > start:
            bins.append(_bin(ordered[start:end]))
        start = end
    brier = sum((answer.confidence - answer.right) ** 2 for answer in ordered) / n
    ece = sum(abs(b.mean_confidence - b.right.successes / b.right.n) * b.right.n for b in bins) / n
    return Reliability(tuple(bins), n, brier, ece if n >= ENOUGH_FOR_ECE else None)


def _bin(part: Sequence[Sure]) -> Bin:
    mean = sum(answer.confidence for answer in part) / len(part)
    return Bin(part[0].confidence, part[-1].confidence, mean, exact_rate(sum(a.right for a in part), len(part)))


@dataclass(frozen=True, slots=True)
class Operating:
    """What happens if only answers at least so confident count."""

    threshold: float
    answered: int
    coverage: float
    wrong: Rate
    wrong_yes: int


def risk_coverage(answers: Sequence[Sure], n_asked: int) -> tuple[Operating, ...]:
    """Risk against coverage, the strictest threshold first. `n_asked` also counts those without a yes or no."""
    ordered = sorted(answers, key=lambda answer: -answer.confidence)
    points = []
    wrong = wrong_yes = 0
    for number, answer in enumerate(ordered, start=1):
        wrong += not answer.right
        wrong_yes += not answer.right and answer.said_yes
        if number == len(ordered) or ordered[number].confidence < answer.confidence:
            risk = exact_rate(wrong, number)
            points.append(Operating(answer.confidence, number, number / n_asked, risk, wrong_yes))
    return tuple(points)


def threshold_for(points: Sequence[Operating], risk: float) -> Operating | None:
    """The threshold that answers most while the risk is at most `risk`, by the upper end of its exact interval.

    None where no threshold has so low a risk, or the labels are too few to show it.
    """
    fitting = [point for point in points if point.wrong.high <= risk]
    return max(fitting, key=lambda point: point.answered) if fitting else None
