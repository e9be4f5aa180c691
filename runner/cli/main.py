"""The command `trialcell`: a table of nouns, each in a module of its own that is loaded when its noun is used.

So help is instant and loads no numpy, no OpenCV and no physics. A module listed here has a `typer.Typer` called `app`:
with one command it is that command, with more it is a group. A command raises our errors or returns an exit code; how
they are told is `failures.py`'s business.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from runner.cli import failures
from runner.cli.output import claimed_stdout, write_object
from runner.cli.quick import answered

NAME = "trialcell"


@dataclass(frozen=True, slots=True)
class Noun:
    """A word after `trialcell`: the module that holds it, what help says of it, and under which heading."""

    name: str
    module: str
    help: str
    heading: str


NOUNS = (
    Noun("run", "runner.cli.run", "Do one whole trial: find, pick, place, judge, write down.", "Trials"),
    Noun("batch", "runner.cli.batch", "Run many trials by a plan; watch, pause and resume them.", "Trials"),
    Noun("agent", "runner.cli.agent", "Give a task to an agent that works through guarded tools.", "Trials"),
    Noun("mcp", "runner.cli.mcp", "Serve the same tools to programs that speak MCP.", "Trials"),
    Noun("stop", "runner.cli.stop", "Latch a stop, or take it back once you have looked.", "Trials"),
    Noun("judge", "runner.cli.judge", "Ask a judge about pictures.", "Trials"),
    Noun("runs", "runner.cli.runs", "List, show, check and recover the logs of trials.", "Trials"),
    Noun("review", "runner.cli.review", "Rule on doubtful steps in the browser, watch and stop a batch.", "Trials"),
    Noun("corrections", "runner.cli.corrections", "See, prove and take back what was learned.", "Trials"),
    Noun("init", "runner.cli.init", "Make a cell's folder with working settings.", "The cell"),
    Noun("doctor", "runner.cli.doctor", "Look whether everything a trial needs is there.", "The cell"),
    Noun("calibrate", "runner.cli.calibrate", "Measure lens, table, tool and joints; a number at the end.", "The cell"),
    Noun("twin", "runner.cli.twin", "Try the digital twin alone, or serve it as an arm.", "The cell"),
    Noun("table", "runner.cli.table", "Build and look into the reach table.", "The cell"),
    Noun("arm", "runner.cli.arm", "Find the arm, read it, move it; arm files, also from a URDF.", "The cell"),
    Noun("ik", "runner.cli.ik", "Find joint angles for a tool point, and see how.", "The cell"),
    Noun("detect", "runner.cli.detect", "Find block and box in any picture.", "The cell"),
)


class LazyGroup(TyperGroup):
    """The top of the command line: knows its nouns by name and help only, until one is used."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """The noun's own command in the place of its entry in the table."""
        name, command, rest = super().resolve_command(ctx, args)
        module = next((noun.module for noun in NOUNS if noun.name == name), None)
        if module is not None:
            command = _plain(typer.main.get_command(importlib.import_module(module).app))
            command.name = name
        return name, command, rest

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The nouns under their headings."""
        width = max(len(noun.name) for noun in NOUNS)
        for heading in dict.fromkeys(noun.heading for noun in NOUNS):
            with formatter.section(heading):
                formatter.write_dl([(n.name.ljust(width), n.help) for n in NOUNS if n.heading == heading])

    def invoke(self, ctx: Any) -> Any:
        """Run the noun; a Ctrl-C that it left to us becomes a failure of its own."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise failures.Interrupted from None


def _plain(command: Any) -> Any:
    """A command and all below it with help in plain text, which is there at once and says nothing in boxes."""
    command.rich_markup_mode = None
    for below in getattr(command, "commands", {}).values():
        _plain(below)
    return command


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"{NAME} {version(NAME)}")
        raise typer.Exit


def _top(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Whole tabletop pick-and-place trials by themselves: find, pick, place, judge, log, learn.

    Nothing needs to be plugged in: the default cell is a digital twin. Begin with: trialcell run
    """


def command() -> TyperGroup:
    """The whole command line, with nothing loaded behind it."""
    app = typer.Typer(
        name=NAME,
        cls=LazyGroup,
        no_args_is_help=True,
        epilog="Each of them has its own help with an example: trialcell run --help",
    )
    app.callback()(_top)
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    for noun in NOUNS:
        group.add_command(TyperCommand(noun.name, help=noun.help))
    group.rich_markup_mode = None
    return group


def run(args: Sequence[str]) -> int:
    """Run one command line and return its exit code. Nothing is raised, but what ends the process anyway."""
    as_json = "--json" in args
    with claimed_stdout(as_json):
        try:
            code = answered(args)
            if code is None:
                code = command().main(args=list(args), prog_name=NAME, standalone_mode=False)
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the last line of defence: all is told
            if type(error).__name__ == "NoArgsIsHelpError":
                typer.echo(str(error))
                return failures.USAGE
            failure = failures.explain(error)
            if as_json:
                write_object(failures.as_object(failure))
            failures.tell(failure)
            return failure.exit_code
    return code if isinstance(code, int) else failures.DONE


def main() -> None:
    """Entry point of the `trialcell` command."""
    code = run(sys.argv[1:])
    try:
        sys.stdout.flush()
    except BrokenPipeError:  # `trialcell runs list | head`: whoever read us has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)
