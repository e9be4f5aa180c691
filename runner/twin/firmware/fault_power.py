"""Faults of controller and servos: hung, hot, restarted, without power."""

from __future__ import annotations

from runner.arms.wire import WireFrame
from runner.twin.firmware.fault import JAW_ORDERS, Fault
from runner.twin.firmware.ports import Reply


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
        if self._up_s is None and request.command in JAW_ORDERS:
            self._up_s = now_s + 2.0
            self.controller.restart()
        return None if self._up_s is not None and now_s < self._up_s else request

    def says(self, request: WireFrame, replies: list[Reply], now_s: float) -> list[Reply]:
        """Says nothing while it is down."""
        return [] if self._up_s is not None and now_s < self._up_s else replies


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
