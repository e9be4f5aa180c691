"""What `runs plot` shows: for each plot its data, its drawing, and what of it can be read in the terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import atan2, hypot, pi
from statistics import median
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from runner.cli.show.parts import QUIET, columns
from runner.cli.show.squares import ARROWS, character_map, nothing
from runs.agreement import reliability
from runs.index.questions import ManyRuns
from runs.index.select import Selection
from runs.report.batch_parts import COLUMNS, corrections_in_use, sure_answer
from runs.report.charts import reliability_chart, tip_against_n
from runs.report.drawing import Drawing
from runs.report.maps import arrow_map, heat_map, square_of, success_map


@dataclass(frozen=True, slots=True)
class Plot:
    """A plot: its data for programs, its drawing for files, and what to say in a terminal."""

    data: list[dict[str, Any]]
    drawing: Drawing
    told: Sequence[RenderableType]


def _success(by: str, many: ManyRuns, selection: Selection) -> Plot:
    groups = [group for group in many.stats(by, selection) if square_of(group.key) is not None]
    what = "block" if by == "square" else "box"
    drawing = success_map(
        [(g.key or "", g.n, g.success) for g in groups], f"success by where the {what} was, x and z in mm"
    )
    signs = {}
    for group in groups:
        rate = group.success.rate
        sign = "·" if rate is None else "●" if rate >= 0.9 else "◐" if rate >= 0.5 else "○"
        signs[square_of(group.key)] = (sign, "" if rate is None else "blue" if rate >= 0.9 else "yellow")
    told = character_map(signs, "● at least 9 of 10 succeeded  ◐ at least half  ○ fewer  · none decided")
    data = [
        {
            "square": g.key,
            "runs": g.n,
            "completed": g.success.successes,
            "decided": g.success.n,
            "rate": g.success.rate,
            "low": g.success.low,
            "high": g.success.high,
        }
        for g in groups
    ]
    return Plot(data, drawing, told)


def success(many: ManyRuns, selection: Selection, step: str) -> Plot:
    """Success by where the block was."""
    return _success("square", many, selection)


def place(many: ManyRuns, selection: Selection, step: str) -> Plot:
    """Success by where the box was."""
    return _success("place_square", many, selection)


def tip(many: ManyRuns, selection: Selection, step: str) -> Plot:
    """Tip error by square."""
    groups = [g for g in many.stats("square", selection) if g.tip_mm is not None and square_of(g.key) is not None]
    values = [(g.key or "", g.tip_mm or 0.0, g.tips) for g in groups]
    signs = {square_of(key): (str(min(9, round(mm))), "") for key, mm, _ in values}
    told = character_map(signs, "median distance of the tip from the block, mm; 9: nine or more")
    data = [
        {"square": g.key, "n": g.tips, "tip_mm": g.tip_mm, "dx_mm": g.tip_dx_mm, "dz_mm": g.tip_dz_mm} for g in groups
    ]
    return Plot(data, heat_map(values, "tip error by square, mm"), told)


def corrections(many: ManyRuns, selection: Selection, step: str) -> Plot:
    """Corrections as they were looked up last."""
    arrows = corrections_in_use(list(many.stream(selection, COLUMNS)))
    signs = {
        square_of(each.key): (
            ARROWS[round(atan2(each.dz_mm, each.dx_mm) / (pi / 4)) % 8],
            "blue" if each.solid else QUIET,
        )
        for each in arrows
    }
    table = columns("square", "dx, mm", "dz, mm", "size, mm", "n", "", right=("dx, mm", "dz, mm", "size, mm", "n"))
    for each in arrows:
        size = f"{hypot(each.dx_mm, each.dz_mm):.1f}"
        table.add_row(
            each.key,
            f"{each.dx_mm:+.1f}",
            f"{each.dz_mm:+.1f}",
            size,
            str(each.n),
            "applied" if each.solid else "too few",
        )
    data = [{"square": a.key, "dx_mm": a.dx_mm, "dz_mm": a.dz_mm, "n": a.n, "applied": a.solid} for a in arrows]
    drawing = arrow_map(arrows, "corrections by square, five times as long as on the table", "correction")
    told = [*character_map(signs, "where each correction points"), *([table] if arrows else [])]
    return Plot(data, drawing, told)


def error(many: ManyRuns, selection: Selection, step: str) -> Plot:
    """Tip error against how many samples the square's correction had."""
    rows = many.stream(selection, ["pick_correction_n", "tip_dist_mm"], trials=True)
    points = [
        (row["pick_correction_n"], row["tip_dist_mm"])
        for row in rows
        if row["pick_correction_n"] is not None and row["tip_dist_mm"] is not None
    ]
    by_n: dict[int, list[float]] = {}
    for n, mm in points:
        by_n.setdefault(n, []).append(mm)
    table = columns("samples", "runs", "tip error, mm", "", right=("samples", "runs", "tip error, mm"))
    most = max((median(values) for values in by_n.values()), default=1.0) or 1.0
    data = []
    for n, values in sorted(by_n.items()):
        middle = median(values)
        table.add_row(str(n), str(len(values)), f"{middle:.1f}", "▇" * max(1, round(30 * middle / most)))
        data.append({"n": n, "runs": len(values), "tip_mm": middle})
    told: list[RenderableType] = [table, Text("\nmedian distance of the tip from the block", style=QUIET)]
    return Plot(
        data,
        tip_against_n(points, "tip error against samples in the square's correction"),
        told if points else nothing(),
    )


def judge(many: ManyRuns, selection: Selection, step: str) -> Plot:
    """How often the judge was right, by people, against how sure it said it was."""
    names = [f"{step}_{name}" for name in ("word", "source", "said", "said_confidence")]
    rows = [row for row in many.stream(selection, names, trials=True) if row[f"{step}_source"] == "person"]
    answers = [
        answer
        for row in rows
        if row[f"{step}_word"] in ("yes", "no") and (answer := sure_answer(row, step)) is not None
    ]
    curve = reliability(answers)
    table = columns("it said", "right", "of", "", right=("it said", "right", "of"))
    data = []
    for part in curve.bins:
        interval = f"{part.right.low:.0%} to {part.right.high:.0%}"
        table.add_row(f"{part.mean_confidence:.0%}", str(part.right.successes), str(part.right.n), interval)
        data.append(
            {
                "confidence": part.mean_confidence,
                "right": part.right.successes,
                "n": part.right.n,
                "low": part.right.low,
                "high": part.right.high,
            }
        )
    title = f"reliability of the judge at the {step}, by people's rulings"
    none = nothing("no step that people ruled on with yes or no has an answer with a confidence")
    return Plot(data, reliability_chart(curve.bins, title), [table] if curve.bins else none)


PLOTS: dict[str, Callable[[ManyRuns, Selection, str], Plot]] = {
    "success": success,
    "place": place,
    "corrections": corrections,
    "tip": tip,
    "error": error,
    "judge": judge,
}
"""Each plot by its name on the command line."""
