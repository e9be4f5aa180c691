"""What every arm and every clock can do, whether of metal or of physics. Small, so that a driver is small.

An `Arm` starts motions and reads; whether a motion has arrived is judged by `arrival.py` from readings over time, and
whether it may be sent at all by `guard.py`. Angles are degrees, shape (n_joints,), base joint first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from runner.kinematics.model import ArmModel, FloatArray


@dataclass(frozen=True, slots=True)
class ArmHealth:
    """What the arm says of its own state; None where it can't say."""

    powered: bool
    error_code: int  # 0: none latched
    servos_enabled: bool | None = None
    temperatures_c: tuple[float, ...] | None = None
    voltages_v: tuple[float, ...] | None = None
    reboot_count: int | None = None
    firmware: str | None = None


@runtime_checkable
class Clock(Protocol):
    """The time that the arm lives in: real seconds, or the twin's."""

    def now_s(self) -> float:
        """Seconds since some start; never runs backwards."""
        ...

    def sleep(self, seconds: float) -> None:
        """Let that much of this clock's time pass. In the twin, physics runs meanwhile."""
        ...


@runtime_checkable
class Arm(Protocol):
    """One arm with a gripper."""

    @property
    def model(self) -> ArmModel:
        """The arm's figures, with the tool that is mounted."""
        ...

    def read_angles_deg(self) -> FloatArray:
        """The joints as the encoders have them, shape (n_joints,).

        Raises:
            ReadingRejected: no answer, or one that can't be a reading of this arm; never replaced by zeros.
        """
        ...

    def send_path(self, waypoints_deg: FloatArray, *, speed_percent: int) -> None:
        """Start moving through the waypoints, shape (k, n_joints), k ≥ 1, and return at once. The last is the goal."""
        ...

    def stop(self) -> None:
        """Hold still now. Safe at any time, from any thread, more than once."""
        ...

    def send_gripper_value(self, value: int) -> None:
        """Start moving the jaws to 0 (closed) … 100 (open); returns at once."""
        ...

    def send_gripper_open(self) -> None:
        """Open the jaws fully, by state; returns at once."""
        ...

    def read_gripper_value(self) -> float | None:
        """Where the jaws are, 0…100, or None where the gripper gives no answer."""
        ...

    def health(self) -> ArmHealth:
        """Power, latched error, servos."""
        ...

    def close(self) -> None:
        """Let go of the connection. The arm keeps its place."""
        ...
