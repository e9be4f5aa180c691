"""`trialcell mcp`: the agent's tools for programs that speak MCP, over standard input and output or HTTP."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from importlib.util import find_spec
from typing import Annotated

import typer

from runner.cli.options import DEFAULT_CELL, CellOption, JsonOption, SetOption
from runner.cli.output import Output

app = typer.Typer()


@app.command(epilog="Example: trialcell mcp --http --port 8271")
def mcp(
    http: Annotated[bool, typer.Option("--http", help="Serve HTTP, instead of standard input and output.")] = False,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Of HTTP; 0 takes a free one.")] = 8271,
    host: Annotated[
        str, typer.Option("--host", metavar="ADDRESS", help="Of this machine; others than loopback need a --token.")
    ] = "127.0.0.1",
    token: Annotated[
        str | None, typer.Option("--token", metavar="TEXT", help="Clients must carry it as a Bearer; new makes one.")
    ] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="Offer only what needs no arm.")] = False,
    seed: Annotated[int | None, typer.Option(min=0, help="The twin's seed: fixes block, box, light and noise.")] = None,
    set_: SetOption = None,
    cell: CellOption = DEFAULT_CELL,
    json: JsonOption = False,
) -> None:
    """Serve the agent's tools and the cell's maps, logs and last frame to programs that speak MCP.

    One client has the arm at a time, by a lease (agent.lease_s, agent.lease_most_s); one that falls silent or dies
    loses it, and the arm comes to rest. Over standard input and output it ends with its client.
    """
    import secrets
    from importlib.metadata import version

    from rich.text import Text

    if find_spec("mcp") is None:
        raise typer.BadParameter("this needs the extra: pip install 'trialcell[mcp]'")
    if not http and (json or token is not None or host != "127.0.0.1"):
        raise typer.BadParameter("--json, --token and --host are for --http")
    if not http:
        _in_a_session_of_its_own()
    from runner.agent.cell_view import CellView
    from runner.agent.serving.holder import ArmHolder
    from runner.agent.serving.offer import Offer
    from runner.agent.serving.protocol import HttpDoor, serve_stdio
    from runner.cell import open_cell
    from runner.rig import Request

    out = Output(as_json=json)
    opened = open_cell(cell, set_ or [])
    holder = None if read_only else ArmHolder(opened, request=Request(seed=seed))
    offer = Offer(CellView(opened), holder)

    def close() -> None:
        if holder is not None:
            holder.close()

    if not http:
        serve_stdio(offer, version=version("trialcell"), close=close)
        return
    try:
        key = secrets.token_urlsafe(24) if token == "new" else token
        door = HttpDoor(offer, host=host, port=port, token=key, version=version("trialcell"))
        data = {"url": door.url, "port": door.port, "token": key, "read_only": read_only, "cell": str(opened.folder)}
        told = [Text(door.url, no_wrap=True), *([Text(f"token {key}", no_wrap=True)] if key else [])]
        door.run(lambda: out.answer(data, *told, Text("Ctrl-C ends it; the arm comes to rest", style="dim")))
    finally:
        close()


def _in_a_session_of_its_own() -> None:
    """Go on in a child that no client kills together with us: they wait two seconds, and an arm needs longer to rest.

    The child reads the same standard input and ends when the client closes it. We wait for it, and hand on what asks us
    to end.
    """
    if not hasattr(os, "fork"):  # on Windows the client has the last word
        return
    child = os.fork()
    if child == 0:
        os.setsid()
        return

    def hand_on(number: int, _: object) -> None:
        with suppress(ProcessLookupError):
            os.kill(child, number)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, hand_on)
    _, status = os.waitpid(child, 0)
    sys.stdout.flush()
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
