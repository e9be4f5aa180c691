"""What a batch would try, and how large it has to be: the planning half of `trialcell batch`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from runner.cli.options import DEFAULT_CELL, CellOption, JsonOption
from runner.cli.output import Output

if TYPE_CHECKING:
    from runner.cell import Cell
    from runs.batch_records import BatchPlan

_SHORTEST_TRIAL_S = 60.0  # with its reset: a plan for a time has starts enough
_LONGEST_S = 30 * 86_400.0

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
UntilOption = Annotated[
    str | None,
    typer.Option(metavar="5%|decided", help="End early: once the rate is known so well, or A from B."),
]
ForOption = Annotated[
    str | None,
    typer.Option("--for", metavar="24h|90min", help="Go on for so long by the arm's clock, however many that makes."),
]
CountArgument = Annotated[
    int | None, typer.Argument(min=1, metavar="[N]", help="How many starts; by default all of a file.")
]


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

    opened = open_cell(cell, settings_of(set_, None))
    made = planned(opened, n, kind, file, seed, settings_of(set_, None), a, b, until)
    if out is not None:
        write_atomic(out, places_csv(made).encode())
    sessions, rounds = len({s.session for s in made.starts}), made.starts[-1].round + 1
    words = f"{len(made.starts)} trials in {sessions} sessions and {rounds} rounds"
    Output(as_json=json).answer(made.model_dump(mode="json"), map_of(made), words)
    return 0


def settings_of(set_: list[str] | None, profile: str | None) -> tuple[str, ...]:
    """Settings as a plan keeps them."""
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


def _seconds(text: str) -> float:
    """`24h`, `90min` or `45s` as seconds."""
    from math import isfinite

    number = text.rstrip("hmins")
    unit_s = {"h": 3600.0, "m": 60.0, "min": 60.0, "s": 1.0}.get(text[len(number) :])
    try:
        seconds = float(number) * (unit_s or float("nan"))
    except ValueError:
        seconds = float("nan")
    if not isfinite(seconds) or not 0.0 < seconds <= _LONGEST_S:
        raise typer.BadParameter(f"--for wants a time up to 30 days, for example 24h or 90min; got {text!r}")
    return seconds


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


def planned(
    opened: Cell,
    n: int | None,
    kind: Kind,
    file: Path | None,
    seed: int,
    settings: tuple[str, ...],
    a: list[str] | None,
    b: list[str] | None,
    until: str | None,
    time: str | None = None,
) -> BatchPlan:
    """The plan that was asked for, checked against the cell; nothing is made.

    Raises:
        NoSuchPlan, WrongRequest: it can't be.
    """
    from math import ceil

    from runner.batch.plan import PlanRequest, make_plan
    from runner.batch.plan_file import read_places
    from runner.batch.run import cells_of
    from runner.table.postures import arm_of
    from runs.batches import BatchStore
    from runs.events import utc_text
    from runs.store import RunStore

    places = () if file is None else read_places(file)
    after_s = None if time is None else _seconds(time)
    if after_s is not None and n is None:
        n = ceil(after_s / _SHORTEST_TRIAL_S)
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
        stop_after_s=after_s,
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
