"""`trialcell init`: a cell's folder with working settings, the measured block and box asked for."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from runner.cli.options import DEFAULT_CELL, CellOption, JsonOption
from runner.cli.output import Output

app = typer.Typer()


@app.command(
    epilog="Example: trialcell init --cell desk --block-mm 30 --box-mm 120   or   trialcell init --arm mycobot_280"
)
def init(
    cell: CellOption = DEFAULT_CELL,
    block_mm: Annotated[float | None, typer.Option(help="The block's edge, measured with callipers.")] = None,
    box_mm: Annotated[float | None, typer.Option(help="The box's outer side, measured.")] = None,
    arm: Annotated[
        str | None,
        typer.Option(metavar="NAME|FILE", help="The arm: one that ships, or an arm file, which is copied in."),
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Any setting, as often as you like.")
    ] = None,
    json: JsonOption = False,
) -> int:
    """Make a cell's folder: cell.toml with every setting, and the places for tables, calibration and runs."""
    from runner.cell import make_cell
    from runner.config import CELL_FILE, Config, ConfigError, with_overrides
    from runs.files import write_atomic

    out = Output(as_json=json)
    file = cell / CELL_FILE
    if file.exists():
        raise ConfigError(f"{file} is there already", next_step="edit it, or name another folder with --cell")
    defaults = Config()
    if sys.stdin.isatty() and not json:
        block_mm = block_mm or typer.prompt("Edge of the block, mm", default=defaults.block.side_mm, type=float)
        box_mm = box_mm or typer.prompt("Outer side of the box, mm", default=defaults.box.outside_mm[0], type=float)
    chosen = list(set_ or [])
    if block_mm is not None:
        chosen.insert(0, f"block.side_mm={block_mm}")
    if box_mm is not None:
        chosen.insert(0, f"box.outside_mm=[{box_mm}, {box_mm}]")
    file_of_arm = None
    if arm is not None:
        settings, file_of_arm = _settings_of(arm)
        chosen = settings + chosen
    made = make_cell(cell, with_overrides(defaults, chosen))
    if file_of_arm is not None:
        write_atomic(made.folder / file_of_arm.name, file_of_arm.read_bytes())
    out.answer(
        {"cell": str(made.folder), "settings": str(file), "set": chosen},
        f"made [bold]{made.folder}[/bold]; its settings are in {file}",
        "next: trialcell doctor, then: trialcell run",
    )
    return 0


def _settings_of(arm: str) -> tuple[list[str], Path | None]:
    """What a cell with that arm starts with, as overrides, and the arm file to be copied into it."""
    from runner.config import Config, ConfigError
    from runner.kinematics.model import load_arm, shipped_arms

    model = load_arm(arm)
    homes = len(Config().arm.home_deg)
    if model.n_joints != homes:
        raise ConfigError(
            f"{model.name} has {model.n_joints} joints, and a cell runs an arm of {homes}",
            next_step=f"look at it with: trialcell arm show {arm}",
        )
    if arm == Config().arm.model:
        return [], None
    file = None if arm in shipped_arms() else Path(arm)
    tool = model.data.tool
    return [
        f'arm.model="{arm if file is None else file.name}"',
        f"arm.tcp_mm={list(tool.tcp_mm)}",
        f"arm.tool_roll_deg={tool.roll_deg}",
        f"arm.home_deg={list(model.data.home_deg)}",
    ], file
