"""Intervals that may be looked at as often as one likes hold the truth all the while, and shrink."""

from __future__ import annotations

import numpy as np
import pytest

from runs.sequential import paired_difference_so_far, rate_so_far
from runs.statistics import exact_rate


def ever_left(p, n, runs, rng):
    """The share of simulated runs in which the interval, looked at after every trial up to n, ever lost the truth."""
    edges = [(rate_so_far(k, m).low, rate_so_far(k, m).high) for m in range(1, n + 1) for k in range(m + 1)]
    starts = np.cumsum([0, *range(2, n + 1)])  # where the edges of m = 1, 2, … begin
    low, high = np.array(edges).T
    counts = np.cumsum(rng.random((runs, n)) < p, axis=1)
    at = starts[None, :] + counts
    return float(((low[at] > p) | (high[at] < p)).any(axis=1).mean())


@pytest.mark.parametrize("p", [0.5, 0.9, 0.99])
def test_the_truth_stays_inside_at_every_look(p):
    assert ever_left(p, 60, 4000, np.random.default_rng(1)) <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize("p", [0.02, 0.3, 0.5, 0.8, 0.95, 0.99])
def test_the_truth_stays_inside_at_every_look_of_long_runs(p):
    assert ever_left(p, 400, 20_000, np.random.default_rng(2)) <= 0.05


@pytest.mark.parametrize("p", [0.5, 0.9, 0.95, 0.99])
@pytest.mark.parametrize("n", [20, 100, 500])
def test_the_exact_interval_covers_at_a_number_of_trials_said_beforehand(p, n):
    """Worked out over all outcomes, not simulated."""
    from scipy.stats import binom

    held = sum(binom.pmf(k, n, p) for k in range(n + 1) if (found := exact_rate(k, n)).low <= p <= found.high)
    assert held >= 0.95


def test_the_exact_interval_fails_whoever_stops_when_it_suits():
    """Why there are two kinds: who stops as soon as the exact one leaves 90 % out is wrong too often."""
    rng, wrong = np.random.default_rng(3), 0
    edges = {m: [exact_rate(k, m) for k in range(m + 1)] for m in range(1, 121)}
    for _ in range(600):
        counts = np.cumsum(rng.random(120) < 0.9)
        wrong += any(not edges[m][k].low <= 0.9 <= edges[m][k].high for m, k in enumerate(counts.tolist(), start=1))
    assert wrong / 600 > 0.07


def difference_ever_lost(lost, won, n, runs, rng):
    missed, known = 0, {}
    kinds = rng.choice(3, size=(runs, n), p=[lost, won, 1 - lost - won])
    for row in kinds:
        a, b = np.cumsum(row == 0).tolist(), np.cumsum(row == 1).tolist()
        for m in range(4, n, 5):
            key = (a[m], b[m], m)
            if key not in known:
                found = paired_difference_so_far(m + 1 - a[m] - b[m], a[m], b[m], 0)
                known[key] = found.low <= won - lost <= found.high
            if not known[key]:
                missed += 1
                break
    return missed / runs


@pytest.mark.parametrize(("lost", "won"), [(0.01, 0.01), (0.05, 0.4)])
def test_the_true_difference_stays_inside_at_every_look(lost, won):
    assert difference_ever_lost(lost, won, 60, 300, np.random.default_rng(4)) <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize(("lost", "won"), [(0.01, 0.01), (0.0, 0.02), (0.05, 0.4), (0.3, 0.3), (0.02, 0.9)])
def test_the_true_difference_stays_inside_at_every_look_of_long_runs(lost, won):
    assert difference_ever_lost(lost, won, 300, 2000, np.random.default_rng(5)) <= 0.05


@pytest.mark.parametrize("counts", [(40, 1, 20, 3), (60, 0, 0, 0), (0, 3, 0, 30), (10, 5, 5, 10), (0, 0, 30, 0)])
def test_a_difference_turned_round_is_its_opposite(counts):
    both, first, second, neither = counts
    here, there = paired_difference_so_far(*counts), paired_difference_so_far(both, second, first, neither)
    assert (here.low, here.high) == pytest.approx((-there.high, -there.low), abs=1e-6)
    assert here.low <= here.value <= here.high


def test_what_differs_is_found_and_what_does_not_is_bounded():
    assert paired_difference_so_far(8, 0, 12, 0).low > 0
    assert paired_difference_so_far(120, 0, 0, 0).low > -0.05
    assert paired_difference_so_far(30, 0, 0, 0).low < -0.05


def test_it_is_wider_than_the_interval_for_one_look_and_shrinks():
    widths = []
    for n in (20, 100, 500, 2500):
        many, once = rate_so_far(round(0.9 * n), n), exact_rate(round(0.9 * n), n)
        assert many.low < once.low
        assert many.high > once.high
        widths.append(many.high - many.low)
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] < 0.06


def test_nothing_counted_is_nothing_known():
    assert (rate_so_far(0, 0).low, rate_so_far(0, 0).high) == (0.0, 1.0)
    none = paired_difference_so_far(0, 0, 0, 0)
    assert (none.value, none.low, none.high) == (None, -1.0, 1.0)


@pytest.mark.parametrize(("successes", "n"), [(-1, 3), (4, 3)])
def test_counts_that_cannot_be_are_refused(successes, n):
    with pytest.raises(ValueError, match="can't be"):
        rate_so_far(successes, n)


def test_other_nonsense_is_refused():
    with pytest.raises(ValueError, match="not negative"):
        paired_difference_so_far(1, -1, 0, 0)
    with pytest.raises(ValueError, match="confidence"):
        rate_so_far(1, 2, confidence=1.0)
