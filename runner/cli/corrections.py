"""`trialcell corrections`: see, prove, promote and take back what was learned from where the tip landed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from runner.cli.corrections_change import merge, promote, propose, rollback
from runner.cli.corrections_prove import prove
from runner.cli.options import DEFAULT_CELL, CellOption, JsonOption
from runner.cli.output import Output

if TYPE_CHECKING:
    from runs.corrections.overview import SquareView
    from runs.report.drawing import Drawing

app = typer.Typer(
    name="corrections",
    help="See, prove and take back what was learned from where the tip landed.",
    no_args_is_help=True,
    epilog="Example: trialcell corrections show",
)
app.command(epilog="Example: trialcell corrections propose")(propose)
app.command(epilog="Example: trialcell corrections prove --pairs 20")(prove)
app.command(epilog="Example: trialcell corrections promote --by Maya --why 'measured with callipers'")(promote)
app.command(epilog="Example: trialcell corrections rollback now-1 --by Maya --why 'the camera was bumped'")(rollback)
app.command(epilog="Example: trialcell corrections merge other-cell")(merge)

AtOption = Annotated[
    str, typer.Option("--at", metavar="POINT", help="As it stood then: a line of the history, now, now-2, or a time.")
]
OutFileOption = Annotated[
    Path | None, typer.Option("--out", metavar="FILE", help="A picture over the table as .svg or .png.")
]


@app.command(epilog="Example: trialcell corrections show --out corrections.svg")
def show(
    at: AtOption = "now",
    of: Annotated[str, typer.Option("--of", help="live, candidate, or lessons: the plain means.")] = "",
    to: OutFileOption = None,
    cell: CellOption = DEFAULT_CELL,
    json: JsonOption = False,
) -> None:
    """Show what is learned, proposed and live: figures, squares as a table and as a map, a picture on request."""
    from rich.text import Text

    from runner.cell import open_cell
    from runner.cli.show.corrections import arrows, figures, square_table, standing
    from runner.learning import belongs_here, rule_of
    from runs.corrections.file import CorrectionFile, model_in_use
    from runs.corrections.overview import point_of, squares
    from runs.report.maps import arrow_map

    if of not in ("", "live", "candidate", "lessons"):
        raise typer.BadParameter(f"--of is live, candidate or lessons; got {of!r}")
    _check_picture(to)
    out, opened = Output(as_json=json), open_cell(cell)
    file, belongs, rule = CorrectionFile(cell), belongs_here(opened), rule_of(opened.config)
    lines = file.history()
    point = point_of(at, lines)
    state = file.load(belongs) if at == "now" else file.state_at(belongs, point)
    at_once = rule.rule == "field"
    model = state.live or state.candidate
    if of == "lessons" or at_once:
        model = model_in_use(state, rule, "live") if at_once and of != "lessons" else None
    elif of:
        model = state.candidate if of == "candidate" else state.live
    found = squares(state.table, model)
    data: dict[str, Any] = {
        "at": point,
        "rule": rule.rule,
        "belongs_to": belongs.model_dump(mode="json"),
        "lessons": len(state.table.lessons),
        "live": None if state.live is None else _told(state.live),
        "candidate": None if state.candidate is None else _told(state.candidate),
        "proof": None if state.proof is None else state.proof.model_dump(mode="json"),
        "squares": [_square(each) for each in found],
        "others": _others(file, belongs),
        "out": None if to is None else str(to),
    }
    told: list[Any] = [*standing(state, at_once=at_once)]
    if model is not None:
        told += figures(model)
    if found:
        told += square_table(found)
    told += [Text(f"  {text}", style="yellow") for text in data["others"]]
    if to is not None:
        what = "corrections by square" if model is not None else "mean of the lessons by square"
        _write(to, arrow_map(arrows(found), f"{what}, mm, five times as long as on the table", "correction"))
        told.append(Text(f"written: {to}", no_wrap=True))
    out.answer(data, *told)


@app.command(epilog="Example: trialcell corrections history --last 20")
def history(
    last: Annotated[int, typer.Option("--last", min=1, help="So many of the latest changes.")] = 30,
    cell: CellOption = DEFAULT_CELL,
    json: JsonOption = False,
) -> None:
    """List every change: learned, proposed, proved, promoted or taken back; when, by whom, on what grounds."""
    from runner.cli.show.corrections import history as table
    from runs.corrections.file import CorrectionFile

    lines = CorrectionFile(cell).history()
    shown = lines[-last:]
    data = {"changes": [line.model_dump(mode="json", exclude_none=True) for line in shown], "total": len(lines)}
    Output(as_json=json).answer(data, table(shown) if shown else "nothing has been learned in this cell yet")


@app.command(epilog="Example: trialcell corrections diff now-5 now")
def diff(
    before: Annotated[str, typer.Argument(metavar="POINT", help="A line of the history, now, now-2, or a time (UTC).")],
    after: Annotated[str, typer.Argument(metavar="POINT", help="Another.")] = "now",
    of: Annotated[str, typer.Option("--of", help="live, candidate, or lessons: the plain means.")] = "live",
    to: OutFileOption = None,
    cell: CellOption = DEFAULT_CELL,
    json: JsonOption = False,
) -> None:
    """Say what changed between two points in time, square by square."""
    from runner.cell import open_cell
    from runner.cli.show.corrections import difference
    from runner.learning import belongs_here
    from runs.corrections.file import CorrectionFile
    from runs.corrections.overview import changes, point_of
    from runs.report.maps import Arrow, arrow_map

    if of not in ("live", "candidate", "lessons"):
        raise typer.BadParameter(f"--of is live, candidate or lessons; got {of!r}")
    _check_picture(to)
    file, belongs = CorrectionFile(cell), belongs_here(open_cell(cell))
    lines = file.history()
    points = point_of(before, lines), point_of(after, lines)
    states = file.state_at(belongs, points[0]), file.state_at(belongs, points[1])
    models = [None if of == "lessons" else getattr(state, of) for state in states]
    found = changes(states[0], states[1], (models[0], models[1]))
    data = {
        "before": points[0],
        "after": points[1],
        "squares": [
            {
                "square": each.key,
                "before": None if each.before is None else _square(each.before),
                "after": None if each.after is None else _square(each.after),
                "moved_mm": each.moved_mm,
            }
            for each in found
        ],
        "out": None if to is None else str(to),
    }
    if to is not None:
        moved = []
        for each in found:
            old, new = ((s.dx_mm, s.dz_mm) if s is not None else (0.0, 0.0) for s in (each.before, each.after))
            moved.append(
                Arrow(each.key, new[0] - old[0], new[1] - old[1], each.after.n if each.after else 0, solid=True)
            )
        _write(to, arrow_map(moved, f"what changed from point {points[0]} to {points[1]}, mm", "change"))
    words = f"from point {points[0]} to {points[1]}: {len(found)} squares changed"
    Output(as_json=json).answer(data, words, *([difference(found)] if found else []))


def _square(each: SquareView) -> dict[str, Any]:
    return {
        "square": each.key,
        "dx_mm": each.dx_mm,
        "dz_mm": each.dz_mm,
        "n": each.n,
        "spread_mm": each.spread_mm,
        "applied": each.applied,
    }


def _told(model: Any) -> dict[str, Any]:
    """A model for programs, without its squares, which stand apart."""
    said: dict[str, Any] = model.model_dump(mode="json", exclude={"squares", "covariance"})
    return {"hash": model.content_hash, **said}


def _others(file: Any, belongs: Any) -> list[str]:
    """What else is in the file and does not apply here, in words."""
    return [
        f"{len(state.table.lessons)} lessons learned with another {' and '.join(unlike)} are not applied here"
        for state in file.all_states()
        if not state.nothing and (unlike := belongs.unlike(state.table.belongs_to))
    ]


def _check_picture(to: Path | None) -> None:
    if to is not None and to.suffix.lower() not in (".svg", ".png"):
        raise typer.BadParameter(f"a picture is written as .svg or .png, not as {to.name!r}")


def _write(to: Path, drawing: Drawing) -> None:
    from runs.files import write_atomic
    from runs.report.raster import png

    alone = drawing.alone()
    data = png(alone) if to.suffix.lower() == ".png" else str(alone.svg(alone=True)).encode()
    write_atomic(to, data)
