"""Exact intervals against published values and against what they promise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from runs.statistics import exact_median, exact_rate


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [  # 95 % Clopper-Pearson limits from tables, four digits
        (0, 10, 0.0, 0.3085),
        (1, 10, 0.0025, 0.4450),
        (5, 10, 0.1871, 0.8129),
        (10, 10, 0.6915, 1.0),
        (0, 1, 0.0, 0.9750),
        (49, 50, 0.8935, 0.9995),
        (46, 50, 0.8077, 0.9778),
        (15, 20, 0.5090, 0.9134),
    ],
)
def test_intervals_are_those_of_the_tables(successes, n, low, high):
    found = exact_rate(successes, n)
    assert found.low == pytest.approx(low, abs=5e-5)
    assert found.high == pytest.approx(high, abs=5e-5)
    assert found.rate == successes / n


@given(
    st.integers(1, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), st.sampled_from([0.8, 0.95, 0.99])
)
def test_the_limits_are_where_the_tails_are_as_large_as_promised(counts, confidence):
    successes, n = counts
    found = exact_rate(successes, n, confidence=confidence)
    tail = (1 - confidence) / 2
    assert found.low <= successes / n <= found.high
    if successes > 0:
        assert binom.sf(successes - 1, n, found.low) == pytest.approx(tail, rel=1e-6)
    if successes < n:
        assert binom.cdf(successes, n, found.high) == pytest.approx(tail, rel=1e-6)


def test_nothing_counted_says_nothing():
    found = exact_rate(0, 0)
    assert (found.rate, found.low, found.high) == (None, 0.0, 1.0)


@pytest.mark.parametrize(("successes", "n", "confidence"), [(3, 2, 0.95), (-1, 2, 0.95), (1, 2, 0.0), (1, 2, 1.0)])
def test_counts_that_can_not_be_are_refused(successes, n, confidence):
    with pytest.raises(ValueError, match=r"can't be|lies between"):
        exact_rate(successes, n, confidence=confidence)


@pytest.mark.parametrize("n", [6, 25, 200])
def test_the_interval_of_a_median_holds_it_as_often_as_it_says(n):
    rng, held, turns = np.random.default_rng(n), 0, 2000
    for values in rng.lognormal(0.0, 1.0, (turns, n)).tolist():
        found = exact_median(values)
        held += found.low <= 1.0 <= found.high  # the median of that distribution
    assert held / turns >= 0.94


def test_few_values_give_no_interval():
    assert exact_median([3.0, 1.0, 2.0, 4.0]).value == 2.5
    assert exact_median([3.0, 1.0, 2.0, 4.0, 5.0]).low is None
    assert exact_median([]).value is None
    six = exact_median([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    assert (six.low, six.high) == (1.0, 6.0)
