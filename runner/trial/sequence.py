"""One whole trial, from its first stage to its complete log.

Decides the course and how it ends; the stages do the work. Every ending is one of the log's seven, with stage and
reason; a fault of our own is written down as crashed and then let out, never swallowed.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from time import monotonic

from runner.arms.errors import ArmError
from runner.table.plan import PlacePlan
from runner.trial.bench import Bench
from runner.trial.condition import note_health
from runner.trial.errors import BlockLost, InvalidStart
from runner.trial.found import UnderWay, what_was_under_way, write_ends
from runner.trial.notebook import Notebook, Observer
from runner.trial.rest import bring_to_rest, hold_still
from runner.trial.stages.find import find_things
from runner.trial.stages.learn import learn
from runner.trial.stages.pick import approach_pick, pick, retreat, step_aside
from runner.trial.stages.place import approach_place, finish, judge_place, place, release
from runner.trial.stages.start import start
from runner.trial.stop import StopSwitch
from runner.trial.trial import Seen, Trial, outcome_of
from runs.emptied import emptied_since
from runs.errors import StorageUnwritable, TrialcellError
from runs.events import RunHeader
from runs.schema.run import Ending, Result, RunLog
from runs.schema.verdict import Verdict
from runs.store import RunStore

Course = Callable[[Trial, UnderWay | None], Ending]
"""Stages in order, given what was under way before, and how they end."""
Lessons = Callable[[Trial, Ending], None]
Before = Callable[[RunStore], UnderWay | None]


def run_trial(
    bench: Bench,
    store: RunStore,
    *,
    switch: StopSwitch,
    observer: Observer | None = None,
    run_id: str | None = None,
    lessons: Lessons = learn,
    before: Before = what_was_under_way,
) -> RunLog:
    """Run one trial and return its finished log; what an earlier run left is seen to first.

    Args:
        switch: pressed by whoever wants it stopped.
        observer: told every record as it is written.
        run_id: the run's name where a plan gives it, else the next number.
        lessons: what follows from the trial, once the arm is at rest.
        before: says what an earlier run left; by default the last runs of the store are asked.

    Raises:
        StorageUnwritable: the log can't be written; before anything moves, or after the arm was brought to rest.
    """
    return run_course(
        _course, bench, store, switch=switch, observer=observer, run_id=run_id, lessons=lessons, before=before
    )


def run_course(
    course: Course,
    bench: Bench,
    store: RunStore,
    *,
    switch: StopSwitch,
    observer: Observer | None = None,
    run_id: str | None = None,
    lessons: Lessons | None = None,
    before: Before = what_was_under_way,
) -> RunLog:
    """Run a course of stages with a log of its own: a trial, or what prepares one. See `run_trial`."""
    store.check_writable()
    under_way = None if bench.dry_run else before(store)
    if under_way is not None:
        write_ends(store, under_way)
        if emptied_since(bench.latch.path.parent, under_way.run_id):
            under_way = replace(under_way, may_hold=False)
    header = RunHeader(dry_run=bench.dry_run, constants=constants_of(bench), provenance=bench.provenance)
    writer = store.create(header, run_id=run_id)
    book = Notebook(writer, observer)
    trial = Trial(bench, book, switch, started_s=bench.clock.now_s())
    trial.may_hold = under_way is not None and under_way.may_hold  # until the gripper is asked
    bench.arm.on_answer = book.add
    try:
        ending = _to_the_end(trial, course, under_way, lessons)
    except StorageUnwritable:
        with suppress(ArmError):
            bench.arm.stop()
        book.close()
        raise
    except BaseException as error:
        _finish(trial, _crashed(trial, error))
        raise
    finally:
        bench.arm.on_answer = None
    return _finish(trial, ending)


def _to_the_end(trial: Trial, course: Course, under_way: UnderWay | None, lessons: Lessons | None) -> Ending:
    """The course, then rest and lessons, whatever error of ours ended the course."""
    if trial.bench.view_note is not None:
        trial.book.note(trial.bench.view_note)
    try:
        ending = course(trial, under_way)
    except StorageUnwritable:
        raise
    except TrialcellError as error:
        ending = _early_ending(trial, error)
    rest = bring_to_rest(trial)
    note_health(trial, "end")
    if lessons is not None:
        lessons(trial, ending)
    return ending.model_copy(update={"at_rest": rest.at_rest, "block_held": rest.block_held})


def _crashed(trial: Trial, error: BaseException) -> Ending:
    """The end of a trial that a mistake of ours tore out of its course: the arm is held still where it is."""
    why = f"{type(error).__name__}: {error}"
    rest = hold_still(trial, why)
    return Ending(
        result="crashed", stage=trial.last_stage, reason=why, at_rest=rest.at_rest, block_held=rest.block_held
    )


def _finish(trial: Trial, ending: Ending) -> RunLog:
    return trial.book.finish(
        ending,
        duration_s=trial.bench.clock.now_s() - trial.started_s,
        wall_s=monotonic() - trial.started_wall_s,
    )


def _course(trial: Trial, under_way: UnderWay | None) -> Ending:
    """The stages in order; returns how a trial ends that got to an end."""
    start(trial, under_way)
    seen = find_things(trial)
    limit = trial.bench.config.trial.max_pick_attempts
    while True:
        plan = approach_pick(trial, seen)
        verdict = pick(trial, seen, plan)
        if _goes_on(trial, verdict):
            try:
                place_plan = approach_place(trial, seen)
            except BlockLost as lost:
                again = _after_loss(trial, lost, limit)
            else:
                return _into_the_box(trial, seen, place_plan)
        elif trial.attempt >= limit:
            return not_picked(trial, verdict)
        else:
            again = _after_miss(trial, verdict)
        if isinstance(again, Ending):
            return again
        seen = again


def _into_the_box(trial: Trial, seen: Seen, plan: PlacePlan) -> Ending:
    """From over the box to the end."""
    place(trial, plan)
    release(trial)
    verdict = judge_place(trial, seen, plan)
    finish(trial, plan)
    return placed(trial, verdict)


def _after_loss(trial: Trial, lost: BlockLost, limit: int) -> Seen | Ending:
    """The block fell on the way: look for it and try again, or say that the trial failed."""
    if trial.attempt < limit:
        try:
            return step_aside(trial)
        except InvalidStart as error:
            return Ending(result="failed", stage="stage7_approach_place", reason=f"{lost}; then {error.message}")
    return Ending(result="failed", stage="stage7_approach_place", reason=str(lost))


def _after_miss(trial: Trial, verdict: Verdict) -> Seen | Ending:
    """Not picked: step aside and look again. A scene that the attempt has spoiled is a failure of this trial."""
    missed = not_picked(trial, verdict)
    try:
        return retreat(trial)
    except InvalidStart as error:
        return missed.model_copy(update={"reason": f"{missed.reason}; then {error.message}"})


def _goes_on(trial: Trial, verdict: Verdict) -> bool:
    """Whether the block goes to the box: a yes does, an unsure only if the gripper itself says that it holds."""
    if trial.dry_run or verdict.verdict == "yes":
        return True
    return verdict.verdict != "no" and trial.grip is not None and trial.grip.holding is True


def not_picked(trial: Trial, verdict: Verdict) -> Ending:
    """How a trial ends whose last pick was not judged yes."""
    result: Result = "failed" if verdict.verdict == "no" else "unjudged"
    tries = f"{trial.attempt} attempts" if trial.attempt > 1 else "1 attempt"
    return Ending(result=result, stage="stage6", reason=f"not picked in {tries}: {verdict.reason}")


def placed(trial: Trial, verdict: Verdict) -> Ending:
    """How a trial ends whose place was judged, or should have been."""
    if trial.dry_run:
        return Ending(result="unjudged", stage="stage10", reason="dry run to the end: nothing moved")
    results: dict[str | None, Result] = {"yes": "completed", "no": "failed"}
    result = results.get(verdict.verdict, "unjudged")
    return Ending(result=result, stage="stage9b_judge_place", reason=verdict.reason)


def _early_ending(trial: Trial, error: TrialcellError) -> Ending:
    """A trial that an error ended before its time."""
    outcome = outcome_of(error)
    result: Result = outcome if outcome in ("invalid", "refused", "stopped") else "crashed"
    return Ending(result=result, stage=trial.last_stage, reason=str(error), family=error.family)


def constants_of(bench: Bench) -> dict[str, object]:
    """The field log's `constants`, from this cell's settings."""
    config = bench.config
    return {
        "HOME": list(config.arm.home_deg),
        "SPEED": config.arm.speed_percent,
        "BOX_XZ_FALLBACK": list(config.box.fallback_xz_m),
        "X_RESID_THRESH": config.table.arc_x_residual_m,
        "BOX_SCORE_THRESH": config.box.score_limit,
        "GRIPPER_SLEEP": config.gripper.wait_s,
        "TOL_APPROACH": config.arm.tol_approach_deg,
        "TOL_PICK_PLACE": config.arm.tol_pick_place_deg,
        "TOL_HOME": config.arm.tol_home_deg,
        "SEND_WAIT_SEC": config.arm.send_wait_s,
        "DETECT_REPEAT": config.camera.captures,
        "SWEPT_J0_FOR_PLACE_JUDGE": config.trial.swept_j0_deg,
        "MAX_PICK_ATTEMPTS": config.trial.max_pick_attempts,
        "SWEPT_J0_FOR_PICK_RETREAT": config.trial.swept_j0_deg,
    }
