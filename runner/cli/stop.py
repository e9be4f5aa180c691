"""`trialcell stop`: a latched stop that running and later trials obey until a person clears it."""

from __future__ import annotations

import getpass
import sys
from typing import Annotated

import typer

from runner.cli.options import DEFAULT_CELL, CellOption, JsonOption
from runner.cli.output import Output

app = typer.Typer()


@app.command(epilog="Example: trialcell stop --why 'the cable is loose'   then   trialcell stop --clear --by Maya")
def stop(
    why: Annotated[str, typer.Option(help="Why it has to stop.")] = "a person said so",
    clear: Annotated[
        bool, typer.Option("--clear", help="Take the stop back, once you have looked; asks who has.")
    ] = False,
    by: Annotated[
        str | None, typer.Option(help="Who you are; your user name by default. Needed to clear without a terminal.")
    ] = None,
    cell: CellOption = DEFAULT_CELL,
    json: JsonOption = False,
) -> int:
    """Stop the cell: the arm holds still where it is, and nothing begins until somebody clears the stop."""
    from runs.latch import StopLatch

    out, latch = Output(as_json=json), StopLatch(cell)
    if clear:
        standing = latch.read()
        was = None if standing is None else latch.clear(by=by or _who_has_looked(standing.why))
        told = "no stop was latched" if was is None else f"cleared: {was.why} (by {was.by}, {was.at})"
        out.answer({"latched": False, "was": None if was is None else was.model_dump()}, told)
    else:
        now = latch.set(by=by or getpass.getuser(), why=why)
        out.answer(
            {"latched": True, "stop": now.model_dump()},
            f"stopped: {now.why} (by {now.by}, {now.at})",
            "look at the cell, then clear it with: trialcell stop --clear",
        )
    return 0


def _who_has_looked(why: str) -> str:
    """The name of the person who clears it: a stop is never cleared by a program that names nobody."""
    if not sys.stdin.isatty():
        raise typer.BadParameter("a stop is cleared by a person: say who has looked at the cell, --by NAME")
    typer.echo(f"stopped: {why}", err=True)
    name = typer.prompt("who has looked at the cell and says that it may move", default=getpass.getuser(), err=True)
    return str(name)
