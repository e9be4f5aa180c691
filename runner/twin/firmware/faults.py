"""What goes wrong with such arms, by name: injected between the wire and the firmware, at a chosen or a random moment.

The faults themselves are in `fault_kinds.py`.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from zlib import crc32

import numpy as np

from runner.arms.wire import WireFrame
from runner.twin.errors import UnknownFault
from runner.twin.firmware.commands import DONE, Commands, Kind
from runner.twin.firmware.controller import Controller
from runner.twin.firmware.fault_kinds import EVERY_FAULT, Fault
from runner.twin.firmware.ports import Reply
from runner.twin.setup import Twin
from runner.twin.world import World

EARLIEST_S, LATEST_S = 2.0, 50.0  # between these a random moment lies, in the twin's time after a reset

FAULTS: dict[str, type[Fault]] = {fault.name: fault for fault in EVERY_FAULT}


def parsed(names: Sequence[str]) -> list[tuple[type[Fault], float | None]]:
    """`NAME` or `NAME@SECONDS` as faults with their moments, None for a random one.

    Raises:
        UnknownFault: there is none of that name, or the moment is no number of seconds.
    """
    found = []
    for text in names:
        name, at, moment = text.partition("@")
        if name not in FAULTS:
            near = difflib.get_close_matches(name, FAULTS, n=1)
            raise UnknownFault(
                text, f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(sorted(FAULTS))}"
            )
        try:
            from_s = float(moment) if at else None
        except ValueError:
            raise UnknownFault(text, f"write it as {name}@12.5: seconds after a reset") from None
        found.append((FAULTS[name], from_s))
    return found


def firmware_of(twin: Twin, kind: Kind, faults: Sequence[str]) -> FaultyFirmware:
    """The firmware of a twin's arm.

    Raises:
        UnknownFault: there is no such fault.
    """
    return FaultyFirmware(Commands(Controller(twin.arm), kind), faults, lambda: twin.world.now_s)


def _moment_s(name: str, seed: int) -> float:
    """A random moment, each fault's own, the same for the same seed."""
    return float(np.random.default_rng([seed, crc32(name.encode())]).uniform(EARLIEST_S, LATEST_S))


class FaultyFirmware:
    """Commands with faults round them. Whoever calls it holds the world's lock; times are the twin's, since a reset."""

    def __init__(self, commands: Commands, names: Sequence[str], now_s: Callable[[], float]) -> None:
        self._commands, self._now_s, self._wanted = commands, now_s, parsed(names)
        self.begin(0)

    def begin(self, seed: int) -> None:
        """As after switching on; every fault is still to come, random moments are drawn from the seed."""
        self._commands.controller.begin()
        controller = self._commands.controller
        self._to_come = [
            (_moment_s(kind.name, seed) if at is None else at, kind(controller)) for kind, at in self._wanted
        ]
        self._here: list[Fault] = []

    @property
    def begun(self) -> list[str]:
        """Names of the faults whose moment has come."""
        return [fault.name for fault in self._here]

    def advance(self, world: World, seconds: float) -> None:
        """Let a bit of time go by: physics, faults, goals that are due."""
        world.advance(seconds)
        self._passes()
        self._commands.controller.tick()

    def _passes(self) -> None:
        now_s = self._now_s()
        for at_s, fault in [due for due in self._to_come if due[0] <= now_s]:
            self._to_come.remove((at_s, fault))
            self._here.append(fault)
            fault.begins(now_s)
        for fault in self._here:
            fault.passes(now_s)

    def handle(self, request: WireFrame) -> list[Reply]:
        """What is sent for a request, and when."""
        now_s, heard = self._now_s(), request
        for fault in self._here:
            made = fault.hears(heard, now_s)
            if made is None:
                break
            heard = made
        else:
            made = heard
        answer = self._commands.handle(heard) if made is not None else self._acknowledged(request)
        replies = [] if answer is None else [(0.0, answer.encode())]
        for fault in self._here:
            replies = fault.says(request, replies, now_s)
        return replies

    def _acknowledged(self, request: WireFrame) -> WireFrame | None:
        return WireFrame(request.command, DONE) if self._commands.kind == "new" else None
