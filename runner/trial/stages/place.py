"""Stages 7 to 10: over the box, down, let go, aside, ask, home."""

from __future__ import annotations

import numpy as np

from judges.protocol import LabelledPicture
from runner.kinematics.model import FloatArray
from runner.table.plan import PlacePlan
from runner.trial.errors import BlockLost
from runner.trial.grip import check_grip, let_go
from runner.trial.judging import ask
from runner.trial.sight import arm_discs_px, gap_px
from runner.trial.stages.correct import corrected
from runner.trial.stages.find import box_xz_m, swept_deg
from runner.trial.trial import Seen, Trial, joints_of
from runs.schema.geometry import TablePoint
from runs.schema.run import PoseUsed
from runs.schema.verdict import Verdict


def approach_place(trial: Trial, seen: Seen) -> PlacePlan:
    """Stage 7: correct the target, plan both moves, carry the block over the box.

    Raises:
        PlanningError, Refused: no way over the box that the guard allows.
        BlockLost: the gripper says that it holds nothing any more.
    """
    bench = trial.bench
    with trial.stage("stage7_approach_place", attempt=trial.attempt):
        detected = box_xz_m(seen)

        def plan_deg(at: TablePoint) -> FloatArray:
            return bench.planner.plan_place(at, bench.arm.obstacles, requested_xz_m=detected).target_deg

        target, _ = corrected(trial, "place", detected, plan_deg)
        with trial.lookups_kept():
            plan = bench.planner.plan_place(target, bench.arm.obstacles, requested_xz_m=detected)
        trial.keep_lookups(plan.lookups)
        bench.arm.check_residual("stage7_approach_place", plan.residual_mm)
        trial.travel("stage7_approach_place", plan.path_deg[0], bench.config.arm.tol_pick_place_deg, correct=True)
        trial.capture("place_pre")
        if check_grip(trial, "stage7_grip_check").holding is False:
            raise BlockLost("the gripper lost the block on the way to the box")
    return plan


def place(trial: Trial, plan: PlacePlan) -> None:
    """Stage 8: straight down into the box."""
    with trial.stage("stage8_place", attempt=trial.attempt):
        tolerance_deg = trial.bench.config.arm.tol_pick_place_deg
        trial.move_straight("stage8_place", plan.line, tolerance_deg, correct=True)
        used = None if trial.dry_run else joints_of(trial.bench.mover.readings.read_deg())
        trial.book.add(PoseUsed(place_pose_id=plan.lookups[-1].pose_id, place_used=used))


def release(trial: Trial) -> None:
    """Stage 9: wait, let go as often as the settings say, wait, make sure that nothing is held."""
    settings = trial.bench.config.gripper
    with trial.stage("stage9", attempt=trial.attempt):
        let_go(trial, "stage9_release", times=settings.release_count, pre_wait_s=settings.pre_release_wait_s)


def judge_place(trial: Trial, seen: Seen, plan: PlacePlan) -> Verdict:
    """Stage 9b: up, aside to where the box is free in the picture, ask."""
    with trial.stage("stage9b_judge_place", attempt=trial.attempt):
        step_clear(trial, seen, plan)
        return ask_placed(trial, seen)


def step_clear(trial: Trial, seen: Seen, plan: PlacePlan) -> None:
    """Up out of the box, and aside to where it is free in the picture."""
    tolerance_deg = trial.bench.config.arm.tol_pick_place_deg
    trial.move_straight("stage9b_lift", plan.line.reversed(), tolerance_deg)
    swing_clear(trial, seen)


def swing_clear(trial: Trial, seen: Seen) -> None:
    """Aside to where the box is free in the picture."""
    trial.travel("stage9b_swept_retreat", _clear_of(trial, seen), trial.bench.config.arm.tol_pick_place_deg)


def ask_placed(trial: Trial, seen: Seen) -> Verdict:
    """A picture from where the arm stands, and the judge's word on it."""
    (frame,) = trial.capture("place")
    capture = trial.book.log.vlm_captures[-1]
    pictures = (seen.picture, LabelledPicture("after", "after", frame.image_bgr))
    return ask(trial, "place", pictures, capture)


def finish(trial: Trial, plan: PlacePlan) -> None:
    """Stage 10: back over the box as the field system did, then home."""
    arm = trial.bench.config.arm
    with trial.stage("stage10"):
        trial.travel("stage10_lift_back", plan.path_deg[0], arm.tol_pick_place_deg)
        trial.travel("stage10_to_home", np.asarray(arm.home_deg, dtype=np.float64), arm.tol_home_deg)


def _clear_of(trial: Trial, seen: Seen) -> FloatArray:
    """Home, or home swept to one side or the other: whichever leaves the box freest in the picture."""
    bench = trial.bench
    swept = bench.config.trial.swept_j0_deg
    poses = [swept_deg(trial, j0) for j0 in (swept, -swept, bench.config.arm.home_deg[0])]
    if bench.view is None or not seen.box.corners_px:
        return poses[1] if box_xz_m(seen)[0] < 0 else poses[0]
    view = bench.view
    gaps = [gap_px(seen.box.corners_px, *arm_discs_px(pose, bench.arm.model, bench.base, view)) for pose in poses]
    return poses[int(np.argmax(gaps))]
