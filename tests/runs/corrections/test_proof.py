"""Proofs: what speaks for a candidate, what against, and what says nothing; and the course of a batch left alone."""

from __future__ import annotations

import numpy as np
import pytest

from runs.corrections.file import CorrectionFile
from runs.corrections.proof import Outcome, Pair, ProofSettings, decided, outcome_of, paired, prove
from runs.corrections.rule import RuleSettings
from runs.corrections.table import BelongsTo, Lesson
from runs.corrections.unattended import arms, end_block, pairs_in_turn
from runs.schema.run import CorrectionUse, Ending, PickAttempt, TipDiff, TipMeasurement
from runs.schema.verdict import Judgment
from runs.store import RunHeader

HERE = BelongsTo(calibration_hash="c1", table_hash="t1", profile="field")
SETTINGS = ProofSettings()


def pairs(*kinds):
    """Pairs from (with it, without) outcomes and their tip errors in mm."""
    return [
        Pair(
            start=str(n),
            with_it=Outcome(run_id=f"w{n}", succeeded=a, tip_mm=tip_a),
            without=Outcome(run_id=f"o{n}", succeeded=b, tip_mm=tip_b),
        )
        for n, (a, b, tip_a, tip_b) in enumerate(kinds)
    ]


def said(*kinds):
    return prove(pairs(*kinds), candidate="new", against=None, settings=SETTINGS)


def test_more_successes_are_better():
    proof = said(*[(True, False, 1.0, 9.0)] * 12, *[(True, True, 1.0, 3.0)] * 8)
    assert (proof.word, proof.holds) == ("better", True)
    assert (proof.both, proof.only_with, proof.only_without, proof.neither) == (8, 12, 0, 0)
    assert proof.success_low > 0
    assert (proof.tip_with_mm, proof.tip_without_mm) == (1.0, 9.0)


def test_a_nearer_tip_is_enough_once_success_is_surely_no_worse():
    few, many = [(True, True, 1.0, 3.0)] * 40, [(True, True, 1.0, 3.0)] * 130
    assert (said(*few).word, said(*few).holds) == ("undecided", False)
    assert "could still be lower" in said(*few).reason
    assert (said(*many).word, said(*many).holds) == ("better", True)


def test_a_tip_that_only_looks_nearer_does_not_outweigh_failures():
    proof = said(*[(False, True, 0.5, 6.0)] * 12, *[(True, True, 0.5, 6.0)] * 8)
    assert (proof.word, proof.holds) == ("worse", False)
    early = said(*[(False, True, 0.5, 6.0)] * 3, *[(True, True, 0.5, 6.0)] * 2)
    assert (early.word, early.holds) == ("unpromising", False)


def test_without_any_difference_it_is_no_worse_and_does_not_hold():
    proof = said(*[(True, True, 2.0, 2.0)] * 130)
    assert (proof.word, proof.holds) == ("no worse", False)


def test_pairs_that_say_nothing_are_counted_and_too_many_of_them_are_no_proof():
    good = [(True, False, 1.0, 9.0)] * 12
    proof = said(*good, (None, True, None, 2.0), (True, None, 1.0, None))
    assert (proof.pairs, proof.dropped, proof.word) == (12, 2, "better")
    proof = said(*good, *[(None, True, None, None)] * 12)
    assert (proof.word, proof.holds) == ("undecided", False)
    assert "find out why" in proof.reason


def test_no_pairs_prove_nothing():
    assert (said().word, said().holds, said().success_value) == ("undecided", False, None)


def test_it_is_decided_when_better_or_worse_or_tried_enough():
    settings = ProofSettings(most_pairs=15)
    for kinds, over in (
        ([(True, False, 1.0, 9.0)] * 12, True),
        ([(True, True, 1.0, 1.0)] * 12, False),
        ([(True, True, 1.0, 1.0)] * 15, True),
    ):
        assert decided(prove(pairs(*kinds), candidate="new", against=None, settings=settings), settings) is over


@pytest.mark.parametrize(
    ("p_with", "p_without", "tip_share"),
    [(0.90, 0.97, 0.9), (0.80, 0.80, 0.5), pytest.param(0.95, 0.95, 0.5, marks=pytest.mark.slow)],
)
def test_who_looks_after_each_pair_is_rarely_deceived(p_with, p_without, tip_share):
    """Candidates that are worse, though the tip looks nearer, or that are not better at all: few ever hold."""
    rng, deceived, runs = np.random.default_rng(1), 0, 60
    for _ in range(runs):
        both = rng.random((60, 3)) < (p_with, p_without, tip_share)
        kinds = [(bool(a), bool(b), 1.0 if t else 2.0, 2.0 if t else 1.0) for a, b, t in both]
        deceived += any(said(*kinds[:n]).holds for n in range(6, 61, 6))
    assert deceived / runs <= 0.05


def finished(store, *, result="completed", attempts=1, tip_mm=2.0, model=None, applied=True, place="yes"):
    """A trial as it stands in the log when it has ended so."""
    writer = store.create(RunHeader())
    use = CorrectionUse(
        phase="pick",
        target_before_mm=(200.0, 200.0),
        target_after_mm=(200.0, 200.0),
        cell_key="pick_x200_z200",
        dx_mm=None,
        dz_mm=None,
        n=0,
        applied=applied,
        model=model,
    )
    writer.add(use)
    diff = TipDiff(tip_x=0.2, tip_z=0.2, block_x=0.2, block_z=0.2, dx_mm=tip_mm, dz_mm=0.0, dist_mm=tip_mm)
    writer.add(TipMeasurement(attempt=1, image="x.jpg", diff=diff))
    for n in range(1, attempts + 1):
        word = "yes" if n == attempts else "no"
        writer.add(PickAttempt(attempt=n, verdict=word, reason="", block_xz_m=(0.2, 0.2)))
    if result in ("completed", "failed"):
        for stage, word in (("pick", "yes"), ("place", place)):
            writer.judgment(stage, Judgment(verdict=word, reason="", confidence=1.0, image="x.jpg", model=None))
    return writer.finish(Ending(result=result, stage="stage9b_judge_place", reason="so"))


def test_what_the_tool_was_sent_beside_on_purpose_is_no_miss():
    diff = TipDiff(tip_x=0.2, tip_z=0.2, block_x=0.2, block_z=0.2, dx_mm=9.0, dz_mm=12.0, dist_mm=15.0)
    plain = TipMeasurement(attempt=1, image="x.jpg", diff=diff)
    ahead = plain.model_copy(update={"beside_mm": (6.0, 8.0)})
    assert (plain.missed_dist_mm, ahead.missed_dist_mm) == (15.0, pytest.approx(5.0))
    assert TipMeasurement(attempt=1, image="x.jpg", diff=None).missed_dist_mm is None


def test_a_proof_reckons_with_the_miss_and_not_with_the_aim(store):
    log = finished(store)
    (tip,) = log.tip_measurements
    sent_there = tip.model_copy(update={"beside_mm": (tip.diff.dx_mm - 1.0, tip.diff.dz_mm)})
    aimed = log.model_copy(update={"tip_measurements": (sent_there,)})
    assert (outcome_of(log).tip_mm, outcome_of(aimed).tip_mm) == (tip.diff.dist_mm, pytest.approx(1.0))


@pytest.mark.parametrize(
    ("how", "succeeded"),
    [
        ({}, True),
        ({"attempts": 2}, False),
        ({"result": "failed", "place": "no"}, False),
        ({"result": "refused"}, False),
        ({"result": "invalid"}, None),
        ({"result": "crashed"}, None),
        ({"result": "stopped"}, None),
    ],
)
def test_what_a_trial_says(store, how, succeeded):
    assert outcome_of(finished(store, **how)).succeeded is succeeded


def test_an_agents_sitting_says_nothing(store, by_agent):
    log = finished(store)
    assert outcome_of(log).succeeded
    by_agent(store.find(log.run_id).folder)
    assert outcome_of(store.open(log.run_id).log).succeeded is None


def test_trials_pair_by_their_start_or_in_turn(store):
    one, two, three = (finished(store, model=model) for model in ("new", None, "new"))
    assert [pair.start for pair in paired([("s1", one), ("s2", three)], [("s2", two), ("s3", two)])] == ["s2"]
    found = pairs_in_turn([one, two, three], candidate="new", against=None)
    assert [(pair.with_it.run_id, pair.without.run_id) for pair in found] == [(one.run_id, two.run_id)]


def lessons(n, mm, first=0):
    rng = np.random.default_rng(first)
    return [
        Lesson.of("pick", (0.2 + 0.001 * k, 0.2), tuple(mm + rng.normal(0, 0.5, 2)), run_id=f"r{first + k:04}", at="")
        for k in range(n)
    ]


def test_a_batch_left_alone_proposes_proves_promotes_and_goes_on(tmp_path):
    file, rule = CorrectionFile(tmp_path), RuleSettings()
    how = {"rule": rule, "proof": SETTINGS, "by": "batch_1"}
    assert end_block(file, HERE, [], **how).tries == 0  # nothing learned: nothing to try
    file.merge(HERE, lessons(12, np.array([9.0, 0.0])), source="block 1", by="batch_1")
    first = end_block(file, HERE, [], **how)
    assert first.tries == 3
    few = pairs(*[(True, False, 1.0, 9.0)] * 2)
    undecided = end_block(file, HERE, few, **how)
    assert (undecided.tries, undecided.promoted, undecided.proposed) == (4, None, None)
    assert undecided.proof.pairs == 2
    over = end_block(file, HERE, pairs(*[(True, False, 1.0, 9.0)] * 12), **how)
    assert over.promoted == first.proposed == file.load(HERE).live
    assert over.tries == 0
    file.merge(HERE, lessons(12, np.array([9.0, 0.0]), first=100), source="block 2", by="batch_1")
    assert end_block(file, HERE, [], **how).proposed is not None
    kinds = [line.kind for line in file.history()]
    assert kinds == ["merged", "proposed", "proved", "promoted", "merged", "proposed"]


def test_a_candidate_that_is_worse_makes_way_and_the_live_one_stays(tmp_path):
    file = CorrectionFile(tmp_path)
    how = {"rule": RuleSettings(), "proof": SETTINGS, "by": "batch_1"}
    file.merge(HERE, lessons(12, np.array([9.0, 0.0])), source="block 1", by="batch_1")
    end_block(file, HERE, [], **how)
    worse = end_block(file, HERE, pairs(*[(False, True, 1.0, 2.0)] * 12), **how)
    assert (worse.promoted, worse.tries, worse.proof.word) == (None, 0, "worse")
    assert file.load(HERE).live is None
    again = end_block(file, HERE, pairs(*[(False, True, 1.0, 2.0)] * 12), **how)
    assert (again.proof, again.tries) == (None, 0)  # settled once, not again and again
    file.merge(HERE, lessons(12, np.array([1.0, 0.0]), first=100), source="block 2", by="batch_1")
    assert end_block(file, HERE, [], **how).proposed is None  # after a refusal the next one is longer in coming
    file.merge(HERE, lessons(28, np.array([1.0, 0.0]), first=200), source="block 3", by="batch_1")
    assert end_block(file, HERE, [], **how).proposed is not None


@pytest.mark.parametrize(("tries", "trials", "tried"), [(0, 20, 0), (4, 20, 4), (99, 20, 10), (4, 3, 1), (1, 1, 0)])
def test_every_try_of_a_candidate_follows_a_trial_of_what_is_live(tries, trials, tried):
    order = arms(tries, trials)
    assert len(order) == trials
    assert order.count("candidate") == tried
    assert all(order[n - 1] == "live" for n, use in enumerate(order) if use == "candidate")
