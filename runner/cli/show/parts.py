"""The bricks of the page: headings, tables without boxes, lines of joints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from runs.figures import NOTHING, Figures, clean

QUIET = "dim"
NAME = "bold"

WORD_STYLE = {"yes": "green", "no": "red", "unsure": "yellow"}
RESULT_STYLE = {
    "completed": "bold green",
    "failed": "bold red",
    "crashed": "bold red",
    "refused": "bold yellow",
    "invalid": "bold yellow",
    "unjudged": "bold yellow",
    "stopped": "bold yellow",
}
OUTCOME_STYLE = {"done": "green", "skipped": QUIET, "failed": "red", "crashed": "red"}
INDENT = (0, 0, 0, 2)


def heading(text: str, remark: str = "") -> Text:
    """A heading with a blank line above it."""
    return Text.assemble("\n", (text, "bold cyan"), ("  " + remark if remark else "", QUIET))


def indented(renderable: RenderableType) -> Padding:
    """Something below a heading."""
    return Padding(renderable, INDENT)


def columns(*names: str, right: Sequence[str] = (), wide: str | None = None) -> Table:
    """A table without lines: names in quiet grey, `right` ones flush right, `wide` takes the room that is left."""
    table = Table(box=None, pad_edge=False, header_style=QUIET, show_header=any(names), padding=(0, 2, 0, 0))
    for name in names:
        table.add_column(
            name,
            justify="right" if name in right else "left",
            no_wrap=name != wide,
            overflow="fold",
            ratio=1 if name == wide else None,
        )
    table.expand = wide is not None
    return table


def pairs(rows: Sequence[tuple[RenderableType, RenderableType]], *, width: int = 14) -> Table:
    """Names on the left, their text on the right."""
    table = Table.grid(padding=(0, 2, 0, 0), expand=True)
    table.add_column(width=width, style=QUIET, no_wrap=False)
    table.add_column(ratio=1, overflow="fold")
    for name, value in rows:
        table.add_row(name, value)
    return table


def words(text: str, style: str = "") -> Text:
    """Text from a log, to print as it is: neither markup nor terminal codes in it mean anything."""
    return Text(clean(text), style=style)


def verdict_word(word: str | None) -> Text:
    """A verdict in its colour."""
    return Text(word, style=f"bold {WORD_STYLE[word]}") if word is not None else Text("no verdict", style="bold yellow")


@dataclass(frozen=True, slots=True)
class JointLine:
    """One set of joints on the page: its name, the angles (None: not known), its style and a remark."""

    name: str
    angles_deg: Sequence[float] | None
    style: str = ""
    remark: Text = field(default_factory=Text)
    signed: bool = False


def joint_lines(lines: Sequence[JointLine], figures: Figures, *, lead: Sequence[Text] = ()) -> Table:
    """Sets of joints under each other, a joint a column; with every digit they stand side by side, a joint a row.

    `lead` are words on the left, a line each.
    """
    n_joints = max((len(line.angles_deg) for line in lines if line.angles_deg is not None), default=0)
    if figures.full:
        return _joint_rows(lines, figures, n_joints, lead)
    table = _joint_table(n_joints, with_lead=bool(lead))
    for line, left in zip_longest(lines, lead):
        before = [left or Text("")] if lead else []
        if line is None:
            table.add_row(*before)
            continue
        shown = [_angle(line, joint, figures) for joint in range(n_joints)]
        table.add_row(*before, Text(line.name, style=QUIET), *shown, Text.assemble(" ", line.remark))
    return table


def joint_header(n_joints: int) -> Table:
    """The names of the joints above `joint_lines` that have words on the left."""
    table = _joint_table(n_joints, with_lead=True)
    table.add_row("", "", *(Text(f"j{joint}", style=QUIET) for joint in range(n_joints)), "")
    return table


def _joint_table(n_joints: int, *, with_lead: bool) -> Table:
    table = Table.grid(padding=(0, 1, 0, 0))
    if with_lead:
        table.add_column(width=21, overflow="fold")
    table.add_column(width=9 if with_lead else 14, no_wrap=True)
    for _ in range(n_joints):
        table.add_column(width=7, justify="right", no_wrap=True)
    table.add_column(overflow="fold")
    return table


def _angle(line: JointLine, joint: int, figures: Figures) -> Text:
    if line.angles_deg is None or joint >= len(line.angles_deg):
        return Text(NOTHING, style=QUIET)
    return Text(figures.number(float(line.angles_deg[joint]), 2, signed=line.signed), style=line.style)


def _joint_rows(lines: Sequence[JointLine], figures: Figures, n_joints: int, lead: Sequence[Text]) -> Table:
    outer = Table.grid()
    if lead:
        outer.add_row(Text("  ").join(text for text in lead if text.plain))
    for some in (lines[start : start + 3] for start in range(0, len(lines), 3)):
        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column(width=14)
        for _ in some:
            table.add_column(no_wrap=True)
        table.add_row("", *(Text(line.name, style=QUIET) for line in some))
        for joint in range(n_joints):
            table.add_row(Text(f"j{joint}", style=QUIET), *(_angle(line, joint, figures) for line in some))
        outer.add_row(table)
    for line in lines:
        if line.remark.plain:
            outer.add_row(Text.assemble((f"{line.name:<14}  ", QUIET), line.remark))
    return outer
