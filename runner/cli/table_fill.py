"""`trialcell table holes|seeds|clusters|fill|density|map|why`: where the table has no row, and filling it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from runner.cli.options import DEFAULT_CELL, CellOption, JsonOption
from runner.cli.output import Output
from runner.cli.table_look import (
    band_said,
    ground_of,
    newest_archived,
    numbers_of,
    said,
    seeds_of,
    survey_of,
    to_png,
    written,
)

if TYPE_CHECKING:
    from runner.table.fill.sequence import Filled

PhaseOption = Annotated[str, typer.Option(help="place or pick.")]
RegionOption = Annotated[
    str | None,
    typer.Option(
        metavar="X0,X1,Z0,Z1", help="Centres of the squares, metres; the phase's side of the table if not given."
    ),
]
StepOption = Annotated[int, typer.Option("--step-mm", min=1, max=100, help="From square to square.")]
BandOption = Annotated[
    str | None, typer.Option("--band", metavar="Y0,Y1", help="Heights, metres; the phase's band by default.")
]
ToleranceOption = Annotated[float, typer.Option("--tolerance-mm", help="Dense: a row this near in x and in z.")]
ArcOption = Annotated[
    str | None,
    typer.Option(
        "--arc", metavar="J0,…,J5", help="As the field: one base pose, j0 swept, in place of the approach file."
    ),
]
CsvOption = Annotated[Path | None, typer.Option("--csv", metavar="FILE", help="Write the lines there.")]
PngOption = Annotated[Path | None, typer.Option("--png", metavar="FILE", help="Draw it there.")]
DiameterOption = Annotated[float, typer.Option("--diameter-deg", help="Largest joint difference in a cluster.")]
DistOption = Annotated[float, typer.Option("--dist-m", help="How far from a hole a seed may be.")]

STEP_MM, TOLERANCE_MM, DIAMETER_DEG, DIST_M = 20, 10.0, 30.0, 0.030


def add_commands(app: typer.Typer) -> None:
    """Put the commands under `trialcell table`."""
    app.command(epilog="Example: trialcell table holes --csv holes.csv")(holes)
    app.command(epilog="Example: trialcell table seeds --csv seeds.csv")(seeds)
    app.command(epilog="Example: trialcell table clusters")(clusters)
    app.command(epilog="Example: trialcell table fill")(fill)
    app.command(epilog="Example: trialcell table density --png density.png")(density)
    app.command(name="map", epilog="Example: trialcell table map --png map.png")(table_map)
    app.command(epilog="Example: trialcell table why -0.25 0.26", context_settings={"ignore_unknown_options": True})(
        why
    )


def holes(
    phase: PhaseOption = "place",
    region: RegionOption = None,
    step_mm: StepOption = STEP_MM,
    band: BandOption = None,
    tolerance_mm: ToleranceOption = TOLERANCE_MM,
    arc: ArcOption = None,
    csv: CsvOption = None,
    png: PngOption = None,
    cell: CellOption = DEFAULT_CELL,
    json: JsonOption = False,
) -> int:
    """Show where a region has no usable row, square by square: dense, marginal, hole, unreachable or blocked."""
    out = Output(as_json=json)
    look = survey_of(out, cell, phase, region, step_mm, band, tolerance_mm, arc)
    found = look.holes()
    files = {} if csv is None else written("csv", csv, found.to_csv().encode())
    if png is not None:
        from runner.table.reach_maps import draw_holes

        files |= written("png", png, to_png(draw_holes([("", found)])))
    out.answer(found.as_dict() | files, found.drawn(), *said(files))
    return 0


def seeds(
    phase: PhaseOption = "place",
    region: RegionOption = None,
    step_mm: StepOption = STEP_MM,
    band: BandOption = None,
    tolerance_mm: ToleranceOption = TOLERANCE_MM,
    arc: ArcOption = None,
    dist_m: DistOption = DIST_M,
    csv: CsvOption = None,
    cell: CellOption = DEFAULT_CELL,
    json: JsonOption = False,
) -> int:
    """For each square that isn't dense, the usable row nearby that twists the arm least from the approach pose."""
    out = Output(as_json=json)
    look = survey_of(out, cell, phase, region, step_mm, band, tolerance_mm, arc)
    found = seeds_of(look, dist_m)
    answer = found.as_dict()
    lines = [f"{answer['with_seed']} of {answer['holes']} squares have a seed within {dist_m * 1000:g} mm"]
    if found.found:
        least, most = (answer[f"{word}_difference_deg"] for word in ("smallest", "largest"))
        lines.append(f"largest difference of j1…j5 to the approach pose: {least:.2f}° to {most:.2f}°")
        lines.append("   x mm   z mm  difference      row  joints")
        for s in found.found:
            joints = ", ".join(f"{j:.1f}" for j in s.joints_deg)
            lines.append(f"  {s.x_mm:5d}  {s.z_mm:5d}  {s.difference_deg:8.2f}°  {s.row:9d}  {joints}")
    lines += [f"no seed: {patch['said']}" for patch in answer["without"]]
    files = {} if csv is None else written("csv", csv, found.to_csv().encode())
    out.answer(answer | files, "\n".join(lines), *said(files))
    return 0


def clusters(
    phase: PhaseOption = "place",
    region: RegionOption = None,
    step_mm: StepOption = STEP_MM,
    band: BandOption = None,
    tolerance_mm: ToleranceOption = TOLERANCE_MM,
    arc: ArcOption = None,
    dist_m: DistOption = DIST_M,
    diameter_deg: DiameterOption = DIAMETER_DEG,
    csv: CsvOption = None,
    cell: CellOption = DEFAULT_CELL,
    json: JsonOption = False,
) -> int:
    """Seeds that lie close together in their joints; the middle of each cluster is a base pose for a scan."""
    from runner.table.clusters import find_clusters, to_csv

    out = Output(as_json=json)
    look = survey_of(out, cell, phase, region, step_mm, band, tolerance_mm, arc)
    found = find_clusters(seeds_of(look, dist_m).found, diameter_deg=diameter_deg)
    lines = [f"{len(found)} clusters of seeds, at most {diameter_deg:g}° across in each of j1…j5"]
    if found:
        lines.append("     members  across       x mm        z mm  base pose j0…j5")
    for i, c in enumerate(found):
        xs, zs = (f"{a}…{b}" for a, b in (c.x_mm, c.z_mm))
        base = ", ".join(f"{j:.1f}" for j in c.base_deg)
        lines.append(f"{i + 1:3d}  {len(c.squares):7d}  {c.diameter_deg:5.1f}°  {xs:>11}  {zs:>9}  {base}")
    files = {} if csv is None else written("csv", csv, to_csv(found).encode())
    answer: dict[str, Any] = {"diameter_deg": diameter_deg, "clusters": [c.as_dict() for c in found]}
    out.answer(answer | files, "\n".join(lines), *said(files))
    return 0


def fill(
    phase: PhaseOption = "place",
    region: RegionOption = None,
    step_mm: StepOption = STEP_MM,
    band: BandOption = None,
    tolerance_mm: ToleranceOption = TOLERANCE_MM,
    arc: ArcOption = None,
    bases: Annotated[int, typer.Option(min=0, max=100, help="Most clusters that are scanned; 0: no scan.")] = 9,
    joints: Annotated[str, typer.Option(metavar="J,…", help="Joints whose offsets are scanned.")] = "1,2,3,4,5",
    dist_m: DistOption = DIST_M,
    diameter_deg: DiameterOption = DIAMETER_DEG,
    png: PngOption = None,
    cell: CellOption = DEFAULT_CELL,
    json: JsonOption = False,
) -> int:
    """Fill the holes of a region: scan as the field did, solve every square, prove the rest. Shows before and after."""
    from runner.cell import open_cell
    from runner.table.fill.cell_files import fill_cell
    from runner.table.fill.sequence import FillSettings
    from runs.lock import CellLock

    out, opened = Output(as_json=json), open_cell(cell)
    ground = ground_of(opened, phase, region, step_mm, band, tolerance_mm)
    scanned = tuple(round(j) for j in numbers_of(joints, "--joints", None))
    if any(str(j) not in joints for j in scanned) or len(set(scanned)) < len(scanned):
        raise typer.BadParameter(f"--joints wants different joints by number, as 1,2,3,4,5; got {joints!r}")
    settings = FillSettings(bases=bases, joints=scanned, diameter_deg=diameter_deg, seed_dist_m=dist_m)
    with CellLock(opened.folder), out.aside.status("filling") as status:
        filled = fill_cell(
            opened.folder,
            opened.config,
            ground,
            settings,
            arc_deg=None if arc is None else numbers_of(arc, "--arc", None),
            progress=lambda share, what: status.update(f"{what} {share:.0%}"),
        )
    files = {}
    if png is not None:
        from runner.table.reach_maps import draw_holes

        maps = [("before", filled.before), ("after", filled.after)]
        files = written("png", png, to_png(draw_holes(maps)))
    out.answer(filled.as_dict() | files, _filled_said(filled), *said(files))
    return 0


def density(
    before: Annotated[
        Path | None,
        typer.Option("--before", metavar="FILE", help="An older table to compare with; the newest in archive/ if any."),
    ] = None,
    png: PngOption = None,
    cell: CellOption = DEFAULT_CELL,
    json: JsonOption = False,
) -> int:
    """How many rows lie over each 20 mm square, in the pick and the place band, now and before."""
    from runner.cell import open_cell
    from runner.table.density import density_map
    from runner.table.format import read_table
    from runner.table.reach_maps import draw_density
    from runner.table.rows import CellOfTable

    out, opened = Output(as_json=json), open_cell(cell)
    t, wanted = opened.config.table, CellOfTable.of(opened.config)
    tables = {"now": read_table(opened.table_file, wanted=wanted)}
    older = before or newest_archived(opened)
    if older is not None:
        tables = {"before": read_table(older, wanted=wanted), **tables}
    bands = {"pick": t.pick_band_y_m, "place": t.place_band_y_m}
    maps = {(phase, when): density_map(table, band) for phase, band in bands.items() for when, table in tables.items()}
    named = [
        (f"{phase} band, {band_said(bands[phase])}" + (f", {when}" if older else ""), one)
        for (phase, when), one in maps.items()
    ]
    files = {} if png is None else written("png", png, to_png(draw_density(named)))
    squares = {when: {phase: maps[phase, when].as_dict() for phase in bands} for when in tables}
    answer = {"rows": {when: len(table) for when, table in tables.items()}, "squares": squares["now"]}
    if older is not None:
        answer |= {"before": str(older), "squares_before": squares["before"]}
    out.answer(answer | files, *(f"{name}: rows a 20 mm square\n{one.drawn()}" for name, one in named), *said(files))
    return 0


def table_map(
    phase: PhaseOption = "place",
    region: RegionOption = None,
    step_mm: StepOption = STEP_MM,
    band: BandOption = None,
    tolerance_mm: ToleranceOption = TOLERANCE_MM,
    arc: ArcOption = None,
    png: PngOption = None,
    cell: CellOption = DEFAULT_CELL,
    json: JsonOption = False,
) -> int:
    """What the table holds over each square: usable rows, tilt, joint step of the last move, room to the limits."""
    from dataclasses import replace

    from runner.table.reach_maps import PICK_TABLE, PLACE_TABLE, draw_reach_map, reach_map

    out = Output(as_json=json)
    look = survey_of(out, cell, phase, region, step_mm, band, tolerance_mm, arc)
    if region is None:
        look = look.over(replace(PLACE_TABLE if phase == "place" else PICK_TABLE, step_mm=step_mm))
    found = reach_map(look.asked, look.holes(), look.arm, look.base)
    files = {} if png is None else written("png", png, to_png(draw_reach_map(found)))
    out.answer(found.as_dict() | files, found.drawn(), *said(files))
    return 0


def why(
    x: Annotated[float, typer.Argument(help="Metres.")],
    z: Annotated[float, typer.Argument(help="Metres.")],
    phase: PhaseOption = "place",
    region: RegionOption = None,
    step_mm: StepOption = STEP_MM,
    band: BandOption = None,
    tolerance_mm: ToleranceOption = TOLERANCE_MM,
    arc: ArcOption = None,
    cell: CellOption = DEFAULT_CELL,
    json: JsonOption = False,
) -> int:
    """Explain the square that a point lies in: how it stands, what approach and table say, what forbids it."""
    from runner.table.why import explain

    if not (abs(x) <= 1.0 and abs(z) <= 1.0):
        raise typer.BadParameter(f"X and Z are places on the table in metres; got {x:g} and {z:g}")
    out = Output(as_json=json)
    look = survey_of(out, cell, phase, region, step_mm, band, tolerance_mm, arc)
    square = look.ground.region.square_of((x, z)) or (round(x * 1000.0), round(z * 1000.0))
    one = look.around(square)
    with out.aside.status("asking the tables, and where they have no row, for a proof"):
        state, proof = one.one(square)
    told = explain(state, proof, one.ground, one.arm, one.base)
    out.answer(told.facts, "\n".join(told.lines))
    return 0


def _filled_said(filled: Filled) -> str:
    """A line a step, then the map."""
    names = list(filled.after.counts())
    lines = ["step             " + "".join(f"{name:>{len(name) + 2}}" for name in names) + "       rows      s"]
    for stage in filled.stages:
        counts = "".join(f"{stage.counts[name]:{len(name) + 2}d}" for name in names)
        lines.append(f"{stage.name:17}{counts}  {stage.rows:9,}  {stage.seconds:5.1f}  {stage.note}")
    answer = filled.as_dict()
    lines += [
        "",
        filled.after.drawn(),
        "",
        f"scanning filled {answer['filled_by_scanning']} squares, direct solution another "
        f"{answer['filled_by_direct_solution']}; {answer['decided']} of {answer['squares_in_all']} are decided",
        _proved_said(filled),
    ]
    return "\n".join(lines)


def _proved_said(filled: Filled) -> str:
    searched, count = filled.proofs.searched, len(filled.proofs.squares)
    if not count:
        return "nothing is left to prove"
    words = f"{count} squares proved: {searched.by_lengths} by the lengths of the links"
    if searched.covering_proved:
        assert searched.covered_from_m is not None
        words += (
            f", the others by covering all joint angles in {searched.covering_pieces:,} pieces: nothing beyond "
            f"{searched.covered_from_m * 1000:.1f} mm from the base axis"
        )
    return words
