"""`trialcell twin`: what can be done with the digital twin beside running trials in it."""

from __future__ import annotations

import typer

from runner.cli import twin_serve

app = typer.Typer(no_args_is_help=True, epilog="Example: trialcell twin serve --tcp 9000")
app.command(epilog=twin_serve.EPILOG)(twin_serve.serve)


@app.callback()
def _twin() -> None:
    """The digital twin by itself."""
