"""`trialcell twin`: the digital twin by itself, without a trial, or served as if it were the arm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from runner.cli import twin_fit, twin_parity, twin_rehearse, twin_serve, twin_sync
from runner.cli.options import DEFAULT_CELL, CellOption, JsonOption, ProfileOption, SetOption
from runner.cli.output import Output

if TYPE_CHECKING:
    from runner.twin.shuttle import ShuttleResult, Visit

app = typer.Typer(no_args_is_help=True, epilog="Example: trialcell twin shuttle")
app.command(epilog=twin_serve.EPILOG)(twin_serve.serve)
app.command(epilog=twin_parity.EPILOG)(twin_parity.parity)
app.command(epilog=twin_rehearse.EPILOG)(twin_rehearse.rehearse)
app.command(epilog=twin_fit.EPILOG)(twin_fit.fit)
app.command(epilog=twin_sync.EPILOG)(twin_sync.sync)

Place = tuple[float, float, float]
_A_M: Place = (0.04, 0.18, 0.16)
_B_M: Place = (-0.04, 0.18, 0.16)


@app.callback()
def _twin() -> None:
    """Try the digital twin by itself, or serve it as if it were the arm."""


@app.command(epilog="Example: trialcell twin shuttle   or   trialcell twin shuttle --visits 100 --profile field")
def shuttle(
    a: Annotated[Place, typer.Option(metavar="X Y Z", help="The first point, metres, cell frame.")] = _A_M,
    b: Annotated[Place, typer.Option(metavar="X Y Z", help="The second point.")] = _B_M,
    visits: Annotated[int, typer.Option(min=1, max=10_000, help="How many visits, both points in turn.")] = 20,
    gain: Annotated[float, typer.Option(help="Of a CCD sweep: above 0, at most 1.")] = 0.05,
    profile: ProfileOption = None,
    set_: SetOption = None,
    cell: CellOption = DEFAULT_CELL,
    json: JsonOption = False,
) -> int:
    """Let the tool go to and fro between two points by CCD, and say how near it came at each visit.

    The field's first reaching loop: within 50 mm of its point, and at the soonest 1.5 s after the last switch, it turns
    to the other. Fails (exit code 1) unless every visit came within 5 mm.
    """
    from runner.cell import Cell, open_cell
    from runner.config import CELL_FILE, Config, with_overrides
    from runner.twin.shuttle import GOOD_MM, shuttle

    out = Output(as_json=json)
    if not 0.0 < gain <= 1.0:
        raise typer.BadParameter(f"--gain is above 0 and at most 1; got {gain:g}")
    opened = open_cell(cell) if (cell / CELL_FILE).exists() else Cell(cell, Config())
    config = with_overrides(opened.config, [*(set_ or []), *([f"twin.profile={profile}"] if profile else [])])
    result = shuttle(config, a, b, visits=visits, gain=gain, on_visit=_shower(out, visits))
    out.answer(_answer(result, a, b, gain, config.twin.profile), *_told(result, GOOD_MM))
    return 0 if result.good else 1


def _shower(out: Output, total: int) -> Any:
    """Tells each visit on a terminal while the next one runs."""
    console = out.aside

    def show(visit: Visit) -> None:
        if console.is_terminal:
            console.print(f"visit {visit.number} of {total}: {visit.closest_mm:.1f} mm", end="\r")

    return show


def _answer(result: ShuttleResult, a: Place, b: Place, gain: float, profile: str) -> dict[str, Any]:
    from dataclasses import asdict

    return {
        "good": result.good,
        "worst_mm": max((visit.closest_mm for visit in result.visits), default=None),
        "asked": result.asked,
        "gains_unchanged": result.gains_unchanged,
        "gave_up": result.gave_up,
        "a_m": a,
        "b_m": b,
        "gain": gain,
        "profile": profile,
        "visits": [asdict(visit) for visit in result.visits],
    }


def _told(result: ShuttleResult, good_mm: float) -> list[Any]:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("visit", "point", "closest mm", "began s", "lasted s"):
        table.add_column(name, justify="left" if name == "point" else "right")
    for visit in result.visits:
        near = Text(f"{visit.closest_mm:.2f}", style="" if visit.closest_mm <= good_mm else "bold red")
        table.add_row(str(visit.number), visit.point, near, f"{visit.began_s:.2f}", f"{visit.lasted_s:.2f}")
    close = sum(visit.closest_mm <= good_mm for visit in result.visits)
    gains = "the servos' gains are as before" if result.gains_unchanged else "the servos' gains were changed"
    mark = Text("✓ " if result.good else "✗ ", style="green" if result.good else "red")
    words = mark.append(f"{close} of {result.asked} visits within {good_mm:g} mm; {gains}", style="default")
    return [table, *([Text(f"gave up: {result.gave_up}")] if result.gave_up else []), words]
