"""How warm the twin's servos get: each by itself, towards what its holding torque keeps it at.

A first-order model, so that resting by temperature can be tried. Its figures are chosen, not measured: no source gives
any. Stretched out, a shoulder ends above 60 °C; at home and folded the arm stays near 40 °C.
"""

from __future__ import annotations

import numpy as np

from runner.kinematics.model import FloatArray

IDLE_C = 33.0  # powered, without load
RISE_C_PER_NM2 = 25.0  # in the end, by the square of the torque as of the current
TIME_CONSTANT_S = 420.0
_STEP_S = 0.5


class Servos:
    """Temperatures of n servos, °C."""

    def __init__(self, n: int, start_c: float) -> None:
        self._now_c = np.full(n, float(start_c))
        self._owed_s = 0.0

    @property
    def now_c(self) -> FloatArray:
        """As they are now, shape (n,)."""
        return np.array(self._now_c)

    @property
    def state(self) -> list[float]:
        """All that it goes on from."""
        return [self._owed_s, *self._now_c.tolist()]

    def take_up(self, state: list[float]) -> None:
        """Go on from a state."""
        self._owed_s, self._now_c = state[0], np.array(state[1:])

    def hold(self, torque_nm: FloatArray, seconds: float) -> None:
        """Let so much time pass under these torques, (n,). Short times are added up first."""
        self._owed_s += seconds
        if self._owed_s >= _STEP_S:
            towards = IDLE_C + RISE_C_PER_NM2 * torque_nm**2
            self._now_c += (towards - self._now_c) * -np.expm1(-self._owed_s / TIME_CONSTANT_S)
            self._owed_s = 0.0
