"""How many trials it takes: the exact tests find what was planned for, as often as planned."""

from __future__ import annotations

import numpy as np
import pytest

from runs.sizing import trials_to_detect, trials_to_know
from runs.statistics import exact_rate, mcnemar


def found_in(pairs, base, better, runs, rng):
    """How often McNemar's test finds the better way, simulated."""
    first, second = rng.random((runs, pairs)) < base, rng.random((runs, pairs)) < better
    only_first, only_second = (first & ~second).sum(axis=1), (second & ~first).sum(axis=1)
    return np.mean(
        [b > a and mcnemar(0, int(a), int(b), 0).p_value <= 0.05 for a, b in zip(only_first, only_second, strict=True)]
    )


@pytest.mark.parametrize(("difference", "base"), [(0.05, 0.9), (0.1, 0.5), (0.3, 0.6)])
def test_the_planned_number_finds_the_difference_as_often_as_planned(difference, base):
    plan = trials_to_detect(difference, base=base)
    rng = np.random.default_rng(1)
    assert found_in(plan.pairs, base, base + difference, 4000, rng) == pytest.approx(plan.power, abs=0.03)
    assert plan.power >= 0.8
    assert found_in(plan.pairs * 3 // 4, base, base + difference, 4000, rng) < 0.8
    assert plan.trials == 2 * plan.pairs


def test_a_smaller_difference_a_surer_answer_and_a_middling_base_ask_for_more():
    usual = trials_to_detect(0.05).pairs
    assert trials_to_detect(0.02).pairs > usual > trials_to_detect(0.1).pairs
    assert trials_to_detect(0.05, power=0.95).pairs > usual
    assert trials_to_detect(0.05, base=0.5).pairs > usual
    assert trials_to_detect(0.05, base=1.0).pairs == trials_to_detect(0.05, base=0.95).pairs


def test_what_no_batch_could_find_is_no_plan():
    assert trials_to_detect(0.0005, base=0.5) is None


@pytest.mark.parametrize("rate", [0.5, 0.9, 0.99])
def test_a_rate_is_known_as_well_as_asked_for(rate):
    n = trials_to_know(rate, 0.05)
    found = exact_rate(round(rate * n), n)
    assert max(found.high - found.rate, found.rate - found.low) <= 0.05
    assert n < 500


@pytest.mark.parametrize("wrong", [{"difference": 0}, {"difference": 1.5}, {"difference": 0.1, "power": 1.0}])
def test_figures_that_cannot_be_are_refused(wrong):
    with pytest.raises(ValueError, match="between 0 and 1"):
        trials_to_detect(**wrong)
