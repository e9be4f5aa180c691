"""How imperfect the twin is: `perfect`; `field` with deviations like those of the one recorded run; `uncalibrated`.

Figures and the small machine that applies them to set-points; it steps no physics. Angles are degrees, one a joint.

Source of `field`: command against read-back of the nine moves in the field log, and against the reading before the next
move. The recorded arm is no spring: j1 stopped 1.1 to 2.5° beyond its command at four loads with no relation to them,
about 1.2 after moving down and 2.4 after moving up, which is an offset with friction. The last 1 to 2.4° of a move came
late, after the arm had been called arrived. Offsets and half-widths are fitted to the late readings, the lag to the
difference between early and late ones, the ripple to what neither explains.

`uncalibrated` is `field` on a desk where besides nothing is known: the camera hangs elsewhere than it was meant to, the
gripper sits beside its place, and the encoders' zeros are off. That stays as it is from trial to trial (`Desk`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import cv2
import numpy as np

from runner.kinematics.model import FloatArray, frozen
from runner.twin.streams import stream
from vision.calibration.view import View


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
    zero_sigma_deg: float  # spread of zero offsets, which the encoders don't see; others at every start
    desk_zero_sigma_deg: float = 0.0  # spread of those that stay
    tool_off_mm: float = 0.0  # the gripper's distance from where it was meant to sit
    camera_off_mm: float = 0.0  # the camera's, at most
    camera_off_deg: float = 0.0  # and the turn of its view, at most
    left_deg: Sequence[
        float
    ] = ()  # fitted ones: what a corrected joint was left beside its goal at grasps, in the mean
    left_sd_deg: Sequence[float] = ()  # and the spread of that


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
UNCALIBRATED = replace(
    FIELD,
    name="uncalibrated",
    zero_sigma_deg=0.0,
    desk_zero_sigma_deg=1.5,
    tool_off_mm=5.0,
    camera_off_mm=15.0,
    camera_off_deg=2.0,
)
PROFILES = {p.name: p for p in (PERFECT, FIELD, UNCALIBRATED)}
RIPPLE_PERIOD_DEG = 24.0


@dataclass(frozen=True, slots=True, eq=False)
class Desk:
    """What is off on one desk and stays so from trial to trial. Nothing that runs a trial may look at it."""

    zero_deg: FloatArray  # (n_joints,): where a joint truly is, less what its encoder says
    tool_mm: FloatArray  # (3,): the gripper beside its place, last link's frame
    camera_m: FloatArray  # (3,): the camera beside its place, cell frame
    camera_deg: FloatArray  # (3,): its view turned about the picture's right, its down, and the line of sight

    @classmethod
    def of(cls, profile: Profile, n_joints: int, seed: int, slip_deg: Sequence[float] = ()) -> Desk:
        """The desk of a seed, the same for all trials on it; `slip_deg` comes on top of the joints' zeros."""

        def somewhere(name: str) -> FloatArray:
            direction = stream(seed, name).normal(0.0, 1.0, 3)
            return np.asarray(direction / np.linalg.norm(direction))

        share = stream(seed, "desk camera off").uniform(0.5, 1.0, 2)
        zero = stream(seed, "desk zeros").normal(0.0, 1.0, n_joints) * profile.desk_zero_sigma_deg
        return cls(
            frozen(zero + np.array(slip_deg) if len(slip_deg) else zero),
            frozen(somewhere("desk tool") * profile.tool_off_mm),
            frozen(somewhere("desk camera place") * share[0] * profile.camera_off_mm / 1000.0),
            frozen(somewhere("desk camera turn") * share[1] * profile.camera_off_deg),
        )

    def view(self, meant: View) -> View:
        """How the camera truly looks that was meant to look so."""
        if not (self.camera_m.any() or self.camera_deg.any()):
            return meant
        R = np.asarray(cv2.Rodrigues(np.radians(self.camera_deg))[0]) @ meant.R_camera_cell
        eye = np.array(meant.camera_m)[[0, 2, 1]] + self.camera_m[[0, 2, 1]]
        return View.make(meant.K, meant.distortion, R, -R @ eye, meant.size_px)


class Imperfection:
    """The state of an imperfect drive train: set-points in, where the joints are really driven out."""

    def __init__(
        self, profile: Profile, n_joints: int, rng: np.random.Generator, desk_zero_deg: FloatArray | None = None
    ) -> None:
        def spread(values: Sequence[float]) -> FloatArray:
            return np.array([values[min(i, len(values) - 1)] for i in range(n_joints)])

        self.profile = profile
        self.zero_deg = rng.normal(0.0, 1.0, n_joints) * profile.zero_sigma_deg
        if desk_zero_deg is not None:
            self.zero_deg = self.zero_deg + desk_zero_deg
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
        return max(map(abs, self._behind.tolist()))

    @property
    def state(self) -> list[list[float]]:
        """All that it goes on from, beside what its seed gives."""
        return [self._behind.tolist(), self._before.tolist(), self._out.tolist()]

    def take_up(self, state: list[list[float]]) -> None:
        """Go on from a state of the same seed."""
        self._behind, self._before, self._out = (np.array(part) for part in state)

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
        middle: FloatArray = set_point_deg + self._offset + self._ripple * np.sin(turn)
        return middle
