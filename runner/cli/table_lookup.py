"""`trialcell table lookup`: one question to the reach table or an approach table, answered at once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from runner.cli.options import DEFAULT_CELL, CellOption, JsonOption
from runner.cli.output import Output
from runner.cli.table_words import joints_of, short

if TYPE_CHECKING:
    from runner.table.known import KnownTable


def lookup(
    x: Annotated[float, typer.Option(help="Target, metres.")],
    z: Annotated[float, typer.Option(help="Target, metres.")],
    phase: Annotated[
        str, typer.Option(help="approach_pick, pick, approach_place, place_withblock or place_noblock.")
    ] = ("pick"),
    ee_y_min: Annotated[float | None, typer.Option(help="Band of heights, from; the phase's by default.")] = None,
    ee_y_max: Annotated[float | None, typer.Option(help="Band of heights, up to but not with.")] = None,
    dist_max_m: Annotated[float | None, typer.Option(help="The nearest row may be this far.")] = None,
    j3_ref: Annotated[float | None, typer.Option(help="j3 near this.")] = None,
    j3_tol_deg: Annotated[float | None, typer.Option(help="Its tolerance; 5 by default.")] = None,
    j5_ref: Annotated[float | None, typer.Option(help="j5 near this.")] = None,
    j5_tol_deg: Annotated[float | None, typer.Option(help="Its tolerance; 5 by default.")] = None,
    ref_joints: Annotated[str | None, typer.Option(metavar="J0,…,J5", help="Every joint near these.")] = None,
    joint_tol_deg: Annotated[float | None, typer.Option(help="Their tolerance.")] = None,
    place_ee_y_floor: Annotated[float | None, typer.Option(help="No row below this height.")] = None,
    cell: CellOption = DEFAULT_CELL,
    json: JsonOption = False,
) -> int:
    """Ask the reach table (in an approach phase the approach table) for a point; says why where there is no row."""
    from runner.cli.failures import EXIT_CODE_OF_FAMILY
    from runs.schema.phase import PHASES

    out = Output(as_json=json)
    if phase not in PHASES:
        raise typer.BadParameter(f"no phase {phase!r}; one of: {', '.join(PHASES)}")
    asked = {
        "ee_y_min": ee_y_min,
        "ee_y_max": ee_y_max,
        "dist_max_m": dist_max_m,
        "j3_ref": j3_ref,
        "j3_tol_deg": j3_tol_deg,
        "j5_ref": j5_ref,
        "j5_tol_deg": j5_tol_deg,
        "ref_joints": joints_of(ref_joints, "--ref-joints"),
        "joint_tol_deg": joint_tol_deg,
        "place_ee_y_floor": place_ee_y_floor,
    }
    if phase.startswith("approach"):
        given = [name for name, value in asked.items() if value is not None]
        if given:
            option = f"--{given[0].replace('_', '-')}"
            raise typer.BadParameter(f"{option} is for the reach table; an approach phase has no use for it")
        answer = _approach(cell, phase, (x, z))
    else:
        answer = _reach(cell, phase, (x, z), asked)
    out.verbatim(answer, _as_lines(answer))
    return 0 if answer["method"] != "out_of_range" else EXIT_CODE_OF_FAMILY["refused"]


def _reach(cell: Path, phase: str, target_xz_m: tuple[float, float], asked: dict[str, Any]) -> dict[str, Any]:
    from runner.table.asked import ask_reach

    table_file, settings_file = cell / "reach.parquet", cell / "cell.toml"
    known = _known(table_file, settings_file, cell)
    return ask_reach(
        known.lookup,
        known.settings,
        phase,  # type: ignore[arg-type]
        target_xz_m,
        source_file=table_file.name,
        **asked,
    )


def _known(table_file: Path, settings_file: Path, cell: Path) -> KnownTable:
    """The table as it lies ready, or after the settings are read and what is stale is made anew."""
    from runner.table.known import KnownTable, known_table

    known = known_table(table_file, settings_file)
    if known is not None:
        return known
    from runner.cell import open_cell
    from runner.table.opening import known_settings, open_table, remember_settings

    opened = open_cell(cell)
    table = open_table(opened.table_file, opened.config)
    remember_settings(opened.table_file, table, opened.config)
    return KnownTable(table.lookup(compiled=False), known_settings(opened.config, ""))


def _approach(cell: Path, phase: str, target_xz_m: tuple[float, float]) -> dict[str, Any]:
    from runner.cell import open_cell
    from runner.table.approach import read_approach
    from runner.table.approach_lookup import lookup_approach
    from runner.table.cell_tables import GRID_FILES
    from runner.table.postures import arm_of, hard_limits
    from runner.table.rows import CellOfTable

    opened = open_cell(cell)
    path = opened.approach_dir / GRID_FILES[phase]  # type: ignore[index]
    approach = read_approach(path, wanted=CellOfTable.of(opened.config))
    arm, _ = arm_of(opened.config)
    record = lookup_approach(
        approach,
        target_xz_m,
        hard_limits(arm, opened.config),
        label=phase,
        j1_safe_max_deg=opened.config.arm.j1_safe_max_deg,
        x_residual_max_m=opened.config.table.arc_x_residual_m,
    )
    return record.model_dump(mode="json")


def _as_lines(answer: dict[str, Any]) -> str:
    skip = {"label", "phase", "guard_pass", "guard_reason", "nearest_pts", "skipped"}
    lines = [f"{answer['phase']}  {answer['method']}  {answer['pose_id'] or ''}"]
    for key, value in answer.items():
        if key not in skip and value not in (None, [], (), {}):
            lines.append(f"  {key:22} {short(value)}")
    return "\n".join(lines)
