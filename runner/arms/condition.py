"""What an arm's health speaks of, in words: for the sentence that says why a move came to nothing. Decides nothing."""

from __future__ import annotations

from runner.arms.errors import ArmError
from runner.arms.protocol import Arm, ArmHealth


def complaint(health: ArmHealth) -> str | None:
    """What is wrong with an arm that says this of itself, None where nothing is."""
    told = []
    if not health.powered:
        told.append("it has no power")
    if health.error_code:
        told.append(f"it has latched error {health.error_code}")
    if health.powered and health.servos_enabled is False:
        told.append("a servo is off")
    return " and ".join(told) or None


def complaint_of(arm: Arm) -> str | None:
    """The same, asked of the arm now; an arm that gives no sensible answer says nothing."""
    try:
        return complaint(arm.health())
    except ArmError:
        return None
