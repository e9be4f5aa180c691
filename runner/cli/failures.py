"""What went wrong, as a sentence for people (or one object for programs) and an exit code.

Knows no package but `runs`: an error says by its `family` what kind of trouble it is. A user's mistake never
shows a traceback; a fault of this program does, because somebody has to mend it.
"""

from __future__ import annotations

import json
import sys
import traceback
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from runs.errors import Family, TrialcellError

DONE: Final = 0
INTERRUPTED: Final = 130
USAGE: Final = 2

EXIT_CODE_OF_FAMILY: Final[dict[str, int]] = {
    "failed": 1,
    "usage": USAGE,
    "refused": 3,
    "invalid": 3,
    "device": 4,
    "busy": 5,
    "verdict": 6,
}

EXIT_CODE_OF_RESULT: Final[dict[str, int]] = {
    "completed": DONE,
    "failed": 1,
    "unjudged": 1,
    "invalid": 3,
    "refused": 3,
    "stopped": INTERRUPTED,
    "crashed": 1,
}
"""How a trial ended, as an exit code. One that crashed for an error of ours takes that error's code instead."""


class CannotRun(TrialcellError):
    """Something that `doctor` looked at is not as a trial needs it."""

    family: ClassVar[Family] = "invalid"


class Interrupted(Exception):
    """Ctrl-C came while a command ran that makes nothing special of it."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A failure ready to be told. `facts` are the error's own, for programs; `bug` is our own mistake's traceback."""

    exit_code: int
    family: str
    kind: str
    message: str
    next_step: str | None = None
    facts: dict[str, Any] | None = None
    bug: str | None = None


def exit_code_of(error: TrialcellError) -> int:
    """The exit code of one of our errors."""
    return EXIT_CODE_OF_FAMILY.get(error.family, 1)


def explain(error: BaseException) -> Failure:
    """Any exception as a failure."""
    kind = type(error).__name__
    if isinstance(error, TrialcellError):
        facts = {name: value for name, value in vars(error).items() if name not in {"message", "next_step"}}
        if kind == "Stopped":  # by a person, from another terminal
            return Failure(INTERRUPTED, "interrupted", kind, error.message, error.next_step, facts)
        return Failure(exit_code_of(error), error.family, kind, error.message, error.next_step, facts)
    if isinstance(error, Interrupted | KeyboardInterrupt) or kind == "Abort":
        return Failure(INTERRUPTED, "interrupted", "Interrupted", "stopped by you")
    if hasattr(error, "format_message") and hasattr(error, "exit_code"):  # what typer says of wrong arguments
        context = getattr(error, "ctx", None)
        help_for = f"see: {context.command_path} --help" if context is not None else None
        return Failure(USAGE, "usage", kind, _sentence(error.format_message()), help_for)
    if isinstance(error, MemoryError):
        return Failure(1, "failed", kind, "there is not enough memory for this")
    bug = "".join(traceback.format_exception(error))
    message = f"trialcell made a mistake: {kind}: {error}"
    return Failure(1, "bug", kind, message, "please report it with the lines above", bug=bug)


def _sentence(text: str) -> str:
    return " ".join(text.split()).rstrip(".")


def as_object(failure: Failure) -> dict[str, Any]:
    """A failure as the object that `--json` prints."""
    told: dict[str, Any] = {
        "type": failure.kind,
        "family": failure.family,
        "exit_code": failure.exit_code,
        "message": failure.message,
        "next_step": failure.next_step,
    }
    if failure.facts:
        told["facts"] = json.loads(json.dumps(failure.facts, default=str))
    return {"error": told}


def tell(failure: Failure) -> None:
    """Say a failure to people, on stderr."""
    from rich.console import Console
    from rich.text import Text

    from runs.figures import clean  # what others said may stand in it: a client's name, a file's content

    if failure.bug is not None:
        sys.stderr.write(clean(failure.bug))
    console = Console(stderr=True, highlight=False)
    mark = "■" if failure.family == "interrupted" else "✗"
    console.print(Text.assemble((f"{mark} ", "bold red"), clean(failure.message)), soft_wrap=True)
    if failure.next_step is not None:
        console.print(Text(f"  → {clean(failure.next_step)}", style="dim"), soft_wrap=True)
