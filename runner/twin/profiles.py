"""How imperfect the twin's arm is: `perfect`, and `field` with deviations like those of the one recorded run.

Figures and the small machine that applies them to set-points; it steps no physics. Angles are degrees, one a joint.

Source of `field`: command against read-back of the nine moves in the field log, and against the reading before the next
move. The recorded arm is no spring: j1 stopped 1.1 to 2.5° beyond its command at four loads with no relation to them,
about 1.2 after moving down and 2.4 after moving up, which is an offset with friction. The last 1 to 2.4° of a move came
late, after the arm had been called arrived. Offsets and half-widths are fitted to the late readings, the lag to the
difference between early and late ones, the ripple to what neither explains.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from runner.kinematics.model import FloatArray


@dataclass(frozen=True, slots=True)
class Profile:
    """Deviations of one arm. Shorter tuples are filled up with their last value for arms with more joints."""

    name: str
    offset_deg: Sequence[float]  # where a joint rests beside its command, in the mean
    half_width_deg: Sequence[
        float
    ]  # half the dead band: it stops short of the offset by this, on the side it came from
    lag_deg: Sequence[float]  # most that a moving joint is behind
    lag_s: float  # time constant in which that is made up
    ripple_deg: Sequence[float]  # amplitude of an error that repeats with the joint's angle
    zero_sigma_deg: float  # spread of zero offsets, which the encoders don't see


PERFECT = Profile("perfect", (0.0,), (0.0,), (0.0,), 0.1, (0.0,), 0.0)
FIELD = Profile(
    "field",
    offset_deg=(0.1, 1.8, 0.6, -0.1, -0.5, 0.0),
    half_width_deg=(0.25, 0.55, 0.6, 0.4, 1.1, 0.2),
    lag_deg=(1.0, 0.2, 0.8, 0.8, 2.2, 0.2),
    lag_s=0.6,
    ripple_deg=(0.25, 0.05, 0.25, 0.3, 0.25, 0.2),
    zero_sigma_deg=0.3,
)
PROFILES = {p.name: p for p in (PERFECT, FIELD)}
RIPPLE_PERIOD_DEG = 24.0


class Imperfection:
    """The state of an imperfect drive train: set-points in, where the joints are really driven out."""

    def __init__(self, profile: Profile, n_joints: int, rng: np.random.Generator) -> None:
        def spread(values: Sequence[float]) -> FloatArray:
            return np.array([values[min(i, len(values) - 1)] for i in range(n_joints)])

        self.profile = profile
        self.zero_deg = rng.normal(0.0, 1.0, n_joints) * profile.zero_sigma_deg
        self._phase_rad = rng.uniform(0.0, 2 * np.pi, n_joints)
        self._in_band = rng.uniform(-1.0, 1.0, n_joints)
        self._half, self._lag = spread(profile.half_width_deg), spread(profile.lag_deg)
        self._offset, self._ripple = spread(profile.offset_deg), spread(profile.ripple_deg)
        self._behind = np.zeros(n_joints)
        self._before = np.zeros(n_joints)
        self._out = np.zeros(n_joints)

    @property
    def none(self) -> bool:
        """Whether set-points come out as they go in."""
        return not (self._half.any() or self._lag.any() or self._offset.any() or self._ripple.any())

    @property
    def catching_up_deg(self) -> float:
        """Largest part of a move that is still to come although the set-point rests."""
        return float(np.abs(self._behind).max())

    def rest_at(self, set_point_deg: FloatArray) -> FloatArray:
        """Start anew, at rest somewhere within the dead band; returns where the joints are."""
        self._behind[:] = 0.0
        self._before = set_point_deg.copy()
        self._out = self._middle(set_point_deg) + self._in_band * self._half
        return self._out

    def follow(self, set_point_deg: FloatArray, dt_s: float) -> FloatArray:
        """Where the joints are driven to, one step on."""
        behind = np.minimum(np.maximum(self._behind + set_point_deg - self._before, -self._lag), self._lag)
        self._behind = behind * (1.0 - dt_s / self.profile.lag_s)
        self._before = set_point_deg
        middle = self._middle(set_point_deg - self._behind)
        self._out = np.minimum(np.maximum(self._out, middle - self._half), middle + self._half)
        return self._out

    def _middle(self, set_point_deg: FloatArray) -> FloatArray:
        turn = set_point_deg * (2 * np.pi / RIPPLE_PERIOD_DEG) + self._phase_rad
        return np.asarray(set_point_deg + self._offset + self._ripple * np.sin(turn))
