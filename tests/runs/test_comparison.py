"""Differences of rates hold what published examples say."""

from __future__ import annotations

from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import fisher_exact, multinomial

from runs.comparison import difference, fisher, paired_difference


def test_newcombes_own_example():
    """Newcombe (1998), table II: 56/70 against 48/80, method 10: 0.0524 to 0.3339."""
    found = difference((48, 80), (56, 70))
    assert found.value == pytest.approx(0.2)
    assert (found.low, found.high) == (pytest.approx(0.0524, abs=5e-5), pytest.approx(0.3339, abs=5e-5))


def test_fishers_tea():
    """Fisher's lady tasting tea: three of four right is p = 0.4857 in two sides; four of four 0.0286."""
    assert fisher(3, 1, 1, 3) == pytest.approx(0.4857, abs=1e-4)
    assert fisher(4, 0, 0, 4) == pytest.approx(2 / 70, abs=1e-9)
    assert fisher(0, 0, 5, 5) == 1.0


@given(st.tuples(*[st.integers(0, 60)] * 4))
def test_fisher_is_the_sum_over_all_tables_at_most_as_likely(table):
    a, b, c, d = table
    rows, column, n = a + b, a + c, a + b + c + d
    ways = [comb(rows, k) * comb(n - rows, column - k) for k in range(max(0, column - c - d), min(rows, column) + 1)]
    here = ways[a - max(0, column - c - d)]
    assert fisher(*table) == pytest.approx(sum(w for w in ways if w <= here) / sum(ways), rel=1e-8)


def test_fisher_of_a_hundred_thousand_runs():
    assert fisher(70_000, 30_000, 70_200, 29_800) == pytest.approx(
        fisher_exact([[70_000, 30_000], [70_200, 29_800]])[1]
    )
    assert fisher(90_000, 10_000, 10_000, 90_000) == 0.0


def test_pairs_say_more_than_two_heaps():
    apart = difference((80, 100), (90, 100))
    paired = paired_difference(80, 0, 10, 10)
    assert paired.value == pytest.approx(apart.value)
    assert paired.high - paired.low < apart.high - apart.low
    assert paired.p_value < apart.p_value


@pytest.mark.parametrize("lost", [0.0, 0.005, 0.05, 0.3])
@pytest.mark.parametrize("won", [0.01, 0.1, 0.4])
@pytest.mark.parametrize("n", [10, 40])
def test_the_interval_of_pairs_holds_the_truth_at_any_number_of_pairs(n, lost, won):
    """Worked out over all outcomes, not simulated."""
    held = 0.0
    for a in range(n + 1 if lost else 1):
        for b in range(n + 1 - a):
            found = paired_difference(n - a - b, a, b, 0)
            if found.low <= won - lost <= found.high:
                held += multinomial.pmf([a, b, n - a - b], n, [lost, won, 1 - lost - won])
    assert held >= 0.95


def test_nothing_to_compare_is_no_difference():
    assert difference((0, 0), (3, 4)) is None
    assert paired_difference(0, 0, 0, 0) is None
    with pytest.raises(ValueError, match="negative"):
        fisher(-1, 2, 3, 4)
