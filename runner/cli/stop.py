"""`trialcell stop`: a latched stop that running and later trials obey until a person clears it."""

from __future__ import annotations

import getpass
from typing import Annotated

import typer

from runner.cli.options import DEFAULT_CELL, CellOption, JsonOption
from runner.cli.output import Output

app = typer.Typer()


@app.command(epilog="Example: trialcell stop --why 'the cable is loose'   then   trialcell stop --clear --by Maya")
def stop(
    why: Annotated[str, typer.Option(help="Why it has to stop.")] = "a person said so",
    clear: Annotated[bool, typer.Option("--clear", help="Take the stop back, once you have looked.")] = False,
    by: Annotated[str | None, typer.Option(help="Who you are; your user name by default.")] = None,
    cell: CellOption = DEFAULT_CELL,
    json: JsonOption = False,
) -> int:
    """Stop the cell: the trial under way ends after its motion, and none begins until somebody clears the stop."""
    from runs.latch import StopLatch

    out, latch, person = Output(as_json=json), StopLatch(cell), by or getpass.getuser()
    if clear:
        was = latch.clear(by=person)
        told = "no stop was latched" if was is None else f"cleared: {was.why} (by {was.by}, {was.at})"
        out.answer({"latched": False, "was": None if was is None else was.model_dump()}, told)
    else:
        now = latch.set(by=person, why=why)
        out.answer(
            {"latched": True, "stop": now.model_dump()},
            f"stopped: {now.why} (by {now.by}, {now.at})",
            "clear it with: trialcell stop --clear",
        )
    return 0
