"""The corrections of a cell for the terminal: how things stand, the figures of a model, squares, history, a proof."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import atan2, pi

from rich.console import RenderableType
from rich.text import Text

from runner.cli.show.parts import QUIET, columns, heading, indented, pairs
from runner.cli.show.squares import ARROWS, character_map
from runs.corrections.history import HistoryLine, State
from runs.corrections.model import CorrectionModel
from runs.corrections.overview import SquareDiff, SquareView
from runs.corrections.proof import Proof
from runs.corrections.words import belonging, named, told
from runs.report.maps import Arrow, square_of

WORD_STYLE = {"better": "green", "worse": "red"}


def standing(state: State, *, at_once: bool) -> Iterator[RenderableType]:
    """What is learned, live, proposed and proved."""
    belongs = state.table.belongs_to
    rows: list[tuple[RenderableType, RenderableType]] = [("belongs to", belonging(belongs))]
    rows.append(("lessons", f"{len(state.table.lessons)} on {len(state.table.cells)} squares"))
    if at_once:
        rows.append(("live", "the plain mean of each square with enough lessons, at once (corrections.rule = field)"))
    else:
        rows.append(
            (
                "live",
                Text("nothing: targets are not corrected", style="yellow") if state.live is None else named(state.live),
            )
        )
        if state.candidate is not None:
            rows.append(("candidate", named(state.candidate)))
        if state.proof is not None:
            rows.append(("proof", proof_line(state.proof)))
    yield indented(pairs(rows))


def figures(model: CorrectionModel) -> Iterator[RenderableType]:
    """The global fit, and what the lessons can't tell."""
    if not model.parameters and not model.left_alone:
        return
    x, z = model.about_xz_mm
    yield heading("Global fit", f"how the tip misses all over the table; yaw and scale about x {x:.0f}, z {z:.0f} mm")
    table = columns("figure", "value", "±", "unit", right=("value", "±"))
    for one in model.parameters:
        table.add_row(one.name, f"{one.value:+.2f}", f"{one.sd:.2f}", one.unit)
    yield indented(table)
    for left in model.left_alone:
        yield indented(Text(f"{left.name} is left alone: {left.why}", style=QUIET))


def square_table(found: Sequence[SquareView]) -> Iterator[RenderableType]:
    """Squares as a map of arrows and as a table."""
    yield heading("Squares", "what is subtracted from a target there")
    signs = {
        square_of(each.key): (
            ARROWS[round(atan2(each.dz_mm, each.dx_mm) / (pi / 4)) % 8],
            "blue" if each.applied else QUIET,
        )
        for each in found
    }
    for line in character_map(signs, "where each correction points; dim: not applied"):
        yield indented(line)
    table = columns(
        "square", "dx, mm", "dz, mm", "size", "n", "spread", "", right=("dx, mm", "dz, mm", "size", "n", "spread")
    )
    for each in found:
        spread = "" if each.spread_mm is None else f"{each.spread_mm:.1f}"
        words = "applied" if each.applied else "not applied"
        table.add_row(
            each.key, f"{each.dx_mm:+.1f}", f"{each.dz_mm:+.1f}", f"{each.size_mm:.1f}", str(each.n), spread, words
        )
    yield indented(table)


def arrows(found: Sequence[SquareView]) -> list[Arrow]:
    """Squares as arrows of a picture."""
    return [Arrow(each.key, each.dx_mm, each.dz_mm, each.n, each.applied, each.spread_mm) for each in found]


def history(lines: Sequence[HistoryLine]) -> RenderableType:
    """Changes, a line each."""
    table = columns("line", "when", "what", "by", "told", right=("line",), wide="told")
    for line in lines:
        table.add_row(str(line.seq), line.at[:19].replace("T", " "), line.kind.replace("_", " "), line.by, told(line))
    return table


def difference(found: Sequence[SquareDiff]) -> RenderableType:
    """Squares at two points."""
    table = columns("square", "before", "n", "after", "n", "moved, mm", right=("before", "n", "after", "moved, mm"))
    for each in found:
        cells = []
        for one in (each.before, each.after):
            off = "" if one is None or one.applied else " (not applied)"
            cells += ["–", ""] if one is None else [f"({one.dx_mm:+.1f}, {one.dz_mm:+.1f}){off}", str(one.n)]
        table.add_row(each.key, *cells, f"{each.moved_mm:.1f}")
    return table


def proof_line(proof: Proof) -> Text:
    """A proof in a line."""
    return Text.assemble((proof.word, WORD_STYLE.get(proof.word, "yellow")), f": {proof.reason} ({proof.pairs} pairs)")


def proof_page(proof: Proof) -> Iterator[RenderableType]:
    """A proof with its figures."""
    n = max(1, proof.pairs)
    with_it, without = proof.both + proof.only_with, proof.both + proof.only_without
    rows: list[tuple[RenderableType, RenderableType]] = [
        ("pairs", f"{proof.pairs}" + (f", and {proof.dropped} that say nothing" if proof.dropped else "")),
        ("success", f"{with_it / n:.0%} with it, {without / n:.0%} without, on the first attempt"),
        ("difference", f"{(proof.success_value or 0):+.0%} ({proof.success_low:+.0%} to {proof.success_high:+.0%})"),
        (
            "alike, apart",
            f"both {proof.both}, only with it {proof.only_with}, only without {proof.only_without}, "
            f"neither {proof.neither}",
        ),
    ]
    if proof.tip_with_mm is not None and proof.tip_without_mm is not None and proof.tip_better is not None:
        rows.append(("tip error", f"median {proof.tip_with_mm:.1f} mm with it, {proof.tip_without_mm:.1f} mm without"))
        share = f"{proof.tip_better:.0%} of pairs ({proof.tip_better_low:.0%} to {proof.tip_better_high:.0%})"
        rows.append(("tip nearer", f"with it in {share}"))
    yield proof_line(proof)
    yield indented(pairs(rows))
    yield indented(Text(f"intervals of {proof.confidence:.0%} that hold at every look", style=QUIET))
