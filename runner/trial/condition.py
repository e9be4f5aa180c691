"""The arm's own condition during a trial: asked, written down, and acted upon where a servo is too hot."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np

from runner.arms.errors import ArmError, Refused
from runner.arms.health import check_ready, hottest_servo, why_rest
from runner.arms.protocol import ArmHealth
from runner.trial.trial import Trial
from runs.schema.motion import HealthRecord

RESTED = "stage1_rested"  # the reading that ends a rest
_REST_LOOK_S = 10.0  # between two looks at a resting arm


def check_health(trial: Trial, stage: str) -> ArmHealth:
    """Ask the arm how it is and write it down.

    Raises:
        ArmRestarted: since it was connected. ArmError: it does not say.
    """
    health = trial.bench.arm.health()
    trial.book.add(HealthRecord(stage=stage, **asdict(health)))
    return health


def note_health(trial: Trial, stage: str) -> None:
    """The same at a trial's end, where it changes nothing any more: an arm that does not say is noted."""
    if trial.dry_run:
        return
    try:
        check_health(trial, stage)
    except ArmError as error:
        trial.book.note(f"the arm did not say how it is: {error.message}")


def rest_if_hot(trial: Trial) -> None:
    """A servo that is too hot for work is rested, folded and at home with nothing in its jaws, until it has cooled.

    Raises:
        Refused: it has not cooled in the longest time that it may take, or got hotter still.
        Stopped: somebody asked meanwhile.
    """
    arm, settings = trial.bench.arm, trial.bench.config.arm
    health = arm.health()
    why = why_rest(health, settings)
    if why is None:
        return
    trial.book.note(f"{why}: parked until it is down to {settings.rest_until_c:g} °C", aloud=True)
    trial.travel("stage1_to_rest", np.asarray(settings.park_deg, dtype=np.float64), settings.tol_pick_place_deg)
    began_s = trial.bench.clock.now_s()
    while (hottest := hottest_servo(health)) is not None and hottest[1] > settings.rest_until_c:
        waited_s = trial.bench.clock.now_s() - began_s
        if waited_s >= settings.rest_max_s:
            check_health(trial, RESTED)
            raise Refused(
                "servo temperature",
                f"the servo of j{hottest[0]} is still at {hottest[1]:.0f} °C after {waited_s / 60:.0f} minutes of rest "
                f"(goes on at {settings.rest_until_c:g} °C)",
                value=hottest[1],
                limit=settings.rest_until_c,
                next_step="let it cool longer, or look for what it strains against",
            )
        trial.switch.check()
        trial.bench.clock.sleep(min(_REST_LOOK_S, max(settings.rest_max_s - waited_s, 0.1)))
        health = arm.health()
        check_ready(health, settings)
    check_health(trial, RESTED)
