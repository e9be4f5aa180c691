"""Stage 1: is everything alive; home; gripper open."""

from __future__ import annotations

import numpy as np

from runner.arms.errors import ArmNotReady
from runner.trial.errors import InvalidStart
from runner.trial.grip import check_grip
from runner.trial.trial import Trial
from vision.cameras.quality import assess


def start(trial: Trial) -> None:
    """Preflight, home, gripper open.

    Raises:
        ArmNotReady: no power, a latched error, a servo off.
        InvalidStart: the camera's picture is of no use, or the gripper holds something already.
    """
    bench = trial.bench
    with trial.stage("stage1"):
        if not trial.dry_run:
            check_arm(trial)
            if check_grip(trial, "stage1_grip_before").holding:
                raise InvalidStart(
                    "the gripper already holds something", next_step="take it out and put it on the table"
                )
        quality = assess(bench.camera.read().image_bgr)
        bench.camera.put_back()
        problem = quality.problem
        trial.book.note(f"preflight picture: sharpness {quality.sharpness:.0f}, mean level {quality.mean_level:.0f}")
        if problem is not None:
            raise InvalidStart(f"the camera's picture is of no use: {problem}", next_step="trialcell doctor")
        home = np.asarray(bench.config.arm.home_deg, dtype=np.float64)
        trial.travel("stage1_to_home", home, bench.config.arm.tol_home_deg)
        trial.open_gripper("stage1_grip_open")


def check_arm(trial: Trial) -> None:
    """Power, latched error, servos; into the log.

    Raises:
        ArmNotReady: one of them is not as it must be.
    """
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
