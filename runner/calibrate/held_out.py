"""Errors on points that no fit has seen, all together and by region of the table."""

from __future__ import annotations

import numpy as np

from runner.arm_calibration import HeldOut, RegionError
from runner.kinematics.model import FloatArray


def region_of(x_m: float, z_m: float) -> str:
    """Which part of the table a point lies in: left, middle or right, near or far."""
    side = "left" if x_m < -0.07 else "right" if x_m > 0.07 else "middle"
    return f"{side}, {'near' if np.hypot(x_m, z_m) < 0.22 else 'far'}"


def held_out_of(off_mm: FloatArray, places_m: FloatArray) -> HeldOut:
    """Errors (n,) in mm at places (n, 3) of the cell frame, all together and by region."""
    names = np.array([region_of(x, z) for x, _, z in places_m.tolist()])
    regions = tuple(
        RegionError(
            region=name,
            n=int((names == name).sum()),
            median_mm=float(np.median(off_mm[names == name])),
            worst_mm=float(off_mm[names == name].max()),
        )
        for name in sorted(set(names.tolist()))
    )
    return HeldOut(n=len(off_mm), median_mm=float(np.median(off_mm)), worst_mm=float(off_mm.max()), regions=regions)
