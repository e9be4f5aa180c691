"""A person's word stands over a judge's; no verdict stays none."""

from __future__ import annotations

import pytest

from runs.migrate import load_log
from runs.schema.verdict import JudgeAudit, Judgment, Rejudged, Ruling, Verdict
from runs.verdicts import standing_in, standing_verdict

AUDIT = JudgeAudit(judge="measured")
YES = Verdict(stage="pick", verdict="yes", confidence=0.9, reason="held", audit=AUDIT)


def ruling(word, by="Maya", stage="pick"):
    return Ruling(stage=stage, verdict=word, by=by, at="2026-08-01T10:00:00Z", reason="looked at it")


def test_the_judges_word_stands_until_a_person_speaks():
    standing = standing_verdict(YES, [])
    assert standing is not None
    assert (standing.word, standing.source, standing.by, standing.confidence) == ("yes", "judge", "measured", 0.9)


def test_the_last_ruling_stands_over_everything_before():
    standing = standing_verdict(YES, [ruling("no"), ruling("unsure", by="Jun")])
    assert standing is not None
    assert (standing.word, standing.source, standing.by) == ("unsure", "person", "Jun")


@pytest.mark.parametrize(
    "judged", [None, Verdict(stage="pick", verdict=None, reason="no answer", error="timeout", audit=AUDIT)]
)
def test_no_verdict_stays_none(judged):
    assert standing_verdict(judged, []) is None


def test_a_ruling_stands_where_no_judge_could_answer():
    unanswered = Verdict(stage="pick", verdict=None, reason="", error="timeout", audit=AUDIT)
    standing = standing_verdict(unanswered, [ruling("no")])
    assert standing is not None
    assert standing.word == "no"


def test_a_field_log_keeps_a_persons_word_in_the_judgment(golden):
    log = load_log(golden / "v0.json")
    pick, place = standing_in(log, "pick"), standing_in(log, "place")
    assert pick is not None
    assert place is not None
    assert (pick.word, pick.source) == ("yes", "person")
    assert (place.word, place.source, place.by) == ("no", "judge", "claude-invented-1")


def test_rulings_are_for_their_own_stage(golden):
    log = load_log(golden / "v1.json")
    changed = log.model_copy(update={"rulings": (ruling("no", stage="place"),)})
    pick, place = standing_in(changed, "pick"), standing_in(changed, "place")
    assert pick is not None
    assert place is not None
    assert (pick.word, place.word) == ("yes", "no")


def test_a_judgment_without_a_word_is_not_judged(golden):
    log = load_log(golden / "v1.json")
    none = Judgment(verdict=None, confidence=None, reason="no answer", model=None, error="timeout")
    assert standing_in(log.model_copy(update={"judgments": {"pick": none}, "rulings": ()}), "pick") is None


def said(word, judge, *, members=(), alongside=()):
    return Verdict(
        stage="place", verdict=word, reason="as seen", error=None if word else "connection", members=members,
        audit=JudgeAudit(judge=judge, model="haiku" if judge == "claude" else None),
        alongside=alongside,
    )  # fmt: skip


MEASURED_YES, NO_CLAUDE = said("yes", "measured"), said(None, "claude")
PANEL_WITHOUT_CLAUDE = said(None, "panel", members=(MEASURED_YES, NO_CLAUDE))
CLAUDE_GONE = said(None, "claude", alongside=(MEASURED_YES,))


@pytest.mark.parametrize("then", [PANEL_WITHOUT_CLAUDE, CLAUDE_GONE], ids=["panel", "alongside"])
@pytest.mark.parametrize(
    ("later", "word"),
    [
        ([], None),
        ([MEASURED_YES], None),  # it had spoken already: the model is still missing
        ([MEASURED_YES, MEASURED_YES], None),
        ([said(None, "claude")], None),
        ([said("yes", "claude")], "yes"),
        ([said("yes", "compatible")], "yes"),
        ([said("no", "claude")], "unsure"),
        ([said("unsure", "claude")], "unsure"),
        ([said("yes", "claude"), said("no", "claude")], "unsure"),
        ([said("no", "measured"), said("yes", "claude")], "unsure"),
        ([said("yes", "panel", members=(MEASURED_YES, said("yes", "claude")))], "yes"),
        ([said("unsure", "panel", members=(MEASURED_YES, said("no", "claude")))], "unsure"),
        ([said(None, "panel", members=(MEASURED_YES, said(None, "claude")))], None),
    ],
)
def test_only_the_judge_that_was_missing_settles_it_later_and_all_must_agree(golden, then, later, word):
    log = load_log(golden / "v1.json")
    none = Judgment(verdict=None, confidence=None, reason="no answer", model=None, error="connection")
    rejudged = tuple(Rejudged(id=str(n), at="2026-08-01T10:00:00Z", verdict=v) for n, v in enumerate(later))
    log = log.model_copy(
        update={"judgments": {"place": none}, "rulings": (), "verdicts": (then,), "rejudged": rejudged}
    )
    standing = standing_in(log, "place")
    assert (standing.word if standing else None) == word
