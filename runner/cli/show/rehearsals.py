"""What was tried in the twin before the arm moved, and the forecast beside what came."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from runner.cli.show.parts import QUIET, heading, indented, pairs, words
from runs.figures import NOTHING, Figures, clean
from runs.schema.rehearsal import Choice, Foretold, RehearsalRecord
from runs.schema.run import RunLog


def rehearsals(log: RunLog, figures: Figures) -> Iterator[RenderableType]:
    """Nothing for a log without a rehearsal."""
    if not log.rehearsals:
        return
    yield heading("Rehearsals", "tried in the nominal twin before the arm moved")
    told = {foretold.attempt: foretold for foretold in log.foretold}
    for record in log.rehearsals:
        spent = f"{record.tries} tries of {record.motion_s:.1f} s of motion in {record.wall_s:.1f} s"
        cut = ", cut short by its time limit" if record.cut_short else ""
        rows: list[tuple[str, RenderableType]] = [
            (f"attempt {record.attempt}", Text(f"{clean(record.why)}")),
            ("because", words(record.because, QUIET)),
            ("spent", Text(f"{spent}{cut}, seed {record.seed}", style=QUIET)),
            ("not known", Text(", ".join(_spread(*each) for each in record.doubt.items()), style=QUIET)),
        ]
        yield indented(pairs(rows))
        yield indented(choices_table(record))
        if record.attempt in told:
            yield indented(pairs(list(_came(told[record.attempt], figures))))


def choices_table(record: RehearsalRecord) -> Table:
    """Every way that was tried, the chosen one marked."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("way")
    for name in ("tilt °", "heading °", "ahead mm", "picked", "at least", "room mm", "pushed mm", "takes s"):
        table.add_column(name, justify="right")
    for number, choice in enumerate(record.choices):
        style = "bold" if choice.name == record.chosen else ""
        table.add_row(_name(number, choice, record), *_figures(choice), style=style)
    return table


def _name(number: int, choice: Choice, record: RehearsalRecord) -> str:
    own = "the planner's own" if number == 0 else f"way {number + 1}"
    return f"{own} ←" if choice.name == record.chosen else own


def _figures(choice: Choice) -> tuple[str, ...]:
    return (
        f"{choice.tilt_deg:.0f}",
        f"{choice.heading_deg:.0f}",
        f"{choice.ahead_mm:.0f}",
        f"{choice.picked} of {choice.tries}",
        f"{choice.low:.0%}",
        f"{choice.margin_mm:.1f}",
        f"{choice.pushed_mm:.1f}",
        f"{choice.takes_s:.1f}",
    )


def _spread(name: str, value: float | tuple[float, ...]) -> str:
    said = "/".join(f"{v:.3g}" for v in value) if isinstance(value, tuple) else f"{value:g}"
    return f"{clean(name)} {said}"


def _came(told: Foretold, figures: Figures) -> Iterator[tuple[str, RenderableType]]:
    tip = NOTHING if told.seen_tip_mm is None else figures.point(told.seen_tip_mm, "d_mm")
    sd_x, sd_z = told.tip_sd_mm
    tip_told = f"{figures.point(told.tip_mm, 'd_mm')} ± {sd_x:.1f}, {sd_z:.1f} mm"
    opening = f"{_mm(told.opening_mm)}, read {_mm(told.read_opening_mm)}"
    left = NOTHING if told.read_left_deg is None else f"{told.read_left_deg:.2f}°"
    yield "foretold", Text(f"picked in {told.rate:.0%}, by {told.tries} tries; judged {told.verdict or NOTHING}")
    yield "tip", Text(f"{tip_told}; seen {tip}", style=QUIET)
    yield "jaws", Text(opening, style=QUIET)
    yield "worst joint", Text(f"within {told.left_deg:.1f}° of its goal; read {left}", style=QUIET)


def _mm(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.1f} mm apart"
