"""`trialcell ik`: joint angles for a tool point, how the solvers compare, and pictures of how an answer was found."""

from __future__ import annotations

import typer

from runner.cli.ik_compare import compare
from runner.cli.ik_show import show
from runner.cli.ik_solve import solve

app = typer.Typer(no_args_is_help=True, epilog="Example: trialcell ik solve --x 0.12 --y 0.03 --z 0.2 --tilt-deg 50")


@app.callback()
def _ik() -> None:
    """Joint angles for a tool point, and how they were found."""


app.command(epilog="Example: trialcell ik solve --x 0.12 --y 0.03 --z 0.2 --tilt-deg 50 --all")(solve)
app.command(epilog="Example: trialcell ik compare --targets 20")(compare)
app.command(epilog="Example: trialcell ik show --x 0.12 --y 0.03 --z 0.2 --tilt-deg 50 --out ik.png")(show)
