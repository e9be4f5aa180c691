"""`trialcell batch`: many trials by a plan, with the scene reset in between; watched, stopped, gone on with."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from runner.cli.batch_plan import (
    AOption,
    BOption,
    CountArgument,
    ForOption,
    FromOption,
    KindOption,
    SeedOption,
    SetOption,
    UntilOption,
    plan,
    planned,
    settings_of,
)
from runner.cli.options import DEFAULT_CELL, CellOption, JsonOption, ProfileOption
from runner.cli.output import Output

if TYPE_CHECKING:
    from runner.batch.run import BatchRun
    from runner.cell import Cell
    from runner.cli.batch_engine import Host
    from runs.batches import BatchFolder


class _RunByDefault(TyperGroup):
    """`batch 20` means `batch run 20`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """A first word that is a number is the count of `run`."""
        if args and args[0].isdigit():
            args = ["run", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_RunByDefault, no_args_is_help=True, epilog="Example: trialcell batch 20   or   trialcell batch resume"
)

app.command(epilog="Example: trialcell batch plan 40 --kind halton --out starts.csv")(plan)

WorkersOption = Annotated[
    int | None, typer.Option(min=1, max=256, help="Processes of a twin batch; by the settings one a core.")
]
EngineOption = Annotated[
    str, typer.Option(metavar="processes|ray", help="Who runs the trials: processes here, or a Ray cluster.")
]
AddressOption = Annotated[
    str | None,
    typer.Option(
        "--ray-address",
        metavar="ADDRESS",
        help="Of the cluster; else batch.ray_address, else $RAY_ADDRESS, else one is started here for this batch.",
    ),
]
NameArgument = Annotated[str, typer.Argument(metavar="[BATCH]", help="Its id or number; the latest by default.")]


@app.command(epilog="Example: trialcell batch run 20 --kind halton --profile field")
def run(
    n: CountArgument = None,
    kind: KindOption = "random",
    file: FromOption = None,
    seed: SeedOption = 1,
    profile: ProfileOption = None,
    a: AOption = None,
    b: BOption = None,
    set_: SetOption = None,
    until: UntilOption = None,
    time: ForOption = None,
    workers: WorkersOption = None,
    engine: EngineOption = "processes",
    ray_address: AddressOption = None,
    cell: CellOption = DEFAULT_CELL,
    json: JsonOption = False,
) -> int:
    """Run a batch of trials.

    The arm puts the block back between two trials. Ctrl-C once: pause after the trial under way. Twice: stop now.
    """
    from runner.cell import open_cell
    from runner.cli.batch_engine import Host

    settings = settings_of(set_, profile)
    opened = open_cell(cell, settings)
    made = planned(opened, n, kind, file, seed, settings, a, b, until, time)
    from runs.batches import BatchStore

    host = Host(engine, workers, ray_address)
    return _go(opened, BatchStore(opened.folder).create(made), host, Output(as_json=json))


@app.command(epilog="Example: trialcell batch resume   or   trialcell batch resume 3 --workers 1")
def resume(
    name: NameArgument = "latest",
    workers: WorkersOption = None,
    engine: EngineOption = "processes",
    ray_address: AddressOption = None,
    cell: CellOption = DEFAULT_CELL,
    json: JsonOption = False,
) -> int:
    """Go on with a batch that was paused, stopped or killed.

    What has a result stays; a trial that was cut off is closed as crashed and its start is run again.
    """
    from runner.cell import open_cell
    from runner.cli.batch_engine import Host
    from runs.batches import BatchStore

    host = Host(engine, workers, ray_address)
    return _go(open_cell(cell), BatchStore(cell).find(name), host, Output(as_json=json))


@app.command(epilog="Example: trialcell batch status   or   trialcell batch status 3 --window 200")
def status(
    name: NameArgument = "latest",
    window: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Hold the first N finished starts against the last N.")
    ] = None,
    cell: CellOption = DEFAULT_CELL,
    json: JsonOption = False,
) -> int:
    """Say how far a batch is and how it goes, also while it runs."""
    from rich.text import Text

    from runner.cell import open_cell
    from runner.cli.batch_upkeep import upkeep_told
    from runner.cli.batch_view import figures
    from runs.batch_state import BatchState
    from runs.batch_upkeep import upkeep_of
    from runs.batches import BatchStore

    batch = BatchStore(cell).find(name)
    state = BatchState.of(batch.plan(), batch.events())
    told = state.summary(running=batch.is_running())
    upkeep, words = upkeep_told(upkeep_of(state, open_cell(cell).runs_dir, batch.resets_dir))
    told = {**told, **upkeep}
    lines = [Text(f"{batch.batch_id}: {told['state']}"), *figures(state), *words]
    if told["paused"] and not told["running"]:
        lines.append(Text(f"paused: {told['paused']}", style="yellow"))
    for called in state.calls[-3:]:
        lines.append(Text(f"a person was called: {called.why}\n  → {called.suggestion}", style="yellow"))
    if window is not None:
        from runner.cli.batch_windows import windows_told

        found, words = windows_told(state, window)
        told, lines = {**told, **found}, [*lines, *words]
    Output(as_json=json).answer({**told, "folder": str(batch.folder)}, *lines)
    return 0


@app.command(epilog="Example: trialcell batch stop")
def stop(
    name: NameArgument = "latest",
    now: Annotated[bool, typer.Option("--now", help="Don't wait for the end of the trial under way.")] = False,
    cell: CellOption = DEFAULT_CELL,
    json: JsonOption = False,
) -> int:
    """Pause a batch that runs: after the trial under way; asked twice, at once."""
    import getpass

    from runs.batches import BatchStore

    batch, out = BatchStore(cell).find(name), Output(as_json=json)
    if not batch.is_running():
        out.answer({"batch_id": batch.batch_id, "running": False}, f"{batch.batch_id} is not running")
        return 0
    at_once = batch.ask_to_stop(now=now, by=getpass.getuser())
    when = "now" if at_once else "after the trial under way; say it again for: now"
    out.answer({"batch_id": batch.batch_id, "running": True, "now": at_once}, f"{batch.batch_id} stops {when}")
    return 0


@app.command(epilog="Example: trialcell batch report   or   trialcell batch report 3 --out monday.html")
def report(
    name: NameArgument = "latest",
    to: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="By default in its folder.")] = None,
    cell: CellOption = DEFAULT_CELL,
    json: JsonOption = False,
) -> int:
    """Write a batch as one HTML page that opens offline, with the pictures of its most telling trials."""
    from rich.text import Text

    from runs.batches import BatchStore

    out, batch = Output(as_json=json), BatchStore(cell).find(name)
    path = _reported(batch, cell, out, to)
    out.answer({"batch_id": batch.batch_id, "out": str(path)}, Text(str(path), no_wrap=True))
    return 0


@app.command("list", epilog="Example: trialcell batch list")
def list_(cell: CellOption = DEFAULT_CELL, json: JsonOption = False) -> int:
    """List the batches of a cell."""
    from rich.table import Table

    from runner.cli.batch_view import rate_in_words
    from runs.batch_state import BatchState
    from runs.batches import BatchStore

    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("batch", "state", "finished", "success"):
        table.add_column(heading)
    told = []
    for batch in BatchStore(cell).list():
        state = BatchState.of(batch.plan(), batch.events())
        summary = state.summary(running=batch.is_running())
        told.append(summary)
        done = f"{summary['finished']} of {summary['planned']}"
        table.add_row(batch.batch_id, summary["state"], done, rate_in_words(state.success()))
    Output(as_json=json).answer(
        {"batches": told}, table if told else "no batch yet; begin one with: trialcell batch 20"
    )
    return 0


def _go(opened: Cell, batch: BatchFolder, host: Host, out: Output) -> int:
    """Run what is left of a batch and say how it went."""
    from rich.text import Text

    from runner.batch.pause import Pause
    from runner.batch.run import cells_of, run_batch
    from runner.cli.batch_view import BatchView, figures

    made = batch.plan()
    cells = cells_of(opened, made)
    pause = Pause(batch, passed_on=host.hears_no_signals(cells, made))
    view = BatchView(batch, made, out.aside if out.as_json else out.console, opened.runs_dir)
    with host.engine(cells, batch, made, pause) as (engine, n), view.watching(), pause.watching(view.pausing):
        done = run_batch(opened, batch, pause, workers=n, engine=engine, preparing=view.preparing)
    told = {**done.state.summary(running=False), "folder": str(batch.folder), "report": None}
    lines: list[Any] = ["", *figures(done.state)]
    if done.halt is not None:
        lines.append(f"go on with: trialcell batch resume {_number(batch)}")
    else:
        told["report"] = str(_reported(batch, opened.folder, out))
        lines.append(Text(f"report: {told['report']}", no_wrap=True))
    out.answer(told, *lines)
    return _exit_code(done)


def _reported(batch: BatchFolder, cell: Path, out: Output, to: Path | None = None) -> Path:
    """The page of a batch's runs; where it stands.

    Raises:
        RecordError: it has no runs yet.
    """
    from importlib.metadata import version

    from runner.cli.runs_index import many_runs
    from runs.batch_state import BatchState
    from runs.files import write_atomic
    from runs.index.select import Selection
    from runs.report.report import batch_report

    ids = tuple(event.run_id for event in BatchState.of(batch.plan(), batch.events()).ended)
    with many_runs([cell], out) as many:
        selection = Selection(run_ids=ids)
        html, _ = batch_report(many, selection, version=version("trialcell"), title=batch.batch_id)
    path = to if to is not None else batch.folder / "report.html"
    write_atomic(path, html.encode())
    return path


def _number(batch: BatchFolder) -> str:
    return str(int(batch.batch_id.split("_")[1]))


def _exit_code(done: BatchRun) -> int:
    """Done is 0; a pause has the code of what it was for."""
    from runner.cli.failures import DONE, EXIT_CODE_OF_FAMILY, INTERRUPTED

    if done.halt is None:
        return DONE
    families = {"call": "invalid", "latch": "refused", "disk": "device", "faults": "device"}
    return INTERRUPTED if done.halt.by == "person" else EXIT_CODE_OF_FAMILY[families[done.halt.by]]
