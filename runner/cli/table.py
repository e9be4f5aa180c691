"""`trialcell table`: build the reach table, ask it, show what is in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from runner.cli.options import DEFAULT_CELL, CellOption, JsonOption
from runner.cli.output import Output
from runner.cli.table_fill import add_commands

if TYPE_CHECKING:
    from runner.cell import Cell
    from runner.table.format import ReachTable
    from runner.table.lookup import Query

app = typer.Typer(no_args_is_help=True, epilog="Example: trialcell table lookup --phase pick --x 0.2 --z 0.22")


@app.callback()
def _table() -> None:
    """The reach table: tool points of this arm and the joints that bring them about."""


@app.command(
    epilog="Example: trialcell table scan   or, as the field: trialcell table scan --around 0,87.7,-38.3,3.6,-70.1,-30"
)
def scan(
    around: Annotated[
        list[str] | None,
        typer.Option(metavar="J0,…,J5", help="Scan 7⁵ offsets of j1…j5 (±15°) round this base pose; repeatable."),
    ] = None,
    sample: Annotated[int | None, typer.Option(min=1, help="That many poses spread all over the limits.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the sample.")] = 0,
    cell: CellOption = DEFAULT_CELL,
    json: JsonOption = False,
) -> int:
    """Make the reach table anew: the default cell's own, or a scan of yours. What was there goes to archive/.

    The approach tables are made anew with it.
    """
    from runner.cell import open_cell
    from runner.table.cell_tables import remake_approach
    from runner.table.format import write_table
    from runs.lock import CellLock

    out, opened = Output(as_json=json), open_cell(cell)
    with CellLock(opened.folder), out.aside.status("scanning") as status:

        def told(share: float, what: str) -> None:
            status.update(f"{what} {share:.0%}")

        table = _scanned(opened, around or [], sample, seed, told)
        write_table(opened.table_file, table)
        remake_approach(opened.folder, opened.config, told)
    out.answer(_facts(opened, table), f"{len(table):,} rows in [bold]{opened.table_file}[/bold]", _batches(table))
    return 0


@app.command(epilog="Example: trialcell table lookup --phase pick --x 0.2 --z 0.22")
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
    from runner.cell import open_cell
    from runner.cli.failures import EXIT_CODE_OF_FAMILY
    from runner.table.lookup import Query
    from runs.schema.motion import Phase

    out, opened = Output(as_json=json), open_cell(cell)
    table = opened.config.table
    known = Phase.__args__  # type: ignore[attr-defined]
    if phase not in known:
        raise typer.BadParameter(f"no phase {phase!r}; one of: {', '.join(known)}")
    pick = phase.endswith("pick")
    band = table.pick_band_y_m if pick else table.place_band_y_m
    query = Query(
        target_xz_m=(x, z),
        ee_y_band_m=(band[0] if ee_y_min is None else ee_y_min, band[1] if ee_y_max is None else ee_y_max),
        dist_max_m=table.dist_max_m if dist_max_m is None else dist_max_m,
        j3_ref=j3_ref,
        j3_tol_deg=j3_tol_deg,
        j5_ref=j5_ref,
        j5_tol_deg=j5_tol_deg,
        ref_joints=_joints(ref_joints, "--ref-joints"),
        joint_tol_deg=joint_tol_deg,
        place_ee_y_floor=place_ee_y_floor if pick or place_ee_y_floor is not None else table.place_floor_y_m,
    )
    answer = _approach(opened, phase, (x, z)) if phase.startswith("approach") else _reach(opened, phase, query)
    out.answer(answer, _as_lines(answer))
    return 0 if answer["method"] != "out_of_range" else EXIT_CODE_OF_FAMILY["refused"]


@app.command(epilog="Example: trialcell table show")
def show(cell: CellOption = DEFAULT_CELL, json: JsonOption = False) -> int:
    """What the reach table holds: rows, arm, hash, where the rows came from, and how many lie over each square."""
    from runner.cell import open_cell
    from runner.table.density import density_map
    from runner.table.format import CellOfTable, read_table

    out, opened = Output(as_json=json), open_cell(cell)
    table = read_table(opened.table_file, wanted=CellOfTable.of(opened.config))
    bands = {"pick": opened.config.table.pick_band_y_m, "place": opened.config.table.place_band_y_m}
    maps = {name: density_map(table, band) for name, band in bands.items()}
    facts = _facts(opened, table) | {"squares": {name: one.as_dict() for name, one in maps.items()}}
    drawn = [
        f"\n{name} band {bands[name][0] * 1000:.0f}…{bands[name][1] * 1000:.0f} mm, rows a 20 mm square\n{one.drawn()}"
        for name, one in maps.items()
    ]
    out.answer(facts, f"{len(table):,} rows in [bold]{opened.table_file}[/bold]", _batches(table), *drawn)
    return 0


def _scanned(opened: Cell, around: list[str], count: int | None, seed: int, told: Any) -> ReachTable:
    import numpy as np

    from runner.table.format import CellOfTable, RowBatch, make_table, now_utc
    from runner.table.postures import arm_of, hard_limits
    from runner.table.scan import default_scan, sample, scan

    config = opened.config
    arm, base = arm_of(config)
    if not around and count is None:
        return default_scan(arm, base, config, told)
    limits = hard_limits(arm, config)
    parts, batches = [], []
    if around:
        poses = np.array([_joints(text, "--around") for text in around])
        parts.append(scan(poses, arm, base, limits=limits))
        batches.append(f"7⁵ offsets of j1…j5 round {len(poses)} base poses")
    if count is not None:
        parts.append(sample(count, arm, base, limits=limits, seed=seed))
        batches.append(f"{count} poses spread over the limits, seed {seed}")
    rows = [
        RowBatch(rows=len(part.joints_deg), source=source, made_at=now_utc())
        for part, source in zip(parts, batches, strict=True)
    ]
    points, joints = (np.concatenate([getattr(p, name) for p in parts]) for name in ("points_m", "joints_deg"))
    return make_table(points, joints, CellOfTable.of(config), rows)


def _reach(opened: Cell, phase: str, query: Query) -> dict[str, Any]:
    from runner.table.format import CellOfTable, read_table
    from runner.table.lookup import Lookup, to_record
    from runner.table.postures import arm_of, hard_limits

    table = read_table(opened.table_file, wanted=CellOfTable.of(opened.config))
    arm, _ = arm_of(opened.config)
    ask = Lookup(table, hard_limits(arm, opened.config), j1_safe_max_deg=opened.config.arm.j1_safe_max_deg)
    found = ask.find(query, count=True)
    record = to_record(found, label=phase, phase=phase, source_file=opened.table_file.name)  # type: ignore[arg-type]
    return record.model_dump(mode="json")


def _approach(opened: Cell, phase: str, target_xz_m: tuple[float, float]) -> dict[str, Any]:
    from runner.table.approach import read_approach
    from runner.table.approach_lookup import lookup_approach
    from runner.table.cell_tables import GRID_FILES
    from runner.table.format import CellOfTable
    from runner.table.postures import arm_of, hard_limits

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


def _joints(text: str | None, option: str) -> tuple[float, ...] | None:
    if text is None:
        return None
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise typer.BadParameter(f"{option} wants angles in degrees, J0,J1,…; got {text!r}") from None


def _facts(opened: Cell, table: ReachTable) -> dict[str, Any]:
    return {
        "file": str(opened.table_file),
        "rows": len(table),
        "content_hash": table.content_hash,
        "cell": table.cell.model_dump(mode="json"),
        "batches": [batch.model_dump(mode="json") for batch in table.batches],
    }


def _batches(table: ReachTable) -> str:
    arm = table.cell
    lines = [
        f"arm      {arm.arm_model}, tool point {_short(list(arm.tcp_mm))} mm, roll {arm.tool_roll_deg:g}°",
        f"content  {table.content_hash}",
        *(f"batch    {batch.rows:>9,} rows  {batch.source}  {batch.made_at}" for batch in table.batches),
    ]
    return "\n".join(lines)


def _as_lines(answer: dict[str, Any]) -> str:
    skip = {"label", "phase", "guard_pass", "guard_reason", "nearest_pts", "skipped"}
    lines = [f"{answer['phase']}  {answer['method']}  {answer['pose_id'] or ''}"]
    for key, value in answer.items():
        if key not in skip and value not in (None, [], {}):
            lines.append(f"  {key:22} {_short(value)}")
    return "\n".join(lines)


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list):
        return ", ".join(_short(part) for part in value)
    if isinstance(value, dict):
        return ", ".join(f"{key} {_short(part)}" for key, part in value.items())
    return str(value)


add_commands(app)
