"""Asks the judge about a step and writes the answer down: verdict, audit and the judgment that stands.

An error of the judge is no verdict; nothing here turns one into a word. The one thing that may change a judge's word is
a tip that was measured far from the block: where the settings say so, a yes for that pick is a no, and the judge's own
word stays beside it.
"""

from __future__ import annotations

from judges.errors import JudgeError
from judges.protocol import Evidence, LabelledPicture
from runner.trial.drift import moved_camera
from runner.trial.trial import Trial
from runs.schema.run import Capture, PickAttempt
from runs.schema.verdict import JudgeAudit, JudgedStage, Judgment, Verdict
from runs.verdicts import PERSON


def ask(trial: Trial, stage: JudgedStage, pictures: tuple[LabelledPicture, ...], decisive: Capture) -> Verdict:
    """The verdict that counts for a step; the judge's own and the judgment are in the log.

    In a dry run nobody is asked: nothing has moved. Nor when the picture shows that the camera has: what the judge
    measures in it would lie elsewhere.
    """
    bench = trial.bench
    moved = None if trial.dry_run else moved_camera(trial, pictures[-1].image_bgr, noted=True)
    evidence = Evidence(
        stage=stage,
        pictures=pictures,
        grip=trial.grip,
        settings=bench.detect,
        view=bench.view,
        attempt=trial.attempt,
        keep=lambda label, jpeg, wide, high: trial.book.sent_picture(label, jpeg, wide, high, trial.attempt),
        given_up=lambda: trial.switch.asked,
    )
    if trial.dry_run:
        verdict = _none(
            bench.judge.name, stage, trial.attempt, "dry_run", "nothing moved, so there is nothing to judge"
        )
    elif moved is not None:
        verdict = _none(bench.judge.name, stage, trial.attempt, "camera_moved", moved.problem or "the camera has moved")
    else:
        try:
            verdict = bench.judge.judge(evidence)
        except JudgeError as error:
            verdict = _none(bench.judge.name, stage, trial.attempt, type(error).__name__, str(error))
    trial.book.add(verdict)
    counts = _overridden(trial, verdict)
    trial.book.judged(stage, _judgment(trial, verdict, counts, decisive))
    return counts


def attempt_record(trial: Trial, verdict: Verdict, block_xz_m: tuple[float, float] | None) -> PickAttempt:
    """One try at the block, as the field log keeps it."""
    lookups = [look for look in trial.book.log.lookups if look.label == "stage4_pick"]
    last = lookups[-1] if lookups else None
    judgment = trial.book.log.judgments["pick"]
    return PickAttempt(
        attempt=trial.attempt,
        verdict=verdict.verdict,
        vlm_verdict=judgment.vlm_verdict,
        human_verdict=judgment.human_verdict,
        dist_override=judgment.dist_override is True,
        confidence=verdict.confidence,
        reason=verdict.reason,
        block_xz_m=block_xz_m,
        x_residual_m=None if last is None else last.x_residual_m,
        z_residual_m=None if last is None else last.z_residual_m,
        residual_mm=None if last is None or last.refined is None else last.refined.residual_mm,
        grip_holding=None if trial.grip is None else trial.grip.holding,
    )


def _judgment(trial: Trial, own: Verdict, counts: Verdict, decisive: Capture) -> Judgment:
    """The judgment that stands, with the judge's own word beside it."""
    by_person = own.audit.judge == PERSON
    machines = [member.verdict for member in own.members if member.audit.judge != PERSON]
    return Judgment(
        verdict=counts.verdict,
        confidence=counts.confidence,
        reason=counts.reason,
        model=own.audit.model or own.audit.judge,
        raw=own.audit.raw,
        image=decisive.image,
        vlm_verdict=own.verdict if not by_person else machines[-1] if machines else None,
        human_verdict=own.verdict if by_person else None,
        dist_override=_too_far(trial, own) if own.stage == "pick" else None,
        error=own.error,
    )


def _overridden(trial: Trial, own: Verdict) -> Verdict:
    """A yes for a pick that was measured too far off is a no, where the settings say so; a person's word stands."""
    settings = trial.bench.config.trial
    if not settings.dist_override_is_no or own.audit.judge == PERSON or not _too_far(trial, own):
        return own
    assert trial.tip is not None
    far, limit = f"{trial.tip.missed_dist_mm:.0f} mm", f"{settings.dist_override_mm:g} mm"
    why = f"the tip was measured {far} from the block (limit {limit}), though {own.audit.judge} says yes: {own.reason}"
    return own.model_copy(update={"verdict": "no", "confidence": None, "reason": why})


def _too_far(trial: Trial, verdict: Verdict) -> bool:
    """A yes although the tip was measured farther from the block than the limit: flagged for a person."""
    if verdict.verdict != "yes" or verdict.stage != "pick" or trial.tip is None:
        return False
    missed_mm = trial.tip.missed_dist_mm
    return missed_mm is not None and missed_mm > trial.bench.config.trial.dist_override_mm


def _none(judge: str, stage: JudgedStage, attempt: int, code: str, reason: str) -> Verdict:
    return Verdict(stage=stage, verdict=None, reason=reason, error=code, audit=JudgeAudit(judge=judge), attempt=attempt)
