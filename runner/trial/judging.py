"""Asks the judge about a step and writes the answer down: verdict, audit and the judgment that stands.

An error of the judge is no verdict; nothing here turns one into a word.
"""

from __future__ import annotations

from judges.errors import JudgeError
from judges.protocol import Evidence, LabelledPicture
from runner.trial.trial import Trial
from runs.schema.run import Capture, PickAttempt
from runs.schema.verdict import JudgeAudit, JudgedStage, Judgment, Verdict


def ask(trial: Trial, stage: JudgedStage, pictures: tuple[LabelledPicture, ...], decisive: Capture) -> Verdict:
    """The verdict on a step, in the log with its judgment. In a dry run nobody is asked: nothing has moved."""
    bench = trial.bench
    evidence = Evidence(
        stage=stage, pictures=pictures, grip=trial.grip, settings=bench.detect, view=bench.view, attempt=trial.attempt
    )
    if trial.dry_run:
        verdict = _none(
            bench.judge.name, stage, trial.attempt, "dry_run", "nothing moved, so there is nothing to judge"
        )
    else:
        try:
            verdict = bench.judge.judge(evidence)
        except JudgeError as error:
            verdict = _none(bench.judge.name, stage, trial.attempt, type(error).__name__, str(error))
    trial.book.add(verdict)
    trial.book.judged(stage, _judgment(trial, verdict, decisive))
    return verdict


def attempt_record(trial: Trial, verdict: Verdict, block_xz_m: tuple[float, float] | None) -> PickAttempt:
    """One try at the block, as the field log keeps it."""
    lookups = [look for look in trial.book.log.lookups if look.label == "stage4_pick"]
    last = lookups[-1] if lookups else None
    return PickAttempt(
        attempt=trial.attempt,
        verdict=verdict.verdict,
        dist_override=_too_far(trial, verdict),
        confidence=verdict.confidence,
        reason=verdict.reason,
        block_xz_m=block_xz_m,
        x_residual_m=None if last is None else last.x_residual_m,
        z_residual_m=None if last is None else last.z_residual_m,
        residual_mm=None if last is None or last.refined is None else last.refined.residual_mm,
        grip_holding=None if trial.grip is None else trial.grip.holding,
    )


def _judgment(trial: Trial, verdict: Verdict, decisive: Capture) -> Judgment:
    return Judgment(
        verdict=verdict.verdict,
        confidence=verdict.confidence,
        reason=verdict.reason,
        model=verdict.audit.model or verdict.audit.judge,
        raw=verdict.audit.raw,
        image=decisive.image,
        dist_override=_too_far(trial, verdict) if verdict.stage == "pick" else None,
        error=verdict.error,
    )


def _too_far(trial: Trial, verdict: Verdict) -> bool:
    """A yes although the tip was measured farther from the block than the limit: flagged for a person."""
    if verdict.verdict != "yes" or trial.tip is None or trial.tip.diff is None:
        return False
    return trial.tip.diff.dist_mm > trial.bench.config.trial.dist_override_mm


def _none(judge: str, stage: JudgedStage, attempt: int, code: str, reason: str) -> Verdict:
    return Verdict(stage=stage, verdict=None, reason=reason, error=code, audit=JudgeAudit(judge=judge), attempt=attempt)
