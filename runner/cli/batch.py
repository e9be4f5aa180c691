"""`trialcell batch`: many trials by a plan, with the scene reset in between; watched, stopped, gone on with."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer.core import TyperGroup

from runner.cli.options import DEFAULT_CELL, CellOption, JsonOption
from runner.cli.output import Output

if TYPE_CHECKING:
    from runner.batch.run import BatchRun, Engine
    from runner.cell import Cell
    from runs.batches import BatchFolder
    from runs.schema.batch import BatchPlan


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

Kind = Literal["random", "halton", "grid"]
KindOption = Annotated[Kind, typer.Option(help="How places are drawn: random, evenly spread (halton), on a grid.")]
FromOption = Annotated[
    Path | None, typer.Option("--from", metavar="FILE", help="Starts from a CSV or JSON file: x_m, z_m, yaw_deg, …")
]
SeedOption = Annotated[int, typer.Option(min=0, help="Fixes places, order, light and noise.")]
SetOption = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Any setting, as often as you like.")
]
AOption = Annotated[
    list[str] | None,
    typer.Option("--a", metavar="KEY=VALUE", help="A setting of A; each start is tried with both."),
]
BOption = Annotated[list[str] | None, typer.Option("--b", metavar="KEY=VALUE", help="A setting of B.")]
ProfileOption = Annotated[
    Literal["perfect", "field"] | None, typer.Option(help="How imperfect the twin's arm and camera are.")
]
WorkersOption = Annotated[
    int | None, typer.Option(min=1, max=256, help="Processes of a twin batch; by the settings one a core.")
]
UntilOption = Annotated[
    str | None,
    typer.Option(metavar="5%|decided", help="End early: once the rate is known so well, or A from B."),
]
CountArgument = Annotated[
    int | None, typer.Argument(min=1, metavar="[N]", help="How many starts; by default all of a file.")
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
    workers: WorkersOption = None,
    cell: CellOption = DEFAULT_CELL,
    json: JsonOption = False,
) -> int:
    """Run a batch of trials.

    The arm puts the block back between two trials. Ctrl-C once: pause after the trial under way. Twice: stop now.
    """
    from runner.cell import open_cell

    settings = _settings(set_, profile)
    opened = open_cell(cell, settings)
    plan = _planned(opened, n, kind, file, seed, settings, a, b, until)
    from runs.batches import BatchStore

    return _go(opened, BatchStore(opened.folder).create(plan), workers, Output(as_json=json))


@app.command(epilog="Example: trialcell batch resume   or   trialcell batch resume 3 --workers 1")
def resume(
    name: NameArgument = "latest",
    workers: WorkersOption = None,
    cell: CellOption = DEFAULT_CELL,
    json: JsonOption = False,
) -> int:
    """Go on with a batch that was paused, stopped or killed.

    What has a result stays; a trial that was cut off is closed as crashed and its start is run again.
    """
    from runner.cell import open_cell
    from runs.batches import BatchStore

    return _go(open_cell(cell), BatchStore(cell).find(name), workers, Output(as_json=json))


@app.command(epilog="Example: trialcell batch status   or   trialcell batch status 3 --json")
def status(name: NameArgument = "latest", cell: CellOption = DEFAULT_CELL, json: JsonOption = False) -> int:
    """Say how far a batch is and how it goes, also while it runs."""
    from rich.text import Text

    from runner.cli.batch_view import figures
    from runs.batch_state import BatchState
    from runs.batches import BatchStore

    batch = BatchStore(cell).find(name)
    state = BatchState.of(batch.plan(), batch.events())
    told = state.summary(running=batch.is_running())
    lines = [Text(f"{batch.batch_id}: {told['state']}"), *figures(state)]
    if told["paused"] and not told["running"]:
        lines.append(Text(f"paused: {told['paused']}", style="yellow"))
    for called in state.calls[-3:]:
        lines.append(Text(f"a person was called: {called.why}\n  → {called.suggestion}", style="yellow"))
    Output(as_json=json).answer({**told, "folder": str(batch.folder)}, *lines)
    return 0


@app.command(epilog="Example: trialcell batch stop   and once more for: now")
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


@app.command(epilog="Example: trialcell batch plan 40 --kind halton --out starts.csv")
def plan(
    n: CountArgument = None,
    kind: KindOption = "random",
    file: FromOption = None,
    seed: SeedOption = 1,
    a: AOption = None,
    b: BOption = None,
    set_: SetOption = None,
    until: UntilOption = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the starts here, as CSV for --from.")] = None,
    detect: Annotated[
        str | None, typer.Option(metavar="5%", help="Say how many pairs it takes to see such a difference of A and B.")
    ] = None,
    base: Annotated[str, typer.Option(metavar="90%", help="How often the worse of the two succeeds.")] = "90%",
    power: Annotated[str, typer.Option(metavar="80%", help="The chance with which it is to be seen.")] = "80%",
    cell: CellOption = DEFAULT_CELL,
    json: JsonOption = False,
) -> int:
    """Show what a batch would try, without running it; or with --detect, how large it has to be."""
    if detect is not None:
        shares = _share(detect, "--detect"), _share(base, "--base"), _share(power, "--power")
        return _sized(*shares, Output(as_json=json))
    from runner.batch.plan_file import places_csv
    from runner.cell import open_cell
    from runner.cli.batch_map import map_of
    from runs.files import write_atomic

    opened = open_cell(cell, _settings(set_, None))
    made = _planned(opened, n, kind, file, seed, _settings(set_, None), a, b, until)
    if out is not None:
        write_atomic(out, places_csv(made).encode())
    sessions, rounds = len({s.session for s in made.starts}), made.starts[-1].round + 1
    words = f"{len(made.starts)} trials in {sessions} sessions and {rounds} rounds"
    Output(as_json=json).answer(made.model_dump(mode="json"), map_of(made), words)
    return 0


def _settings(set_: list[str] | None, profile: str | None) -> tuple[str, ...]:
    return (*(set_ or ()), *((f"twin.profile={profile}",) if profile else ()))


def _share(text: str, option: str) -> float:
    """`5%` or `0.05` as 0.05."""
    from math import isfinite

    try:
        share = float(text.removesuffix("%")) / (100.0 if text.endswith("%") else 1.0)
    except ValueError:
        share = float("nan")
    if not isfinite(share) or not 0.0 < share < 1.0:
        raise typer.BadParameter(f"{option} wants a share between 0 and 100 %, for example 5%; got {text!r}")
    return share


def _sized(difference: float, base: float, power: float, out: Output) -> int:
    """How many pairs of trials it takes."""
    from dataclasses import asdict

    from runs.sizing import MOST_TRIALS, trials_to_detect

    needed = trials_to_detect(difference, base=base, power=power)
    if needed is None:
        raise typer.BadParameter(f"that takes more than {MOST_TRIALS} pairs; look for a larger difference")
    out.answer(
        {**asdict(needed), "trials": needed.trials},
        f"{needed.pairs} pairs, {needed.trials} trials: a difference of {difference:.1%} over {needed.base:.0%} is "
        f"then seen with a chance of {needed.power:.0%}",
        f"run them: trialcell batch run {needed.pairs} --a KEY=VALUE --b KEY=VALUE",
    )
    return 0


def _planned(
    opened: Cell,
    n: int | None,
    kind: Kind,
    file: Path | None,
    seed: int,
    settings: tuple[str, ...],
    a: list[str] | None,
    b: list[str] | None,
    until: str | None,
) -> BatchPlan:
    from runner.batch.plan import PlanRequest, make_plan
    from runner.batch.plan_file import read_places
    from runner.batch.run import cells_of
    from runner.table.postures import arm_of
    from runs.batches import BatchStore
    from runs.events import utc_text
    from runs.store import RunStore

    places = () if file is None else read_places(file)
    if n is None and not places:
        raise typer.BadParameter("how many starts? for example: trialcell batch 20")
    decided = until == "decided"
    request = PlanRequest(
        n=n or len(places),
        kind=kind if file is None else "file",
        seed=seed,
        places=places,
        stop_decided=decided,
        stop_within=None if until is None or decided else _share(until, "--until"),
        settings=settings,
        settings_a=tuple(a or ()),
        settings_b=tuple(b or ()),
    )
    made = make_plan(
        request,
        opened.config,
        arm_of(opened.config)[0],
        batch_id=BatchStore(opened.folder).new_id(),
        made_at=utc_text(),
        first_number=RunStore(opened.runs_dir).last_number() + 1,
    )
    cells_of(opened, made)
    return made


def _go(opened: Cell, batch: BatchFolder, workers: int | None, out: Output) -> int:
    """Run what is left of a batch and say how it went."""
    from runner.batch.pause import Pause
    from runner.batch.run import cells_of, run_batch, workers_for
    from runner.batch.workers import SideBySide
    from runner.cli.batch_view import BatchView, figures

    plan = batch.plan()
    cells = cells_of(opened, plan)
    n = workers_for(next(iter(cells.values())).config, plan, workers)
    pause = Pause(batch, passed_on=n > 1)
    view = BatchView(batch, plan, out.aside if out.as_json else out.console)
    beside = SideBySide(cells, batch, plan, pause, n) if n > 1 else None
    engine: Engine | None = beside
    try:
        with view.watching(), pause.watching(view.pausing):
            done = run_batch(opened, batch, pause, workers=n, engine=engine, preparing=view.preparing)
    finally:
        if beside is not None:
            beside.close()
    told = {**done.state.summary(running=False), "folder": str(batch.folder)}
    lines: list[Any] = ["", *figures(done.state)]
    if done.halt is not None:
        lines.append(f"go on with: trialcell batch resume {_number(batch)}")
    out.answer(told, *lines)
    return _exit_code(done)


def _number(batch: BatchFolder) -> str:
    return str(int(batch.batch_id.split("_")[1]))


def _exit_code(done: BatchRun) -> int:
    """Done is 0; a pause has the code of what it was for."""
    from runner.cli.failures import DONE, EXIT_CODE_OF_FAMILY, INTERRUPTED

    if done.halt is None:
        return DONE
    families = {"call": "invalid", "latch": "refused", "disk": "device", "faults": "device"}
    return INTERRUPTED if done.halt.by == "person" else EXIT_CODE_OF_FAMILY[families[done.halt.by]]
