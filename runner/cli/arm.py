"""`trialcell arm`: arm files, also from URDFs; and the arm on the desk: find it, read it, move it by hand."""

from __future__ import annotations

import typer

from runner.cli import arm_bench
from runner.cli.arm_files import import_, list_, show

app = typer.Typer(no_args_is_help=True, epilog="Example: trialcell arm show mycobot_280")


@app.callback()
def _arm() -> None:
    """Arms: those that ship, those made from a URDF, and the one on the desk."""


app.command("list", epilog="Example: trialcell arm list")(list_)
app.command("show", epilog="Example: trialcell arm show mycobot_280")(show)
app.command("import", epilog="Example: trialcell arm import ur5e.urdf --tip-link tool0 --out ur5e.toml")(import_)
arm_bench.add_to(app)
