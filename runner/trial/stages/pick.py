"""Stages 3 to 6: over the block, down, close, lift, and ask whether it is held."""

from __future__ import annotations

from judges.protocol import LabelledPicture
from runner.geometry import HeldBlock
from runner.kinematics.model import FloatArray
from runner.table.errors import NoPlan
from runner.table.plan import PickPlan
from runner.trial.condition import check_health
from runner.trial.grip import check_grip, let_go
from runner.trial.judging import ask, attempt_record
from runner.trial.rest import set_down
from runner.trial.stages.correct import corrected
from runner.trial.stages.find import look_again, reckon_with, swept_deg
from runner.trial.stages.rehearse import foretold, rehearsed
from runner.trial.stages.tip import measure_tip
from runner.trial.trial import Seen, Trial, joints_of
from runs.schema.geometry import TablePoint
from runs.schema.run import PoseUsed
from runs.schema.verdict import Verdict


def approach_pick(trial: Trial, seen: Seen) -> PickPlan:
    """Stage 3: correct the target once, plan both moves, go over the block.

    Raises:
        PlanningError, Refused: no way to the block that the guard allows.
    """
    bench = trial.bench
    with trial.stage("stage3_approach_pick", attempt=trial.attempt):
        assert seen.block.xz_m is not None
        detected, yaw_deg = seen.block.xz_m, seen.block.yaw_deg or 0.0

        def plan_deg(at: TablePoint) -> FloatArray:
            reckon_with(trial, seen, block_xz_m=at)
            return bench.planner.plan_pick(at, yaw_deg, bench.arm.obstacles, requested_xz_m=detected).target_deg

        target, trial.correction = corrected(trial, "pick", detected, plan_deg, after_miss=True)
        reckon_with(trial, seen, block_xz_m=target)
        try:
            plan = bench.planner.plan_pick(target, yaw_deg, bench.arm.obstacles, requested_xz_m=detected)
        except NoPlan as refusal:
            trial.keep_lookups(refusal.lookups)
            if trial.correction is None or trial.correction.missed_mm is None:
                raise
            trial.book.note(f"what the attempt before missed by is not taken off: {refusal.message}")
            reckon_with(trial, seen)
            target, trial.correction = corrected(trial, "pick", detected, plan_deg)
            reckon_with(trial, seen, block_xz_m=target)
            with trial.lookups_kept():
                plan = bench.planner.plan_pick(target, yaw_deg, bench.arm.obstacles, requested_xz_m=detected)
        plan = rehearsed(trial, seen, plan, target)
        trial.keep_lookups(plan.lookups)
        bench.arm.check_residual("stage3_approach_pick", plan.residual_mm)
        trial.travel("stage3_approach_pick", plan.path_deg[0], bench.config.arm.tol_approach_deg, correct=True)
    return plan


def pick(trial: Trial, seen: Seen, plan: PickPlan) -> Verdict:
    """Stages 4 to 6: straight down, look at the tip, close, lift back, ask."""
    _go_down(trial, seen, plan)
    with trial.stage("stage5", attempt=trial.attempt):
        trial.set_down_line = plan.line
        trial.close_gripper("stage5_grip_close")
        if not trial.dry_run:
            check_health(trial, "stage5")  # a gripper that starts has been seen to restart the controller
        check_grip(trial, "stage5_grip_check", on_table=True)
        _now_holding(trial, plan, on_table=True)
    with trial.stage("stage6", attempt=trial.attempt):
        tolerance_deg = trial.bench.config.arm.tol_approach_deg
        trial.move_straight("stage6_lift", plan.line.reversed(), tolerance_deg, touching=True)
        check_grip(trial, "stage6_grip_check")
        _now_holding(trial, plan, on_table=False)
        (frame,) = trial.capture("pick")
        capture = trial.book.log.vlm_captures[-1]
        pictures = (seen.picture, LabelledPicture("after", "after", frame.image_bgr))
        verdict = ask(trial, "pick", pictures, capture)
        trial.book.add(attempt_record(trial, verdict, seen.block.xz_m))
        foretold(trial, verdict)
    return verdict


def retreat(trial: Trial) -> Seen:
    """After a pick that failed: let go (low, where something may be held), step aside, look again.

    Raises:
        InvalidStart: block or box are not found any more.
    """
    if trial.may_hold:
        with trial.stage("stage6_set_down", attempt=trial.attempt):
            set_down(trial, "stage6")
    return step_aside(trial)


def step_aside(trial: Trial) -> Seen:
    """Open, swing aside, look again: the next attempt begins.

    Raises:
        InvalidStart: block or box are not found any more.
    """
    bench = trial.bench
    with trial.stage("stage6_retreat", attempt=trial.attempt):
        let_go(trial, "stage6_open")
        aside = swept_deg(trial, bench.config.trial.swept_j0_deg)
        trial.travel("stage6_retreat", aside, bench.config.arm.tol_pick_place_deg)
        trial.attempt += 1
        return look_again(trial)


def _go_down(trial: Trial, seen: Seen, plan: PickPlan) -> None:
    bench = trial.bench
    with trial.stage("stage4_pick", attempt=trial.attempt):
        trial.move_straight("stage4_pick", plan.line, bench.config.arm.tol_pick_place_deg, correct=True)
        trial.book.add(PoseUsed(pick_pose_id=plan.lookups[-1].pose_id, pick_used=_read(trial)))
        (frame,) = trial.capture("stage4_pick_tip")
        measure_tip(trial, seen, frame.image_bgr)


def _read(trial: Trial) -> tuple[float, ...] | None:
    return None if trial.dry_run else joints_of(trial.bench.mover.readings.read_deg())


def _now_holding(trial: Trial, plan: PickPlan, *, on_table: bool) -> None:
    """Tell the guard what is between the jaws; an unknown reading counts as a block, which only adds care."""
    arm = trial.bench.arm
    if trial.grip is not None and trial.grip.holding is False and not on_table:
        arm.obstacles = arm.obstacles.released()
    else:
        held = HeldBlock(plan.T_tcp_block, trial.bench.config.block.side_mm)
        arm.obstacles = arm.obstacles.holding(held, may_rest=on_table)
