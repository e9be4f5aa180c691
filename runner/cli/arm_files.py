"""`trialcell arm list | show | import`: arm files. They move nothing and need no arm."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from runner.cli.options import DEFAULT_CELL, CellOption, JsonOption
from runner.cli.output import Output

if TYPE_CHECKING:
    from rich.table import Table

    from runner.kinematics.model import ArmModel


def list_(json: JsonOption = False) -> int:
    """The arms that ship with the program."""
    from rich.table import Table

    from runner.kinematics.ik.reach import reach_m
    from runner.kinematics.model import load_arm, shipped_arms

    out = Output(as_json=json)
    arms = [load_arm(name) for name in shipped_arms()]
    table = Table("name", "arm", "joints", "reach", "twin", box=None, pad_edge=False, header_style="bold")
    for arm in arms:
        missing = _missing_for_twin(arm)
        twin = "yes" if not missing else f"no: no {', '.join(missing)}"
        table.add_row(arm.name, arm.data.title, str(arm.n_joints), f"{reach_m(arm) * 1000:.0f} mm", twin)
    out.answer(
        {"arms": [_facts(arm) for arm in arms]},
        table,
        "\nothers: trialcell arm import FILE.urdf, then: trialcell init --cell DIR --arm FILE.toml",
    )
    return 0


def show(
    name: Annotated[str | None, typer.Argument(metavar="[NAME|FILE]", help="The cell's arm if not given.")] = None,
    cell: CellOption = DEFAULT_CELL,
    json: JsonOption = False,
) -> int:
    """Joints, limits, tool point and sources of an arm, and what it lacks for the twin."""
    from rich.text import Text

    from runner.kinematics.ik.reach import reach_m
    from runner.kinematics.model import load_arm

    if name is None:
        from runner.cell import open_cell

        name = open_cell(cell).config.arm.model
    out, arm = Output(as_json=json), load_arm(name)
    tool, missing = arm.data.tool, _missing_for_twin(arm)
    lines = [
        f"tool point {_short(tool.tcp_mm)} mm in the last link's frame, roll {tool.roll_deg:g}°",
        f"home       {_short(arm.data.home_deg)}°",
        f"reach      {reach_m(arm) * 1000:.0f} mm from the base axis to the tool point",
        f"shells     {len(arm.data.shape)} for collisions" if arm.data.shape else "shells     none: add [[shape]]",
        "twin       " + ("all it needs is there" if not missing else f"can't be simulated: no {', '.join(missing)}"),
        f"source     {arm.data.source or 'see the comments in its file'}",
    ]
    out.answer(_facts(arm), Text(f"{arm.name}: {arm.data.title}", style="bold"), _joints(arm), Text("\n".join(lines)))
    return 0


def import_(
    urdf: Annotated[Path, typer.Argument(metavar="FILE.urdf", help="The URDF.")],
    name: Annotated[str | None, typer.Option(help="Of the arm; the file's by default.")] = None,
    out_file: Annotated[Path | None, typer.Option("--out", metavar="FILE.toml", help="NAME.toml by default.")] = None,
    base_link: Annotated[str | None, typer.Option(help="Where the arm begins; the root by default.")] = None,
    tip_link: Annotated[str | None, typer.Option(help="The link whose origin is the tool point.")] = None,
    limits: Annotated[
        list[str] | None, typer.Option(metavar="JOINT=MIN,MAX", help="Degrees, for a joint without limits; repeatable.")
    ] = None,
    tool_axis: Annotated[str, typer.Option(help="The tip link's axis along the tool: z, x, y, -z, -x or -y.")] = "z",
    force: Annotated[bool, typer.Option("--force", help="Write over an arm file that is there.")] = False,
    json: JsonOption = False,
) -> int:
    """Make an arm file from a URDF: turning joints, axes, origins, limits, tool point; fixed joints folded in."""
    from rich.text import Text

    from runner.kinematics.model import shipped_arms
    from runner.kinematics.urdf.arm_file import import_arm
    from runner.kinematics.urdf.chain import TOOL_AXES
    from runs.files import write_atomic

    out = Output(as_json=json)
    name = name or (out_file.stem if out_file is not None else urdf.stem.removesuffix(".urdf") or "arm")
    if not name.replace("_", "a").replace("-", "a").isalnum():
        raise typer.BadParameter(f"--name: letters, digits, - and _ make a name, got {name!r}")
    if name in shipped_arms():
        raise typer.BadParameter(f"--name: an arm called {name} ships with the program; choose another name")
    if tool_axis not in TOOL_AXES:
        raise typer.BadParameter(f"--tool-axis: one of {', '.join(TOOL_AXES)}, got {tool_axis!r}")
    file = out_file or Path(f"{name}.toml")
    if file.suffix != ".toml":
        raise typer.BadParameter(f"--out: an arm file ends in .toml, got {file}")
    given = dict(_limit(text) for text in limits or [])
    made = import_arm(urdf, name, base_link=base_link, tip_link=tip_link, limits_deg=given, tool_axis=tool_axis)
    if file.exists() and not force:
        raise typer.BadParameter(f"{file} is there already; name another with --out, or add --force")
    write_atomic(file, made.text.encode())
    chain = made.chain
    answer = _facts(made.arm) | {
        "file": str(file),
        "urdf": str(urdf),
        "urdf_sha256": made.document.sha256,
        "base_link": chain.base_link,
        "tip_link": chain.tip_link,
        "notes": list(made.notes),
    }
    out.answer(
        answer,
        Text(f"{name}: {made.arm.n_joints} joints from {chain.base_link} to {chain.tip_link}, in {file}", style="bold"),
        _joints(made.arm),
        *(Text(f"note: {note}") for note in made.notes),
        Text(f"next: trialcell ik show --x 0.15 --y 0.15 --z 0.15 --arm {file} --out ik.png", style="dim"),
    )
    return 0


def _limit(text: str) -> tuple[str, tuple[float, float]]:
    joint, _, span = text.rpartition("=")
    try:
        lo, hi = (float(part) for part in span.split(","))
    except ValueError:
        raise typer.BadParameter(f"--limits wants JOINT=MIN,MAX in degrees, got {text!r}") from None
    return joint, (lo, hi)


def _joints(arm: ArmModel) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for head in ("", "origin, mm", "roll pitch yaw, °", "axis", "limits, °"):
        table.add_column(head)
    table.add_column("in the URDF", style="dim")
    for joint in arm.data.joint:
        limits = f"{joint.min_deg:g} … {joint.max_deg:g}"
        figures = (joint.origin_mm, joint.rpy_deg, joint.axis)
        table.add_row(joint.name, *(_short(three) for three in figures), limits, joint.urdf_name or "")
    return table


def _facts(arm: ArmModel) -> dict[str, Any]:
    from runner.kinematics.ik.reach import reach_m

    data = arm.data
    return {
        "name": arm.name,
        "title": data.title,
        "source": data.source,
        "up": data.up,
        "joints": [joint.model_dump(mode="json") for joint in data.joint],
        "tool": data.tool.model_dump(mode="json"),
        "home_deg": list(data.home_deg),
        "reach_m": round(reach_m(arm), 4),
        "shells": len(data.shape),
        "missing_for_twin": _missing_for_twin(arm),
    }


def _missing_for_twin(arm: ArmModel) -> list[str]:
    parts = {"gripper": arm.data.gripper, "masses": arm.data.masses, "servo": arm.data.servo}
    return [name for name, part in parts.items() if part is None]


def _short(values: Any) -> str:
    return ", ".join(f"{value:.6g}" for value in values)
