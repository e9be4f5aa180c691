"""`trialcell runs report`, `open` and `plot`: runs as a page that opens offline, and as plots.

The commands are registered in `runs.py`. They read the record and write the file that they are told to, nothing else.
"""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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
from runner.cli.runs_named import RANGE, named

if TYPE_CHECKING:
    from runs.report.drawing import Drawing


def report(
    runs: Annotated[
        list[str] | None,
        typer.Argument(metavar="RUN|BATCH…", help="Runs by id, number, 1-50, latest, file or folder; all if none."),
    ] = None,
    to: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Where to; by default in the cell's reports/.")
    ] = None,
    title: Annotated[str | None, typer.Option("--title", help="What stands at the top of a batch's page.")] = None,
    detailed: Annotated[
        int, typer.Option("--detailed", min=0, help="So many of a batch are told in full, with pictures.")
    ] = 24,
    where: WhereOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    cells: CellsOption = DEFAULT_CELLS,
    json: JsonOption = False,
) -> None:
    """Write a run or a batch as one HTML page that opens offline, with its pictures in it."""
    from rich.text import Text

    from runs.report.report import batch_report
    from runs.store import RunStore, open_any

    out = Output(as_json=json)
    wanted = list(runs or [])
    narrowed = bool(where or since or until)
    if len(wanted) == 1 and not narrowed and not RANGE.fullmatch(wanted[0]) and not _holds_runs(Path(wanted[0])):
        stored = open_any(wanted[0], RunStore(cells[0] / "runs"))
        path = to if to is not None else cells[0] / "reports" / f"{stored.log.run_id}.html"
        data = _write_run_report(stored, path)
        out.answer(data, Text(str(path), no_wrap=True))
        return
    folders = [Path(each) for each in wanted if _holds_runs(Path(each))] or list(cells)
    with many_runs(folders, out) as many:
        ids = named([each for each in wanted if not _holds_runs(Path(each))], many)
        selection = selected(where, since, until, run_ids=ids)
        name = title if title is not None else f"Trials of {', '.join(many.labels)}"
        with out.aside.status("writing the page …"):
            html, n = batch_report(many, selection, version=version("trialcell"), title=name, detailed=detailed)
    path = to if to is not None else folders[0] / "reports" / "batch.html"
    _write(path, html.encode())
    out.answer({"out": str(path), "runs": n, "bytes": len(html.encode())}, Text(str(path), no_wrap=True))


def open_run(
    run: Annotated[str, typer.Argument(metavar="RUN|FILE|FOLDER", help="A run's id or number, latest, or a log.")],
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open it, or only say where it is.")] = True,
    cell: CellOption = DEFAULT_CELL,
    json: JsonOption = False,
) -> None:
    """Write a run's page and open it in the browser."""
    import webbrowser

    from rich.text import Text

    from runs.store import RunStore, open_any

    out = Output(as_json=json)
    stored = open_any(run, RunStore(cell / "runs"))
    path = cell / "reports" / f"{stored.log.run_id}.html"
    data = _write_run_report(stored, path)
    data["opened"] = browser and webbrowser.open(path.resolve().as_uri())
    data["folder"] = str(stored.entry.folder)
    told = [Text(str(path), no_wrap=True), Text(f"its files: {stored.entry.folder}", style="dim", no_wrap=True)]
    if browser and not data["opened"]:
        told.append(Text("no browser could be opened here", style="yellow"))
    out.answer(data, *told)


def plot(
    what: Annotated[str, typer.Argument(metavar="WHAT", help="success, place, corrections, tip, error or judge.")],
    to: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="As .svg or .png; only in the terminal by default.")
    ] = None,
    step: Annotated[str, typer.Option("--step", help="Of the judge: pick or place.")] = "place",
    where: WhereOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    cells: CellsOption = DEFAULT_CELLS,
    json: JsonOption = False,
) -> None:
    """Plot many runs: success or tip error over the table, corrections, tip error against samples, the judge."""
    from rich.text import Text

    from runner.cli.show.plots import PLOTS
    from runs.report.raster import png

    if what not in PLOTS:
        raise typer.BadParameter(f"there is {', '.join(PLOTS)}; got {what!r}")
    if to is not None and to.suffix.lower() not in (".svg", ".png"):
        raise typer.BadParameter(f"a plot is written as .svg or .png, not as {to.name!r}")
    if step not in ("pick", "place"):
        raise typer.BadParameter(f"--step is pick or place; got {step!r}")
    out = Output(as_json=json)
    with many_runs(cells, out) as many:
        found = PLOTS[what](many, selected(where, since, until), step)
    data: dict[str, Any] = {"plot": what, "rows": found.data, "out": None if to is None else str(to)}
    told = [*found.told]
    if to is not None:
        drawing: Drawing = found.drawing.alone()
        _write(to, png(drawing) if to.suffix.lower() == ".png" else str(drawing.svg(alone=True)).encode())
        told.append(Text(str(to), no_wrap=True))
    out.answer(data, *told)


def _holds_runs(path: Path) -> bool:
    """Whether it is a cell or a folder of runs, and not one run's own folder."""
    return path.is_dir() and not any((path / name).exists() for name in ("run.json", "events.jsonl"))


def _write_run_report(stored: Any, path: Path) -> dict[str, Any]:
    from runs.report.report import run_report

    html = run_report(stored, version=version("trialcell")).encode()
    _write(path, html)
    return {"out": str(path), "runs": 1, "run_id": stored.log.run_id, "bytes": len(html)}


def _write(path: Path, data: bytes) -> None:
    from runs.files import storage, write_atomic

    with storage(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, data)
