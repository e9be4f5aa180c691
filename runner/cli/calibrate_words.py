"""What the calibration commands say to people: parameters with how sure they are, errors by region, versions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table

    from runner.arm_calibration import ArmFile, HeldOut
    from runner.calibrate.check import CheckFile
    from vision.calibration.kept import Version


def table_of(*columns: str) -> Table:
    """A plain table; the first column is left, the others right."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for number, name in enumerate(columns):
        table.add_column(name, justify="left" if number == 0 else "right", no_wrap=True)
    return table


def arm_lines(file: ArmFile) -> list[Any]:
    """What a fit of the arm found, what it left alone, and its errors."""
    table = table_of("unknown", "found", "±", "likely before")
    for p in file.parameters:
        if p.name.startswith(("camera", "board")):
            continue  # they stand in the plane's file
        unit = "°" if p.unit == "deg" else " mm"
        found = f"{p.value:+.2f}{unit}" if p.determined else "left alone"
        table.add_row(p.name, found, f"{p.sigma:.2f}", f"{p.prior:+.2f} ± {p.prior_sigma:g}")
    alone = [p.name for p in file.parameters if not p.determined]
    said = [f"not told by these {file.n_poses} poses, left as before: {', '.join(alone)}"] if alone else []
    said += [f"can't be told apart well: {pair}" for pair in file.confused]
    dropped = f", {file.n_dropped} of them dropped as outliers" if file.n_dropped else ""
    return [
        table,
        *said,
        f"fit      {file.rms_before_mm:.1f} mm before, {file.rms_mm:.2f} mm after, at {file.n_poses} poses{dropped}",
        f"held out {errors_line(file.held_out)}",
    ]


def check_lines(file: CheckFile) -> list[Any]:
    """Errors by region and in all, before and after."""
    table = table_of("region", "places", "median mm", "worst mm")
    for region in file.held_out.regions:
        table.add_row(region.region, str(region.n), f"{region.median_mm:.2f}", f"{region.worst_mm:.2f}")
    before = [] if file.before is None else [f"before   {errors_line(file.before)}"]
    return [table, *(f"not seen: {why}" for why in file.missed), *before, number_line(file)]


def number_line(file: CheckFile) -> str:
    """The one number at the end."""
    return f"tip error on held-out places: {errors_line(file.held_out)}"


def errors_line(held_out: HeldOut) -> str:
    """Median and worst."""
    return f"median {held_out.median_mm:.2f} mm, worst {held_out.worst_mm:.2f} mm ({held_out.n} places)"


def version_object(version: Version) -> dict[str, Any]:
    """A version for programs."""
    return {
        "id": version.id,
        "kind": version.kind,
        "current": version.current,
        "made_at": version.made_at,
        "source": version.source,
        "hash": version.hash,
        "file": str(version.path),
    }
