"""`trialcell runs export` and `import`: runs as tables and lines for other programs, and runs of other folders in.

The commands are registered in `runs.py`.
"""

from __future__ import annotations

import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
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
from runner.cli.runs_named import named

if TYPE_CHECKING:
    from runner.pictures.run_recording import Recorded
    from runs.export.tables import Table
    from runs.index.questions import ManyRuns
    from runs.index.select import Selection

FORMATS = ("csv", "jsonl", "logs", "inspect", "lerobot", "rerun")
_TO_A_PLACE = ("lerobot", "rerun")
_WHAT = {"lerobot": "dataset", "rerun": "recording"}
_EXAMPLE = {"lerobot": "dataset", "rerun": "runs.rrd"}


def export(
    form: Annotated[
        str,
        typer.Argument(
            metavar="FORMAT",
            help="csv or jsonl: a row a line; logs: whole logs as JSON Lines; inspect: a log of Inspect; lerobot: a "
            "dataset, a new folder; rerun: a recording for the 3-D viewer.",
        ),
    ],
    runs: Annotated[
        list[str] | None, typer.Argument(metavar="[RUN]...", help="Only these: names, numbers, latest, or 2-40.")
    ] = None,
    to: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Where to; stdout by default, where that can be.")
    ] = None,
    table: Annotated[
        str, typer.Option("--table", help="A row for each of these: runs, lookups, stages, picks or tips.")
    ] = "runs",
    where: WhereOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    cells: CellsOption = DEFAULT_CELLS,
    json: JsonOption = False,
) -> None:
    """Write runs for other programs: as a table with units in its columns' names, as logs, a dataset or a recording."""
    from runs.export.tables import table_rows, whole_logs, write_csv, write_jsonl

    if form not in FORMATS:
        raise typer.BadParameter(f"the format is {', '.join(FORMATS[:-1])} or {FORMATS[-1]}; got {form!r}")
    if json and to is None:
        raise typer.BadParameter("with --json, say where the rows go: --out FILE")
    if form in _TO_A_PLACE and to is None:
        raise typer.BadParameter(f"say where the {form} {_WHAT[form]} goes: --out {_EXAMPLE[form]}")
    if form == "rerun" and to is not None and to.suffix != ".rrd":
        raise typer.BadParameter(f"--out: a recording ends in .rrd, got {to}")
    out = Output(as_json=json)
    with many_runs(cells, out) as many:
        selection = selected(where, since, until, run_ids=named(runs or [], many))
        if form in _TO_A_PLACE and to is not None:
            (_lerobot if form == "lerobot" else _rerun)(many, selection, to, out)
            return
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


def _lerobot(many: ManyRuns, selection: Selection, to: Path, out: Output) -> None:
    from runs.export.lerobot import write_lerobot

    rows = many.stream(selection, ["cell", "run_id"])
    with out.aside.status("writing the dataset …"):
        written = write_lerobot(((row["cell"], many.runs_dir(row["cell"]) / row["run_id"]) for row in rows), to)
    data = {
        "out": str(to),
        "format": "lerobot",
        "episodes": written.episodes,
        "frames": written.frames,
        "pictures_missing": written.pictures_missing,
        "left_out": written.left_out,
    }
    told = [f"left out: {row['run_id']}  {row['problem']}" for row in written.left_out]
    if written.pictures_missing:
        told.append(f"{written.pictures_missing} pictures are nowhere or can't be read")
    out.answer(data, f"{written.episodes} episodes of {written.frames} frames in {to}", *told)


def _rerun(many: ManyRuns, selection: Selection, to: Path, out: Output) -> None:
    try:
        from runner.pictures.run_recording import write_runs
    except ModuleNotFoundError as error:
        from runner.pictures.errors import NoViewer

        raise NoViewer(
            f"a recording needs {error.name}, which is not installed", next_step='pip install "trialcell[view]"'
        ) from None
    from runs.errors import RecordError

    left_out: list[dict[str, Any]] = []
    with out.aside.status("writing the recording …"):
        runs = _recorded(many, selection, left_out)
        first = next(runs, None)
        if first is None and left_out:
            why = f"{left_out[0]['run_id']}: {left_out[0]['problem']}"
            raise RecordError(f"no run can be recorded: {why}", next_step="list what there is: trialcell runs list")
        n = write_runs(to, runs if first is None else chain((first,), runs))
    data = {"out": str(to), "format": "rerun", "runs": n, "left_out": left_out}
    told = (f"left out: {row['run_id']}  {row['problem']}" for row in left_out)
    out.answer(data, f"{n} runs in {to}; see them: rerun {to}", *told)


def _recorded(many: ManyRuns, selection: Selection, left_out: list[dict[str, Any]]) -> Iterator[Recorded]:
    """The selected runs with the arm that each was made with; those of another arm than the first are left out.

    So are those whose records carry no times: a recording of them would be empty.
    """
    from runner.cell import open_cell
    from runner.config import CELL_FILE, Config
    from runner.pictures.run_recording import Recorded
    from runner.review.replay import arm_then
    from runs.errors import TrialcellError
    from runs.export.frames import NO_TIMES, has_times
    from runs.store import open_folder

    cells = {label: many.runs_dir(label).parent for label in many.labels}
    settings = {
        label: open_cell(folder).config if (folder / CELL_FILE).is_file() else Config()
        for label, folder in cells.items()
    }
    arm = None
    for row in many.stream(selection, ["cell", "run_id"]):
        folder = many.runs_dir(row["cell"]) / row["run_id"]
        try:
            log = open_folder(folder).log
            model, base = arm_then(log, settings[row["cell"]])
        except TrialcellError as error:
            left_out.append({**row, "problem": error.message})
            continue
        if not has_times(log):
            left_out.append({**row, "problem": NO_TIMES})
            continue
        arm = arm or model.name
        if model.name != arm:
            left_out.append({**row, "problem": f"its arm is {model.name}, the recording's is {arm}"})
            continue
        yield Recorded(log, folder, model, base)


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
