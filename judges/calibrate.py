"""A judge held against labels: how often it is right, how often it calls a failure a success, how sure it may be.

It asks the judge about each labelled step once, about some of them again, and counts. No label ever reaches the judge.
An unsure and a missing verdict are counted for themselves and never as right or wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from random import Random
from typing import Any

from judges.certificate import LOWER_BOUND, CameraPart, Certificate, Counts, LightPart, parts_of
from judges.kept import Judging
from judges.labelled import Label
from judges.panel import asked, cost_of
from judges.protocol import Evidence, Judge
from judges.steps import PicturesGone
from runs.agreement import Confusion, Kappa, Operating, Reliability, Sure, reliability, risk_coverage, threshold_for
from runs.events import utc_text
from runs.files import sha256_hex
from runs.schema.verdict import JudgedStage, Verdict
from runs.statistics import Paired, Rate, exact_rate, mcnemar, wilson_rate
from vision.cameras.quality import assess
from vision.errors import VisionError


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One labelled step. `evidence` is read when it is needed; `recorded` is an answer that was given before."""

    id: str
    stage: JudgedStage
    label: Label
    kind: str
    light: str
    camera: CameraPart
    evidence: Callable[[], Evidence]
    recorded: Verdict | None = None
    blind: bool | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Answered:
    """A case, the judge's answer, its later answers to the same question, and the picture's mean grey level."""

    case: Case
    verdict: Verdict
    again: tuple[Verdict, ...] = ()
    level: float | None = None


def ask_all(
    judge: Judge | None,
    cases: Sequence[Case],
    *,
    repeats: int = 0,
    repeat_share: float = 1.0,
    seed: int = 0,
    judging: Judging | None = None,
    key: str = "",
    progress: Callable[[int], None] = lambda _: None,
    left_out: Callable[[str], None] = lambda _: None,
) -> list[Answered]:
    """Ask about every case; None takes the recorded answers and leaves out cases without one.

    Args:
        repeats: how often more the same is asked, in other words or order, on a share of the cases.
        repeat_share: of the cases, 0 to 1, drawn with the seed.
        judging: keeps every answer and what was sent as soon as it is there; what it holds already is not asked again.
        key: what tells this judge from others in it.
        progress: told how many are done.
        left_out: told of each case that can't be asked about because its pictures can't be read.
    """
    drawn = Random(seed)
    known = {} if judging is None else judging.answered(key)
    done = []
    for number, case in enumerate(cases, start=1):
        again_wanted = drawn.random() < repeat_share and judge is not None
        try:
            if judge is None:
                answered = _recorded(case)
            else:
                asking = _Asking(judge, judging, key, known)
                answered = _ask(asking, case, repeats if again_wanted else 0)
        except (VisionError, PicturesGone) as error:
            left_out(f"{case.id}: {error}")
        else:
            done += [] if answered is None else [answered]
        progress(number)
    return done


@dataclass(frozen=True, slots=True, eq=False)
class _Asking:
    """A judge, and where its answers are kept."""

    judge: Judge
    judging: Judging | None
    key: str
    known: dict[tuple[str, int], Verdict]

    def about(self, case: Case, evidence: Evidence, repeat: int) -> Verdict:
        """The answer that is kept already, else a new one, which is kept before anything else happens."""
        if self.judging is None:
            return asked(self.judge, replace(evidence, repeat=repeat))
        pictures = "".join(picture.sha256 for picture in evidence.pictures)
        own_id = f"{case.id} {sha256_hex(pictures.encode())[:16]}"
        verdict = self.known.get((own_id, repeat))
        if verdict is None:
            verdict = asked(self.judge, replace(evidence, repeat=repeat, keep=self.judging.keep))
            self.judging.add(own_id, verdict, repeat=repeat, key=self.key)
        return verdict


def _ask(asking: _Asking, case: Case, repeats: int) -> Answered:
    evidence = case.evidence()
    verdict = asking.about(case, evidence, 0)
    again = tuple(asking.about(case, evidence, number) for number in range(1, repeats + 1))
    return Answered(case, verdict, again, _level(evidence))


def _recorded(case: Case) -> Answered | None:
    return None if case.recorded is None else Answered(case, case.recorded, (), _level(case.evidence()))


def _level(evidence: Evidence) -> float | None:
    after = evidence.last("after")
    return None if after is None else assess(after.image_bgr).mean_level


@dataclass(frozen=True, slots=True)
class KindRow:
    """How one kind of scene came out."""

    kind: str
    label: Label
    n: int
    yes: int
    no: int
    unsure: int
    none: int


@dataclass(frozen=True, slots=True, eq=False)
class Report:
    """What a judge is worth at one step. Rates have exact intervals; `tpr_low` and `tnr_low` are Wilson's bounds."""

    judge: str
    stage: JudgedStage
    n: int
    confusion: Confusion
    tpr: Rate
    tnr: Rate
    tpr_low: float
    tnr_low: float
    kappa: Kappa | None
    stable: Rate
    reliability: Reliability
    risk_coverage: tuple[Operating, ...]
    operating: Operating | None
    risk: float
    kinds: tuple[KindRow, ...]
    errors: dict[str, int]
    cost_usd: float | None
    calls: int
    seconds: float | None
    not_blind: int
    certified: bool
    why: str

    def as_object(self) -> dict[str, Any]:
        """For programs."""
        confusion = self.confusion
        rates = {
            name: asdict(getattr(confusion, name)) for name in ("accuracy", "coverage", "always_yes", "false_success")
        }
        plain = asdict(replace(self, confusion=None))  # type: ignore[arg-type]
        counts = counts_of(confusion).model_dump()
        each = None if self.cost_usd is None or not self.calls else self.cost_usd / self.calls
        return plain | rates | {"confusion": counts, "cost_usd_each": each}


def report_of(answers: Sequence[Answered], stage: JudgedStage, *, risk: float) -> Report:
    """Count the answers at one step.

    Args:
        risk: the share of wrong answers among the answered that is to be kept to; gives the threshold.
    """
    mine = [answer for answer in answers if answer.case.stage == stage]
    confusion = Confusion.of((answer.case.label, answer.verdict.verdict) for answer in mine)
    (tp, fn), (fp, tn) = confusion.table
    tpr_low, tnr_low = wilson_rate(tp, tp + fn).low, wilson_rate(tn, tn + fp).low
    sure = [_sure(answer) for answer in mine if answer.verdict.verdict in ("yes", "no")]
    known = [answer for answer in sure if answer is not None]
    points = risk_coverage(known, len(mine)) if mine else ()
    repeated = [answer for answer in mine if answer.again]
    stable = sum(all(a.verdict == answer.verdict.verdict for a in answer.again) for answer in repeated)
    heard = [verdict for answer in mine for verdict in (answer.verdict, *answer.again)]
    times = [verdict.audit.seconds for verdict in heard if verdict.audit.seconds is not None]
    certified, why = _certified(confusion, tpr_low, tnr_low)
    return Report(
        judge=mine[0].verdict.audit.judge if mine else "nobody",
        stage=stage,
        n=len(mine),
        confusion=confusion,
        tpr=confusion.tpr,
        tnr=confusion.tnr,
        tpr_low=tpr_low,
        tnr_low=tnr_low,
        kappa=confusion.kappa,
        stable=exact_rate(stable, len(repeated)),
        reliability=reliability(known),
        risk_coverage=points,
        operating=threshold_for(points, risk),
        risk=risk,
        kinds=_kinds(mine),
        errors=_errors(mine),
        cost_usd=cost_of(heard),
        calls=len(heard),
        seconds=sum(times) / len(times) if times else None,
        not_blind=sum(answer.case.blind is False for answer in mine),
        certified=certified,
        why=why,
    )


def certificate_of(
    report: Report, answers: Sequence[Answered], *, labels_from: Iterable[str], code_version: str
) -> Certificate:
    """The certificate that these answers earn, or the note that they earn none.

    Raises:
        ValueError: no answers, so there is nothing to certify.
    """
    mine = [answer for answer in answers if answer.case.stage == report.stage]
    if not mine:
        raise ValueError("nothing was asked")
    heard = [answer.verdict for answer in mine if answer.verdict.verdict is not None]
    parts = tuple(dict.fromkeys(part for verdict in heard for part in parts_of(verdict, code_version)))
    levels = [answer.level for answer in mine if answer.level is not None]
    sensitivity, specificity = report.confusion.said_yes
    return Certificate(
        judge=report.judge,
        stage=report.stage,
        certified=report.certified,
        why=report.why,
        made_at=utc_text(),
        parts=parts,
        cameras=tuple(dict.fromkeys(answer.case.camera for answer in mine)),
        light=LightPart(
            names=tuple(sorted({answer.case.light for answer in mine})),
            low_level=min(levels, default=0.0),
            high_level=max(levels, default=0.0),
        ),
        labels_from=tuple(labels_from),
        counts=counts_of(report.confusion),
        tpr_low=report.tpr_low,
        tnr_low=report.tnr_low,
        risk=report.risk,
        threshold=None if report.operating is None else report.operating.threshold,
        sensitivity=sensitivity,
        specificity=specificity,
    )


def counts_of(confusion: Confusion) -> Counts:
    """The confusion as it stands in the certificate."""
    yes, no = confusion.yes, confusion.no
    return Counts(
        yes_yes=yes["yes"],
        yes_no=yes["no"],
        yes_unsure=yes["unsure"],
        yes_none=yes[None],
        no_yes=no["yes"],
        no_no=no["no"],
        no_unsure=no["unsure"],
        no_none=no[None],
    )


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """Two judges on the same labelled steps. Right is a yes or no that agrees with the label; all else is not right."""

    first: str
    second: str
    n: int
    paired: Paired
    same_word: Rate
    differ: tuple[str, ...]

    def as_object(self) -> dict[str, Any]:
        """For programs."""
        return asdict(self)


def compare(first: Sequence[Answered], second: Sequence[Answered]) -> Comparison:
    """Pair the answers by their case and test whether one judge is right more often.

    Raises:
        ValueError: there is no step that both were asked about.
    """
    others = {answer.case.id: answer for answer in second}
    pairs = [(answer, others[answer.case.id]) for answer in first if answer.case.id in others]
    if not pairs:
        raise ValueError("there is no labelled step that both judges have answered")
    right = [(_right(a), _right(b)) for a, b in pairs]
    paired = mcnemar(
        right.count((True, True)), right.count((True, False)), right.count((False, True)), right.count((False, False))
    )
    same = sum(a.verdict.verdict == b.verdict.verdict for a, b in pairs)
    differ = tuple(a.case.id for a, b in pairs if a.verdict.verdict != b.verdict.verdict)
    names = (_name(pairs[0][0].verdict), _name(pairs[0][1].verdict))
    return Comparison(*names, len(pairs), paired, exact_rate(same, len(pairs)), differ)


def _name(verdict: Verdict) -> str:
    return verdict.audit.model or verdict.audit.judge


def _right(answer: Answered) -> bool:
    return answer.verdict.verdict == answer.case.label


def _sure(answer: Answered) -> Sure | None:
    if answer.verdict.confidence is None:
        return None
    return Sure(answer.verdict.confidence, _right(answer), answer.verdict.verdict == "yes")


def _certified(confusion: Confusion, tpr_low: float, tnr_low: float) -> tuple[bool, str]:
    (tp, fn), (fp, tn) = confusion.table
    told = (
        f"right on {tp} of {tp + fn} successes (at least {tpr_low:.3f}) and on {tn} of {tn + fp} failures "
        f"(at least {tnr_low:.3f})"
    )
    if min(tpr_low, tnr_low) >= LOWER_BOUND:
        return True, told
    return False, f"{told}; both have to be at least {LOWER_BOUND:.2f} to be certified"


def _kinds(answers: Sequence[Answered]) -> tuple[KindRow, ...]:
    rows = []
    for key in sorted({(answer.case.label, answer.case.kind) for answer in answers}, reverse=True):
        words = [a.verdict.verdict for a in answers if (a.case.label, a.case.kind) == key]
        counted = (words.count("yes"), words.count("no"), words.count("unsure"), words.count(None))
        rows.append(KindRow(key[1], key[0], len(words), *counted))
    return tuple(rows)


def _errors(answers: Sequence[Answered]) -> dict[str, int]:
    codes = [answer.verdict.error for answer in answers if answer.verdict.error is not None]
    return {code: codes.count(code) for code in sorted(set(codes))}
