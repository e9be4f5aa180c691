"""How a scene is looked at: points in space to points on a sheet, with their depth.

Any right-handed frame whose last axis is up. Draws nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import cos, radians, sin

import numpy as np

from runner.kinematics.model import FloatArray

_DISTANCE = 3.6  # of the eye, in half sizes of the scene: perspective that can be felt, and no more


@dataclass(frozen=True, slots=True, eq=False)
class Perspective:
    """An eye that looks at a middle. Depth grows away from it."""

    middle_m: FloatArray  # (3,)
    turn: FloatArray  # (3, 3): rows right, up, away, in the scene's frame
    distance_m: float
    scale_px: float  # of a metre at the middle's depth
    centre_px: FloatArray  # (2,)

    @classmethod
    def looking(
        cls,
        points_m: FloatArray,
        frame_px: tuple[float, float, float, float],
        *,
        azimuth_deg: float,
        elevation_deg: float,
    ) -> Perspective:
        """An eye from which all points (N, 3) fill the frame (left, top, width, height).

        Args:
            azimuth_deg: where the eye stands round the scene, from the first axis toward the second.
            elevation_deg: how high.
        """
        a, e = radians(azimuth_deg), radians(elevation_deg)
        back = np.array([cos(e) * cos(a), cos(e) * sin(a), sin(e)])
        right = np.array([-sin(a), cos(a), 0.0])
        turn = np.stack((right, np.cross(back, right), -back))
        middle = (points_m.min(axis=0) + points_m.max(axis=0)) / 2.0
        half = max(float(np.linalg.norm(points_m - middle, axis=1).max()), 1e-6)
        rough = cls(middle, turn, _DISTANCE * half, 1.0, np.zeros(2))
        flat = rough.to_px(points_m)
        size = np.maximum(np.ptp(flat, axis=0), 1e-9)
        left, top, width, height = frame_px
        scale = float(min(width / size[0], height / size[1]))
        centre = np.array([left + width / 2, top + height / 2]) - (flat.min(axis=0) + flat.max(axis=0)) / 2.0 * scale
        return cls(middle, turn, _DISTANCE * half, scale, centre)

    def to_px(self, points_m: FloatArray) -> FloatArray:
        """Points (..., 3) on the sheet, (..., 2)."""
        seen = (np.asarray(points_m, dtype=float) - self.middle_m) @ self.turn.T
        near = self.distance_m / (self.distance_m + seen[..., 2:])
        return np.asarray(self.centre_px + seen[..., :2] * near * self.scale_px * np.array([1.0, -1.0]))

    def depth_m(self, points_m: FloatArray) -> FloatArray:
        """How far behind the middle points (..., 3) lie."""
        return np.asarray((np.asarray(points_m, dtype=float) - self.middle_m) @ self.turn[2])

    def px_per_m(self, point_m: FloatArray) -> float:
        """Size of a metre across the line of sight at a point."""
        return float(self.scale_px * self.distance_m / (self.distance_m + self.depth_m(point_m)))


def round_step(length: float, parts: int) -> float:
    """A step of 1, 2 or 5 times a power of ten, so that about so many fit into a length."""
    rough = length / max(parts, 1)
    power = 10.0 ** np.floor(np.log10(rough))
    steps: Sequence[float] = (1.0, 2.0, 5.0, 10.0)
    return float(next(s for s in steps if s * power >= rough * 0.999) * power)
