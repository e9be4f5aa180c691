"""`trialcell arm`: the arm by itself."""

from __future__ import annotations

import typer

from runner.cli import arm_bench

app = typer.Typer(no_args_is_help=True, epilog="Example: trialcell arm read")
arm_bench.add_to(app)


@app.callback()
def _arm() -> None:
    """The arm by itself: find it, read it, move it by hand."""
