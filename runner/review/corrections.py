"""The corrections of a cell over the table: as they are, how they came to be, and what changed between two moments.

It reads `corrections.json` and its history and changes neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import hypot
from pathlib import Path

from runs.appended import read
from runs.corrections.file import CorrectionFile, HistoryLine
from runs.corrections.table import ENOUGH_SAMPLES, BelongsTo
from runs.figures import Figures
from runs.report.bricks import figure, part, section, table
from runs.report.maps import Arrow, arrow_map
from runs.report.markup import Child, Markup, tag

MOST_LINES = 200
"""So many lines of the history are shown, the newest; older ones still count."""

_FIGURES = Figures()

State = dict[str, tuple[float, float, int]]
"""Square by its key: dx and dz in mm, and of how many samples."""


@dataclass(frozen=True, slots=True)
class Learned:
    """The tables of a cell by the key of what they belong to: what each says now, and the lines of its history."""

    belongs_to: dict[str, BelongsTo]
    now: dict[str, State]
    history: dict[str, list[HistoryLine]]


def learned(cell: Path) -> Learned:
    """What a cell has learned.

    Raises:
        CorrectionsUnreadable, NewerThanUs, AppendedUnreadable
    """
    file = CorrectionFile(cell)
    belongs: dict[str, BelongsTo] = {}
    now: dict[str, State] = {}
    for key, one in file.tables().tables.items():
        belongs[key] = one.belongs_to
        now[key] = {square: mean for square in one.cells if (mean := one.mean_mm(square)) is not None}
    history: dict[str, list[HistoryLine]] = {}
    for line in read(file.history_path, HistoryLine):
        belongs.setdefault(line.belongs_to.key, line.belongs_to)
        history.setdefault(line.belongs_to.key, []).append(line)
    return Learned(belongs, now, history)


def state_after(lines: Sequence[HistoryLine], n: int) -> State:
    """What a table said after the first `n` lines of its history."""
    return {line.change.cell_key: line.change.after for line in lines[:n]}


def body(found: Learned, cell: int, wanted: str | None, first: int | None, second: int | None) -> list[Child]:
    """The parts of the page.

    Args:
        wanted: key of a table; the one that was taught last by default.
        first, second: two moments as numbers of lines of its history; the beginning and now by default.
    """
    if not found.belongs_to:
        return [tag("p", "Nothing has been learned here yet: good trials teach, once their tip was measured.")]
    by_time = {key: lines[-1].at for key, lines in found.history.items()}
    newest = max(found.belongs_to, key=lambda key: by_time.get(key, ""))
    key = wanted if wanted in found.belongs_to else newest
    lines = found.history.get(key, [])
    to = len(lines) if second is None else min(max(second, 0), len(lines))
    since = 0 if first is None else min(max(first, 0), to)
    before, after = state_after(lines, since), state_after(lines, to)
    now = found.now.get(key, {})
    parts: list[Child] = [_form(found, cell, key, lines, since, to)]
    parts.append(section("Now", *_maps(now, "correction"), lead=_counted(now), name="now"))
    if lines:
        parts.append(section("What changed", *_diff(before, after), name="diff", lead=_between(lines, since, to)))
        parts.append(section("History", _history(lines, cell), name="history", lead="Every lesson, the newest first."))
    return parts


def _form(found: Learned, cell: int, key: str, lines: Sequence[HistoryLine], since: int, to: int) -> Markup:
    tables = [
        tag("option", _named(one, found.now.get(each, {})), value=each, selected="selected" if each == key else None)
        for each, one in found.belongs_to.items()
    ]
    shown = range(max(1, len(lines) - MOST_LINES + 1), len(lines) + 1)
    return tag(
        "form",
        tag("input", type="hidden", name="cell", value=str(cell)),
        tag("label", "Table ", tag("select", tables, name="table")),
        tag("label", "from ", tag("select", _moments(lines, [0, *shown], since), name="from")),
        tag("label", "to ", tag("select", _moments(lines, [0, *shown], to), name="to")),
        tag("button", "Show", type="submit"),
        method="get", action="/corrections", class_="filter",
    )  # fmt: skip


def _moments(lines: Sequence[HistoryLine], numbers: Sequence[int], chosen: int) -> list[Markup]:
    told = []
    for n in dict.fromkeys((*numbers, chosen)):
        text = "the beginning" if n == 0 else f"{n}: {_FIGURES.moment(lines[n - 1].at, with_day=True)}"
        told.append(tag("option", text, value=str(n), selected="selected" if n == chosen else None))
    return told


def _named(one: BelongsTo, state: State) -> str:
    profile = one.profile or "no profile"
    return f"{profile}, calibration {one.calibration_hash[:8]}, table {one.table_hash[:8]}: {len(state)} squares"


def _counted(state: State) -> str:
    applied = sum(n >= ENOUGH_SAMPLES for _, _, n in state.values())
    return (
        f"{len(state)} squares, {applied} of them with the {ENOUGH_SAMPLES} samples from which on one is applied. "
        "Blue: applied; grey: too few samples. Arrows are five times as long as on the table."
    )


def _maps(state: State, what: str) -> list[Child]:
    told: list[Child] = []
    for phase in ("pick", "place"):
        arrows = [
            Arrow(square, dx, dz, n, solid=n >= ENOUGH_SAMPLES)
            for square, (dx, dz, n) in state.items()
            if square.startswith(f"{phase}_")
        ]
        if arrows:
            told.append(part(phase, figure(arrow_map(arrows, f"{what}, {phase}", what))))
    return [tag("div", told, class_="grid")] if told else [tag("p", "This table is empty.", class_="quiet")]


def _between(lines: Sequence[HistoryLine], since: int, to: int) -> str:
    begin = "the beginning" if since == 0 else f"line {since}"
    end = "now" if to == len(lines) else f"line {to}"
    return f"From {begin} to {end} of {len(lines)} lines of its history: {to - since} lessons."


def _diff(before: State, after: State) -> list[Child]:
    changed = [square for square in after if before.get(square) != after[square]]
    if not changed:
        return [tag("p", "Nothing did.")]
    rows: list[tuple[Child, ...]] = []
    moved: State = {}
    for square in sorted(changed, key=lambda each: -_step(before.get(each), after[each])):
        old, new = before.get(square), after[square]
        base = old or (0.0, 0.0, 0)
        moved[square] = (new[0] - base[0], new[1] - base[1], new[2])
        rows.append((square, _vector(old), _vector(new), f"{_step(old, new):.1f}", _became(old, new)))
    names = ("square", "before: dx, dz, n", "after: dx, dz, n", "moved, mm", "")
    return [*_maps(moved, "change"), table(names, rows, right=("moved, mm",), small=True)]


def _step(old: tuple[float, float, int] | None, new: tuple[float, float, int]) -> float:
    base = old or (0.0, 0.0, 0)
    return hypot(new[0] - base[0], new[1] - base[1])


def _became(old: tuple[float, float, int] | None, new: tuple[float, float, int]) -> str:
    was = old is not None and old[2] >= ENOUGH_SAMPLES
    return "applied from now on" if new[2] >= ENOUGH_SAMPLES and not was else "new" if old is None else ""


def _vector(mean: tuple[float, float, int] | None) -> str:
    if mean is None:
        return "—"
    dx, dz = (_FIGURES.number(value, 1, signed=True) for value in mean[:2])
    return f"{dx}, {dz} mm, n = {mean[2]}"


def _history(lines: Sequence[HistoryLine], cell: int) -> Markup:
    rows = [
        (
            str(number), _FIGURES.moment(line.at, with_day=True),
            tag("a", line.run_id, href=f"/run/{cell}/{line.run_id}"), line.change.cell_key,
            _vector(line.change.before), _vector(line.change.after),
        )
        for number, line in list(enumerate(lines, start=1))[: -MOST_LINES - 1 : -1]
    ]  # fmt: skip
    return table(("line", "when, UTC", "run", "square", "before", "after"), rows, right=("line",), small=True)
