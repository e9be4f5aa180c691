"""`trialcell twin parity`: the twin held against a recorded run, joint by joint."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from runner.cli.options import DEFAULT_CELL, CellOption, JsonOption, SetOption
from runner.cli.output import Output

if TYPE_CHECKING:
    from runner.twin.parity import Parity

EPILOG = "Example: trialcell twin parity --log latest   or   trialcell twin parity --log field_run.json --seeds 50"


def parity(
    log: Annotated[str, typer.Option(metavar="RUN", help="A run of this cell by name, or a log by its file.")],
    seeds: Annotated[int, typer.Option(min=1, max=1000, help="How many arms of that profile are tried.")] = 20,
    profile: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="How imperfect the twin's arm is; by default as the log says, else field."),
    ] = None,
    fitted: Annotated[
        bool, typer.Option("--fitted", help="The twin's arm as it was fitted to this cell's runs: trialcell twin fit.")
    ] = False,
    set_: SetOption = None,
    cell: CellOption = DEFAULT_CELL,
    json: JsonOption = False,
) -> int:
    """Hold the twin against a recorded run: the same moves, and how far each joint rests from its command.

    Fails (exit code 1) where a joint of the log rests outside everything that the twin shows of that joint.
    """
    from rich.progress import Progress

    from runner.cell import CALIBRATION_FOLDER, Cell, open_cell
    from runner.config import CELL_FILE, Config, with_overrides
    from runner.twin.drive_file import load_drive_file
    from runner.twin.parity import hold_against
    from runner.twin.profiles import PROFILES
    from runs.store import RunStore, open_any

    out = Output(as_json=json)
    opened = open_cell(cell) if (cell / CELL_FILE).exists() else Cell(cell, Config())
    found = open_any(log, RunStore(opened.runs_dir)).log
    told = None if found.provenance is None else found.provenance.profile
    chosen = profile or (told if told in PROFILES else "field")
    config = with_overrides(opened.config, [*(set_ or []), f"twin.profile={chosen}"])
    with Progress(console=out.aside, transient=True, disable=not out.aside.is_terminal) as progress:
        task = progress.add_task("the same moves by the twin", total=seeds)
        result = hold_against(
            found,
            config,
            seeds=range(seeds),
            on_seed=lambda done: progress.update(task, completed=done),
            profile=load_drive_file(cell / CALIBRATION_FOLDER).profile if fitted else None,
        )
    out.answer(_answer(result), *_told(result))
    return 0 if result.inside else 1


def _answer(result: Parity) -> dict[str, Any]:
    inside, total = result.inside_own_move
    return {
        "run_id": result.run_id,
        "profile": result.profile,
        "seeds": result.seeds,
        "inside": result.inside,
        "inside_own_move": inside,
        "errors": total,
        "error_deg": round(result.error_deg, 4),
        "low_deg": _rounded(result.low_deg),
        "high_deg": _rounded(result.high_deg),
        "moves": [
            {
                "label": move.label,
                "recorded_deg": _rounded(move.recorded_deg),
                "low_deg": _rounded(move.low_deg),
                "high_deg": _rounded(move.high_deg),
                "beyond_own_move_deg": _rounded(move.beyond_deg),
                "beyond_deg": _rounded(result.beyond_deg[i]),
            }
            for i, move in enumerate(result.moves)
        ],
    }


def _told(result: Parity) -> list[Any]:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("move")
    for joint in range(len(result.low_deg)):
        table.add_column(f"j{joint} °", justify="right")
    for i, move in enumerate(result.moves):
        own, outside = move.beyond_deg, result.beyond_deg[i]
        table.add_row(move.label, *(_cell(*each) for each in zip(move.recorded_deg, own, outside, strict=True)))
    table.add_section()
    spread = [f"{low:+.1f}…{high:+.1f}" for low, high in zip(result.low_deg, result.high_deg, strict=True)]
    table.add_row(Text("the twin", style="dim"), *(Text(text.replace("-", "−"), style="dim") for text in spread))
    inside, total = result.inside_own_move
    mark = Text("✓ ", style="green") if result.inside else Text("✗ ", style="red")
    words = "inside" if result.inside else "not inside"
    mark.append(
        f"read back minus commanded is {words} the spread of {result.seeds} twins ({result.profile}) on every joint; "
        f"{inside} of {total} also inside that of their own move",
        style="default",
    )
    mark.append(f"; it is off by {result.error_deg:.2f}° (rms)", style="default")
    return [table, Text("* outside what the twin shows in this very move   ✗ outside everything it shows", "dim"), mark]


def _cell(recorded: float, own: float, outside: float) -> Any:
    from rich.text import Text

    sign, style = ("✗", "bold red") if outside > 0 else ("*", "yellow") if own > 0 else (" ", "")
    return Text(f"{recorded:+.2f}{sign}".replace("-", "−"), style=style)


def _rounded(values: Any) -> list[float]:
    return [round(float(value), 3) for value in values]
