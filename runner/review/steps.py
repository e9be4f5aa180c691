"""One step for a person to rule on: pictures before and after, closer looks, what was measured; a judge's word apart.

What is shown first says nothing of what any judge or person said. It reads a log and decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote

from judges.person import QUESTIONS
from judges.steps import Step, grip_then, image_after, image_before
from runner.review.errors import NotThere, ReviewError
from runner.review.pictures import Part, names_of, picture_bytes
from runs.figures import Figures, name_of
from runs.report.pictures import Outline, outlines_in
from runs.rulings import came_to
from runs.schema.detection import DetectRecord
from runs.schema.run import RunLog
from runs.schema.verdict import JudgedStage, Ruling, Verdict
from runs.store import StoredRun, picture_path
from runs.verdicts import answers_in, last_attempt, not_taken_back, standing_in, standing_result

FIGURES = Figures()

REASONS: dict[str, tuple[str, ...]] = {
    "pick": (
        "held in the jaws, off the table",
        "still on the table",
        "fell or slipped",
        "hidden by arm or gripper",
        "picture shows too little",
    ),
    "place": (
        "inside the box, let go of",
        "on the rim or a wall",
        "outside the box",
        "still in the gripper",
        "picture shows too little",
    ),
}
"""What people say again and again, on the keys 1 to 5."""

_CLOSER_MIN_PX = 160


def step_of(stored: StoredRun, stage: JudgedStage) -> Step:
    """The step that a ruling is about: the last attempt.

    Raises:
        NotThere: the run never came to it.
    """
    if not came_to(stored.log, stage):
        raise NotThere(f"{stored.entry.run_id} never came to its {stage}")
    attempt = last_attempt(stored.log, stage) if stored.log.verdicts else max(1, len(stored.log.pick_attempts))
    return Step(stored, stage, attempt)


def shown(cell: int, step: Step, *, already_seen: bool) -> dict[str, Any]:
    """What a person sees before saying anything, as plain values."""
    log = step.log
    before, after = image_before(step), image_after(step)
    others = [ruling for ruling in log.rulings if ruling.stage == step.stage]
    return {
        "cell": cell,
        "run_id": step.stored.entry.run_id,
        "stage": step.stage,
        "attempt": step.attempt,
        "question": QUESTIONS[step.stage],
        "started": FIGURES.moment(log.started_at, with_day=True) + (" UTC" if log.times_are_utc else ""),
        "before": _picture(cell, step, before, "before"),
        "after": _picture(cell, step, after, "after"),
        "closer": list(_closer(cell, step, before, after)),
        "measured": [[name, text] for name, text in _measured(step)],
        "rulings": len(others),
        "ruled_by": sorted({ruling.by for ruling in not_taken_back(others)}),
        "seen": already_seen,
        "reasons": REASONS[step.stage],
    }


def said(step: Step) -> dict[str, Any]:
    """What judges and people said of a step, as plain values: what stands, every answer, every ruling."""
    log = step.log
    standing = standing_in(log, step.stage)
    verdicts = [v for v in log.verdicts if (v.stage, v.attempt) == (step.stage, step.attempt)]
    later = [each.verdict for each in log.rejudged if each.verdict.stage == step.stage]
    judgment = log.judgments.get(step.stage)
    answers = [*(_answer(v) for v in verdicts), *(_answer(v, later=True) for v in later)]
    if not answers and judgment is not None:
        answers = [
            {
                "who": judgment.model or "a judge",
                "word": judgment.vlm_verdict if judgment.human_verdict is not None else judgment.verdict,
                "confidence": judgment.confidence,
                "reason": judgment.reason,
                "error": judgment.error,
                "measured": [],
                "members": [],
                "later": False,
            }
        ]
    return {
        "answers": answers,
        "doubts": [] if judgment is None or not judgment.dist_override else ["the tip was measured far from the block"],
        "rulings": [_ruling(ruling) for ruling in log.rulings if ruling.stage == step.stage],
        "stands": None
        if standing is None
        else {"word": standing.word, "source": standing.source, "by": standing.by, "reason": standing.reason},
        "result": standing_result(log),
        "result_then": log.result,
    }


def machines_word(told: dict[str, Any]) -> str | None:
    """The word of the first machine's answer in what `said` gives; None where there is none."""
    return next((answer["word"] for answer in told["answers"] if not answer["later"]), None)


def _ruling(ruling: Ruling) -> dict[str, Any]:
    at = FIGURES.moment(ruling.at, with_day=True)
    return {**ruling.model_dump(mode="json"), "at_text": f"{at} UTC"}


def _answer(verdict: Verdict, *, later: bool = False) -> dict[str, Any]:
    audit = verdict.audit
    return {
        "who": audit.judge if audit.model in (None, audit.judge) else f"{audit.judge} ({audit.model})",
        "word": verdict.verdict,
        "confidence": verdict.confidence,
        "reason": verdict.reason,
        "error": verdict.error,
        "measured": [[name_of(name), FIGURES.any(value, name)] for name, value in audit.measurements.items()],
        "members": [_answer(each) for each in (*verdict.members, *verdict.alongside)],
        "later": later,
    }


def picture_url(cell: int, run_id: str, number: int, part: Part | None = None) -> str:
    """Where a picture of a run is served."""
    cut = "" if part is None else "?part=" + quote(",".join(map(str, part)))
    return f"/picture/{cell}/{run_id}/{number}{cut}"


def _picture(cell: int, step: Step, image: str | None, role: str) -> dict[str, Any]:
    if image is None:
        return {"role": role, "problem": f"no picture from {role} was taken"}
    label = next((c.label for c in step.log.vlm_captures if c.image == image), role)
    number = names_of(step.log).index(image) if image in names_of(step.log) else -1
    try:
        _, (wide, high) = picture_bytes(step.stored, number)
    except ReviewError as error:
        return {"role": role, "label": label, "problem": error.message}
    return {
        "role": role,
        "label": label.replace("_", " "),
        "url": picture_url(cell, step.stored.entry.run_id, number),
        "width": wide,
        "height": high,
        "outlines": [{"what": each.what, "points": each.points_px} for each in _outlines(step.log, image)],
    }


def _outlines(log: RunLog, image: str) -> Sequence[Outline]:
    look = next((look for look in log.detect if image in look.images), None)
    if look is not None:
        return outlines_in(look)
    return [each for each in _last_outlines(log) if each.what == "inside"]


def _last_outlines(log: RunLog) -> Sequence[Outline]:
    seen = [look for look in log.detect if look.box is not None]
    return outlines_in(seen[-1]) if seen else ()


def _closer(cell: int, step: Step, before: str | None, after: str | None) -> Iterator[dict[str, Any]]:
    """The parts that the judge was sent, else the same part of both pictures where it decides."""
    names, run_id = names_of(step.log), step.stored.entry.run_id
    sent = list(_sent_parts(step))
    for role, kept, cut in sent:
        yield {"role": role, "by_judge": True, "url": picture_url(cell, run_id, names.index(kept), cut)}
    part = None if sent else _decisive(step)
    if part is None:
        return
    for role, image in (("before", before), ("after", after)):
        if image in names and picture_path(image, step.stored.entry.folder) is not None:
            yield {"role": role, "by_judge": False, "url": picture_url(cell, run_id, names.index(image), part)}


def _sent_parts(step: Step) -> Iterator[tuple[str, str, Part | None]]:
    """Role, picture and part of each closer look that a judge was sent, as kept, else cut out of its picture again."""
    names = names_of(step.log)
    taken = {capture.sha256: capture.image for capture in step.log.vlm_captures if capture.sha256 is not None}
    verdicts = [v for v in step.log.verdicts if (v.stage, v.attempt) == (step.stage, step.attempt)]
    for answer in (answer for verdict in verdicts for answer in answers_in(verdict)):
        crops = [image for image in answer.audit.images if image.crop_of is not None]
        if not crops:
            continue
        for crop in crops:
            whole = taken.get(crop.sha256_source)
            if crop.image is not None and picture_path(crop.image, step.stored.entry.folder) is not None:
                yield crop.role, crop.image, None
            elif whole in names and crop.crop_px is not None:
                yield crop.role, str(whole), crop.crop_px
        return


def _decisive(step: Step) -> Part | None:
    """Round the box for a place, round where the block stood for a pick; None where it was not seen."""
    looks = [look for look in step.log.detect if (look.attempt or 1) <= step.attempt]
    points = next((found for look in reversed(looks) if (found := _what_decides(look, step.stage))), None)
    if not points:
        return None
    left, right = min(u for u, _ in points), max(u for u, _ in points)
    top, bottom = min(v for _, v in points), max(v for _, v in points)
    wide = max(right - left, bottom - top)
    side = round(max(_CLOSER_MIN_PX, wide * (1.5 if step.stage == "place" else 4.0)))
    return round((left + right - side) / 2), round((top + bottom - side) / 2), side, side


def _what_decides(look: DetectRecord, stage: JudgedStage) -> Sequence[tuple[float, float]]:
    if stage == "place":
        return look.box.corners_px if look.box is not None else ()
    return look.block.outline_px if look.block is not None else ()


def _measured(step: Step) -> Iterator[tuple[str, str]]:
    """What instruments say, not judges: the jaws' opening, the tip against the block, how sure detection was."""
    log = step.log
    grip = grip_then(step)
    if grip is not None:
        if grip.opening_mm is not None:
            yield "jaws open", FIGURES.of(grip.opening_mm, "opening_mm")
        if grip.value is not None:
            yield "gripper value", FIGURES.number(grip.value, 1)
        yield "gripper says", grip.reason
    tip = next((t for t in reversed(log.tip_measurements) if t.attempt == step.attempt or step.stage == "place"), None)
    if tip is not None:
        yield "tip from block", tip.reason or "—" if tip.diff is None else FIGURES.of(tip.diff.dist_mm, "dist_mm")
    look = next((look for look in reversed(log.detect) if look.block_score is not None or look.box_score), None)
    if look is not None:
        if look.block_score is not None:
            yield "block's score", FIGURES.number(look.block_score, 2)
        if look.box_score is not None:
            yield "box's score", FIGURES.number(look.box_score, 2)
        if look.block is not None and look.block.size_mm is not None:
            yield "block's size", FIGURES.of(look.block.size_mm, "size_mm")
    yield "attempt", f"{step.attempt} of {max(len(log.pick_attempts), step.attempt)}"
