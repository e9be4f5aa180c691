"""After the trial: a good one teaches the correction table its tip measurement; all others teach nothing."""

from __future__ import annotations

from runner.trial.trial import Trial
from runs.errors import TrialcellError
from runs.events import NotLearned, utc_text
from runs.schema.run import CorrectionChange, Ending


def learn(trial: Trial, ending: Ending) -> None:
    """Teach, or write down why not. A table that can't be read or written ends no trial: it is told in the log."""
    why = _why_not(trial, ending)
    if why is None:
        try:
            change = _taught(trial)
        except TrialcellError as error:
            why = str(error)
        else:
            trial.book.add(change)
            return
    trial.book.add(NotLearned(reason=why))


def _taught(trial: Trial) -> CorrectionChange:
    """One more sample in the table on the disk, at the block's square."""
    bench, tip = trial.bench, trial.tip
    assert tip is not None
    assert tip.diff is not None
    before = bench.corrections.load(bench.belongs_to)
    after, change = before.learn(
        "pick",
        (tip.diff.block_x, tip.diff.block_z),
        (tip.diff.dx_mm, tip.diff.dz_mm),
        run_id=trial.book.run_id,
        at=utc_text(),
        applied=trial.correction,
    )
    bench.corrections.save(before, after, change, run_id=trial.book.run_id)
    return change


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
    if trial.tip is None or trial.tip.diff is None:
        return "no tip measurement" + (f": {trial.tip.reason}" if trial.tip is not None and trial.tip.reason else "")
    limit_mm = trial.bench.config.trial.dist_override_mm
    if trial.tip.diff.dist_mm > limit_mm:
        return f"the tip was measured {trial.tip.diff.dist_mm:.0f} mm off: not believed (limit {limit_mm:.0f} mm)"
    return None
