"""Set-points behind a goal that may change at any moment: the newest wins, inside limits of speed and acceleration.

Every joint goes as fast as it may and brakes just in time. It comes to rest on the goal and never beyond it, unless the
goal was moved nearer than the joint can still brake; then it passes it by what braking takes and comes back. Joints do
not wait for each other: for moves that belong together there is `set_points`.
Source of the braking law: Han (1999), the time-optimal discrete tracking differentiator; here with the exact sum.
"""

from __future__ import annotations

import numpy as np

from runner.kinematics.model import FloatArray, frozen
from runner.kinematics.motion.profile import RateLimits


class Follower:
    """One set-point on its way. `rate_deg_s` is what it does now, shape (n_joints,)."""

    def __init__(
        self, start_deg: FloatArray, rates: RateLimits, *, dt_s: float, rate_deg_s: FloatArray | None = None
    ) -> None:
        """Stand at `start_deg`, shape (n_joints,), at rest or with the speed given; a step lasts `dt_s`."""
        self._rates, self._dt_s = rates, dt_s
        self.at_deg = np.array(start_deg, dtype=float)
        self.rate_deg_s = np.zeros_like(self.at_deg) if rate_deg_s is None else np.array(rate_deg_s, dtype=float)

    def step(self, goal_deg: FloatArray) -> FloatArray:
        """The set-point `dt_s` later, shape (n_joints,), read-only."""
        dt, most = self._dt_s, self._rates.acceleration_deg_s2
        gap = goal_deg - self.at_deg
        wanted = np.sign(gap) * np.minimum(_still_braked(np.abs(gap), most, dt), self._rates.speed_deg_s)
        rate = np.clip(wanted, self.rate_deg_s - most * dt, self.rate_deg_s + most * dt)
        arrived = (np.abs(gap - rate * dt) < 1e-9) & (np.abs(rate) <= most * dt * (1 + 1e-9))
        self.at_deg = np.where(arrived, goal_deg, self.at_deg + rate * dt)
        self.rate_deg_s = rate
        return frozen(self.at_deg.copy())


def _still_braked(gap: FloatArray, most: FloatArray, dt: float) -> FloatArray:
    """The largest speed of the next step from which steps of `-most·dt` still end on the goal and not beyond."""
    unit = most * dt * dt
    steps = np.floor((np.sqrt(1.0 + 8.0 * gap / unit) - 1.0) / 2.0 + 1e-12)
    return np.asarray(gap / ((steps + 1.0) * dt) + most * dt * steps / 2.0)
