"""What the commands on holes have in common: a cell's tables over one region, as their options say; files written."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from runner.cell import Cell
    from runner.cli.output import Output
    from runner.table.region import Ground
    from runner.table.seeds import Seeds
    from runner.table.survey import Survey


def numbers_of(text: str, option: str, count: int | None) -> tuple[float, ...]:
    """Numbers with commas between them; `count` of them, or any number."""
    try:
        numbers = tuple(float(part) for part in text.split(","))
    except ValueError:
        numbers = ()
    if not numbers or (count is not None and len(numbers) != count):
        wanted = "numbers" if count is None else f"{count} numbers"
        raise typer.BadParameter(f"{option} wants {wanted} with commas between them; got {text!r}")
    return numbers


def ground_of(
    opened: Cell, phase: str, region: str | None, step_mm: int, band: str | None, tolerance_mm: float
) -> Ground:
    """The question of the options."""
    from runner.table.region import PICK_REGION, PLACE_REGION, Ground, Region

    if phase not in ("place", "pick"):
        raise typer.BadParameter(f"no phase {phase!r} here; place or pick")
    wanted = replace(PLACE_REGION if phase == "place" else PICK_REGION, step_mm=step_mm)
    if region is not None:
        x0, x1, z0, z1 = numbers_of(region, "--region", 4)
        wanted = Region.of((x0, x1), (z0, z1), step_mm)
    heights = None if band is None else numbers_of(band, "--band", 2)
    return Ground.of(
        opened.config,
        "place" if phase == "place" else "pick",
        region=wanted,
        band_y_m=None if heights is None else (heights[0], heights[1]),
        tolerance_mm=tolerance_mm,
    )


def written(kind: str, path: Path, data: bytes) -> dict[str, str]:
    """Write a file that was asked for; its place for the answer, under its kind.

    Raises:
        StorageUnwritable: the folder is missing or can't be written.
    """
    from runs.files import write_atomic

    write_atomic(path, data)
    return {kind: str(path)}


def said(files: dict[str, str]) -> list[str]:
    """The files for people."""
    return [f"written: {path}" for path in files.values()]


def to_png(picture: Any) -> bytes:
    """A picture as a file's content."""
    from runner.table.square_maps import to_png as encoded

    return encoded(picture)


def band_said(band_y_m: tuple[float, float]) -> str:
    """A band in millimetres."""
    return f"{band_y_m[0] * 1000:.0f}…{band_y_m[1] * 1000:.0f} mm"


def newest_archived(opened: Cell) -> Path | None:
    """The table that stood before the present one."""
    kept = sorted(opened.archive_dir.glob(f"{opened.table_file.stem}_*{opened.table_file.suffix}"))
    return kept[-1] if kept else None


def survey_of(
    out: Output,
    cell: Path,
    phase: str,
    region: str | None,
    step_mm: int,
    band: str | None,
    tolerance_mm: float,
    arc: str | None,
) -> Survey:
    """Open the cell's tables, making what is missing, for the question of the options."""
    from runner.cell import open_cell
    from runner.table.cell_tables import open_tables
    from runner.table.fill.cell_files import swept_approach
    from runner.table.survey import Survey

    opened = open_cell(cell)
    ground = ground_of(opened, phase, region, step_mm, band, tolerance_mm)
    with out.aside.status("opening the tables") as status:
        tables = open_tables(opened.folder, opened.config, lambda share, what: status.update(f"{what} {share:.0%}"))
    approach = None
    if arc is not None:
        joints = len(opened.config.arm.home_deg)
        approach = swept_approach(opened.config, ground.phase, numbers_of(arc, "--arc", joints))
    return Survey.of(opened, tables, ground, approach)


def seeds_of(survey: Survey, dist_m: float) -> Seeds:
    """Seeds of the squares that aren't dense and aren't proved to be out of reach."""
    from runner.table.errors import BadQuery
    from runner.table.holes import Status
    from runner.table.seeds import find_seeds

    if not 0.0 < dist_m <= 1.0:
        raise BadQuery("dist_m", f"must be over 0 and at most 1 m, got {dist_m}")
    found = survey.holes()
    squares = found.of(Status.HOLE, Status.MARGINAL)
    return find_seeds(found, squares, survey.asked, survey.approach, dist_m=dist_m)
