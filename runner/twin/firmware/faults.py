"""What goes wrong with such arms, by name: injected between the wire and the firmware, at a chosen or a random moment.

The faults themselves are in `fault_kinds.py`, those of cameras, which go by name here too, in `camera_faults.py`.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, nan

from runner.arms.wire import Cmd, WireFrame, angles_from_wire
from runner.twin.camera_faults import EVERY_CAMERA_FAULT, CameraFault
from runner.twin.errors import UnknownFault
from runner.twin.firmware.commands import DONE, Commands, Kind
from runner.twin.firmware.controller import Controller
from runner.twin.firmware.fault import Fault
from runner.twin.firmware.fault_kinds import EVERY_FAULT
from runner.twin.firmware.ports import Reply
from runner.twin.setup import Twin
from runner.twin.streams import stream
from runner.twin.world import World

EARLIEST_S, LATEST_S = 2.0, 40.0  # between these a random moment lies, in the twin's time after a reset
RANDOM = "random"

FaultKind = type[Fault] | type[CameraFault]
_EVERY: tuple[FaultKind, ...] = (*EVERY_FAULT, *EVERY_CAMERA_FAULT)
FAULTS: dict[str, FaultKind] = {fault.name: fault for fault in _EVERY}


@dataclass(frozen=True, slots=True)
class WantedFault:
    """A fault that somebody asked for; `at_s` in the twin's time after a reset, None at a random moment."""

    kind: FaultKind
    at_s: float | None

    def moment_s(self, seed: int) -> float:
        """When it begins; a random moment is the fault's own, the same for the same seed."""
        if self.at_s is not None:
            return self.at_s
        return float(stream(seed, f"fault {self.kind.name}").uniform(EARLIEST_S, LATEST_S))


def parsed(names: Sequence[str]) -> list[WantedFault]:
    """Faults by name: `NAME@SECONDS`, or `NAME` and `NAME@random` for a random moment.

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
        at_s = None
        if at and moment != RANDOM:
            try:
                at_s = float(moment)
            except ValueError:
                at_s = nan
            if not 0 <= at_s < inf:
                raise UnknownFault(text, f"write it as {name}@12.5 (seconds after a reset) or {name}@{RANDOM}")
        found.append(WantedFault(FAULTS[name], at_s))
    return found


def firmware_of(twin: Twin, kind: Kind, faults: Sequence[str]) -> FaultyFirmware:
    """The firmware of a twin's arm, with those of the faults that are a firmware's.

    Raises:
        UnknownFault: there is no such fault.
    """
    return FaultyFirmware(Commands(Controller(twin.arm), kind), faults, lambda: twin.world.now_s)


def trouble_camera(twin: Twin, faults: Sequence[str], seed: int, *, from_s: float = 0.0) -> None:
    """Have those of the faults that are a camera's befall the twin's, until the next trial begins.

    Args:
        from_s: moments count from here, in the twin's time.

    Raises:
        UnknownFault: there is no such fault.
    """
    twin.camera.trouble(
        [
            (from_s + wanted.moment_s(seed), wanted.kind(seed))
            for wanted in parsed(faults)
            if issubclass(wanted.kind, CameraFault)
        ]
    )


def only_cameras(faults: Sequence[str]) -> bool:
    """Whether no firmware is needed for any of these.

    Raises:
        UnknownFault: there is no such fault.
    """
    return all(issubclass(wanted.kind, CameraFault) for wanted in parsed(faults))


class FaultyFirmware:
    """Commands with faults round them. Whoever calls it holds the world's lock; times are the twin's, since a reset."""

    def __init__(self, commands: Commands, names: Sequence[str], now_s: Callable[[], float]) -> None:
        self._commands, self._now_s, self._wanted = commands, now_s, parsed(names)
        self.begin(0)

    def begin(self, seed: int) -> None:
        """As after switching on; every fault is still to come, random moments are drawn from the seed.

        `beyond_limits` counts from here on how many goals outside the arm's limits it is told.
        """
        self._commands.controller.begin()
        controller = self._commands.controller
        self._to_come = [
            (wanted.moment_s(seed), wanted.kind(controller))
            for wanted in self._wanted
            if issubclass(wanted.kind, Fault)
        ]
        self._here: list[Fault] = []
        self.beyond_limits = 0

    def befall(self, names: Sequence[str], seed: int) -> None:
        """These faults are to come as well; their moments count from now.

        Raises:
            UnknownFault: there is no such fault.
        """
        now_s, controller = self._now_s(), self._commands.controller
        self._to_come += [
            (now_s + wanted.moment_s(seed), wanted.kind(controller))
            for wanted in parsed(names)
            if issubclass(wanted.kind, Fault)
        ]

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

    @property
    def line_is_down(self) -> bool:
        """Whether nobody can reach it now."""
        now_s = self._now_s()
        return any(fault.line_is_down(now_s) for fault in self._here)

    def handle(self, request: WireFrame) -> list[Reply]:
        """What is sent for a request, and when."""
        now_s, heard = self._now_s(), request
        self._count(request)
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

    def _count(self, request: WireFrame) -> None:
        if request.command == Cmd.SEND_ANGLES and len(request.payload) == 13:
            goal, arm = angles_from_wire(request.payload[:12]), self._commands.controller.model
            self.beyond_limits += not (arm.min_deg <= goal).all() or not (goal <= arm.max_deg).all()

    def _acknowledged(self, request: WireFrame) -> WireFrame | None:
        return WireFrame(request.command, DONE) if self._commands.kind == "new" else None
