"""What goes wrong with such arms, a class each. It changes what the arm hears, what it says or what state it is in.

Each is what owners have reported, `row` counts them in the order of the collection that they come from. When a fault
begins is `faults.py`'s business; nothing here touches the runner, and nothing of the runner knows of it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from runner.arms.wire import Cmd, WireFrame, angles_from_wire, angles_to_wire
from runner.twin.firmware.controller import NO_SOLUTION, Controller
from runner.twin.firmware.ports import Reply

_JAW_ORDERS = (Cmd.SET_GRIPPER_STATE, Cmd.SET_GRIPPER_VALUE)


class Fault:
    """One fault. Subclasses override what they change; `since_s` is when it began, in the twin's time."""

    name: ClassVar[str]
    row: ClassVar[int]
    what: ClassVar[str]
    since_s: float = 0.0

    def __init__(self, controller: Controller) -> None:
        self.controller = controller

    def begins(self, now_s: float) -> None:
        """Its moment has come."""
        self.since_s = now_s

    def hears(self, request: WireFrame, now_s: float) -> WireFrame | None:
        """What the arm makes of a request; None: it acknowledges it and does nothing."""
        return request

    def says(self, request: WireFrame, replies: list[Reply], now_s: float) -> list[Reply]:
        """What is sent for the replies that a sound arm would send."""
        return replies

    def passes(self, now_s: float) -> None:
        """Time goes by."""

    def line_is_down(self, now_s: float) -> bool:
        """Whether nobody can be reached at the arm's address, and whoever was connected is so no more."""
        return False


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


class _NextGoal(Fault, ABC):
    """Something befalls the next goal only."""

    _done = False

    def hears(self, request: WireFrame, now_s: float) -> WireFrame | None:
        """Waits for a goal."""
        if self._done or request.command != Cmd.SEND_ANGLES or len(request.payload) != 13:
            return request
        self._done = True
        return self._befalls(request, np.array(angles_from_wire(request.payload[:12])))

    @abstractmethod
    def _befalls(self, request: WireFrame, goal_deg: np.ndarray) -> WireFrame | None:
        """What becomes of it."""


class DeafToGoal(_NextGoal):
    """One goal is acknowledged and not gone to."""

    name, row, what = "deaf", 5, "one motion is acknowledged and not made"

    def _befalls(self, request: WireFrame, goal_deg: np.ndarray) -> WireFrame | None:
        return None


class DrivesToStop(_NextGoal):
    """One joint drives to its stop instead and stays there."""

    name, row, what = "drives-to-stop", 6, "in one motion j4 drives to its stop, and its error latches"

    def _befalls(self, request: WireFrame, goal_deg: np.ndarray) -> WireFrame | None:
        goal_deg[4] = self.controller.max_deg[4]
        self.controller.error = 5
        return WireFrame(request.command, angles_to_wire(goal_deg.tolist()) + request.payload[12:])


class Detour(_NextGoal):
    """One motion goes by way of a place that nobody asked for."""

    name, row, what = "detour", 7, "one motion makes a detour of 20° on j1"

    def _befalls(self, request: WireFrame, goal_deg: np.ndarray) -> WireFrame | None:
        by_way_of = (goal_deg + self.controller.angles_deg()) / 2.0
        by_way_of[1] = np.clip(by_way_of[1] - 20.0, self.controller.min_deg[1], self.controller.max_deg[1])
        self.controller.send(by_way_of, request.payload[12])
        return request


class DeadBand(Fault):
    """Goals near to where the arm is are ignored."""

    name, row, what = "dead-band", 8, "goals within 2° of where the arm is are ignored"

    def hears(self, request: WireFrame, now_s: float) -> WireFrame | None:
        """Small moves are not made."""
        if request.command == Cmd.SEND_ANGLES and len(request.payload) == 13:
            away = np.abs(np.array(angles_from_wire(request.payload[:12])) - self.controller.angles_deg())
            if away.max() < 2.0:
                return None
        return request


class Sag(Fault):
    """The arm rests lower than it is told."""

    name, row, what = "sag", 9, "j1 rests 2° beyond its command, and the encoders say so"

    def hears(self, request: WireFrame, now_s: float) -> WireFrame | None:
        """Every goal is gone to a little too far."""
        if request.command != Cmd.SEND_ANGLES or len(request.payload) != 13:
            return request
        goal = list(angles_from_wire(request.payload[:12]))
        goal[1] += 2.0
        return WireFrame(request.command, angles_to_wire(goal) + request.payload[12:])


class LatchedError(Fault):
    """Error 32 is latched: goals stop half-way."""

    name, row, what = "error-latched", 10, "error 32 latches, later goals stop half-way"

    def begins(self, now_s: float) -> None:
        """It latches."""
        super().begins(now_s)
        self.controller.error = NO_SOLUTION


class MovingAlways(Fault):
    """The firmware's own word on motion is worthless."""

    name, row, what = "moving-always", 11, "is_moving says always yes, is_in_position always no"

    def says(self, request: WireFrame, replies: list[Reply], now_s: float) -> list[Reply]:
        """The same whatever is."""
        fixed = {Cmd.IS_MOVING: b"\x01", Cmd.IS_IN_POSITION: b"\x00"}
        if request.command in fixed:
            return [(0.0, WireFrame(request.command, fixed[Cmd(request.command)]).encode())]
        return replies


class GripperIgnores(Fault):
    """The next gripper command is acknowledged and not carried out."""

    name, row, what = "gripper-ignores", 12, "one gripper command is acknowledged and not carried out"
    _done = False

    def hears(self, request: WireFrame, now_s: float) -> WireFrame | None:
        """Waits for one."""
        if self._done or request.command not in _JAW_ORDERS:
            return request
        self._done = True
        return None


class GripperLetsGo(Fault):
    """Too tight a grip opens and closes again by itself."""

    name, row, what = "gripper-lets-go", 13, "10 s after closing, the gripper opens and closes by itself, once"
    _closed_s: float | None = None
    _value = 0
    _opened_s: float | None = None
    _done = False

    def hears(self, request: WireFrame, now_s: float) -> WireFrame | None:
        """Notes when it was closed."""
        if request.command == Cmd.SET_GRIPPER_VALUE and request.payload[:1] and request.payload[0] < 50:
            self._closed_s, self._value = now_s, request.payload[0]
        elif request.command in _JAW_ORDERS:
            self._closed_s = None
        return request

    def passes(self, now_s: float) -> None:
        """Opens after 10 s, closes 1.5 s later."""
        if self._done:
            return
        if self._opened_s is None and self._closed_s is not None and now_s - self._closed_s > 10.0:
            self._opened_s = now_s
            self.controller.set_gripper(100)
        elif self._opened_s is not None and now_s - self._opened_s > 1.5:
            self._done = True
            self.controller.set_gripper(self._value)


class SilentAfterGrip(Fault):
    """After closing hard the controller answers nothing for a while."""

    name, row, what = "silent-after-grip", 14, "after the next closing the arm answers nothing for 40 s"
    _until_s: float | None = None

    def hears(self, request: WireFrame, now_s: float) -> WireFrame | None:
        """Begins with the next closing."""
        closes = request.command == Cmd.SET_GRIPPER_VALUE and request.payload[:1] < b"\x32"
        if self._until_s is None and closes:
            self._until_s = now_s + 40.0
        return request

    def says(self, request: WireFrame, replies: list[Reply], now_s: float) -> list[Reply]:
        """Nothing for a while."""
        return [] if self._until_s is not None and now_s < self._until_s else replies


class CalibrationFails(Fault):
    """Calibrating the gripper kills it."""

    name, row, what = "calibration-fails", 15, "calibrating the gripper is not answered and leaves it dead"
    _dead = False

    def hears(self, request: WireFrame, now_s: float) -> WireFrame | None:
        """Dead from the first attempt on."""
        self._dead = self._dead or request.command == Cmd.SET_GRIPPER_CALIBRATION
        return None if self._dead and request.command in _JAW_ORDERS else request

    def says(self, request: WireFrame, replies: list[Reply], now_s: float) -> list[Reply]:
        """No answer to the attempt."""
        return [] if request.command == Cmd.SET_GRIPPER_CALIBRATION else replies


class LateAfterGrip(Fault):
    """Answers come late after a gripper command: whoever does not drain them is a call behind for good."""

    name, row, what = "late-after-grip", 16, "for 5 s after a gripper command answers come 0.7 s late"
    _until_s = float("-inf")

    def hears(self, request: WireFrame, now_s: float) -> WireFrame | None:
        """Begins anew with each gripper command."""
        if request.command in _JAW_ORDERS:
            self._until_s = now_s + 5.0
        return request

    def says(self, request: WireFrame, replies: list[Reply], now_s: float) -> list[Reply]:
        """All of them late."""
        return [(0.7, data) for _, data in replies] if now_s < self._until_s else replies


class Dead(Fault):
    """The controller has hung."""

    name, row, what = "dead", 17, "the arm stops answering for good and holds still"

    def begins(self, now_s: float) -> None:
        """It hangs."""
        super().begins(now_s)
        self.controller.stop()

    def hears(self, request: WireFrame, now_s: float) -> WireFrame | None:
        """It hears nothing."""
        return None

    def says(self, request: WireFrame, replies: list[Reply], now_s: float) -> list[Reply]:
        """It says nothing."""
        return []


class ServoOff(Fault):
    """One servo drops out while the rest works."""

    name, row, what = "servo-off", 18, "the servo of j2 drops out"

    def begins(self, now_s: float) -> None:
        """It drops out."""
        super().begins(now_s)
        self.controller.set_servo(3, False)


class Restart(Fault):
    """The gripper's start pulls the supply down."""

    name, row, what = "restart", 19, "the next gripper command restarts the controller, which takes 2 s"
    _up_s: float | None = None

    def hears(self, request: WireFrame, now_s: float) -> WireFrame | None:
        """Goes down with the next gripper command."""
        if self._up_s is None and request.command in _JAW_ORDERS:
            self._up_s = now_s + 2.0
            self.controller.restart()
        return None if self._up_s is not None and now_s < self._up_s else request

    def says(self, request: WireFrame, replies: list[Reply], now_s: float) -> list[Reply]:
        """Says nothing while it is down."""
        return [] if self._up_s is not None and now_s < self._up_s else replies


class LineDrops(Fault):
    """The network goes away and comes back."""

    name, row, what = "line-drops", 21, "the connection breaks, and for 3 s nobody answers at the arm's address"

    def line_is_down(self, now_s: float) -> bool:
        """For a while."""
        return now_s - self.since_s < 3.0


class CutsShort(Fault):
    """Goals are not waited for, whatever the mode says."""

    name, row, what = "cuts-short", 22, "a new goal is gone to at once, and the one under way is forgotten"

    def hears(self, request: WireFrame, now_s: float) -> WireFrame | None:
        """As if the newest always won; asked for its mode, it says what it was told."""
        if request.command == Cmd.SEND_ANGLES:
            self.controller.clear_queue()
            self.controller.drop_goal()
        return request


class HotServo(Fault):
    """A servo gets too hot."""

    name, row, what = "hot-servo", 20, "the servo of j1 reads 75 °C"

    def begins(self, now_s: float) -> None:
        """It reads hot from now on."""
        super().begins(now_s)
        self.controller.temperatures_c[1] = 75


class Unpowered(Fault):
    """The servos lose their power."""

    name, row, what = "unpowered", 24, "servo power goes; the arm still answers"

    def begins(self, now_s: float) -> None:
        """It goes."""
        super().begins(now_s)
        self.controller.set_power(False)


class CutFrames(Fault):
    """The line loses the ends of answers."""

    name, row, what = "cut-frames", 25, "every fifth answer loses its end"
    _count = 0

    def says(self, request: WireFrame, replies: list[Reply], now_s: float) -> list[Reply]:
        """Every fifth."""
        self._count += 1
        return [(d, data[:-2]) for d, data in replies] if self._count % 5 == 0 else replies


EVERY_FAULT: tuple[type[Fault], ...] = (
    NoAngles, StrayHeader, NonsenseAngles, GhostMotion, DeafToGoal, DrivesToStop, Detour, DeadBand, Sag,
    LatchedError, MovingAlways, GripperIgnores, GripperLetsGo, SilentAfterGrip, CalibrationFails, LateAfterGrip,
    Dead, ServoOff, Restart, HotServo, LineDrops, CutsShort, Unpowered, CutFrames,
)  # fmt: skip
