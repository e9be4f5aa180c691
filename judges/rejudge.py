"""Old runs before a judge again, online. Answers are added to the run and replace nothing.

A model gets the very bytes that were sent when the trial ran, where they were kept and are those that it would be sent;
else the run's pictures anew, which are kept then. The same question has the same id however it is asked, so a step is
not asked twice unless that is wanted. A picture that is gone or changed is told, never guessed at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from judges.claude import ModelJudge, Prepared, prepare_question
from judges.kept import keep_beside
from judges.panel import asked
from judges.protocol import Evidence, Judge, Keep, KeptPicture
from judges.rubric import Language
from judges.steps import PicturesGone, Step, answers_on, evidence_of_step
from runs.appended import REJUDGED_FILE, append
from runs.errors import RunInProgress
from runs.events import utc_text
from runs.files import sha256_hex
from runs.schema.verdict import Rejudged, SentImage, Verdict
from runs.store import picture_path
from vision.calibration.view import View
from vision.detect.protocol import DetectSettings
from vision.errors import VisionError

ViewOf = Callable[[Step], View | None]
"""The calibrated view that a step's pictures were taken with, None where it is not this cell's any more."""


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What came of one step: a later verdict, or why it was not asked about."""

    step: Step
    verdict: Verdict | None = None
    skipped: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Asking:
    """A step's question, ready for a model, and its id. `as_sent`: with the very bytes that were sent in the trial."""

    step: Step
    evidence: Evidence
    prepared: Prepared
    as_sent: bool


def question_id(step: Step, judge: str, key: str, prompt_hash: str | None, repeat: int = 0) -> str:
    """The id of a question: step, judge with its settings, prompt, and which ask it is. Fit for a batch's custom id."""
    whole = "\n".join((step.name, judge, key, prompt_hash or "", str(repeat)))
    return f"tc_{sha256(whole.encode()).hexdigest()[:40]}"


def answered_ids(step: Step) -> set[str]:
    """Ids of the later questions on that run that have a word."""
    return {one.id for one in step.log.rejudged if one.verdict.verdict is not None}


def rejudge(
    steps: Iterable[Step],
    judge: Judge,
    *,
    key: str,
    settings: DetectSettings,
    view_of: ViewOf,
    crops: bool = True,
    again: bool = False,
) -> Iterator[Outcome]:
    """Ask about every step and add each answer to its run as soon as it is there.

    Args:
        key: what tells this judge's settings from others.
        crops: whether models in it are sent closer looks.
        again: also ask what this judge has answered before.

    Raises:
        StorageUnwritable: an answer can't be kept, so no more are asked for.
        RunInProgress: a trial has not ended.
    """
    for step in steps:
        if step.stored.entry.state == "running":
            raise RunInProgress(step.stored.entry.run_id)
        try:
            yield _rejudged(step, judge, key, settings, view_of(step), crops, again)
        except (PicturesGone, VisionError) as error:
            yield Outcome(step, skipped=str(error))


def _rejudged(
    step: Step, judge: Judge, key: str, settings: DetectSettings, view: View | None, crops: bool, again: bool
) -> Outcome:
    if isinstance(judge, ModelJudge):
        asking = prepare_asking(step, settings, view, language=judge.settings.language, crops=judge.settings.crops)
        own_id = question_id(step, judge.name, key, asking.prepared.prompt.sha256)
    else:
        asking, own_id = None, question_id(step, judge.name, key, None)
    if own_id in answered_ids(step) and not again:
        return Outcome(step, skipped="this judge has answered that already")
    if asking is not None and isinstance(judge, ModelJudge):
        verdict = judge.judge_prepared(asking.evidence, asking.prepared)
    else:
        evidence = evidence_of_step(step, settings, view)
        verdict = asked(judge, replace(evidence, keep=_keep(step), sent=sent_pictures(step, crops=crops)))
    add_later(step, own_id, verdict)
    return Outcome(step, verdict)


def add_later(step: Step, own_id: str, verdict: Verdict, *, batch: str | None = None) -> None:
    """Add a later verdict to its run.

    Raises:
        StorageUnwritable
    """
    at = utc_text()
    record = Rejudged(id=own_id, at=at, verdict=verdict.model_copy(update={"at": at}), batch=batch)
    append(step.stored.entry.folder / REJUDGED_FILE, [record])


def prepare_asking(
    step: Step, settings: DetectSettings, view: View | None, *, language: Language, crops: bool
) -> Asking:
    """The question on a step: with the bytes that were sent in the trial where they fit, else from its pictures.

    Raises:
        PicturesGone, PictureUnreadable
    """
    sent = sent_pictures(step, crops=crops)
    if sent:
        evidence = Evidence(
            stage=step.stage, pictures=(), grip=None, settings=settings, attempt=step.attempt, sent=sent
        )
    else:
        evidence = replace(evidence_of_step(step, settings, view), keep=_keep(step))
    return Asking(step, evidence, prepare_question(evidence, language=language, crops=crops), bool(sent))


def sent_pictures(step: Step, *, crops: bool) -> tuple[KeptPicture, ...]:
    """The pictures that a model got about that step, byte for byte, with or without closer looks as they are wanted;
    none where none were sent so, or kept.

    Raises:
        PicturesGone: they were kept and are gone or changed.
    """
    for verdict in answers_on(step):
        images = verdict.audit.images
        fit = verdict.audit.crops == crops and (crops or all(image.crop_of is None for image in images))
        if images and fit and all(image.image is not None for image in images):
            return tuple(_sent(step, image) for image in images)
    return ()


def _sent(step: Step, record: SentImage) -> KeptPicture:
    jpeg = _path_of(step, record).read_bytes()
    if sha256_hex(jpeg) != record.sha256_sent:
        raise PicturesGone(step.name, f"{record.image} has other bytes than those that were sent")
    return KeptPicture(record, jpeg)


def _path_of(step: Step, record: SentImage) -> Path:
    path = None if record.image is None else picture_path(record.image, step.stored.entry.folder)
    if path is None:
        raise PicturesGone(step.name, f"{record.image} is not there")
    return path


def _keep(step: Step) -> Keep:
    """Keeps what is sent later beside the run's pictures."""
    return keep_beside(step.stored.entry.folder)
