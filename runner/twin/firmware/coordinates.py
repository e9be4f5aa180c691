"""The firmware's Cartesian side: flange poses as six numbers, x, y, z in mm and rx, ry, rz in degrees, and back.

The real firmware's own model is closed and differs from the published geometry by centimetres; this one is the
published geometry. It is here so that clients get an answer; no runner plans with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import atan2, degrees, hypot, radians

import numpy as np

from runner.kinematics.fk import tool_pose
from runner.kinematics.ik.dls import DampedLeastSquares
from runner.kinematics.ik.protocol import IkTarget
from runner.kinematics.model import ArmModel, FloatArray, rpy_matrix

_NEAR_M, _NEAR_DEG = 0.001, 0.5  # what the solver must meet


class FlangeCoordinates:
    """Joint angles to the flange's coordinates and back, in the base frame: x forward, y left, z up."""

    def __init__(self, arm: ArmModel) -> None:
        self._arm = arm.with_tool(tcp_mm=(0.0, 0.0, arm.data.tool.flange_z_mm))
        self._solver = DampedLeastSquares(self._arm, tolerance_m=_NEAR_M, tolerance_deg=_NEAR_DEG)

    def of(self, angles_deg: Sequence[float] | FloatArray) -> tuple[float, ...]:
        """(x, y, z) mm and (rx, ry, rz) degrees, fixed axes, at these angles."""
        T = tool_pose(np.asarray(angles_deg, dtype=float), self._arm)
        R = T[:3, :3]
        ry = atan2(-R[2, 0], hypot(R[0, 0], R[1, 0]))
        rx, rz = atan2(R[2, 1], R[2, 2]), atan2(R[1, 0], R[0, 0])
        return (*(T[:3, 3] * 1000.0).tolist(), degrees(rx), degrees(ry), degrees(rz))

    def solve(self, coords: Sequence[float], start_deg: FloatArray) -> FloatArray | None:
        """Joint angles with these coordinates, or None where there are none."""
        position = np.array(coords[:3]) / 1000.0
        rotation = rpy_matrix(*(radians(a) for a in coords[3:]))
        inside = np.clip(start_deg, self._arm.min_deg, self._arm.max_deg)
        found = self._solver.solve(IkTarget(position, rotation), inside)
        return np.array(found.angles_deg) if found.converged else None
