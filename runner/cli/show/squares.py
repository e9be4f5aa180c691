"""Squares of the table as characters, seen from above."""

from __future__ import annotations

from typing import Any

from rich.console import RenderableType
from rich.text import Text

from runner.cli.show.parts import QUIET
from runs.corrections.table import SQUARE_MM

ARROWS = "→↗↑↖←↙↓↘"
"""By direction, an eighth of a turn each, from +x toward +z."""


def nothing(why: str = "no such measurement in these runs") -> list[RenderableType]:
    """What stands in the place of a map or a table that would be empty."""
    return [Text(why, style=QUIET)]


def character_map(signs: dict[Any, tuple[str, str]], legend: str) -> list[RenderableType]:
    """Squares as characters, seen from above: x to the right, z upwards, the base below the middle of the last line."""
    known = [square for square in signs if square is not None]
    if not known:
        return nothing()
    across = [0, *(x for x, _ in known)]
    left, right = min(across), max(across)
    lines: list[RenderableType] = []
    for z in range(max(z for _, z in known), min(z for _, z in known) - 1, -SQUARE_MM):
        line = Text(f"{z:>5} ", style=QUIET)
        for x in range(left, right + 1, SQUARE_MM):
            sign, style = signs.get((x, z), (" ", ""))
            line.append(f"{sign} ", style=style)
        lines.append(line)
    marks = [" "] * ((right - left) // SQUARE_MM * 2 + 8)
    for x in range(left, right + 1, SQUARE_MM):
        if x % 100 == 0:
            text = str(x)
            at = (x - left) // SQUARE_MM * 2
            marks[at : at + len(text)] = text
    lines.append(Text("z mm  " + "".join(marks).rstrip() + "  x mm", style=QUIET))
    return [*lines, Text(f"\n{legend}", style=QUIET)]
