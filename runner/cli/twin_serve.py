"""`trialcell twin serve`: the digital twin behind the arm's own protocol, until somebody ends it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from runner.cli.options import DEFAULT_CELL, CellOption, JsonOption, ProfileOption, SetOption
from runner.cli.output import Output

if TYPE_CHECKING:
    from runner.twin.served import Addresses

EPILOG = "Example: trialcell twin serve --tcp 9000   or   trialcell twin serve --pty --firmware old --speedup 5"


def serve(
    tcp: Annotated[int | None, typer.Option(min=0, max=65_535, metavar="PORT", help="TCP port; 0: any free.")] = None,
    pty: Annotated[
        bool, typer.Option("--pty", help="A pseudo-terminal, which clients open like a serial port.")
    ] = False,
    firmware: Annotated[
        Literal["new", "old"], typer.Option(help="new acknowledges what it is told to do, old stays silent.")
    ] = "new",
    profile: ProfileOption = None,
    fault: Annotated[
        list[str] | None, typer.Option(metavar="NAME[@S]", help="What goes wrong and when, as often as you like.")
    ] = None,
    speedup: Annotated[
        float, typer.Option(min=0.1, max=100, help="How many of the twin's seconds go into one of yours.")
    ] = 1.0,
    seed: Annotated[int | None, typer.Option(min=0, help="The start that it begins with.")] = None,
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0: all of this machine's.")] = "127.0.0.1",
    camera_port: Annotated[int, typer.Option(min=0, max=65_535, help="Port of the camera; 0: any free.")] = 0,
    control_port: Annotated[int, typer.Option(min=0, max=65_535, help="Port of the control; 0: any free.")] = 0,
    set_: SetOption = None,
    cell: CellOption = DEFAULT_CELL,
    json: JsonOption = False,
) -> int:
    """Serve the twin as if it were the arm: real time, the arm's protocol, its camera as a network stream.

    Takes no lock on the cell. Its addresses stand in the cell's folder, under served/. Ends with Ctrl-C or SIGTERM.
    """
    from contextlib import ExitStack

    from runner.twin.firmware.ports import Doors, WirePorts

    if tcp is None and not pty:
        raise typer.BadParameter("say where to serve: --tcp PORT, --pty, or both")
    out = Output(as_json=json)
    doors = Doors(tcp, pty, host=host, camera_port=camera_port, control_port=control_port)
    with ExitStack() as stack:
        over = stack.enter_context(_ended_by_signals())
        wire = WirePorts.at(doors)  # who comes from now on waits while the rest is loaded
        stack.callback(wire.close)
        from runner.cell import open_cell
        from runner.twin.serve import ServedTwin

        overrides = [*(set_ or []), *([f"twin.profile={profile}"] if profile else []), *_seeded(seed)]
        opened = open_cell(cell, overrides)
        served = ServedTwin(opened.config, firmware, doors, speedup=speedup, faults=tuple(fault or ()))
        stack.callback(served.close)
        addresses = served.start(opened.folder, wire)
        out.answer({**addresses.model_dump(), "cell": str(opened.folder)}, *_told(addresses))
        over.wait()
    out.aside.print("ended")
    return 0


def _seeded(seed: int | None) -> list[str]:
    return [] if seed is None else [f"twin.seed={seed}"]


def _ended_by_signals() -> Any:
    """A context in which SIGINT and SIGTERM set an event instead of tearing things apart."""
    import contextlib
    import signal
    import threading
    from collections.abc import Iterator

    @contextlib.contextmanager
    def ended() -> Iterator[threading.Event]:
        over = threading.Event()
        if threading.current_thread() is not threading.main_thread():
            yield over
            return
        before = {n: signal.signal(n, lambda *_: over.set()) for n in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield over
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    return ended()


def _told(addresses: Addresses) -> list[Any]:
    from rich.text import Text

    rows = [
        ("arm", f"TCP {addresses.tcp}" if addresses.tcp else ""),
        ("arm", f"serial {addresses.pty}" if addresses.pty else ""),
        ("camera", addresses.camera),
        ("control", addresses.control),
        ("firmware", f"{addresses.firmware}, profile {addresses.profile}"),
    ]
    kind, where = ("mycobot-tcp", addresses.tcp) if addresses.tcp else ("mycobot-serial", addresses.pty)
    rows.append(("try it", f"trialcell run --seed 7 --set arm.kind={kind} --set arm.address={where}"))
    return [Text(f"{name:9} {text}", no_wrap=True) for name, text in rows if text]
