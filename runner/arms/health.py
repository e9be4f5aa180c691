"""What an arm's own figures mean for a trial: fit to move, to be rested first, or not to be moved at all.

Decides from figures and settings and moves nothing. A figure that the firmware does not give is no
reason against it: what can't be known is said where health is shown.
"""

from __future__ import annotations

from runner.arms.errors import ArmError, ArmNotReady, Refused
from runner.arms.protocol import Arm, ArmHealth
from runner.settings.arm import ArmSettings

_MEANINGS = (
    (range(1, 7), "joint {n} of the arm is past its limit"),
    (range(16, 20), "the arm has met something"),
    (range(32, 33), "a place without a solution was asked for"),
    (range(33, 35), "a straight way without a solution was asked for"),
)


def error_meaning(code: int) -> str:
    """What a latched error means, in words; the arm counts its joints from 1.

    Source: the maker's documentation of `get_error_information`.
    """
    words = next((text for codes, text in _MEANINGS if code in codes), "the maker's papers don't name it")
    return f"error {code}: {words.format(n=code)}"


def complaint_of(arm: Arm) -> str | None:
    """What an arm says is wrong with it, for the sentence that tells why a move came to nothing; None for nothing.

    One that gives no sensible answer says nothing.
    """
    try:
        health = arm.health()
    except ArmError:
        return None
    told = []
    if not health.powered:
        told.append("it has no power")
    if health.error_code:
        told.append(f"it has latched {error_meaning(health.error_code)}")
    if health.powered and health.servos_enabled is False:
        told.append("a servo is off")
    return " and ".join(told) or None


def check_ready(health: ArmHealth, settings: ArmSettings, *, to_rest: bool = False) -> None:
    """An arm that may be moved at all; `to_rest`: only to where it cools, which a hot one may.

    Raises:
        ArmNotReady: no power, a latched error, a servo off.
        Refused: a servo hotter than `refuse_above_c`, or a supply outside `supply_v`.
    """
    if not health.powered:
        raise ArmNotReady("the arm has no power", next_step="switch it on, then: trialcell doctor")
    if health.error_code:
        raise ArmNotReady(
            f"the arm has latched {error_meaning(health.error_code)}",
            next_step="look at the arm, take what is in its way out of it, then power it off and on",
        )
    if health.servos_enabled is False:
        raise ArmNotReady("a servo is off", next_step="look at the arm, then power it off and on")
    hottest = hottest_servo(health)
    if hottest is not None and hottest[1] > settings.refuse_above_c and not to_rest:
        joint, celsius = hottest
        raise Refused(
            "servo temperature",
            f"the servo of j{joint} is at {celsius:.0f} °C (refused above {settings.refuse_above_c:g} °C)",
            value=celsius,
            limit=settings.refuse_above_c,
            next_step="park it until it has cooled (trialcell arm park), and look for what it strains against",
        )
    odd = odd_voltage(health, settings)
    if odd is not None:
        joint, volts = odd
        low, high = settings.supply_v
        raise Refused(
            "supply voltage",
            f"the servo of j{joint} gets {volts:.1f} V (allowed {low:g}…{high:g} V)",
            value=volts,
            limit=low if volts < low else high,
            next_step="look at the supply: 12 V, 5 A, and nothing else on it",
        )


def why_rest(health: ArmHealth, settings: ArmSettings) -> str | None:
    """Why the arm is to be parked and waited for before it works on, or None."""
    hottest = hottest_servo(health)
    if hottest is None or hottest[1] <= settings.rest_above_c:
        return None
    return f"the servo of j{hottest[0]} is at {hottest[1]:.0f} °C (rests above {settings.rest_above_c:g} °C)"


def hottest_servo(health: ArmHealth) -> tuple[int, float] | None:
    """Joint (from 0) and temperature of the hottest servo, None where the firmware does not say."""
    if not health.temperatures_c:
        return None
    return max(enumerate(health.temperatures_c), key=lambda pair: pair[1])


def odd_voltage(health: ArmHealth, settings: ArmSettings) -> tuple[int, float] | None:
    """Joint and voltage of the first servo whose supply is outside `supply_v`."""
    low, high = settings.supply_v
    return next((pair for pair in enumerate(health.voltages_v or ()) if not low <= pair[1] <= high), None)
