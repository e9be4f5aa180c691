"""The real client, driver and firmware on a twin in one process and in virtual time: every byte of the wire, no wire.

As fast as the processor allows and the same on every run, so that faults can be tried by the hundred. Waiting for an
answer lets the twin's time pass.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from runner.arms.client import TcpClient
from runner.arms.errors import ArmUnreachable
from runner.arms.link import Link
from runner.arms.mycobot import MyCobotArm, TendingClock
from runner.arms.protocol import Clock
from runner.arms.wire import Parser
from runner.config import Config
from runner.kinematics.model import ArmModel
from runner.twin.firmware.commands import Kind
from runner.twin.firmware.faults import FaultyFirmware, firmware_of
from runner.twin.setup import Twin

DIRECT = "the twin"  # its address
_STEP_S = 0.02
_CALL_S = 0.002  # what a question costs, as on a good line


class FirmwareTime:
    """The twin's time with firmware in it, as a `Clock`: sleeping steps physics, faults and goals."""

    def __init__(self, twin: Twin, firmware: FaultyFirmware) -> None:
        self._twin, self._firmware = twin, firmware

    def now_s(self) -> float:
        """Virtual seconds since the twin's last reset."""
        return self._twin.world.now_s

    def sleep(self, seconds: float) -> None:
        """Let that much of it pass."""
        left_s = seconds
        while left_s > 0:
            step_s = min(left_s, _STEP_S)
            self._firmware.advance(self._twin.world, step_s)
            left_s -= step_s


class DirectClient(TcpClient):
    """The real client, whose bytes go straight to the firmware."""

    def __init__(self, firmware: FaultyFirmware, clock: FirmwareTime) -> None:
        self._firmware, self._clock = firmware, clock
        self._hears = Parser()
        self._coming: deque[tuple[float, bytes]] = deque()
        super().__init__("", 0, 0.0)

    def connect_socket(self) -> None:  # type: ignore[override]
        """There is nothing to connect to, but there may be nobody.

        Raises:
            ArmUnreachable: the line is down.
        """
        if self._firmware.line_is_down:
            raise ArmUnreachable(DIRECT, "no route to host")

    def now_s(self) -> float:
        """The twin's time."""
        return self._clock.now_s()

    def put(self, data: bytes) -> None:
        """To the firmware, which answers when it does.

        Raises:
            ConnectionResetError: the line is down.
        """
        self._check_line()
        for request in self._hears.feed(data):
            now_s = self.now_s()
            self._coming.extend((now_s + delay_s, reply) for delay_s, reply in self._firmware.handle(request))

    def take(self, patience_s: float) -> bytes:
        """What has come; waiting lets time pass.

        Raises:
            ConnectionResetError: the line is down.
        """
        self._check_line()
        if patience_s > 0:
            self._clock.sleep(_CALL_S)
            end_s = self.now_s() + patience_s
            while not self._due() and self.now_s() < end_s:
                self._clock.sleep(_STEP_S)
        return b"".join(self._coming.popleft()[1] for _ in range(self._due()))

    def close(self) -> None:
        """There is nothing to let go of."""

    def _check_line(self) -> None:
        if self._firmware.line_is_down:
            raise ConnectionResetError("connection reset by peer")

    def _due(self) -> int:
        now_s = self.now_s()
        return next((n for n, (at_s, _) in enumerate(self._coming) if at_s > now_s), len(self._coming))


# The vendor's client looks up its limits under the name of its class.
DirectClient.__name__ = TcpClient.__name__


def direct_arm(
    twin: Twin, model: ArmModel, config: Config, *, kind: Kind, faults: Sequence[str], seed: int
) -> tuple[MyCobotArm, Clock, FaultyFirmware]:
    """A driver on a twin's firmware, and the clock to wait by.

    Raises:
        UnknownFault: there is no such fault.
    """
    firmware = firmware_of(twin, kind, faults)
    firmware.begin(seed)
    time_there = FirmwareTime(twin, firmware)
    link = Link(lambda: DirectClient(firmware, time_there), DIRECT, answer_s=config.arm.answer_s)
    arm = MyCobotArm(
        model,
        link,
        time_there,
        reading_margin_deg=config.arm.reading_margin_deg,
        gripper_type=config.gripper.type_id,
        gripper_speed_percent=config.gripper.speed_percent,
    )
    arm.connect()
    return arm, TendingClock(time_there, arm), firmware
