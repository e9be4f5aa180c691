"""The corrections of a cell over the table: as they are, how they came to be, and what changed between two moments.

It reads `corrections.json` and its history and changes neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from runs.corrections.file import CorrectionFile
from runs.corrections.history import HistoryLine, State, state_at
from runs.corrections.model import CorrectionModel
from runs.corrections.overview import SquareDiff, SquareView, changes, squares
from runs.corrections.table import BelongsTo
from runs.corrections.words import belonging, named, told
from runs.figures import Figures
from runs.report.bricks import figure, part, section, table
from runs.report.maps import Arrow, arrow_map
from runs.report.markup import Child, Markup, tag

MOST_LINES = 200
"""So many lines of the history are shown, the newest; older ones still count."""

_FIGURES = Figures()


@dataclass(frozen=True, slots=True)
class Learned:
    """What a cell has learned: how things stand by the key of what it belongs to, and the whole history."""

    now: dict[str, State]
    history: Sequence[HistoryLine]

    def lines_of(self, belongs_to: BelongsTo) -> list[HistoryLine]:
        """The changes that concern it."""
        return [line for line in self.history if line.belongs_to == belongs_to]


def learned(cell: Path) -> Learned:
    """What a cell has learned.

    Raises:
        CorrectionsUnreadable, NewerThanUs
    """
    file = CorrectionFile(cell)
    lines = file.history()
    now = {state.table.belongs_to.key: state for state in file.all_states()}
    for line in lines:
        if line.belongs_to is not None:
            now.setdefault(line.belongs_to.key, State.empty(line.belongs_to))
    return Learned(now, lines)


def body(found: Learned, cell: int, wanted: str | None, first: int | None, second: int | None) -> list[Child]:
    """The parts of the page.

    Args:
        wanted: key of what corrections belong to; the one that was changed last by default.
        first, second: two moments as lines of the history; the beginning and now by default.
    """
    if not found.now:
        return [tag("p", "Nothing has been learned here yet: good trials teach, once their tip was measured.")]
    changed = [line.belongs_to.key for line in found.history if line.belongs_to is not None]
    key = wanted if wanted in found.now else changed[-1] if changed else next(iter(found.now))
    state = found.now[key]
    belongs_to = state.table.belongs_to
    lines, last = found.lines_of(belongs_to), len(found.history)
    to = last if second is None else min(max(second, 0), last)
    since = 0 if first is None else min(max(first, 0), to)
    parts: list[Child] = [_form(found, cell, key, since, to)]
    views = squares(state.table, _shown(state))
    parts.append(section("Now", _standing(state), *_maps(views, "correction"), name="now"))
    if lines:
        before, after = (state_at(belongs_to, found.history, seq) for seq in (since, to))
        differences = changes(before, after, (_shown(before), _shown(after)))
        parts.append(section("What changed", *_diff(differences), name="diff", lead=_between(lines, since, to, last)))
        parts.append(section("History", _history(lines, cell), name="history", lead="Every change, the newest first."))
    return parts


def _shown(state: State) -> CorrectionModel | None:
    """The model on the map: what is live, else what is proposed; None for the plain means of the lessons."""
    return state.live or state.candidate


def _form(found: Learned, cell: int, key: str, since: int, to: int) -> Markup:
    tables = [
        tag("option", _named(state), value=each, selected="selected" if each == key else None)
        for each, state in found.now.items()
    ]
    lines = found.history
    shown = range(max(1, len(lines) - MOST_LINES + 1), len(lines) + 1)
    return tag(
        "form",
        tag("input", type="hidden", name="cell", value=str(cell)),
        tag("label", "Learned with ", tag("select", tables, name="table")),
        tag("label", "from ", tag("select", _moments(lines, [0, *shown], since), name="from")),
        tag("label", "to ", tag("select", _moments(lines, [0, *shown], to), name="to")),
        tag("button", "Show", type="submit"),
        method="get", action="/corrections", class_="filter",
    )  # fmt: skip


def _moments(lines: Sequence[HistoryLine], numbers: Sequence[int], chosen: int) -> list[Markup]:
    options = []
    for n in dict.fromkeys((*numbers, chosen)):
        text = "the beginning" if n == 0 else f"{n}: {_FIGURES.moment(lines[n - 1].at, with_day=True)}"
        options.append(tag("option", text, value=str(n), selected="selected" if n == chosen else None))
    return options


def _named(state: State) -> str:
    return f"{belonging(state.table.belongs_to)}: {len(state.table.cells)} squares"


def _standing(state: State) -> Markup:
    """What is live, proposed and proved, in words."""
    rows: list[tuple[Child, ...]] = [("lessons", f"{len(state.table.lessons)} on {len(state.table.cells)} squares")]
    rows.append(("live", "nothing was promoted" if state.live is None else named(state.live)))
    if state.candidate is not None:
        rows.append(("candidate", named(state.candidate)))
    if state.proof is not None:
        rows.append(("proof", f"{state.proof.word}: {state.proof.reason} ({state.proof.pairs} pairs)"))
    which = "live" if state.live is not None else "candidate" if state.candidate is not None else "plain means"
    rows.append(("on the map", f"{which}; blue: said there, grey: known too thinly. Arrows are five times as long."))
    return table(("", "what it is"), rows, small=True)


def _maps(found: Sequence[SquareView], what: str) -> list[Child]:
    arrows = [Arrow(each.key, each.dx_mm, each.dz_mm, each.n, each.applied, each.spread_mm) for each in found]
    maps: list[Child] = []
    for phase in ("pick", "place"):
        of_phase = [arrow for arrow in arrows if arrow.key.startswith(f"{phase}_")]
        if of_phase:
            maps.append(part(phase, figure(arrow_map(of_phase, f"{what}, {phase}", what))))
    return [tag("div", maps, class_="grid")] if maps else [tag("p", "Nothing stands here.", class_="quiet")]


def _between(lines: Sequence[HistoryLine], since: int, to: int, last: int) -> str:
    begin = "the beginning" if since == 0 else f"line {since}"
    end = "now" if to == last else f"line {to}"
    return f"From {begin} to {end} of {last} lines of the history: {_changes(lines, since, to)}."


def _changes(lines: Sequence[HistoryLine], since: int, to: int) -> str:
    n = sum(since < line.seq <= to for line in lines)
    return "1 change" if n == 1 else f"{n} changes"


def _diff(found: Sequence[SquareDiff]) -> list[Child]:
    if not found:
        return [tag("p", "No square did.")]
    rows: list[tuple[Child, ...]] = []
    moved = []
    for each in found:
        old, new = each.before, each.after
        start, end = ((0.0, 0.0) if one is None else (one.dx_mm, one.dz_mm) for one in (old, new))
        n, applied = (0, False) if new is None else (new.n, new.applied)
        moved.append(SquareView(each.key, end[0] - start[0], end[1] - start[1], n, None, applied))
        rows.append((each.key, _vector(old), _vector(new), f"{each.moved_mm:.1f}"))
    names = ("square", "before: dx, dz, n", "after: dx, dz, n", "moved, mm")
    return [*_maps(moved, "change"), table(names, rows, right=("moved, mm",), small=True)]


def _vector(one: SquareView | None) -> str:
    if one is None:
        return "—"
    dx, dz = (_FIGURES.number(value, 1, signed=True) for value in (one.dx_mm, one.dz_mm))
    return f"{dx}, {dz} mm, n = {one.n}" + ("" if one.applied else ", not applied")


def _history(lines: Sequence[HistoryLine], cell: int) -> Markup:
    rows = [
        (
            str(line.seq),
            _FIGURES.moment(line.at, with_day=True),
            line.kind.replace("_", " "),
            _by(line, cell),
            told(line),
        )
        for line in lines[: -MOST_LINES - 1 : -1]
    ]
    return table(("line", "when, UTC", "what", "by", "told"), rows, right=("line",), small=True)


def _by(line: HistoryLine, cell: int) -> Child:
    if line.by in line.run_ids:
        return tag("a", line.by, href=f"/run/{cell}/{line.by}")
    return line.by
