"""Stage 1: is everything alive; what did the last run leave; home; gripper open."""

from __future__ import annotations

import numpy as np

from runner.arms.health import check_ready
from runner.trial.condition import check_health, rest_if_hot
from runner.trial.errors import InvalidStart
from runner.trial.found import UnderWay
from runner.trial.settle import settle_first
from runner.trial.trial import Trial
from vision.cameras.quality import assess


def start(trial: Trial, under_way: UnderWay | None) -> None:
    """Preflight, what the last run left put right, home, gripper open.

    Raises:
        ArmNotReady: no power, a latched error, a servo off. Refused: too hot, or an odd supply.
        InvalidStart: the camera's picture is of no use, or the gripper holds something that a person has to see to.
    """
    bench = trial.bench
    with trial.stage("stage1"):
        if not trial.dry_run:
            check_ready(check_health(trial, "stage1"), bench.config.arm)
            settle_first(trial, under_way)
            rest_if_hot(trial)
        quality = assess(bench.camera.read().image_bgr)
        bench.camera.put_back()
        problem = quality.problem
        trial.book.note(f"preflight picture: sharpness {quality.sharpness:.0f}, mean level {quality.mean_level:.0f}")
        if problem is not None:
            raise InvalidStart(f"the camera's picture is of no use: {problem}", next_step="trialcell doctor")
        home = np.asarray(bench.config.arm.home_deg, dtype=np.float64)
        trial.travel("stage1_to_home", home, bench.config.arm.tol_home_deg)
        trial.open_gripper("stage1_grip_open")
