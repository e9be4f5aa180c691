"""After the trial: a good one teaches the correction table its tip measurement; all others teach nothing."""

from __future__ import annotations

import numpy as np

from runner.trial.stages.correct import way_of
from runner.trial.trial import Trial
from runs.corrections.table import Lesson
from runs.errors import TrialcellError
from runs.events import NotLearned, utc_text
from runs.schema.run import Ending


def learn(trial: Trial, ending: Ending) -> None:
    """Teach, or write down why not. A table that can't be read or written ends no trial: it is told in the log."""
    lesson = lesson_of(trial, ending)
    if isinstance(lesson, Lesson):
        try:
            trial.book.add(trial.bench.corrections.learn(trial.bench.belongs_to, lesson))
        except TrialcellError as error:
            lesson = str(error)
    if isinstance(lesson, str):
        trial.book.add(NotLearned(reason=lesson))


def lesson_of(trial: Trial, ending: Ending) -> Lesson | str:
    """What the trial has to teach, or why it has nothing to; nothing is written."""
    why = _why_not(trial, ending)
    if why is None:
        try:
            why = _contradiction(trial)
        except TrialcellError as error:
            why = str(error)
    return _lesson(trial) if why is None else why


def _lesson(trial: Trial) -> Lesson:
    bench, tip, used = trial.bench, trial.tip, trial.book.log.pose_used.pick_used
    assert tip is not None
    assert tip.diff is not None
    seen = (tip.diff.block_x, tip.diff.block_z)
    return Lesson.of(
        "pick",
        seen,
        tip.missed_mm or (0.0, 0.0),
        run_id=trial.book.run_id,
        at=utc_text(),
        applied=trial.correction,
        way=None if used is None else way_of(np.asarray(used), seen, bench.arm.model, bench.base, bench.view),
    )


def _why_not(trial: Trial, ending: Ending) -> str | None:
    if trial.dry_run:
        return "dry run"
    if not trial.bench.config.trial.learn:
        return "learning is switched off"
    if ending.result != "completed":
        return f"only completed trials teach; this one is {ending.result}"
    pick = trial.book.log.judgments.get("pick")
    if pick is None or pick.verdict != "yes":
        return "the pick was not judged yes"
    if trial.tip is None or trial.tip.missed_dist_mm is None:
        return "no tip measurement" + (f": {trial.tip.reason}" if trial.tip is not None and trial.tip.reason else "")
    limit_mm = trial.bench.config.trial.dist_override_mm
    if trial.tip.missed_dist_mm > limit_mm:
        return f"the tip was measured {trial.tip.missed_dist_mm:.0f} mm off: not believed (limit {limit_mm:.0f} mm)"
    spread_mm, most_mm = _spread_mm(trial), trial.bench.config.corrections.spread_mm
    if spread_mm > most_mm:
        return f"the block was seen in places {spread_mm:.1f} mm apart: not believed (limit {most_mm:g} mm)"
    return None


def _spread_mm(trial: Trial) -> float:
    """How far apart the captures saw the block that the attempt went for."""
    looks = [look.block for look in trial.book.log.detect if look.block is not None]
    return looks[-1].spread_mm or 0.0 if looks else 0.0


def _contradiction(trial: Trial) -> str | None:
    """Why a measurement is not believed that is far from what was applied to it, where that was proved."""
    state = trial.bench.corrections.load(trial.bench.belongs_to)
    use, tip = trial.correction, trial.tip
    if state.live is None or use is None or not use.applied or use.model != state.live.content_hash or tip is None:
        return None
    limit_mm = trial.bench.config.corrections.contradiction_mm
    if tip.missed_dist_mm is None or tip.missed_dist_mm <= limit_mm:
        return None
    return (
        f"the tip was measured {tip.missed_dist_mm:.0f} mm off although the correction is a proved one: not believed "
        f"(limit {limit_mm:g} mm); if this goes on, something has moved: trialcell calibrate plane"
    )
