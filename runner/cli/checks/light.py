"""What a check of `doctor` finds: green, yellow or red, in words, with what to do next."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

from runner.cli.failures import exit_code_of
from runs.errors import TrialcellError

Light = Literal["green", "yellow", "red"]
_MARKS = {"green": "✓", "yellow": "!", "red": "✗"}


@dataclass(frozen=True, slots=True)
class Finding:
    """One line: `yellow` works but should be seen to; `red` keeps a trial from beginning, with its exit code."""

    check: str
    light: Light
    told: str
    next_step: str | None = None
    exit_code: int = 0

    def as_row(self) -> dict[str, Any]:
        """For programs."""
        return {
            "check": self.check,
            "light": self.light,
            "well": self.light != "red",
            "told": self.told,
            "next_step": self.next_step,
            "exit_code": self.exit_code,
        }

    def as_line(self) -> Any:
        """For people: the colour is said as a word too."""
        from rich.padding import Padding
        from rich.table import Table
        from rich.text import Text

        grid = Table.grid(padding=(0, 1))
        grid.add_column(width=8, no_wrap=True)
        grid.add_column(width=12, no_wrap=True)
        grid.add_column(ratio=1)
        sign = Text(f"{_MARKS[self.light]} {self.light}", style=self.light)
        words = Text(self.told)
        grid.add_row(sign, Text(self.check), words)
        if self.next_step:
            grid.add_row("", "", Padding(Text(f"→ {self.next_step}", style="dim"), (0, 0, 0, 0)))
        return grid


Check = Callable[[], Iterable[Finding]]


def green(check: str, told: str, next_step: str | None = None) -> Finding:
    """All is well."""
    return Finding(check, "green", told, next_step)


def yellow(check: str, told: str, next_step: str) -> Finding:
    """It works, and should be seen to."""
    return Finding(check, "yellow", told, next_step)


def red(check: str, told: str, next_step: str, *, exit_code: int = 3) -> Finding:
    """No trial can begin so."""
    return Finding(check, "red", told, next_step, exit_code)


def carried_out(name: str, check: Check) -> list[Finding]:
    """All findings of a check; one of our errors is a red one under the check's own name."""
    found: list[Finding] = []
    try:
        found.extend(check())
    except TrialcellError as error:
        found.append(Finding(name, "red", error.message, error.next_step, exit_code_of(error)))
    return found
