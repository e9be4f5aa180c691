"""`trialcell arm ports|read|home|park|jog|open|close`: the arm by hand, guarded, one command at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from runner.cli.options import DEFAULT_CELL, CellOption, JsonOption, SetOption
from runner.cli.output import Output

if TYPE_CHECKING:
    from runner.config import Config
    from runner.handling import ArmInHand
    from runs.schema.motion import MoveRecord

SpeedOption = Annotated[int | None, typer.Option(min=1, max=100, help="Per cent; arm.speed_percent by default.")]


def add_to(app: typer.Typer) -> None:
    """Put the commands of this module under a noun."""
    app.command(epilog="Example: trialcell arm ports")(ports)
    app.command(epilog="Example: trialcell arm read --set arm.kind=mycobot-tcp --set arm.address=192.168.1.20")(read)
    app.command(epilog="Example: trialcell arm home --speed 10")(home)
    app.command(epilog="Example: trialcell arm park")(park)
    negative = {"ignore_unknown_options": True}  # -5 is a number here
    app.command(epilog="Example: trialcell arm jog 0 10   or   trialcell arm jog 1 -5", context_settings=negative)(jog)
    app.command("open", epilog="Example: trialcell arm open")(open_)
    app.command(epilog="Example: trialcell arm close --value 20")(close)


def ports(cell: CellOption = DEFAULT_CELL, json: JsonOption = False) -> int:
    """Where an arm may be: serial ports of this machine, and twins that are served for this cell."""
    from rich.text import Text

    from runner.arms.client import serial_ports
    from runner.twin.served import served_twins

    out = Output(as_json=json)
    serial = [{"kind": "mycobot-serial", "address": device, "what": what} for device, what in serial_ports()]
    twins = [
        {"kind": kind, "address": address, "what": f"served twin, {there.firmware} firmware, profile {there.profile}"}
        for there in served_twins(cell)
        for kind, address in (("mycobot-tcp", there.tcp), ("mycobot-serial", there.pty))
        if address
    ]
    found = [*twins, *serial]
    lines: list[Any] = [Text(f"{f['kind']:15} {f['address']}  {f['what']}", no_wrap=True) for f in found]
    nothing = "no serial port and no served twin; an arm on the network is at HOST:9000 (kind mycobot-tcp)"
    out.answer({"ports": found}, *(lines or [nothing]))
    return 0


def read(set_: SetOption = None, cell: CellOption = DEFAULT_CELL, json: JsonOption = False) -> int:
    """How the arm stands: joints, tool point, jaws, power, errors, temperatures."""
    out = Output(as_json=json)
    with _in_hand(cell, set_, None, moves=False) as (arm, _):
        now = arm.read()
    health = now.health
    answer = {
        "angles_deg": now.angles_deg.tolist(),
        "tool_m": list(now.tool_m),
        "gripper": now.gripper,
        "powered": health.powered,
        "error_code": health.error_code,
        "servos_enabled": health.servos_enabled,
        "temperatures_c": health.temperatures_c,
        "voltages_v": health.voltages_v,
        "reboot_count": health.reboot_count,
    }
    x, y, z = (1000.0 * v for v in now.tool_m)
    out.answer(
        answer,
        f"joints    {_degrees(now.angles_deg.tolist())}",
        f"tool      x {x:.0f}, y {y:.0f}, z {z:.0f} mm in the cell",
        f"jaws      {'no answer' if now.gripper is None else f'{now.gripper:.0f} of 100'}",
        f"power     {'on' if health.powered else 'OFF'}, error {health.error_code}, servos {_servos(answer)}",
        *_figures(answer),
    )
    return 0


def home(
    speed: SpeedOption = None, set_: SetOption = None, cell: CellOption = DEFAULT_CELL, json: JsonOption = False
) -> int:
    """By a clear way to arm.home_deg."""
    return _moved(
        cell, set_, speed, json, lambda arm, config: arm.move("home", _array(config.arm.home_deg), to_rest=True)
    )


def park(
    speed: SpeedOption = None, set_: SetOption = None, cell: CellOption = DEFAULT_CELL, json: JsonOption = False
) -> int:
    """By a clear way to arm.park_deg, folded, where servos stay cool and nothing falls far when power goes."""
    return _moved(
        cell, set_, speed, json, lambda arm, config: arm.move("park", _array(config.arm.park_deg), to_rest=True)
    )


def jog(
    joint: Annotated[int, typer.Argument(min=0, max=5, help="j0 at the base … j5 at the flange.")],
    degrees: Annotated[float, typer.Argument(help="By how much, from where it is.")],
    speed: SpeedOption = None,
    set_: SetOption = None,
    cell: CellOption = DEFAULT_CELL,
    json: JsonOption = False,
) -> int:
    """Turn one joint by so many degrees."""
    from math import isfinite

    if not isfinite(degrees):
        raise typer.BadParameter(f"degrees must be a number, got {degrees}")
    return _moved(cell, set_, speed, json, lambda arm, _: arm.jog(joint, degrees))


def open_(set_: SetOption = None, cell: CellOption = DEFAULT_CELL, json: JsonOption = False) -> int:
    """Open the jaws. What they hold falls."""
    return _jaws(cell, set_, json, None)


def close(
    value: Annotated[
        int | None, typer.Option(min=0, max=100, help="0 shut … 100 open; gripper.grip_value by default.")
    ] = None,
    set_: SetOption = None,
    cell: CellOption = DEFAULT_CELL,
    json: JsonOption = False,
) -> int:
    """Close the jaws to a value."""
    return _jaws(cell, set_, json, -1 if value is None else value)


@contextmanager
def _in_hand(
    cell: Path, set_: list[str] | None, speed: int | None, *, moves: bool
) -> Iterator[tuple[ArmInHand, Config]]:
    """The cell's arm. Whoever moves it holds the cell, and a latched stop keeps it still."""
    from contextlib import ExitStack

    from runner.arms.guard import refuse_latched
    from runner.cell import open_cell
    from runner.handling import arm_in_hand
    from runs.latch import StopLatch
    from runs.lock import CellLock

    speeds = [] if speed is None else [f"arm.speed_percent={speed}"]
    opened = open_cell(cell, [*(set_ or []), *speeds])
    with ExitStack() as stack:
        if moves:
            stack.enter_context(CellLock(opened.folder))
            refuse_latched(StopLatch(opened.folder).read())
        yield stack.enter_context(arm_in_hand(opened, moves=moves)), opened.config


def _moved(cell: Path, set_: list[str] | None, speed: int | None, json: bool, act: Any) -> int:
    out = Output(as_json=json)
    with _in_hand(cell, set_, speed, moves=True) as (arm, config):
        record: MoveRecord = act(arm, config)
    clear = "" if record.path_clearance_mm is None else f", {record.path_clearance_mm:.0f} mm clear of everything"
    out.answer(
        record.model_dump(mode="json"),
        f"joints    {_degrees(record.post_actual or ())}",
        f"off       {record.post_max_delta_deg or 0:.2f}° at most, after {record.duration_s or 0:.1f} s{clear}",
    )
    return 0


def _jaws(cell: Path, set_: list[str] | None, json: bool, value: int | None) -> int:
    from runs.emptied import note_emptied

    out = Output(as_json=json)
    with _in_hand(cell, set_, None, moves=True) as (arm, config):
        told = config.gripper.grip_value if value == -1 else value
        now = arm.set_jaws(told)
        if told is None:
            note_emptied(cell)
    out.answer(
        {"told": "open" if told is None else told, "gripper": now},
        f"jaws      {'no answer' if now is None else f'{now:.0f} of 100'}",
    )
    return 0


def _array(values: tuple[float, ...]) -> Any:
    import numpy as np

    return np.asarray(values, dtype=np.float64)


def _degrees(values: Any) -> str:
    return ", ".join(f"j{i} {v:.1f}" for i, v in enumerate(values)) + " °"


def _servos(answer: dict[str, Any]) -> str:
    return {True: "all on", False: "one OFF", None: "unknown"}[answer["servos_enabled"]]


def _figures(answer: dict[str, Any]) -> list[str]:
    rows = []
    if answer["temperatures_c"] is not None:
        rows.append(f"servos    {', '.join(f'{t:.0f}' for t in answer['temperatures_c'])} °C")
    if answer["voltages_v"] is not None:
        rows.append(f"supply    {', '.join(f'{v:.1f}' for v in answer['voltages_v'])} V")
    if answer["reboot_count"] is not None:
        rows.append(f"restarts  {answer['reboot_count']}")
    return rows
