"""Set-points over time through waypoints: in order, without stopping at each, never beyond them.

Speed follows trapezoids along the way; at a corner it falls to what the turn allows. A short moving average then rounds
what corners are left. An average of points between two values lies between them, so nothing overshoots.
Plans only; it knows no arm and no clock.
"""

from __future__ import annotations

import numpy as np

from runner.kinematics.model import FloatArray

SMOOTH_S = 0.12  # length of the moving average
CORNER_DEG_S = 6.0  # largest jump of a joint's speed that is left to the average: it cuts a corner by under 0.1°


def set_points(
    start_deg: FloatArray,
    waypoints_deg: FloatArray,
    *,
    speed_deg_s: float,
    acceleration_deg_s2: float,
    dt_s: float,
) -> FloatArray:
    """Joint angles for every `dt_s` from the start to the last waypoint, shape (k, n); the last row is the goal.

    Args:
        start_deg: (n,), at rest.
        waypoints_deg: (m, n), m ≥ 1.
        speed_deg_s: of the joint that has farthest to go, in each stretch.
    """
    points = np.vstack([start_deg, waypoints_deg])
    steps = np.diff(points, axis=0)
    lengths = np.abs(steps).max(axis=1)
    keep = lengths > 1e-9
    if not keep.any():
        return np.asarray(points[-1:].copy())
    points, steps, lengths = np.vstack([points[:1], points[1:][keep]]), steps[keep], lengths[keep]
    speeds = _speeds_at_corners(steps / lengths[:, None], lengths, speed_deg_s, acceleration_deg_s2)
    times, speed_at, accelerations = _phases(lengths, speeds, speed_deg_s, acceleration_deg_s2)
    way = np.concatenate([[0.0], np.cumsum(lengths)])
    clock = np.arange(1, int(np.ceil(times[-1] / dt_s)) + 1) * dt_s
    phase = np.clip(np.searchsorted(times, clock, side="right") - 1, 0, len(accelerations) - 1)
    into = np.minimum(clock, times[-1]) - times[phase]
    s_at = np.concatenate([[0.0], np.cumsum(np.diff(times) * speed_at + 0.5 * accelerations * np.diff(times) ** 2)])
    s = np.clip(s_at[phase] + speed_at[phase] * into + 0.5 * accelerations[phase] * into**2, 0.0, way[-1])
    raw = np.stack([np.interp(s, way, points[:, j]) for j in range(points.shape[1])], axis=1)
    raw[-1] = points[-1]
    return _averaged(points[0], raw, max(1, round(SMOOTH_S / dt_s)))


def _speeds_at_corners(directions: FloatArray, lengths: FloatArray, speed: float, acceleration: float) -> FloatArray:
    """Speed along the way at each waypoint, zero at both ends, shape (m + 1,)."""
    turn = np.abs(np.diff(directions, axis=0)).max(axis=1)
    speeds = np.concatenate([[0.0], np.minimum(speed, CORNER_DEG_S / np.maximum(turn, 1e-9)), [0.0]])
    for i in range(len(lengths)):
        speeds[i + 1] = min(speeds[i + 1], np.sqrt(speeds[i] ** 2 + 2 * acceleration * lengths[i]))
    for i in reversed(range(len(lengths))):
        speeds[i] = min(speeds[i], np.sqrt(speeds[i + 1] ** 2 + 2 * acceleration * lengths[i]))
    return speeds


def _phases(
    lengths: FloatArray, speeds: FloatArray, top: float, acceleration: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Speed up, cruise, slow down, for each stretch: start times (3m + 1,), speeds and accelerations (3m,)."""
    into, out = speeds[:-1], speeds[1:]
    peak = np.minimum(top, np.sqrt((into**2 + out**2) / 2 + acceleration * lengths))
    up, down = (peak - into) / acceleration, (peak - out) / acceleration
    covered = (peak**2 - into**2 + peak**2 - out**2) / (2 * acceleration)
    cruise = np.maximum(lengths - covered, 0.0) / peak
    spans = np.stack([up, cruise, down], axis=1).reshape(-1)
    accelerations = np.tile([acceleration, 0.0, -acceleration], len(lengths))
    return np.concatenate([[0.0], np.cumsum(spans)]), np.stack([into, peak, peak], axis=1).reshape(-1), accelerations


def _averaged(start: FloatArray, raw: FloatArray, width: int) -> FloatArray:
    """The mean of the last `width` rows, the start standing before and the goal after."""
    padded = np.vstack([np.tile(start, (width, 1)), raw, np.tile(raw[-1], (width - 1, 1))])
    sums = np.cumsum(padded, axis=0)
    out = (sums[width:] - sums[:-width]) / width
    out[-1] = raw[-1]
    return np.asarray(out)
