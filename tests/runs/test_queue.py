"""The queue: what a person should look at, in order, with reasons."""

from __future__ import annotations

import pytest

from runs.queue import queue
from runs.rulings import rule
from runs.schema.run import Ending
from runs.schema.verdict import JudgeAudit, Judgment, Verdict
from runs.tally import tally

MEASURED, HAIKU = JudgeAudit(judge="measured"), JudgeAudit(judge="claude", model="haiku")


def said(word, audit=MEASURED, *, confidence=0.95, error=None, members=(), alongside=()):
    sure = None if word is None else confidence
    return Verdict(
        stage="place",
        verdict=word,
        confidence=sure,
        reason="as seen",
        error=error,
        audit=audit,
        members=members,
        alongside=alongside,
    )


@pytest.fixture
def judged(store, header):
    """Make a finished run with that verdict: `judged(said("yes"))`; its id."""

    def make(verdict, *, dist_override=None, dry_run=False):
        writer = store.create(header.model_copy(update={"dry_run": dry_run}))
        writer.add(verdict)
        judgment = Judgment(
            verdict=verdict.verdict,
            confidence=verdict.confidence,
            reason=verdict.reason,
            model=verdict.audit.judge,
            error=verdict.error,
            dist_override=dist_override,
        )
        writer.judgment("place", judgment)
        writer.finish(Ending(result="unjudged", stage="stage9b_judge_place", reason="as seen"))
        return writer.run_id

    return make


def runs(store):
    return [store.open(entry.run_id) for entry in store.list()]


def test_the_most_doubtful_comes_first_and_the_confident_stay_out(store, judged):
    judged(said("yes"))
    weak = judged(said("no", confidence=0.55))
    error = judged(said(None, error="timeout"))
    unsure = judged(said("unsure"))
    odd = judged(said("unsure", HAIKU, error="inconsistent"))
    split = judged(said("unsure", members=(said("yes"), said("no", HAIKU))))
    items = queue(runs(store), share=0.0)
    assert [item.run_id for item in items] == [split, odd, unsure, error, weak]
    reasons = {item.run_id: item.reasons for item in items}
    assert reasons[split] == ("judges disagree: measured yes, haiku no", "unsure")
    assert reasons[odd] == ("doubted: inconsistent", "unsure")
    assert reasons[error] == ("no verdict: timeout",)
    assert reasons[weak] == ("no with a confidence of 0.55",)
    assert [item.doubt for item in items] == sorted((item.doubt for item in items), reverse=True)


def test_a_yes_that_the_tip_speaks_against_is_in_it(store, judged):
    run_id = judged(said("yes"), dist_override=True)
    (item,) = queue(runs(store), share=0.0)
    assert (item.run_id, item.reasons) == (run_id, ("the tip was measured far from the block",))


def test_a_member_without_a_verdict_is_named(store, judged):
    judged(said(None, error="auth", members=(said("yes"), said(None, HAIKU, error="auth"))))
    (item,) = queue(runs(store), share=0.0)
    assert "no verdict by haiku: auth" in item.reasons


def test_a_measurement_on_record_that_says_otherwise_is_a_disagreement(store, judged):
    judged(said("yes", HAIKU, alongside=(said("yes"),)))
    against = judged(said("yes", HAIKU, alongside=(said("no"),)))
    (item,) = queue(runs(store), share=0.0)
    assert (item.run_id, item.word) == (against, "yes")
    assert item.reasons == ("judges disagree: haiku yes, measured no",)


def test_what_a_person_has_ruled_on_is_out_of_it(store, judged):
    run_id = judged(said("unsure"))
    rule(store, run_id, "place", "no", by="Maya", reason="rim")
    assert queue(runs(store), share=1.0) == []


def test_dry_runs_and_open_runs_are_left_out(store, judged, header):
    judged(said(None, error="dry_run"), dry_run=True)
    writer = store.create(header)
    writer.add(said("unsure"))
    assert queue(runs(store), share=1.0) == []
    writer.close()


def test_a_share_of_the_confident_is_drawn_by_the_seed_and_stays_drawn(store, judged):
    names = [judged(said("yes")) for _ in range(60)]
    drawn = {item.run_id for item in queue(runs(store), share=0.1, seed=3)}
    assert 1 <= len(drawn) <= 15
    assert all(item.drawn for item in queue(runs(store), share=0.1, seed=3))
    assert drawn != {item.run_id for item in queue(runs(store), share=0.1, seed=4)}
    for _ in range(5):
        names.append(judged(said("yes")))
    assert drawn <= {item.run_id for item in queue(runs(store), share=0.1, seed=3)}
    assert {item.run_id for item in queue(runs(store), share=1.0)} == set(names)


def test_the_drawn_come_after_all_that_is_doubtful(store, judged):
    judged(said("yes"))
    judged(said("no", confidence=0.6))
    assert [item.drawn for item in queue(runs(store), share=1.0)] == [False, True]


def test_a_tally_makes_nothing_of_the_undecided(store, judged):
    for verdict in (said("yes"), said("yes"), said("no"), said("unsure"), said(None, error="timeout")):
        judged(verdict)
    counts = tally([stored.log for stored in runs(store)], "place")
    assert (counts.yes, counts.no, counts.unsure, counts.none, counts.n) == (2, 1, 1, 1, 5)
    assert counts.bounds == (0.4, 0.8)
    assert (counts.decided.successes, counts.decided.n) == (2, 3)
    assert tally([], "place").bounds is None
