"""What the arm says of itself: reached, powered, servos, supply, errors, restarts, joints, jaws.

It moves the jaws only, and those only when asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from runner.arms.protocol import Arm, ArmHealth, Clock
from runner.cell import Cell
from runner.cli.checks.light import Finding, green, red, yellow
from runner.config import Config
from runner.settings.arm import ArmSettings
from runs.errors import RecordError

_JAWS_PART = 60  # where jaws go that are asked to show that they move
_JAWS_THERE = 8.0
_JAWS_S = 2.0


def arm(opened: Cell, *, jaws: bool) -> Iterator[Finding]:
    """Everything about the arm that can be asked."""
    config = opened.config
    if config.arm.kind == "twin":
        yield green("arm", f"{config.arm.model}, the digital twin: made anew for every command")
        return
    from runner.station import open_arm
    from runner.table.postures import arm_of

    with open_arm(opened, arm_of(config)[0]) as (driver, clock):
        health = driver.health()
        version = "of a version that it does not say" if health.firmware is None else health.firmware
        yield green("arm", f"{config.arm.kind} at {config.arm.address}, firmware {version}")
        yield from _power(health, config.arm)
        yield from _restarts(opened, health)
        yield from _joints(driver, clock, config)
        yield from _gripper(driver, clock, config, moves=jaws and health.powered)


def _power(health: ArmHealth, settings: ArmSettings) -> Iterator[Finding]:
    from runner.arms.health import error_meaning, odd_voltage

    if not health.powered:
        yield red("power", "off", "switch the arm on", exit_code=4)
        return
    low, high = settings.supply_v
    odd = odd_voltage(health, settings)
    if odd is not None:
        told = f"on, but the servo of j{odd[0]} gets {odd[1]:.1f} V (allowed {low:g}…{high:g} V)"
        yield red("power", told, "look at the supply: 12 V, 5 A, and nothing else on it")
    elif health.voltages_v is None:
        yield green("power", "on; this firmware gives no voltages")
    else:
        least, most = f"{min(health.voltages_v):.1f}", f"{max(health.voltages_v):.1f}"
        yield green("power", f"on, {least if least == most else f'{least}…{most}'} V at the servos")
    if health.error_code:
        yield red(
            "error latch", error_meaning(health.error_code), "look at the arm, then power it off and on", exit_code=4
        )
    else:
        yield green("error latch", "none")
    if health.servos_enabled is False:
        yield red("servos", "one is off", "look at the arm, then power it off and on", exit_code=4)
    else:
        yield _temperatures(health, settings)


def _temperatures(health: ArmHealth, settings: ArmSettings) -> Finding:
    from runner.arms.health import hottest_servo, why_rest

    on = "all on" if health.servos_enabled else "this firmware does not say whether they are on"
    hottest = hottest_servo(health)
    if hottest is None:
        return green("servos", f"{on}; this firmware gives no temperatures")
    told = f"{on}, the hottest is j{hottest[0]} at {hottest[1]:.0f} °C"
    if hottest[1] > settings.refuse_above_c:
        step = "park it (trialcell arm park) and let it cool; look for what it strains against"
        return red("servos", f"{told} (refused above {settings.refuse_above_c:g} °C)", step)
    if why_rest(health, settings) is not None:
        step = "the next trial parks it until it has cooled"
        return yellow("servos", f"{told} (rests above {settings.rest_above_c:g} °C)", step)
    return green("servos", told)


def _restarts(opened: Cell, health: ArmHealth) -> Iterator[Finding]:
    """How often the controller has restarted, against what the last run wrote down."""
    if health.reboot_count is None:
        yield green("restarts", "this firmware does not count them")
        return
    before = _last_count(opened)
    told = f"{health.reboot_count} in all"
    if before is not None and health.reboot_count != before:
        step = "switched off and on since? If not, the supply dips: 12 V, 5 A, and nothing else on it"
        yield yellow("restarts", f"{told}, {before} at the end of the last run", step)
    else:
        yield green("restarts", told)


def _last_count(opened: Cell) -> int | None:
    from runs.store import RunStore

    store = RunStore(opened.runs_dir)
    for entry in store.newest(1):
        with suppress(RecordError):
            counts = [record.reboot_count for record in store.open(entry.run_id).log.health]
            return next((count for count in reversed(counts) if count is not None), None)
    return None


def _joints(driver: Arm, clock: Clock, config: Config) -> Iterator[Finding]:
    import numpy as np

    from runner.arms.readings import Readings

    reader = Readings(driver, clock, margin_deg=config.arm.reading_margin_deg)
    first = reader.read_deg()
    clock.sleep(0.3)
    second = reader.read_deg()
    angles = ", ".join(f"{a:.1f}" for a in second.tolist())
    rejected = f"; {reader.rejected} readings were rejected" if reader.rejected else ""
    told = f"at ({angles})°{rejected}"
    if float(np.abs(second - first).max()) > 0.5:
        yield yellow("joints", f"{told}: it moves, and nobody here moves it", "wait, or look for another program")
    elif rejected:
        yield yellow("joints", told, "look at the cable; another program may read the same arm")
    else:
        yield green("joints", told)


def _gripper(driver: Arm, clock: Clock, config: Config, *, moves: bool) -> Iterator[Finding]:
    """Where the jaws are; with `moves` also that they go where they are told, unless they hold something."""
    from runner.trial.grip import judge_reading

    value = driver.read_gripper_value()
    gripper = driver.model.data.gripper
    if value is None or gripper is None:
        step = "look at its plug and at gripper.type_id; without a reading no hold can be told"
        yield yellow("gripper", "it does not say where its jaws are", step)
        return
    reading = judge_reading(value, gripper, config.gripper, config.block)
    if reading.holding:
        yield yellow(
            "gripper", f"at {value:.0f} of 100: {reading.reason}", "take it out: trialcell arm open, a hand under it"
        )
    elif not moves:
        yield green("gripper", f"reads {value:.0f} of 100", "whether it moves: trialcell doctor --jaws")
    else:
        driver.send_gripper_value(_JAWS_PART)
        clock.sleep(_JAWS_S)
        there = driver.read_gripper_value()
        driver.send_gripper_open()
        clock.sleep(_JAWS_S)
        back = driver.read_gripper_value()
        told = f"told {_JAWS_PART} it read {_said(there)}, told to open {_said(back)}"
        well = (
            there is not None
            and abs(there - _JAWS_PART) <= _JAWS_THERE
            and back is not None
            and back >= 100 - _JAWS_THERE
        )
        step = "look whether something blocks the jaws, and at gripper.type_id; 0 is closed, 100 open"
        yield green("gripper", f"moves: {told}") if well else red("gripper", told, step, exit_code=4)


def _said(value: float | None) -> str:
    return "nothing" if value is None else f"{value:.0f}"
