"""Where each pixel looks: the lens's distortion undone once for all pixels, by radius.

For lenses whose distortion is radial, as the twin's is; the general way back is `View.pixel_rays`, which this agrees
with to a thousandth of a pixel in a tenth of the time.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from runner.kinematics.frames import BaseInCell
from vision.calibration.view import View

_NEWTON_STEPS = 3


def pixel_directions(view: View, base: BaseInCell) -> NDArray[np.float32]:
    """Unit directions of all pixels, (h · w, 3), base frame, row by row; read-only."""
    return _directions(
        view.size_px, view.K.tobytes(), view.distortion.tobytes(), view.R_camera_cell.tobytes(), base.M.tobytes()
    )


@lru_cache(maxsize=2)
def _directions(
    size_px: tuple[int, int], K_bytes: bytes, distortion_bytes: bytes, R_bytes: bytes, M_bytes: bytes
) -> NDArray[np.float32]:
    K, R, M = (np.frombuffer(b).reshape(3, 3) for b in (K_bytes, R_bytes, M_bytes))
    k1, k2, p1, p2, k3 = np.frombuffer(distortion_bytes)[:5].tolist()
    assert p1 == p2 == 0.0, "radial distortion only"
    x = ((np.arange(size_px[0]) - K[0, 2]) / K[0, 0]).astype(np.float32)[None, :]
    y = ((np.arange(size_px[1]) - K[1, 2]) / K[1, 1]).astype(np.float32)[:, None]
    seen = np.sqrt(x * x + y * y)
    s = seen * seen
    r = seen * (1 - s * (k1 - s * (3 * k1 * k1 - k2)))  # the way back as a series, then
    for _ in range(_NEWTON_STEPS):  # Newton on r (1 + k1 r² + k2 r⁴ + k3 r⁶) = seen
        s = r * r
        r -= (r * (1 + s * (k1 + s * (k2 + s * k3))) - seen) / (1 + s * (3 * k1 + s * (5 * k2 + s * 7 * k3)))
    stretch = np.divide(r, seen, out=np.ones_like(r), where=seen > 0)
    depth = 1 / np.sqrt(1 + r * r)
    across, down = x * stretch * depth, y * stretch * depth
    turn = (R[:, [0, 2, 1]] @ M).astype(np.float32)  # camera to cell (R gives x, z, y), cell to base
    out = np.empty((*seen.shape, 3), np.float32)
    for i in range(3):
        out[..., i] = across * turn[0, i] + down * turn[1, i] + depth * turn[2, i]
    out = out.reshape(-1, 3)
    out.flags.writeable = False
    return out
