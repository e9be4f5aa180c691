"""A person's rulings: they stand, they are kept, and two who rule at once lose nothing."""

from __future__ import annotations

import json

import pytest

from runs.appended import REJUDGED_FILE, RULINGS_FILE, append
from runs.check import check_log
from runs.errors import AppendedUnreadable, NothingToRule, RunInProgress, StorageUnwritable
from runs.rulings import rule, take_back
from runs.schema.run import Ending
from runs.schema.verdict import JudgeAudit, Judgment, Rejudged, Verdict
from runs.store import open_any
from runs.verdicts import standing_in, standing_result

AUDIT = JudgeAudit(judge="claude", model="claude-haiku-5-5")


def verdict(word, *, stage="place", error=None, members=(), judge=AUDIT, attempt=1):
    return Verdict(
        stage=stage, verdict=word, reason="as seen", error=error, audit=judge, members=members, attempt=attempt
    )


@pytest.fixture
def finished(store, header):
    """A finished run with a place verdict: `finished("yes")`; the run's id."""
    open_writers = []

    def make(word="yes", *, members=(), dry_run=False, end=True):
        writer = store.create(header.model_copy(update={"dry_run": dry_run}))
        said = verdict(word, error=None if word else "timeout", members=members)
        writer.add(said)
        writer.judgment(
            "place",
            Judgment(verdict=word, confidence=None, reason="as seen", model="claude-haiku-5-5", error=said.error),
        )
        if end:
            result = {"yes": "completed", "no": "failed"}.get(word, "unjudged")
            writer.finish(Ending(result=result, stage="stage9b_judge_place", reason="as seen"))
        else:
            open_writers.append(writer)
        return writer.run_id

    yield make
    for writer in open_writers:
        writer.close()


def test_a_ruling_stands_and_the_judges_word_stays_on_record(store, finished):
    run_id = finished("yes")
    before = (store.runs_dir / run_id / "run.json").read_bytes()
    ruled = rule(store, run_id, "place", "no", by="Maya", reason="it hangs on the rim", blind=True)
    standing = standing_in(ruled.log, "place")
    assert (standing.word, standing.source, standing.by, standing.reason) == (
        "no", "person", "Maya", "it hangs on the rim",
    )  # fmt: skip
    ruling = ruled.log.rulings[-1]
    assert ruling.blind
    assert ruling.at.endswith("Z")
    assert ruled.log.verdicts[0].verdict == ruled.log.judgments["place"].verdict == "yes"
    assert (ruled.log.result, standing_result(ruled.log)) == ("completed", "failed")
    assert (store.runs_dir / run_id / "run.json").read_bytes() == before
    assert store.open(run_id).log == ruled.log == open_any(str(store.runs_dir / run_id / "run.json"), store).log
    assert check_log(run_id, store).valid


def test_every_ruling_is_kept_and_the_last_one_stands(store, finished):
    run_id = finished("unsure")
    rule(store, run_id, "place", "no", by="Maya", reason="first look")
    ruled = rule(store, run_id, "place", "yes", by="Jun", reason="on the second picture it is inside")
    assert [(ruling.by, ruling.verdict) for ruling in ruled.log.rulings] == [("Maya", "no"), ("Jun", "yes")]
    assert standing_result(ruled.log) == "completed"


def test_recovering_a_run_keeps_its_rulings(store, finished):
    run_id = finished("yes")
    rule(store, run_id, "place", "no", by="Maya", reason="rim")
    store.recover(run_id, overwrite=True)
    assert standing_in(store.open(run_id).log, "place").word == "no"


def test_a_run_that_is_still_written_takes_no_ruling(store, finished):
    run_id = finished("yes", end=False)
    with pytest.raises(RunInProgress):
        rule(store, run_id, "place", "no", by="Maya", reason="rim")


def test_what_was_never_judged_can_not_be_ruled_on(store, finished):
    with pytest.raises(NothingToRule, match="ended completed in stage9b_judge_place before"):
        rule(store, finished("yes"), "pick", "no", by="Maya", reason="dropped")
    with pytest.raises(NothingToRule, match="dry run"):
        rule(store, finished(None, dry_run=True), "place", "no", by="Maya", reason="rim")
    with pytest.raises(ValueError, match="has a name"):
        rule(store, finished("yes"), "place", "no", by="  ", reason="rim")


def test_two_reviewers_at_once_lose_nothing(store, finished, child):
    run_id = finished("yes")
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from runs.rulings import rule\n"
        "from runs.store import RunStore\n"
        "store, who = RunStore(Path(sys.argv[1])), sys.argv[3]\n"
        "for n in range(25):\n"
        "    rule(store, sys.argv[2], 'place', 'no', by=who, reason=f'{who} {n}')\n"
    )
    reviewers = [child(code, str(store.runs_dir), run_id, who) for who in ("Maya", "Jun", "Ana")]
    assert [reviewer.wait(timeout=120) for reviewer in reviewers] == [0, 0, 0]
    rulings = store.open(run_id).log.rulings
    for who in ("Maya", "Jun", "Ana"):
        assert [ruling.reason for ruling in rulings if ruling.by == who] == [f"{who} {n}" for n in range(25)]


def test_a_torn_line_was_never_acknowledged_and_is_taken_away(store, finished):
    run_id = finished("yes")
    path = store.runs_dir / run_id / RULINGS_FILE
    rule(store, run_id, "place", "no", by="Maya", reason="rim")
    with path.open("ab") as file:
        file.write(b'{"stage": "place", "verdict": "ye')
    assert [ruling.by for ruling in store.open(run_id).log.rulings] == ["Maya"]
    rule(store, run_id, "place", "yes", by="Jun", reason="inside")
    assert [json.loads(line)["by"] for line in path.read_text(encoding="utf-8").splitlines()] == ["Maya", "Jun"]


def test_a_damaged_line_is_told_never_skipped(store, finished):
    run_id = finished("yes")
    rule(store, run_id, "place", "no", by="Maya", reason="rim")
    path = store.runs_dir / run_id / RULINGS_FILE
    path.write_bytes(b"nonsense\n" + path.read_bytes())
    with pytest.raises(AppendedUnreadable, match="line 1"):
        store.open(run_id)
    assert not check_log(run_id, store).valid


def test_a_ruling_that_can_not_be_written_is_an_error(store, finished):
    run_id = finished("yes")
    (store.runs_dir / run_id / RULINGS_FILE).mkdir()
    with pytest.raises((StorageUnwritable, AppendedUnreadable)):
        rule(store, run_id, "place", "no", by="Maya", reason="rim")


def later(run_id, store, said, *, attempt=1):
    record = Rejudged(id=f"tc_{said}", at="2026-08-01T10:00:00Z", verdict=verdict(said, attempt=attempt))
    append(store.runs_dir / run_id / REJUDGED_FILE, [record])
    return store.open(run_id).log


def test_a_later_verdict_stands_only_where_there_was_none(store, finished):
    judged, unjudged = finished("yes"), finished(None)
    log = later(judged, store, "no")
    assert standing_in(log, "place").word == "yes"
    assert [one.verdict.verdict for one in log.rejudged] == ["no"]
    log = later(unjudged, store, "yes")
    assert (standing_in(log, "place").word, standing_result(log), log.result) == ("yes", "completed", "unjudged")
    assert standing_in(later(unjudged, store, "no"), "place").word == "unsure", "they contradict each other"
    assert standing_in(rule(store, unjudged, "place", "no", by="Maya", reason="rim").log, "place").word == "no"


def test_a_later_verdict_against_what_a_member_had_said_is_unsure(store, finished):
    measured = verdict("no", judge=JudgeAudit(judge="measured"))
    unheard = verdict(None, error="timeout")
    run_id = finished(None, members=(measured, unheard))
    standing = standing_in(later(run_id, store, "yes"), "place")
    assert standing.word == "unsure"
    assert standing.reason == "they disagree: measured said no; claude-haiku-5-5 said yes"


def test_a_later_verdict_on_another_attempt_changes_nothing(store, finished):
    run_id = finished(None)
    assert standing_in(later(run_id, store, "yes", attempt=2), "place") is None


def test_a_slip_is_taken_back_and_stays_on_record(store, finished):
    run_id = finished("yes")
    rule(store, run_id, "place", "no", by="Ada", reason="it hangs on the rim")
    rule(store, run_id, "place", "yes", by="Grace", reason="it fell in")
    stored = take_back(store, run_id, "place", by="Grace")
    standing = standing_in(stored.log, "place")
    assert (standing.word, standing.by) == ("no", "Ada")
    assert [(r.by, r.verdict, r.takes_back) for r in stored.log.rulings] == [
        ("Ada", "no", False), ("Grace", "yes", False), ("Grace", "yes", True),
    ]  # fmt: skip
    back = take_back(store, run_id, "place", by="Ada")
    assert standing_in(back.log, "place").source == "judge"
    with pytest.raises(NothingToRule, match="Ada has said nothing to take back"):
        take_back(store, run_id, "place", by="Ada")
