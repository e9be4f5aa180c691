"""Several judges, or one judge several times, as one: a word only where all agree, else unsure, else none.

A panel asks every member and keeps each answer whole. What differs, or is unsure, is unsure; where a member has no
verdict and nobody contradicts, there is none either, with that member's code. A stronger judge may be asked where it
can settle a disagreement; it takes the place of the member that it is stronger than, and the others must still agree
with it. No rule here makes a yes out of anything but yeses.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from time import monotonic

from judges.errors import JudgeError
from judges.protocol import Evidence, Judge
from runs.schema.verdict import JudgeAudit, Verdict, Word
from runs.verdicts import answers_in


@dataclass(frozen=True, slots=True)
class Agreed:
    """What several answers come to: a word, or an error code where there is none."""

    word: Word | None
    error: str | None
    confidence: float | None
    reason: str


class PanelJudge:
    """Asks every member about the same evidence; on disagreement, a stronger judge in the place of the last one."""

    name = "panel"

    def __init__(self, members: Sequence[Judge], *, stronger: Judge | None = None) -> None:
        """`stronger` stands in for the last member where the others agree on a word and that one says otherwise.

        Raises:
            ValueError: fewer than two members.
        """
        if len(members) < 2:
            raise ValueError("a panel has at least two members")
        self._members, self._stronger = tuple(members), stronger

    def judge(self, evidence: Evidence) -> Verdict:
        """The word that all agree on, unsure, or none; every member's answer is in `members`."""
        begun_s = monotonic()
        answers = [asked(member, evidence) for member in self._members]
        heard = list(answers)
        if self._stronger is not None and could_settle(answers):
            heard.append(asked(self._stronger, evidence))
            answers = [*answers[:-1], heard[-1]]
        return combined(self.name, evidence, agreed(answers), heard, seconds=monotonic() - begun_s)


class RepeatedJudge:
    """Asks one judge again, with pictures in another order or the question in other words; all must say the same.

    A stable judge gives the same answer however it is asked. With `only_below`, a first answer that is at least so sure
    is taken as it is, so that asking again is paid for on doubtful steps only.
    """

    def __init__(self, judge: Judge, times: int, *, only_below: float | None = None) -> None:
        """`times` in all, at least 2.

        Raises:
            ValueError: fewer than two.
        """
        if times < 2:
            raise ValueError("asking again means at least twice in all")
        self._judge, self._times, self._only_below = judge, times, only_below
        self.name = judge.name

    def judge(self, evidence: Evidence) -> Verdict:
        """The word that every answer has, unsure where they differ, none where one of them is none."""
        verdict = self._asked_in_turn(evidence)
        asked_as = {"repeats": self._times, "repeat_below": self._only_below}
        return verdict.model_copy(update={"audit": verdict.audit.model_copy(update=asked_as)})

    def _asked_in_turn(self, evidence: Evidence) -> Verdict:
        begun_s = monotonic()
        answers = [asked(self._judge, evidence)]
        first = answers[0]
        if first.verdict in (None, "unsure") or self._sure_enough(first):
            return first
        for repeat in range(1, self._times):
            answers.append(asked(self._judge, replace(evidence, repeat=repeat)))
            if answers[-1].verdict != first.verdict:
                break
        return combined(self.name, evidence, agreed(answers), answers, seconds=monotonic() - begun_s)

    def _sure_enough(self, answer: Verdict) -> bool:
        return self._only_below is not None and (answer.confidence or 0.0) >= self._only_below


class RecordedAlongside:
    """Asks a judge, and another one for the record: whatever that one says, the word is the first one's.

    So a trial whose judge could not be had has at least been measured, and a contradiction is there for people to see.
    """

    def __init__(self, judge: Judge, beside: Judge) -> None:
        """`beside` is asked after the judge, also where that one has no verdict."""
        self._judge, self._beside = judge, beside
        self.name = judge.name

    def judge(self, evidence: Evidence) -> Verdict:
        """The judge's own verdict, with the other's answer in `alongside`."""
        verdict = asked(self._judge, evidence)
        return verdict.model_copy(update={"alongside": (*verdict.alongside, asked(self._beside, evidence))})


def asked(judge: Judge, evidence: Evidence) -> Verdict:
    """A judge's answer; an error of judging is no verdict, with its name as the code."""
    try:
        return judge.judge(evidence)
    except JudgeError as error:
        return no_verdict(judge.name, evidence, type(error).__name__, str(error))


def no_verdict(judge: str, evidence: Evidence, code: str, reason: str) -> Verdict:
    """No verdict on that step, and why."""
    return Verdict(
        stage=evidence.stage,
        verdict=None,
        reason=reason,
        error=code,
        audit=JudgeAudit(judge=judge),
        attempt=evidence.attempt,
    )


def could_settle(answers: Sequence[Verdict]) -> bool:
    """Whether another answer in the place of the last one could make all agree; no error is settled so."""
    words = {answer.verdict for answer in answers[:-1]}
    last = answers[-1].verdict
    return len(words) == 1 and words <= {"yes", "no"} and last is not None and last not in words


def agreed(answers: Sequence[Verdict]) -> Agreed:
    """What answers come to. Errors are no words: they neither make a yes nor unmake a disagreement."""
    words = [answer.verdict for answer in answers if answer.verdict is not None]
    told = "; ".join(f"{_who(answer)}: {_said(answer)}" for answer in answers)
    if len(set(words)) > 1:
        return Agreed("unsure", None, None, f"they disagree: {told}")
    if "unsure" in words:
        return Agreed("unsure", None, _least(answers), told)
    failed = next((answer for answer in answers if answer.verdict is None), None)
    if failed is not None:
        return Agreed(None, failed.error or "no_verdict", None, told)
    return Agreed(words[0], None, _least(answers), told)


def combined(
    name: str, evidence: Evidence, agreement: Agreed, answers: Sequence[Verdict], *, seconds: float
) -> Verdict:
    """One verdict of several, with each of them in it; costs and tokens are summed where all of them are known."""
    audits = [answer.audit for answer in answers]
    models = list(dict.fromkeys(audit.model for audit in audits if audit.model is not None))
    tokens_in = [audit.input_tokens for audit in audits if audit.input_tokens is not None]
    tokens_out = [audit.output_tokens for audit in audits if audit.output_tokens is not None]
    return Verdict(
        stage=evidence.stage,
        verdict=agreement.word,
        confidence=agreement.confidence,
        reason=agreement.reason,
        error=agreement.error,
        audit=JudgeAudit(
            judge=name,
            model=" + ".join(models) or None,
            image_hashes=tuple(picture.sha256 for picture in evidence.pictures),
            input_tokens=sum(tokens_in) if tokens_in else None,
            output_tokens=sum(tokens_out) if tokens_out else None,
            cost_usd=cost_of(answers),
            seconds=seconds,
        ),
        attempt=evidence.attempt,
        members=tuple(answers),
    )


def cost_of(answers: Iterable[Verdict]) -> float | None:
    """What answers have cost together, dollars; None where one asked a model at an unknown cost, or none asked any."""
    leaves = [leaf for answer in answers for leaf in answers_in(answer)]
    if any(leaf.audit.attempts and leaf.audit.cost_usd is None for leaf in leaves):
        return None
    costs = [leaf.audit.cost_usd for leaf in leaves if leaf.audit.cost_usd is not None]
    return sum(costs) if costs else None


def _least(answers: Sequence[Verdict]) -> float | None:
    """The confidence of the least sure: agreement makes nobody surer."""
    known = [answer.confidence for answer in answers if answer.confidence is not None]
    return min(known) if known else None


def _who(answer: Verdict) -> str:
    return answer.audit.model or answer.audit.judge


def _said(answer: Verdict) -> str:
    return f"no verdict ({answer.error})" if answer.verdict is None else f"{answer.verdict}, {answer.reason}"
