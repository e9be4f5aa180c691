"""Stage 1: is everything alive; home; gripper open."""

from __future__ import annotations

import numpy as np

from runner.arms.errors import ArmNotReady
from runner.trial.drift import refuse_other_picture, refuse_what_moved
from runner.trial.errors import InvalidStart
from runner.trial.grip import check_grip
from runner.trial.trial import Trial
from vision.cameras.quality import assess


def start(trial: Trial) -> None:
    """Preflight, home, gripper open; a look whether anything has moved.

    Raises:
        ArmNotReady: no power, a latched error, a servo off.
        InvalidStart: the camera's picture is of no use, the gripper holds something already, or camera or arm have
            moved since they were calibrated.
    """
    bench = trial.bench
    with trial.stage("stage1"):
        if not trial.dry_run:
            _check_arm(trial)
            if check_grip(trial, "stage1_grip_before").holding:
                raise InvalidStart(
                    "the gripper already holds something", next_step="take it out and put it on the table"
                )
        picture = bench.camera.read().image_bgr
        quality = assess(picture)
        bench.camera.put_back()
        problem = quality.problem
        trial.book.note(f"preflight picture: sharpness {quality.sharpness:.0f}, mean level {quality.mean_level:.0f}")
        if problem is not None:
            raise InvalidStart(f"the camera's picture is of no use: {problem}", next_step="trialcell doctor")
        refuse_other_picture(trial, picture)
        home = np.asarray(bench.config.arm.home_deg, dtype=np.float64)
        trial.travel("stage1_to_home", home, bench.config.arm.tol_home_deg)
        trial.open_gripper("stage1_grip_open")
        refuse_what_moved(trial)


def _check_arm(trial: Trial) -> None:
    health = trial.bench.arm.health()
    trial.book.note(
        f"preflight arm: powered {health.powered}, error {health.error_code}, servos {health.servos_enabled}"
    )
    if not health.powered:
        raise ArmNotReady("the arm has no power", next_step="switch it on, then: trialcell doctor")
    if health.error_code:
        raise ArmNotReady(
            f"the arm has latched error {health.error_code}", next_step="look at the arm, then clear its error"
        )
    if health.servos_enabled is False:
        raise ArmNotReady("a servo is off", next_step="look at the arm, then power it off and on")
