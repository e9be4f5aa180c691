"""`trialcell ik`: inverse kinematics at the command line."""

from __future__ import annotations

import typer

from runner.cli.ik_show import show

app = typer.Typer(no_args_is_help=True, epilog="Example: trialcell ik show 0.12 0.03 0.2 --tilt-deg 50")


@app.callback()
def _ik() -> None:
    """Joint angles for a tool point, and pictures of how they were found."""


app.command(
    epilog="Example: trialcell ik show 0.12 0.03 0.2 --tilt-deg 50 --out ik.png",
    context_settings={"ignore_unknown_options": True},  # -0.1 is a number
)(show)
