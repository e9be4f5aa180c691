"""`trialcell runs export` and `import`: runs as tables and lines for other programs, and runs of other folders in.

The commands are registered in `runs.py`.
"""

from __future__ import annotations

import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from runner.cli.options import (
    DEFAULT_CELL,
    DEFAULT_CELLS,
    CellOption,
    CellsOption,
    JsonOption,
    SinceOption,
    UntilOption,
    WhereOption,
)
from runner.cli.output import Output
from runner.cli.runs_index import many_runs, selected

if TYPE_CHECKING:
    from runs.export.tables import Table
    from runs.index.questions import ManyRuns
    from runs.index.select import Selection

FORMATS = ("csv", "jsonl", "logs", "inspect")


def export(
    form: Annotated[
        str,
        typer.Argument(
            metavar="FORMAT",
            help="csv or jsonl: a row a line; logs: whole logs as JSON Lines; inspect: a log of Inspect.",
        ),
    ],
    to: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Where to; stdout by default.")] = None,
    table: Annotated[
        str, typer.Option("--table", help="A row for each of these: runs, lookups, stages, picks or tips.")
    ] = "runs",
    where: WhereOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    cells: CellsOption = DEFAULT_CELLS,
    json: JsonOption = False,
) -> None:
    """Write runs as a table with the units in the names of its columns, as whole logs, or as a log of Inspect."""
    from runs.export.tables import table_rows, whole_logs, write_csv, write_jsonl

    if form not in FORMATS:
        raise typer.BadParameter(f"the format is {', '.join(FORMATS[:-1])} or {FORMATS[-1]}; got {form!r}")
    if json and to is None:
        raise typer.BadParameter("with --json, say where the rows go: --out FILE")
    out = Output(as_json=json)
    with many_runs(cells, out) as many:
        selection = selected(where, since, until)
        if form == "inspect":
            _inspect(many, selection, to, out)
            return
        rows = whole_logs(many, selection) if form == "logs" else table_rows(many, selection, _table(table))
        with _sink(to) as sink:
            n = write_csv(rows, sink) if form == "csv" else write_jsonl(rows, sink)
        left_out = many.unreadable(selection) if form == "logs" else []
    if to is None:
        return
    data = {"out": str(to), "format": form, "table": table, "rows": n, "left_out": left_out}
    out.answer(data, f"{n} rows in {to}", *(f"left out: {row['run_id']}  {row['problem']}" for row in left_out))


def _inspect(many: ManyRuns, selection: Selection, to: Path | None, out: Output) -> None:
    from importlib.metadata import version

    from runs.export.inspect_log import write_inspect

    with _sink(to) as sink:
        name = "trials of " + ", ".join(many.labels)
        written = write_inspect(many, selection, sink, version=version("trialcell"), name=name)
    if to is not None:
        data = {"out": str(to), "format": "inspect", "rows": written.samples, "left_out": written.left_out}
        told = (f"left out: {row['run_id']}  {row['problem']}" for row in written.left_out)
        out.answer(data, f"{written.samples} samples in {to}", *told)


def _table(text: str) -> Table:
    from runs.export.tables import TABLES

    for table in TABLES:
        if table == text:
            return table
    raise typer.BadParameter(f"--table is one of {', '.join(TABLES)}; got {text!r}")


@contextmanager
def _sink(to: Path | None) -> Iterator[IO[str]]:
    """A file that is whole or not there, or stdout."""
    from runs.files import storage

    if to is None:
        yield sys.stdout
        return
    temporary = to.with_name(f".{to.name}.{secrets.token_hex(4)}.tmp")
    try:
        with storage(to):
            with temporary.open("w", encoding="utf-8", newline="") as file:
                yield file
            temporary.replace(to)
    finally:
        temporary.unlink(missing_ok=True)


def import_runs(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH", help="Logs, or folders to look through for logs.")],
    cell: CellOption = DEFAULT_CELL,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be taken in.")] = False,
    json: JsonOption = False,
) -> int:
    """Take runs of other folders into the cell, field logs and today's, with their pictures; none is written over."""
    from runs.export.take_in import counted, logs_below, take_in
    from runs.store import RunStore

    out = Output(as_json=json)
    store = RunStore(cell / "runs")
    missing = [str(path) for path in paths if not path.exists()]
    if missing:
        raise typer.BadParameter(f"there is no {missing[0]}")
    if not dry_run:
        store.check_writable()
    done = []
    with out.aside.status("looking for logs …"):
        for path in logs_below(paths):
            done.append(take_in(path, store, dry=dry_run))
    counts = counted(done)
    data = {"cell": str(cell), "dry_run": dry_run, **counts, "logs": [one.as_object() for one in done]}
    out.answer(data, *_told(done, counts, dry_run))
    return 0 if counts["taken"] or counts["there already"] else 3


def _told(done: list[Any], counts: dict[str, int], dry_run: bool) -> Iterator[Any]:
    from rich.text import Text

    from runner.cli.show.parts import QUIET
    from runs.figures import clean

    for one in done:
        if one.outcome == "taken":
            pictures = f"{one.pictures} pictures" + (
                f", {len(one.pictures_missing)} more are nowhere" if one.pictures_missing else ""
            )
            yield Text.assemble(("✓ ", "green"), f"{one.run_id}  schema {one.schema}, {pictures}")
        elif one.outcome == "there already":
            yield Text(f"· {one.run_id}  is there already", style=QUIET)
        else:
            yield Text.assemble(("✗ ", "bold red"), clean(f"{one.source}  {one.reason}"))
    if not done:
        yield Text("no logs there", style=QUIET)
    taken = "would be taken in" if dry_run else "taken in"
    yield Text(
        f"\n{counts['taken']} {taken}, {counts['there already']} there already, {counts['left out']} left out",
        style=QUIET,
    )
