"""Rates corrected for the judge's error: reference values, refusals, and how often they hold the truth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runs.errors import CannotCorrect
from runs.statistics import corrected_rate, exact_rate, mcnemar, rogan_gladen, wilson_rate


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [  # 95 % Wilson limits, three digits
        (18, 20, 0.699, 0.972),
        (20, 20, 0.839, 1.000),
        (0, 20, 0.000, 0.161),
        (9, 10, 0.596, 0.982),
        (45, 50, 0.786, 0.957),
        (90, 100, 0.826, 0.945),
    ],
)
def test_wilsons_interval_has_the_reference_values(successes, n, low, high):
    found = wilson_rate(successes, n)
    assert found.low == pytest.approx(low, abs=5e-4)
    assert found.high == pytest.approx(high, abs=5e-4)


@pytest.mark.parametrize(("right", "enough"), [(1.00, 16), (0.95, 40), (0.90, 70)])
def test_so_many_labels_of_a_kind_reach_a_lower_bound_of_four_fifths(right, enough):
    assert wilson_rate(round(right * enough), enough).low >= 0.80
    if right == 1.0:
        assert wilson_rate(enough - 1, enough - 1).low < 0.80


def test_wilson_of_nothing_says_nothing():
    found = wilson_rate(0, 0)
    assert (found.rate, found.low, found.high) == (None, 0.0, 1.0)


def test_rogan_gladen_has_the_reference_value():
    assert rogan_gladen(0.72, 0.90, 0.85) == pytest.approx(0.76)


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_a_corrected_rate_is_a_rate_or_refused(raw, sensitivity, specificity):
    if sensitivity + specificity - 1 <= 0:
        with pytest.raises(CannotCorrect, match="no more than 1"):
            rogan_gladen(raw, sensitivity, specificity)
    else:
        assert 0 <= rogan_gladen(raw, sensitivity, specificity) <= 1


def test_a_perfect_judge_is_hardly_corrected():
    found = corrected_rate(70, 100, sensitivity=(500, 500), specificity=(500, 500))
    raw = exact_rate(70, 100)
    assert found.rate == pytest.approx(0.70)
    assert found.low == pytest.approx(raw.low, abs=0.02)
    assert found.high == pytest.approx(raw.high, abs=0.02)


def test_the_interval_carries_how_little_is_known_of_the_judge():
    few = corrected_rate(720, 1000, sensitivity=(36, 40), specificity=(34, 40))
    many = corrected_rate(720, 1000, sensitivity=(900, 1000), specificity=(850, 1000))
    assert few.rate == pytest.approx(many.rate) == pytest.approx(0.76)
    assert few.high - few.low > 2 * (many.high - many.low)


@pytest.mark.parametrize(
    ("said_yes", "n", "sensitivity", "specificity", "why"),
    [
        (0, 0, (90, 100), (85, 100), "no trial has been judged"),
        (7, 10, (0, 0), (85, 100), "no labelled successes"),
        (7, 10, (90, 100), (0, 0), "no labelled failures"),
        (7, 10, (50, 100), (50, 100), "better than a coin"),
        (7, 10, (100, 100), (0, 100), "better than a coin"),
        (7, 10, (3, 3), (3, 3), "better than a coin"),
        (7, 10, (55, 100), (52, 100), "better than a coin"),
    ],
)
def test_what_the_labels_can_not_carry_is_refused(said_yes, n, sensitivity, specificity, why):
    with pytest.raises(CannotCorrect, match=why) as refused:
        corrected_rate(said_yes, n, sensitivity=sensitivity, specificity=specificity)
    assert "judge calibrate" in str(refused.value)


@given(
    st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
    st.integers(20, 300).flatmap(lambda n: st.tuples(st.integers(int(0.8 * n), n), st.just(n))),
    st.integers(20, 300).flatmap(lambda n: st.tuples(st.integers(int(0.8 * n), n), st.just(n))),
)
def test_the_interval_lies_in_0_to_1_and_holds_the_rate(trials, sensitivity, specificity):
    found = corrected_rate(*trials, sensitivity=sensitivity, specificity=specificity)
    assert 0 <= found.low <= found.rate <= found.high <= 1


@dataclass(frozen=True)
class Campaign:
    """A judge with planted errors, measured on labels, then used on trials whose true rate is known."""

    success: float
    missed: float  # of true successes, how many the judge does not call a success
    fooled: float  # of true failures, how many it calls one
    labels: int
    trials: int

    def covered(self, rng: np.random.Generator) -> tuple[bool, bool]:
        """Whether the corrected interval holds the truth, and whether the raw one does."""
        sensitivity = int(rng.binomial(self.labels, 1 - self.missed)), self.labels
        specificity = int(rng.binomial(self.labels, 1 - self.fooled)), self.labels
        truly = int(rng.binomial(self.trials, self.success))
        said = int(rng.binomial(truly, 1 - self.missed) + rng.binomial(self.trials - truly, self.fooled))
        found = corrected_rate(said, self.trials, sensitivity=sensitivity, specificity=specificity)
        return found.low <= self.success <= found.high, found.raw.low <= self.success <= found.raw.high

    def shares(self, times: int, seed: int) -> tuple[float, float]:
        """How often the corrected and the raw interval hold the truth."""
        rng = np.random.default_rng(seed)
        corrected, raw = np.mean([self.covered(rng) for _ in range(times)], axis=0)
        return float(corrected), float(raw)


PLANTED = [
    Campaign(0.80, missed=0.05, fooled=0.15, labels=100, trials=200),
    Campaign(0.80, missed=0.15, fooled=0.05, labels=100, trials=200),
    Campaign(0.90, missed=0.10, fooled=0.10, labels=70, trials=300),
    Campaign(0.60, missed=0.15, fooled=0.10, labels=200, trials=400),
    Campaign(0.97, missed=0.05, fooled=0.05, labels=60, trials=150),
]


def test_the_corrected_interval_covers_the_truth_where_the_raw_one_does_not():
    corrected, raw = PLANTED[1].shares(500, seed=1)
    assert corrected >= 0.94
    assert raw < 0.60


@pytest.mark.slow
@pytest.mark.parametrize("campaign", PLANTED, ids=str)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_five_hundred_campaigns_of_every_planted_judge(campaign, seed):
    corrected, raw = campaign.shares(500, seed)
    assert corrected >= 0.94
    assert raw < corrected


@pytest.mark.slow
@pytest.mark.parametrize("success", [0.02, 0.3, 0.5, 0.8, 0.95, 1.0])
@pytest.mark.parametrize(("missed", "fooled"), [(0.05, 0.05), (0.05, 0.15), (0.15, 0.05), (0.15, 0.15)])
@pytest.mark.parametrize(("labels", "trials"), [(40, 50), (60, 1000), (200, 200), (300, 30)])
def test_the_interval_keeps_its_promise_everywhere(success, missed, fooled, labels, trials):
    corrected, _ = Campaign(success, missed, fooled, labels, trials).shares(2000, seed=4)
    assert corrected >= 0.945  # 0.95, less what 2,000 draws leave to chance


def test_mcnemar_looks_only_at_where_the_two_differ():
    assert mcnemar(50, 10, 2, 5).p_value == pytest.approx(0.0386, abs=5e-5)
    assert mcnemar(0, 10, 2, 900).p_value == mcnemar(50, 10, 2, 5).p_value == mcnemar(1, 2, 10, 1).p_value
    assert mcnemar(90, 0, 0, 10).p_value == mcnemar(90, 5, 5, 10).p_value == 1.0
    with pytest.raises(ValueError, match="not negative"):
        mcnemar(1, -1, 0, 0)
