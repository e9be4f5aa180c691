"""Several answers as one: a yes only out of yeses, whatever else happens."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.errors import BadEvidence
from judges.panel import PanelJudge, RecordedAlongside, RepeatedJudge, cost_of
from judges.protocol import Evidence
from runs.schema.verdict import JudgeAttempt, JudgeAudit, Verdict
from vision.detect.protocol import DetectSettings

STEP = Evidence(stage="place", pictures=(), grip=None, settings=DetectSettings(), attempt=2)


class Says:
    """A judge with answers in a row: a word, `None` for no verdict, an exception to raise. The last one stays."""

    def __init__(self, *answers, name="says", confidence=0.9, cost_usd=None):
        self.name, self._answers, self._confidence, self._cost = name, list(answers), confidence, cost_usd
        self.heard = []

    def judge(self, evidence):
        self.heard.append(evidence.repeat)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        return Verdict(
            stage=evidence.stage,
            verdict=answer,
            confidence=None if answer is None else self._confidence,
            reason=f"{self.name} says {answer}",
            error=None if answer else "timeout",
            audit=JudgeAudit(judge=self.name, cost_usd=self._cost),
            attempt=evidence.attempt,
        )


WORDS = ("yes", "no", "unsure", None, "raises")


def saying(word, name):
    return Says(BadEvidence("no picture") if word == "raises" else word, name=name)


@pytest.mark.parametrize("words", [*product(WORDS, repeat=2), *product(WORDS, repeat=3)], ids=str)
def test_a_yes_comes_of_yeses_only_and_a_word_of_agreement_only(words):
    found = PanelJudge([saying(word, f"judge {n}") for n, word in enumerate(words)]).judge(STEP)
    told = [None if word == "raises" else word for word in words]
    if set(told) == {"yes"} or set(told) == {"no"}:
        assert found.verdict == told[0]
    else:
        assert found.verdict in ("unsure", None)
    assert (found.verdict is None) == (
        None in told and len({w for w in told if w} - {"unsure"}) < 2 and "unsure" not in told
    )
    assert (found.error is None) == (found.verdict is not None)
    assert [member.verdict for member in found.members] == told
    assert (found.stage, found.attempt, found.audit.judge) == ("place", 2, "panel")


@pytest.mark.parametrize("words", [*product(WORDS, repeat=2)], ids=str)
def test_an_answer_alongside_decides_nothing(words):
    decides, beside = (saying(word, f"judge {n}") for n, word in enumerate(words))
    found = RecordedAlongside(decides, beside).judge(STEP)
    told = [None if word == "raises" else word for word in words]
    assert (found.verdict, found.alongside[0].verdict) == tuple(told)
    assert found.members == ()


def test_an_error_keeps_its_code():
    found = PanelJudge([Says("yes"), Says(None)]).judge(STEP)
    assert (found.verdict, found.error) == (None, "timeout")
    found = PanelJudge([Says("yes"), Says(BadEvidence("no picture"))]).judge(STEP)
    assert (found.verdict, found.error) == (None, "BadEvidence")


def test_agreement_makes_nobody_surer():
    found = PanelJudge([Says("yes", confidence=0.99), Says("yes", confidence=0.7)]).judge(STEP)
    assert found.confidence == 0.7


def test_a_cost_that_is_not_known_is_not_left_out_of_the_sum():
    def paid(cost_usd):
        attempt = JudgeAttempt(
            attempt=1, gate="passed", detail="", model_requested="m", max_tokens=400, seconds=1.0,
            started_at="2026-08-01T10:00:00Z", cost_usd=cost_usd,
        )  # fmt: skip
        audit = JudgeAudit(judge="claude", cost_usd=cost_usd, attempts=(attempt,))
        return Verdict(stage="place", verdict="yes", reason="seen", audit=audit)

    measured = Verdict(stage="place", verdict="yes", reason="seen", audit=JudgeAudit(judge="measured"))
    assert cost_of([paid(0.25), paid(0.5), measured]) == 0.75
    assert cost_of([paid(0.25), paid(None), measured]) is None
    assert cost_of([measured]) is None


def test_costs_are_summed():
    found = PanelJudge([Says("yes"), Says("yes", cost_usd=0.001), Says("yes", cost_usd=0.02)]).judge(STEP)
    assert found.audit.cost_usd == pytest.approx(0.021)


@pytest.mark.parametrize(
    ("words", "stronger", "asked", "word"),
    [
        (("yes", "no"), "yes", True, "yes"),
        (("yes", "no"), "no", True, "unsure"),
        (("no", "yes"), "no", True, "no"),
        (("yes", "unsure"), "yes", True, "yes"),
        (("yes", "no"), "unsure", True, "unsure"),
        (("yes", "no"), None, True, None),
        (("yes", "yes"), "no", False, "yes"),
        (("unsure", "yes"), "yes", False, "unsure"),
        (("yes", None), "yes", False, None),
        ((None, "yes"), "yes", False, None),
    ],
)
def test_a_stronger_judge_stands_in_for_the_last_where_that_can_settle_it(words, stronger, asked, word):
    strong = Says(stronger, name="strong")
    members = [Says(each, name=f"judge {n}") for n, each in enumerate(words)]
    found = PanelJudge(members, stronger=strong).judge(STEP)
    assert bool(strong.heard) is asked
    assert found.verdict == word
    assert [member.audit.judge for member in found.members] == ["judge 0", "judge 1", *(["strong"] if asked else [])]


def test_one_is_no_panel_and_asking_once_is_not_asking_again():
    with pytest.raises(ValueError, match="at least two"):
        PanelJudge([Says("yes")])
    with pytest.raises(ValueError, match="at least twice"):
        RepeatedJudge(Says("yes"), 1)


def test_a_stable_judge_is_asked_in_other_ways_and_keeps_its_word():
    judge = Says("yes")
    found = RepeatedJudge(judge, 3).judge(STEP)
    assert judge.heard == [0, 1, 2]
    assert (found.verdict, found.audit.judge, len(found.members)) == ("yes", "says", 3)


@pytest.mark.parametrize("answers", [("yes", "no"), ("yes", "yes", "no"), ("no", "unsure"), ("no", "yes")])
def test_an_unstable_judge_is_unsure(answers):
    judge = Says(*answers)
    found = RepeatedJudge(judge, 5).judge(STEP)
    assert found.verdict == "unsure"
    assert len(judge.heard) == len(answers), "asking on after the first difference tells nothing new"


@given(st.lists(st.sampled_from(["yes", "no", "unsure", None]), min_size=2, max_size=5))
def test_a_repeated_yes_is_all_yes(answers):
    found = RepeatedJudge(Says(*answers), len(answers)).judge(STEP)
    if found.verdict == "yes":
        assert set(answers) == {"yes"}


def test_only_doubtful_answers_are_asked_again():
    sure, doubtful = Says("yes", confidence=0.95), Says("yes", confidence=0.6)
    RepeatedJudge(sure, 3, only_below=0.9).judge(STEP)
    RepeatedJudge(doubtful, 3, only_below=0.9).judge(STEP)
    assert (len(sure.heard), len(doubtful.heard)) == (1, 3)
