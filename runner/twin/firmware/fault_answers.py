"""Faults of what the arm says: answers that are empty, false, cut, or not there at all."""

from __future__ import annotations

from runner.arms.wire import Cmd, WireFrame, angles_from_wire, angles_to_wire
from runner.twin.firmware.fault import Fault
from runner.twin.firmware.ports import Reply


class NoAngles(Fault):
    """Angles are answered without content for a while: the client makes −1 of it."""

    name, row, what = "no-angles", 1, "joint readings come empty for 3 s"

    def says(self, request: WireFrame, replies: list[Reply], now_s: float) -> list[Reply]:
        """Nothing in them."""
        if request.command == Cmd.GET_ANGLES and now_s - self.since_s < 3.0:
            return [(0.0, WireFrame(Cmd.GET_ANGLES).encode())]
        return replies


class StrayHeader(Fault):
    """A servo's checksum byte stands before the frame."""

    name, row, what = "stray-header", 2, "a stray 0xFE before each joint reading"

    def says(self, request: WireFrame, replies: list[Reply], now_s: float) -> list[Reply]:
        """One byte more."""
        return [(d, b"\xfe" + data) if request.command == Cmd.GET_ANGLES else (d, data) for d, data in replies]


class NonsenseAngles(Fault):
    """Readings that no joint can have."""

    name, row, what = "nonsense-angles", 3, "joint readings are constant nonsense for good"

    def says(self, request: WireFrame, replies: list[Reply], now_s: float) -> list[Reply]:
        """A constant."""
        if request.command == Cmd.GET_ANGLES:
            return [(0.0, WireFrame(Cmd.GET_ANGLES, angles_to_wire([180.08] * 6)).encode())]
        return replies


class GhostMotion(Fault):
    """The readings show the goal and the arm has not moved."""

    name, row, what = "ghost-motion", 4, "goals are read back as reached, the arm does not move"

    def begins(self, now_s: float) -> None:
        """From here on it shows what it was told."""
        super().begins(now_s)
        self._shown = [float(a) for a in self.controller.angles_deg()]

    def hears(self, request: WireFrame, now_s: float) -> WireFrame | None:
        """Goals are only remembered."""
        if request.command == Cmd.SEND_ANGLES and len(request.payload) == 13:
            self._shown = list(angles_from_wire(request.payload[:12]))
            return None
        return request

    def says(self, request: WireFrame, replies: list[Reply], now_s: float) -> list[Reply]:
        """And given back."""
        if request.command == Cmd.GET_ANGLES:
            return [(0.0, WireFrame(Cmd.GET_ANGLES, angles_to_wire(self._shown)).encode())]
        return replies


class MovingAlways(Fault):
    """The firmware's own word on motion is worthless."""

    name, row, what = "moving-always", 11, "is_moving says always yes, is_in_position always no"

    def says(self, request: WireFrame, replies: list[Reply], now_s: float) -> list[Reply]:
        """The same whatever is."""
        fixed = {Cmd.IS_MOVING: b"\x01", Cmd.IS_IN_POSITION: b"\x00"}
        if request.command in fixed:
            return [(0.0, WireFrame(request.command, fixed[Cmd(request.command)]).encode())]
        return replies


class LineDrops(Fault):
    """The network goes away and comes back."""

    name, row, what = "line-drops", 21, "the connection breaks, and for 3 s nobody answers at the arm's address"

    def line_is_down(self, now_s: float) -> bool:
        """For a while."""
        return now_s - self.since_s < 3.0


class CutFrames(Fault):
    """The line loses the ends of answers."""

    name, row, what = "cut-frames", 25, "every fifth answer loses its end"
    _count = 0

    def says(self, request: WireFrame, replies: list[Reply], now_s: float) -> list[Reply]:
        """Every fifth."""
        self._count += 1
        return [(d, data[:-2]) for d, data in replies] if self._count % 5 == 0 else replies
