"""Agreement with labels: reference values, and what must hold for any judge."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runs.agreement import (
    ENOUGH_FOR_ECE,
    Confusion,
    Sure,
    cohen_kappa,
    reliability,
    risk_coverage,
    threshold_for,
)


def test_kappa_has_the_reference_values():
    plain = cohen_kappa([[45, 5], [10, 40]])
    assert (plain.po, plain.pe) == (0.85, 0.5)
    assert plain.kappa == pytest.approx(0.700)
    assert plain.note is None


def test_the_paradox_of_kappa_is_explained():
    odd = cohen_kappa([[90, 5], [4, 1]])
    assert odd.po == 0.91
    assert odd.kappa == pytest.approx(0.135, abs=5e-4)
    assert odd.note is not None
    assert "91%" in odd.note
    assert "nearly all cases are of one kind" in odd.note


def test_kappa_has_no_value_where_all_is_of_one_kind():
    found = cohen_kappa([[30, 0], [0, 0]])
    assert found.kappa is None
    assert found.note is not None
    with pytest.raises(ValueError, match="nothing was rated"):
        cohen_kappa([[0, 0], [0, 0]])


answers = st.lists(
    st.tuples(st.sampled_from(["yes", "no"]), st.sampled_from(["yes", "no", "unsure", None])), min_size=1, max_size=60
)


@given(answers)
def test_unsure_and_no_verdict_are_never_right_or_wrong(pairs):
    found = Confusion.of(pairs)
    decided = [(label, word) for label, word in pairs if word in ("yes", "no")]
    assert found.n == len(pairs)
    assert found.decided == len(decided) == found.tpr.n + found.tnr.n
    assert found.right == sum(label == word for label, word in decided)
    (said_of_yes, heard_of_yes), (not_of_no, heard_of_no) = found.said_yes
    assert heard_of_yes + heard_of_no == sum(word is not None for _, word in pairs)
    assert said_of_yes == pairs.count(("yes", "yes"))
    assert heard_of_no - not_of_no == pairs.count(("no", "yes")) == found.false_success.successes


def test_an_always_yes_judge_is_as_good_as_the_share_of_successes():
    found = Confusion.of([("yes", "yes")] * 8 + [("no", "yes")] * 2)
    assert found.always_yes.rate == found.accuracy.rate == 0.8
    assert found.kappa is not None
    assert found.kappa.kappa == 0.0
    assert found.tnr.rate == 0.0


def sure(confidence, right, said_yes=True):
    return Sure(confidence, right, said_yes)


def test_a_calibrated_judge_has_no_calibration_error():
    honest = [sure(0.8, n < 80) for n in range(100)] + [sure(0.6, n < 60) for n in range(100)]
    found = reliability(honest)
    assert found.ece == pytest.approx(0.0)
    assert found.brier == pytest.approx((0.8 * 0.04 + 0.2 * 0.64 + 0.6 * 0.16 + 0.4 * 0.36) / 2)
    assert [part.right.n for part in found.bins] == [100, 100]


def test_an_overconfident_judge_has_one():
    found = reliability([sure(0.95, n < 70) for n in range(100)])
    assert found.ece == pytest.approx(0.25)


def test_few_labels_give_the_table_only():
    found = reliability([sure(0.9, True)] * (ENOUGH_FOR_ECE - 1))
    assert found.ece is None
    assert found.brier == pytest.approx(0.01)
    assert len(found.bins) == 1
    assert reliability([]).bins == ()


confident = st.lists(
    st.builds(sure, st.sampled_from([0.5, 0.7, 0.8, 0.9, 0.95, 1.0]), st.booleans(), st.booleans()), max_size=80
)


@given(confident)
def test_bins_hold_each_answer_once_and_like_confidences_together(given_answers):
    found = reliability(given_answers)
    assert sum(part.right.n for part in found.bins) == len(given_answers)
    for before, after in zip(found.bins, found.bins[1:], strict=False):
        assert before.high < after.low


@given(confident, st.integers(0, 20))
def test_a_stricter_threshold_answers_less(given_answers, undecided):
    points = risk_coverage(given_answers, len(given_answers) + undecided)
    assert [p.threshold for p in points] == sorted({a.confidence for a in given_answers}, reverse=True)
    for point in points:
        kept = [a for a in given_answers if a.confidence >= point.threshold]
        assert point.answered == len(kept)
        assert point.wrong.successes == sum(not a.right for a in kept)
        assert point.wrong_yes == sum(not a.right and a.said_yes for a in kept)


def test_the_threshold_for_a_risk_is_shown_by_the_labels_not_hoped_for():
    clean = risk_coverage([sure(0.9, True)] * 200 + [sure(0.6, n % 4 > 0) for n in range(100)], 320)
    chosen = threshold_for(clean, 0.05)
    assert chosen is not None
    assert (chosen.threshold, chosen.answered) == (0.9, 200)
    assert chosen.coverage == 200 / 320
    few = risk_coverage([sure(0.9, True)] * 20, 20)
    assert threshold_for(few, 0.05) is None
