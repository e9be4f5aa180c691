"""The person at the desk, asked for what a program can't do: hold the board, clear the table.

It only asks and waits; in the twin it asks nobody. Without a terminal there is nobody to ask, and that is said.
"""

from __future__ import annotations

import sys
from typing import ClassVar, Protocol

from runs.errors import Family, TrialcellError


class NobodyToAsk(TrialcellError):
    """A step needs a person, and no terminal is there."""

    family: ClassVar[Family] = "usage"

    def __init__(self, what: str) -> None:
        self.what = what
        super().__init__(
            f"somebody has to do this, and there is no terminal to ask at: {what}",
            next_step="run it at a terminal; or, once it is done, with --yes",
        )


class Person(Protocol):
    """Who helps."""

    def please(self, what: str) -> None:
        """Have something done, and come back when it is."""
        ...


class Nobody:
    """The twin's: what is asked for is done already."""

    def please(self, what: str) -> None:
        """Nothing."""


class AtTheTerminal:
    """Asks on stderr and waits for Enter."""

    def please(self, what: str) -> None:
        """Ask and wait.

        Raises:
            NobodyToAsk: stdin is no terminal, or was closed.
        """
        if not sys.stdin.isatty():
            raise NobodyToAsk(what)
        sys.stderr.write(f"→ {what}, then press Enter. ")
        sys.stderr.flush()
        if not sys.stdin.readline():
            raise NobodyToAsk(what)
