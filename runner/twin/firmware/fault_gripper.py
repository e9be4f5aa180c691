"""Faults of the gripper, and those that come with its commands."""

from __future__ import annotations

from runner.arms.wire import Cmd, WireFrame
from runner.twin.firmware.fault import JAW_ORDERS, Fault
from runner.twin.firmware.ports import Reply


class GripperIgnores(Fault):
    """The next gripper command is acknowledged and not carried out."""

    name, row, what = "gripper-ignores", 12, "one gripper command is acknowledged and not carried out"
    _done = False

    def hears(self, request: WireFrame, now_s: float) -> WireFrame | None:
        """Waits for one."""
        if self._done or request.command not in JAW_ORDERS:
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
        elif request.command in JAW_ORDERS:
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
        return None if self._dead and request.command in JAW_ORDERS else request

    def says(self, request: WireFrame, replies: list[Reply], now_s: float) -> list[Reply]:
        """No answer to the attempt."""
        return [] if request.command == Cmd.SET_GRIPPER_CALIBRATION else replies


class LateAfterGrip(Fault):
    """Answers come late after a gripper command: whoever does not drain them is a call behind for good."""

    name, row, what = "late-after-grip", 16, "for 5 s after a gripper command answers come 0.7 s late"
    _until_s = float("-inf")

    def hears(self, request: WireFrame, now_s: float) -> WireFrame | None:
        """Begins anew with each gripper command."""
        if request.command in JAW_ORDERS:
            self._until_s = now_s + 5.0
        return request

    def says(self, request: WireFrame, replies: list[Reply], now_s: float) -> list[Reply]:
        """All of them late."""
        return [(0.7, data) for _, data in replies] if now_s < self._until_s else replies
