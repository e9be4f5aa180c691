"""The pages: queue, live, runs, one run, corrections. Made on the server; text from logs is always text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from runner.review.records import CellOfPage
from runner.review.shell import Shell
from runs.figures import Figures
from runs.index.questions import Page
from runs.report.bricks import badge, section, table
from runs.report.markup import Child, Markup, tag
from runs.report.page import contents
from runs.report.run_parts import RUN_CONTENTS, run_head, run_sections
from runs.store import StoredRun

RUNS_A_PAGE = 100

_SUCH_AS = "profile=field tip_dist_mm>10"
_FIGURES = Figures()
_RESULTS = ("completed", "failed", "unjudged", "invalid", "refused", "stopped", "crashed", "running", "unreadable")


def queue_page(shell: Shell) -> str:
    """The page on which people rule. Its script fills it."""
    keys = (
        ("y", "yes"), ("n", "no"), ("u", "unsure"), ("i", "set aside: nothing is written, it comes back at the end"),
        ("z", "take my last ruling back"), ("Enter", "keep my word and go on"), ("1 … 5", "a reason"),
        ("r", "write a reason"), ("m", "blind or not"), ("b", "blink: before and after in one place"),
        ("+ − 0", "nearer, farther, whole"), ("o", "outlines of what was seen"), ("j k", "next, last before"),
        ("?", "these keys"),
    )  # fmt: skip
    help_box = tag(
        "dialog", tag("h2", "Keys"), tag("dl", ([tag("dt", tag("kbd", key)), tag("dd", told)] for key, told in keys)),
        tag("form", tag("button", "Close", type="submit"), method="dialog"), id="keys", aria_label="keys",
    )  # fmt: skip
    frame = tag(
        "div",
        tag("div", id="head"),
        tag("div", id="views"),
        tag(
            "div",
            tag("div", tag("h2", "Closer"), tag("div", id="closer"), class_="box"),
            tag("div", tag("h2", "Measured"), tag("dl", id="measured"), class_="box"),
            class_="under",
        ),
        id="step",
    )  # fmt: skip
    side = tag(
        "aside",
        tag("div", tag("h1", "Queue"), tag("span", id="count"), class_="top"),
        tag("div", id="broken"),
        tag("ol", id="list", tabindex="0", aria_label="steps to look at, the most doubtful first"),
        class_="side",
    )
    body = tag("div", side, tag("div", frame, tag("div", id="ruling"), class_="desk"), class_="review")
    noscript = tag("noscript", tag("p", "This page needs its script; the rest of the record is under Runs."))
    return shell.page("Queue", noscript, body, help_box, here="/", scripts=("viewer.js", "queue.js"), wide=True)


def live_page(shell: Shell, cells: Sequence[CellOfPage]) -> str:
    """What goes on now, a part for each cell."""
    parts = (
        tag("section", tag("h2", cell.label), tag("div", id=f"live-{cell.number}"), data_cell=str(cell.number))
        for cell in cells
    )
    return shell.page("Live", tag("h1", "Live"), parts, here="/live", scripts=("live.js",))


def runs_page(
    shell: Shell,
    found: Page,
    *,
    number: int,
    where: str,
    result: str,
    sort: str,
    cell_of: dict[str, int],
    problem: str | None,
) -> str:
    """A list of runs, the newest first, with a filter."""
    options = [tag("option", "any result", value="")]
    options += [tag("option", each, value=each, selected="selected" if each == result else None) for each in _RESULTS]
    form = tag(
        "form",
        tag("label", "Result ", tag("select", options, name="result")),
        tag("label", "Where ", tag("input", name="where", value=where, size=34, placeholder=_SUCH_AS)),
        tag("label", "Order ", tag("input", name="sort", value=sort, size=14, placeholder="-tip_dist_mm")),
        tag("button", "Show", type="submit"), method="get", action="/runs", class_="filter",
    )  # fmt: skip
    many_cells = len(cell_of) > 1
    names = (
        "run",
        *(["cell"] if many_cells else []),
        "started",
        "result",
        "pick",
        "place",
        "tries",
        "tip, mm",
        "took, s",
        "why",
    )
    rows = [_row(row, cell_of[row["cell"]], many_cells) for row in found.rows]
    pages = max(1, -(-found.total // RUNS_A_PAGE))
    ways = []
    for to, text in ((number - 1, "newer"), (number + 1, "older")):
        if 1 <= to <= pages:
            query = urlencode({"result": result, "where": where, "sort": sort, "page": to})
            ways.append(tag("a", text, href=f"/runs?{query}"))
    kinds = ", ".join(f"{n} {name}" for name, n in found.results.items())
    counted = f"{found.total} runs: {kinds}." if found.total else "There are no such runs."
    return shell.page(
        "Runs",
        tag("h1", "Runs"),
        form,
        tag("p", problem, role="alert", class_="problem") if problem else None,
        tag("p", counted, f" Page {number} of {pages}. " if pages > 1 else None, ways),
        table(names, rows, right=("tries", "tip, mm", "took, s"), small=True) if rows else None,
        here="/runs",
        wide=True,
    )  # fmt: skip


def _row(row: dict[str, Any], cell: int, many_cells: bool) -> list[Child]:
    unreadable = row["state"] == "unreadable"
    name = row["run_id"] if unreadable else tag("a", row["run_id"], href=f"/run/{cell}/{row['run_id']}")
    words = [None if row[f"{stage}_judged"] is not True else badge(row[f"{stage}_word"]) for stage in ("pick", "place")]
    people = [" by a person" if row[f"{stage}_source"] == "person" else None for stage in ("pick", "place")]
    return [
        name, *([row["cell"]] if many_cells else []),
        _FIGURES.moment(row["started_at"], with_day=True) if row["started_at"] else None, badge(row["result"]),
        [words[0], people[0]], [words[1], people[1]], str(row["attempts"]), _FIGURES.number(row["tip_dist_mm"], 1),
        _FIGURES.number(row["duration_s"], 1), row["problem"] or row["reason"],
    ]  # fmt: skip


def run_page(shell: Shell, cell: CellOfPage, stored: StoredRun) -> str:
    """One run in full, with its motion again on top."""
    ways = contents((("motion", "Motion"), *RUN_CONTENTS[:-1]))
    motion = section("Motion again", _replay(cell.number, stored.entry.run_id), name="motion", lead=_OF_THE_MOTION)
    body = [*run_head(stored), ways, motion, *run_sections(stored, whole=False)]
    return shell.page(stored.entry.run_id, body, here="/runs", scripts=("replay.js",), cell=cell.number)


_OF_THE_MOTION = (
    "Drawn from the joints in the log, as forward kinematics puts the links; waits are shortened. Drag to turn, wheel "
    "to come nearer."
)


def _replay(cell: int, run_id: str) -> Markup:
    """Where the script draws, and its controls."""
    label = "the arm's motion, drawn from logged joints"
    speeds = (
        tag("option", f"{each} ×", value=each, selected="selected" if each == 4 else None) for each in (1, 2, 4, 8)
    )
    controls = tag(
        "div",
        tag("button", "Play", id="play", type="button"),
        tag("input", id="at", type="range", min=0, max=1000, value=0, step=1, aria_label="time in the run"),
        tag("output", id="clock", for_="at"),
        tag("label", "Speed ", tag("select", speeds, id="speed")),
        tag("button", "From above", id="above", type="button"),
        tag("button", "From the side", id="aside", type="button"),
        class_="controls",
    )
    return tag(
        "div",
        tag("canvas", id="scene", tabindex="0", role="img", aria_label=label),
        controls,
        tag("p", id="doing", class_="quiet"),
        class_="replay", id="replay", data_cell=str(cell), data_run=run_id,
    )  # fmt: skip


def problem_page(shell: Shell, title: str, message: str, next_step: str | None) -> str:
    """What could not be shown, in words."""
    return shell.page(
        title, tag("h1", title), tag("p", message), tag("p", next_step, class_="quiet") if next_step else None, here=""
    )


def corrections_page(shell: Shell, cells: Sequence[CellOfPage], cell: CellOfPage, body: Sequence[Child]) -> str:
    """The corrections of a cell, and ways to those of the others."""
    links = [
        tag("a", each.label, href=f"/corrections?cell={each.number}", aria_current="page" if each == cell else None)
        for each in cells
    ]
    ways = tag("nav", links, aria_label="cells") if len(links) > 1 else None
    return shell.page("Corrections", tag("h1", "Corrections"), ways, body, here="/corrections", cell=cell.number)
