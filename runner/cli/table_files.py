"""`trialcell table` merge, verify, import, export and history: the reach table's file and its copies."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from runner.cli.options import DEFAULT_CELL, CellOption, JsonOption
from runner.cli.output import Output
from runner.cli.table_words import about_table, batch_lines, facts_of

if TYPE_CHECKING:
    from runner.table.verify import Difference, OnlyHere, Soundness


def merge(
    files: Annotated[list[Path], typer.Argument(help="CSVs in the field's columns, or copies of a reach table.")],
    cell: CellOption = DEFAULT_CELL,
    json: JsonOption = False,
) -> int:
    """Add rows to the reach table: those whose joints it has not yet, after its own, which keep their numbers."""
    from runner.cell import open_cell
    from runner.table.csv_file import read_rows
    from runner.table.merge import merge_into
    from runner.table.opening import open_table
    from runner.table.rows import CellOfTable

    out, opened = Output(as_json=json), open_cell(cell)
    wanted = CellOfTable.of(opened.config)
    with out.aside.status("merging"):
        additions = [read_rows(path, wanted) for path in files]
        result = merge_into(opened.table_file, additions, wanted)
        open_table(opened.table_file, opened.config)
    rows = [
        {"file": str(path), "rows": one.offered, "new": one.new, "duplicate": one.duplicate}
        for path, one in zip(files, result.added, strict=True)
    ]
    lines = [f"{r['rows']:>9,} rows  {r['new']:>9,} new  {r['duplicate']:>9,} duplicate  {r['file']}" for r in rows]
    total = f"{result.before:,} rows before, {len(result.table):,} now in [bold]{opened.table_file}[/bold]"
    out.answer(facts_of(opened, result.table) | {"before": result.before, "added": rows}, "\n".join(lines), total)
    return 0


def import_rows(
    file: Annotated[Path, typer.Argument(help="A CSV in the field's columns, or a copy from archive/.")],
    cell: CellOption = DEFAULT_CELL,
    json: JsonOption = False,
) -> int:
    """Put these rows in the place of the reach table's. What was there goes to archive/."""
    from runner.cell import open_cell
    from runner.table.csv_file import read_rows
    from runner.table.format import write_table
    from runner.table.opening import open_table
    from runner.table.rows import CellOfTable

    out, opened = Output(as_json=json), open_cell(cell)
    with out.aside.status("reading"):
        table = read_rows(file, CellOfTable.of(opened.config))
        write_table(opened.table_file, table)
        open_table(opened.table_file, opened.config)
    about = about_table(table.cell, table.content_hash, table.batches)
    out.answer(facts_of(opened, table), f"{len(table):,} rows in [bold]{opened.table_file}[/bold]", about)
    return 0


def export(
    file: Annotated[Path, typer.Argument(help="The CSV to write.")],
    cell: CellOption = DEFAULT_CELL,
    json: JsonOption = False,
) -> int:
    """Write the reach table as CSV in the field's column order, every number in full."""
    from runner.cell import open_cell
    from runner.table.csv_file import export_csv
    from runner.table.format import read_table
    from runner.table.rows import CellOfTable

    out, opened = Output(as_json=json), open_cell(cell)
    if file.suffix.lower() != ".csv":
        raise typer.BadParameter(f"rows go out as CSV, and {file.name!r} is no name of one")
    with out.aside.status("writing"):
        table = read_table(opened.table_file, wanted=CellOfTable.of(opened.config))
        export_csv(file, table)
    told = {"file": str(file), "rows": len(table), "content_hash": table.content_hash}
    out.answer(told, f"{len(table):,} rows in [bold]{file}[/bold]")
    return 0


def history(cell: CellOption = DEFAULT_CELL, json: JsonOption = False) -> int:
    """Where the table's rows came from, batch by batch; and what archive/ keeps, with the batch that came last."""
    from runner.cell import open_cell
    from runner.table.errors import TableError
    from runner.table.format import archived, read_head

    out, opened = Output(as_json=json), open_cell(cell)
    told: list[dict[str, Any]] = []
    lines: list[str] = []
    for path in [opened.table_file, *reversed(archived(opened.table_file))]:
        try:
            head = read_head(path)
        except TableError as error:
            if path == opened.table_file:
                raise
            told.append({"file": str(path), "problem": error.message})
            lines.append(f"[bold]{path.name}[/bold]  {error.message}")
            continue
        batches = [batch.model_dump(mode="json") for batch in head.batches]
        told.append({"file": str(path), "rows": head.rows, "content_hash": head.content_hash, "batches": batches})
        lines.append(f"[bold]{path.name}[/bold]  {head.rows:,} rows  {head.content_hash[:12]}")
        lines += batch_lines(head.batches if path == opened.table_file else head.batches[-1:])
    out.answer({"now": told[0], "archive": told[1:]}, *lines)
    return 0


def verify(
    a: Annotated[Path | None, typer.Argument(help="A reach table; the cell's own by default.")] = None,
    b: Annotated[Path | None, typer.Argument(help="Another copy, to compare with.")] = None,
    cell: CellOption = DEFAULT_CELL,
    json: JsonOption = False,
) -> int:
    """Read a copy again: hash, kinematics of every row, cell, index. With two: what each has that the other lacks."""
    from runner.cell import open_cell
    from runner.cli.failures import EXIT_CODE_OF_FAMILY
    from runner.config import CELL_FILE
    from runner.table.postures import arm_of, hard_limits
    from runner.table.rows import CellOfTable
    from runner.table.verify import compare, verify

    out = Output(as_json=json)
    against: dict[str, Any] = {}
    if a is None or (cell / CELL_FILE).exists():
        config = open_cell(cell).config
        limits = hard_limits(arm_of(config)[0], config)
        against = {"wanted": CellOfTable.of(config), "limits": limits, "j1_safe_max_deg": config.arm.j1_safe_max_deg}
    paths = [cell / "reach.parquet" if a is None else a, *([] if b is None else [b])]
    with out.aside.status("reading"):
        copies = [verify(path, **against) for path in paths]
        difference = compare(copies[0][1], copies[1][1]) if len(copies) > 1 else None
    reports = [report for report, _ in copies]
    told: dict[str, Any] = {
        "copies": [_soundness(report) for report in reports],
        "difference": None if difference is None else difference.as_dict(),
    }
    lines = [line for report in reports for line in _soundness_lines(report)]
    if difference is not None:
        lines += _difference_lines(difference)
    out.answer(told, "\n".join(lines))
    if not all(report.sound for report in reports):
        return EXIT_CODE_OF_FAMILY["invalid"]
    return 0 if difference is None or difference.same_content else EXIT_CODE_OF_FAMILY["failed"]


def _soundness(report: Soundness) -> dict[str, Any]:
    from dataclasses import asdict

    return asdict(report) | {"sound": report.sound}


def _soundness_lines(r: Soundness) -> list[str]:
    return [
        f"[bold]{r.file}[/bold]  {'sound' if r.sound else '[red]not sound[/red]'}",
        f"  rows        {r.rows:,}, content {r.content_hash[:12]}, as its metadata says",
        f"  kinematics  {r.off_rows:,} rows more than 3 mm off (median {r.off_median_mm:.3f}, largest"
        f" {r.off_max_mm:.3f} mm); {r.not_finite:,} with a number that is none",
        f"  doubles     {r.doubles:,} rows with the joints of an earlier one",
        f"  unused      {r.outside_limits:,} rows outside the joint limits or j1's safe maximum",
        f"  cell        {r.other_cell or 'no other than the settings say'}",
        f"  index       {r.index}",
    ]


def _difference_lines(d: Difference) -> list[str]:
    if d.same_content:
        return ["the same rows in the same order, to the last bit"]
    lines = [f"[bold]the copies differ[/bold]: {d.in_both:,} rows in both"]
    for name, batches in (("first", d.only_a), ("second", d.only_b)):
        lines.append(f"  only in the {name}: {sum(b.only_here for b in batches):,} rows")
        lines += [_batch_line(batch) for batch in batches]
    if d.other_point:
        lines.append(f"  {d.other_point:,} rows in both have another point")
    if d.other_order:
        lines.append("  rows in both stand in another order")
    if d.other_cell:
        lines.append(f"  made for another cell: {d.other_cell}")
    return lines


def _batch_line(batch: OnlyHere) -> str:
    return f"    {batch.only_here:>9,} of {batch.rows:,}  {batch.made_at[:16].replace('T', ' ')}  {batch.source}"
