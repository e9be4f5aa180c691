"""A judged step of a stored run, made evidence again: the pictures as they were kept and what the gripper said then.

It reads runs and changes none. What a judge said, and what people ruled, is handed out apart from the evidence.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import get_args

from judges.errors import JudgeError
from judges.labelled import Label
from judges.protocol import Evidence, LabelledPicture
from runs.files import sha256_hex
from runs.rulings import came_to
from runs.schema.motion import GripReading
from runs.schema.run import RunLog
from runs.schema.verdict import JudgedStage, Ruling, Verdict
from runs.store import StoredRun, picture_path
from runs.verdicts import last_attempt, not_taken_back
from vision.calibration.view import View
from vision.cameras.protocol import read_picture
from vision.detect.protocol import DetectSettings


class PicturesGone(JudgeError):
    """A picture that a judged step rests on is no longer there, or no longer what it was."""

    def __init__(self, step: str, why: str) -> None:
        self.step = step
        super().__init__(f"{step} can't be judged again: {why}", next_step="put the run's pictures back beside its log")


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One step of one run that a judge was asked about."""

    stored: StoredRun
    stage: JudgedStage
    attempt: int

    @property
    def name(self) -> str:
        """For people and for ids: run, stage, attempt."""
        return f"{self.stored.entry.run_id}/{self.stage}/{self.attempt}"

    @property
    def log(self) -> RunLog:
        """The run's log."""
        return self.stored.log

    @property
    def is_last(self) -> bool:
        """Whether it is the attempt that the run's judgment, and so a person's ruling, is about."""
        return self.attempt == _last_attempt(self.log, self.stage)


def steps_of(stored: StoredRun) -> Iterator[Step]:
    """Every step that was judged, pick before place, the first attempt first; none of a dry run."""
    log = stored.log
    if log.dry_run:
        return
    for stage in get_args(JudgedStage):
        attempts = sorted({verdict.attempt for verdict in log.verdicts if verdict.stage == stage})
        if not attempts and came_to(log, stage):
            attempts = [_last_attempt(log, stage)]
        yield from (Step(stored, stage, attempt) for attempt in attempts)


def evidence_of_step(step: Step, settings: DetectSettings, view: View | None) -> Evidence:
    """What the judge was asked about, from the kept pictures; `view` counts where it fits them.

    Raises:
        PicturesGone, PictureUnreadable
    """
    before, after = image_before(step), image_after(step)
    if after is None:
        raise PicturesGone(step.name, "its log names no picture from after the step")
    pictures = [_picture(step, before, "before")] if before is not None else []
    pictures.append(_picture(step, after, "after"))
    fits = view is not None and view.matches(pictures[-1].image_bgr)
    return Evidence(
        stage=step.stage,
        pictures=tuple(pictures),
        grip=grip_then(step),
        settings=settings,
        view=view if fits else None,
        attempt=step.attempt,
    )


def grip_then(step: Step) -> GripReading | None:
    """What the gripper had said last when the judge was asked."""
    asked_at = next((v.at for v in step.log.verdicts if v.stage == step.stage and v.attempt == step.attempt), None)
    readings = [
        record.reading
        for record in step.log.gripper
        if record.reading is not None and (asked_at is None or record.at is None or record.at <= asked_at)
    ]
    return readings[-1] if readings else None


def answers_on(step: Step) -> Iterator[Verdict]:
    """Every verdict on that step: the trial's own, with those in it and alongside it, and later ones, oldest first."""
    later = [one.verdict for one in step.log.rejudged]
    for verdict in (*step.log.verdicts, *later):
        if verdict.stage == step.stage and verdict.attempt == step.attempt:
            yield from _with_members(verdict)


def label_on(step: Step) -> tuple[Label, Ruling] | None:
    """What people ruled, where it is a yes or no; the last ruling counts, and only for the last attempt."""
    if not step.is_last:
        return None
    rulings = not_taken_back(ruling for ruling in step.log.rulings if ruling.stage == step.stage)
    if not rulings or rulings[-1].verdict == "unsure":
        return None
    return ("yes" if rulings[-1].verdict == "yes" else "no"), rulings[-1]


def _with_members(verdict: Verdict) -> Iterator[Verdict]:
    yield verdict
    for member in (*verdict.members, *verdict.alongside):
        yield from _with_members(member)


def _last_attempt(log: RunLog, stage: JudgedStage) -> int:
    return last_attempt(log, stage) if log.verdicts else max(1, len(log.pick_attempts))


def image_before(step: Step) -> str | None:
    """The last picture of the look in which the block was seen before this attempt."""
    looks = [look for look in step.log.detect if (look.attempt or 1) == step.attempt and look.images]
    seen = [look for look in looks if look.block_xz_m is not None]
    clear = [look for look in seen if "block" not in (look.note or "")]
    for look in (*clear, *seen, *looks):
        return look.images[-1]
    taken = [
        c.image for c in step.log.vlm_captures if c.label.startswith("detect") and (c.attempt or 1) == step.attempt
    ]
    return taken[-1] if taken else None


def image_after(step: Step) -> str | None:
    """The picture that was taken when the step was done: what the judge was asked about."""
    wanted = step.stage if step.attempt == 1 else f"{step.stage}_a{step.attempt}"
    judgment = step.log.judgments.get(step.stage)
    if step.is_last and judgment is not None and judgment.image is not None:
        return judgment.image
    return next((capture.image for capture in step.log.vlm_captures if capture.label == wanted), None)


def _picture(step: Step, image: str, role: str) -> LabelledPicture:
    path = picture_path(image, step.stored.entry.folder)
    if path is None:
        raise PicturesGone(step.name, f"{image} is not there")
    data = path.read_bytes()
    kept = next((c.sha256 for c in step.log.vlm_captures if c.image == image and c.sha256 is not None), None)
    if kept is not None and kept != sha256_hex(data):
        raise PicturesGone(step.name, f"{image} has other bytes than when it was taken")
    return LabelledPicture(
        role, "before" if role == "before" else "after", read_picture(path), source_sha256=sha256_hex(data)
    )
