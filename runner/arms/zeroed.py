"""An arm round an arm whose joints' zeros are known to be off: the one place where that is taken off commands.

Whoever holds it speaks of where the joints are; the encoders say and are told something else. It checks nothing: a
guard goes round it, with limits that hold for both.
"""

from __future__ import annotations

import numpy as np

from runner.arms.protocol import Arm, ArmHealth
from runner.kinematics.model import ArmModel, FloatArray


class ZeroedArm:
    """An `Arm` in true angles over one in encoder angles."""

    def __init__(self, arm: Arm, model: ArmModel, zero_deg: FloatArray) -> None:
        """Store.

        Args:
            model: the arm with its calibrated tool, and limits that neither joints nor encoders may pass.
            zero_deg: where a joint is less what its encoder says, shape (n_joints,).
        """
        self._arm, self._model, self._zero_deg = arm, model, zero_deg

    @property
    def model(self) -> ArmModel:
        """See `Arm`."""
        return self._model

    def read_angles_deg(self) -> FloatArray:
        """See `Arm`."""
        return self._arm.read_angles_deg() + self._zero_deg

    def send_path(self, waypoints_deg: FloatArray, *, speed_percent: int) -> None:
        """See `Arm`."""
        self._arm.send_path(waypoints_deg - self._zero_deg, speed_percent=speed_percent)

    def stop(self) -> None:
        """See `Arm`."""
        self._arm.stop()

    def send_gripper_value(self, value: int) -> None:
        """See `Arm`."""
        self._arm.send_gripper_value(value)

    def send_gripper_open(self) -> None:
        """See `Arm`."""
        self._arm.send_gripper_open()

    def read_gripper_value(self) -> float | None:
        """See `Arm`."""
        return self._arm.read_gripper_value()

    def health(self) -> ArmHealth:
        """See `Arm`."""
        return self._arm.health()

    def close(self) -> None:
        """See `Arm`."""
        self._arm.close()


def in_true_angles(arm: Arm, model: ArmModel, zero_deg: tuple[float, ...]) -> Arm:
    """The arm as the settings and its calibration know it; itself where there is nothing to take off.

    A driver has taken its own model from the same settings already, so an arm whose zeros are right stays as it is.
    """
    if not any(zero_deg) and not model.hand_shift_m.any():
        return arm
    return ZeroedArm(arm, model, np.array(zero_deg))
