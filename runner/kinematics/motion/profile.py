"""Set-points over time through waypoints: all joints together, in order, inside limits of speed and acceleration.

The way is the polyline through the waypoints in joint space. Its corners are rounded by parabolas that stay within
`CORNER_DEG` of it. Along it the speed follows trapezoids, and a corner is passed as fast as its roundness allows. A
moving average over `SMOOTH_S` then turns every jump of the acceleration into a slope (an S-curve). Every step of that
keeps what it is given: a parabola lies inside its corner, an average of points between two values lies between them,
and averages of speeds and accelerations are no larger than the largest. So nothing overshoots, joints that go one way
never turn back, and both limits hold for every joint, exactly.
Plans only; it knows no arm and no clock. With one waypoint it is a synchronised move: joints start and stop together.
Source of the parabolic blends: Taylor (1979), Planning and execution of straight line manipulator trajectories.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from runner.kinematics.model import FloatArray, frozen

CORNER_DEG = 0.02  # farthest that a rounded corner lies off its waypoint, before the average
SMOOTH_S = 0.1  # length of the moving average; at a corner it adds under 0.08° to that


@dataclass(frozen=True, slots=True, eq=False)
class RateLimits:
    """What every joint may do at most. Both above zero."""

    speed_deg_s: FloatArray  # (n_joints,)
    acceleration_deg_s2: FloatArray  # (n_joints,)

    @classmethod
    def even(cls, n_joints: int, *, speed_deg_s: float, acceleration_deg_s2: float) -> RateLimits:
        """The same for every joint."""
        return cls(frozen(np.full(n_joints, float(speed_deg_s))), frozen(np.full(n_joints, float(acceleration_deg_s2))))


def set_points(start_deg: FloatArray, waypoints_deg: FloatArray, rates: RateLimits, *, dt_s: float) -> FloatArray:
    """Joint angles for every `dt_s` from the start to the last waypoint, shape (k, n); the last row is the goal.

    Args:
        start_deg: (n,), at rest.
        waypoints_deg: (m, n), m ≥ 1.
        rates: of the same n joints; in each stretch the joint that needs longest sets the pace.
    """
    points = np.vstack([start_deg, waypoints_deg])
    keep = np.concatenate([[True], np.abs(np.diff(points, axis=0)).max(axis=1) > 1e-9])
    points = np.vstack([points[keep][:-1], points[-1:]]) if keep[1:].any() else points[:1]
    if len(points) == 1:
        return np.array(waypoints_deg[-1:], dtype=float)
    way = _Way.of(points, rates)
    times, places, speeds, accelerations = way.timed(rates)
    clock = np.arange(1, int(np.ceil(times[-1] / dt_s - 1e-9)) + 1) * dt_s
    phase = np.clip(np.searchsorted(times, clock, side="right") - 1, 0, len(accelerations) - 1)
    into = np.minimum(clock, times[-1]) - times[phase]
    raw = way.at(places[phase] + speeds[phase] * into + 0.5 * accelerations[phase] * into**2)
    raw[-1] = points[-1]
    return _averaged(points[0], raw, max(1, round(SMOOTH_S / dt_s)))


@dataclass(frozen=True, slots=True, eq=False)
class _Way:
    """The rounded polyline. A stretch is as long as it takes, in seconds, at full speed of its slowest joint."""

    points: FloatArray  # (m + 1, n) degrees
    directions: FloatArray  # (m, n) degrees a second of way
    ends: FloatArray  # (m + 1,) where the corners are along the way
    halves: FloatArray  # (m + 1,) how long before and after its corner a parabola begins and ends; 0 at both ends
    fastest: FloatArray  # (m + 1,) way a second that the acceleration limits leave in a corner, 0 at both ends

    @classmethod
    def of(cls, points: FloatArray, rates: RateLimits) -> _Way:
        steps = np.diff(points, axis=0)
        lengths = (np.abs(steps) / rates.speed_deg_s).max(axis=1)
        directions = steps / lengths[:, None]
        turns = np.abs(np.diff(directions, axis=0))
        wanted = (turns / rates.acceleration_deg_s2).max(axis=1, initial=0.0) / 2.0  # passed at full speed
        within = 4.0 * CORNER_DEG / np.maximum(turns.max(axis=1, initial=0.0), 1e-12)
        halves = np.minimum(np.minimum(wanted, within), np.minimum(lengths[:-1], lengths[1:]) / 2.0)
        fastest = np.sqrt(np.minimum(halves / np.maximum(wanted, 1e-12), 1.0))
        fastest[wanted < 1e-12] = 1.0
        along = np.concatenate([[0.0], np.cumsum(lengths)])
        return cls(points, directions, along, _between_ends(halves), _between_ends(fastest))

    def timed(self, rates: RateLimits) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Phases of constant acceleration: times (p + 1,), places along the way, speeds and accelerations (p,)."""
        straight = np.maximum(np.diff(self.ends) - self.halves[:-1] - self.halves[1:], 0.0)
        gain = (rates.acceleration_deg_s2 / np.maximum(np.abs(self.directions), 1e-12)).min(axis=1)
        corner = self.fastest.copy()
        for i, length in enumerate(straight):
            corner[i + 1] = min(corner[i + 1], np.sqrt(corner[i] ** 2 + 2.0 * gain[i] * length))
        for i in reversed(range(len(straight))):
            corner[i] = min(corner[i], np.sqrt(corner[i + 1] ** 2 + 2.0 * gain[i] * straight[i]))
        into, out = corner[:-1], corner[1:]
        peak = np.minimum(1.0, np.sqrt((into**2 + out**2) / 2.0 + gain * straight))
        up, down = (peak - into) / gain, (peak - out) / gain
        cruise = np.maximum(straight - (peak**2 - into**2 + peak**2 - out**2) / (2.0 * gain), 0.0) / peak
        through = np.where(self.halves[1:] > 0, 2.0 * self.halves[1:] / np.maximum(out, 1e-12), 0.0)
        spans = np.stack([up, cruise, down, through], axis=1).reshape(-1)
        speeds = np.stack([into, peak, peak, out], axis=1).reshape(-1)
        nothing = np.zeros(len(gain))
        accelerations = np.stack([gain, nothing, -gain, nothing], axis=1).reshape(-1)
        times = np.concatenate([[0.0], np.cumsum(spans)])
        covered = np.cumsum(spans * speeds + 0.5 * accelerations * spans**2)
        return times, np.concatenate([[0.0], covered[:-1]]), speeds, accelerations

    def at(self, places: FloatArray) -> FloatArray:
        """The joints at places along the way, shape (k, n)."""
        s = np.clip(places, 0.0, self.ends[-1])
        out = np.stack([np.interp(s, self.ends, joint) for joint in self.points.T], axis=1)
        corner = np.clip(np.searchsorted((self.ends[:-1] + self.ends[1:]) / 2.0, s), 0, len(self.ends) - 1)
        inside = self.halves[corner] - np.abs(s - self.ends[corner])
        rows = np.flatnonzero(inside > 0)
        at = corner[rows]
        turn = (self.directions[at] - self.directions[at - 1]) / (4.0 * self.halves[at])[:, None]
        out[rows] += turn * inside[rows, None] ** 2
        return out


def _between_ends(values: FloatArray) -> FloatArray:
    return np.concatenate([[0.0], values, [0.0]])


def _averaged(start: FloatArray, raw: FloatArray, width: int) -> FloatArray:
    """The mean of the last `width` rows, the start standing before and the goal after."""
    padded = np.vstack([np.tile(start, (width, 1)), raw, np.tile(raw[-1], (width - 1, 1))])
    sums = np.cumsum(padded - start, axis=0)
    out = (sums[width:] - sums[:-width]) / width + start
    out[-1] = raw[-1]
    return np.asarray(out)
