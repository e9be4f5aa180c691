"""Where a command's words go: tables for people on stdout, or with `--json` one object there and all else on stderr.

Commands print through an `Output` and never write to stdout themselves. It decides nothing about what is said.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator, Mapping
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

PIPED_WIDTH = 110
"""Columns of what goes to a file or a pipe."""

_claimed: list[IO[str]] = []
"""The real stdout while a `--json` command runs; what anything else prints goes to stderr then."""


@contextlib.contextmanager
def claimed_stdout(claim: bool) -> Iterator[None]:
    """With `claim`, keep stdout for the one object: prints of libraries and of ours go to stderr inside."""
    if not claim:
        yield
        return
    _claimed.append(sys.stdout)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        _claimed.pop()


def write_object(data: Mapping[str, Any]) -> None:
    """Print one JSON object on the real stdout: on one line for programs, indented on a terminal.

    Raises:
        ValueError: a number is not finite; JSON has no word for it.
    """
    stream = _claimed[-1] if _claimed else sys.stdout
    indent = 2 if stream.isatty() else None
    stream.write(json.dumps(data, indent=indent, ensure_ascii=False, allow_nan=False) + "\n")
    stream.flush()


class Output:
    """A command's way to speak.

    `console` is where its answer for people goes: stdout, or stderr with `--json`. `aside` is for progress and
    remarks, always stderr.
    """

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json
        self._told = False

    @property
    def console(self) -> Console:
        """A console for the answer."""
        return _console(stderr=self.as_json)

    @property
    def aside(self) -> Console:
        """A console for everything that is not the answer."""
        return _console(stderr=True)

    def answer(self, data: Mapping[str, Any], *for_people: Any) -> None:
        """Give the answer, once: the object with `--json`, else the renderables.

        A text that says `no_wrap` goes out in one line whatever the width: a path or a command, ready to be copied.
        """
        assert not self._told, "a command answers once"
        self._told = True
        if self.as_json:
            write_object(data)
            return
        console = self.console
        for renderable in for_people:
            console.print(renderable, soft_wrap=bool(getattr(renderable, "no_wrap", False)))

    def verbatim(self, data: Mapping[str, Any], text: str) -> None:
        """Give an answer whose text for people is a file's: as it is, whatever the width."""
        if self.as_json:
            self.answer(data)
            return
        self._told = True
        sys.stdout.write(text if text.endswith("\n") else text + "\n")


def _console(*, stderr: bool) -> Console:
    from rich.console import Console

    console = Console(stderr=stderr, highlight=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = PIPED_WIDTH
    return console
