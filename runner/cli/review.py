"""`trialcell review`: the record in the browser, doubtful steps first, ruled on with one key."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated

import typer

from runner.cli.options import DEFAULT_CELLS, CellsOption, JsonOption
from runner.cli.output import Output

app = typer.Typer()


@app.command(epilog="Example: trialcell review --cell bench")
def review(
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="Where it is served; 0 takes a free one.")
    ] = 8270,
    host: Annotated[
        str, typer.Option("--host", metavar="ADDRESS", help="Of this machine; others than loopback need a --token.")
    ] = "127.0.0.1",
    token: Annotated[
        str | None,
        typer.Option("--token", metavar="TEXT", help="Who opens the page must have it; new makes one."),
    ] = None,
    share: Annotated[
        float,
        typer.Option("--share", min=0, max=1, help="Of the confident steps, how many are looked at all the same."),
    ] = 0.07,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open it, or only say where it is.")] = True,
    cells: CellsOption = DEFAULT_CELLS,
    json: JsonOption = False,
) -> None:
    """Serve the review page: rule on doubtful steps, watch a batch, stop it, see corrections and motions.

    It is for this machine's own browser. From elsewhere go through ssh -L, or give --host and --token; it speaks plain
    HTTP, so a token on a network that others listen to is no secret.
    """
    import secrets
    import webbrowser

    from rich.text import Text

    from runner.review.server import ReviewServer
    from runs.errors import RunNotFound

    out = Output(as_json=json)
    for cell in cells:
        if not cell.is_dir():
            raise RunNotFound("at all", cell)
    key = secrets.token_urlsafe(24) if token == "new" else token
    server = ReviewServer(cells, host=host, port=port, token=key, share=share, version=version("trialcell"))
    url = server.address.url

    def ready() -> None:
        data = {"url": url, "port": server.address.port, "cells": [str(cell) for cell in cells]}
        out.answer(
            data, Text(url, no_wrap=True), Text("Ctrl-C ends it; rulings are kept as they are made", style="dim")
        )
        if browser and not json:
            webbrowser.open(url)

    server.run(ready)
