"""How far a point lies inside a polygon; the one question that gate and judges both ask of the box."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np

_FINE = 1e4  # OpenCV wants single precision: tenths of a millimetre keep seven digits of a table


def inside_by(polygon: Sequence[tuple[float, float]], point: tuple[float, float]) -> float:
    """Distance to the polygon's nearest edge in the coordinates' own unit: positive inside, negative outside."""
    scaled = (np.asarray(polygon, dtype=np.float64) * _FINE).astype(np.float32).reshape(-1, 1, 2)
    return float(cv2.pointPolygonTest(scaled, (point[0] * _FINE, point[1] * _FINE), True)) / _FINE
