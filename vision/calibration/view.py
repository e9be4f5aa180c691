"""The one camera model that everything else uses: pixels ↔ points over the table, heights included.

A `View` is a lens with a pose in the cell frame. It refuses to guess: a pixel whose ray does not come down onto the
asked height gives NaN. The cell frame (x right, y up, z forward) is left-handed; OpenCV gets points as (x, z, y).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import cv2
import numpy as np
from numpy.typing import ArrayLike, NDArray

from runs.schema.geometry import Point

FloatArray = NDArray[np.float64]

_UNDISTORT_UNTIL = (cv2.TERM_CRITERIA_COUNT + cv2.TERM_CRITERIA_EPS, 40, 1e-10)


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """A calibrated camera over the table.

    `K` (3, 3) px; `distortion` (k1, k2, p1, p2, k3); `R_camera_cell` (3, 3) and `t_camera_cell_m` (3,) take a point
    given as (x, z, y) into the camera (x right, y down, z along the view); `size_px` (width, height).
    """

    K: FloatArray
    distortion: FloatArray
    R_camera_cell: FloatArray
    t_camera_cell_m: FloatArray
    size_px: tuple[int, int]

    @classmethod
    def make(cls, K: ArrayLike, distortion: ArrayLike, R: ArrayLike, t_m: ArrayLike, size_px: tuple[int, int]) -> Self:
        """A view from any array-likes; arrays are copied and made read-only."""
        five = np.zeros(5)
        given = np.asarray(distortion, dtype=np.float64).ravel()
        if len(given) > 5:
            raise ValueError(f"{len(given)} distortion terms where k1, k2, p1, p2, k3 are known")
        five[: len(given)] = given
        arrays = [
            np.array(values, dtype=np.float64).reshape(shape)
            for values, shape in ((K, (3, 3)), (five, (5,)), (R, (3, 3)), (t_m, (3,)))
        ]
        for array in arrays:
            array.setflags(write=False)
        return cls(arrays[0], arrays[1], arrays[2], arrays[3], (int(size_px[0]), int(size_px[1])))

    @classmethod
    def looking_at(
        cls,
        camera_m: Point,
        target_m: Point,
        *,
        size_px: tuple[int, int],
        width_deg: float,
        distortion: ArrayLike = (0.0, 0.0, 0.0, 0.0, 0.0),
        roll_deg: float = 0.0,
    ) -> Self:
        """A camera at `camera_m` whose middle sees `target_m` (both (x, y, z), cell frame).

        The picture's up is the cell's forward (z) as far as the direction allows, turned by `roll_deg` clockwise.
        `width_deg` is the angle of view across the picture without distortion.
        """
        eye, target = (np.array([p[0], p[2], p[1]], dtype=np.float64) for p in (camera_m, target_m))
        ahead = (target - eye) / np.linalg.norm(target - eye)
        up = np.array([0.0, 1.0, 0.0]) if abs(ahead[1]) < 0.95 else np.array([0.0, 0.0, 1.0])
        right = np.cross(ahead, up)
        right /= np.linalg.norm(right)
        down = np.cross(ahead, right)
        roll = np.deg2rad(roll_deg)
        R = np.stack([np.cos(roll) * right - np.sin(roll) * down, np.sin(roll) * right + np.cos(roll) * down, ahead])
        f_px = size_px[0] / 2 / np.tan(np.deg2rad(width_deg) / 2)
        K = [[f_px, 0, (size_px[0] - 1) / 2], [0, f_px, (size_px[1] - 1) / 2], [0, 0, 1]]
        return cls.make(K, distortion, R, -R @ eye, size_px)

    @property
    def camera_m(self) -> Point:
        """Where the camera is: (x, y, z), cell frame, metres."""
        x, z, y = (-self.R_camera_cell.T @ self.t_camera_cell_m).tolist()
        return (x, y, z)

    def point_to_pixel(self, points_m: ArrayLike) -> FloatArray:
        """Where points (..., 3) as (x, y, z), cell frame, appear: (..., 2) px, NaN for points behind the camera."""
        points = np.asarray(points_m, dtype=np.float64)
        flat = points.reshape(-1, 3)[:, [0, 2, 1]]
        if not len(flat):
            return np.zeros((*points.shape[:-1], 2))
        in_camera = flat @ self.R_camera_cell.T + self.t_camera_cell_m
        depth = in_camera[:, 2]
        behind = depth <= 1e-6
        depth = np.where(behind, 1.0, depth)
        pixels = self._distorted_px(in_camera[:, 0] / depth, in_camera[:, 1] / depth)
        pixels[behind] = np.nan
        return pixels.reshape(*points.shape[:-1], 2)

    def _distorted_px(self, x: FloatArray, y: FloatArray) -> FloatArray:
        """Pixels (n, 2) of straight directions x/depth, y/depth: OpenCV's model with k1, k2, p1, p2, k3."""
        k1, k2, p1, p2, k3 = self.distortion.tolist()
        r2 = x * x + y * y
        radial = 1 + r2 * (k1 + r2 * (k2 + r2 * k3))
        u = x * radial
        v = y * radial
        if p1 or p2:
            u += 2 * p1 * x * y + p2 * (r2 + 2 * x * x)
            v += p1 * (r2 + 2 * y * y) + 2 * p2 * x * y
        K = self.K
        return np.stack([K[0, 0] * u + K[0, 1] * v + K[0, 2], K[1, 1] * v + K[1, 2]], axis=-1)

    def table_to_pixel(self, xz_m: ArrayLike, height_y_m: ArrayLike = 0.0) -> FloatArray:
        """Where table points (..., 2) at a height (one or one each) appear: (..., 2) px."""
        xz = np.asarray(xz_m, dtype=np.float64)
        heights = np.broadcast_to(np.asarray(height_y_m, dtype=np.float64), xz.shape[:-1])
        return self.point_to_pixel(np.stack([xz[..., 0], heights, xz[..., 1]], axis=-1))

    def pixel_rays(self, px: ArrayLike) -> FloatArray:
        """Unit directions (..., 3) as (x, y, z), cell frame, in which the pixels (..., 2) look."""
        pixels = np.asarray(px, dtype=np.float64)
        flat = np.ascontiguousarray(pixels.reshape(-1, 1, 2))
        if not len(flat):
            return np.zeros((*pixels.shape[:-1], 3))
        plain = cv2.undistortPoints(flat, self.K, self.distortion, criteria=_UNDISTORT_UNTIL)
        in_camera = np.concatenate([np.asarray(plain).reshape(-1, 2), np.ones((len(flat), 1))], axis=1)
        rays = (in_camera @ self.R_camera_cell)[:, [0, 2, 1]]
        rays /= np.linalg.norm(rays, axis=1, keepdims=True)
        return rays.reshape(*pixels.shape[:-1], 3)

    def pixel_to_table_xz_m(self, px: ArrayLike, height_y_m: ArrayLike = 0.0) -> FloatArray:
        """Table points (..., 2) that pixels (..., 2) show at a height (one or one each), metres.

        NaN where the ray does not come down to that height in front of the camera.
        """
        rays = self.pixel_rays(px)
        x, y, z = self.camera_m
        fall = np.asarray(height_y_m, dtype=np.float64) - y
        with np.errstate(divide="ignore", invalid="ignore"):
            length = fall / rays[..., 1]
        length = np.where(length > 0, length, np.nan)
        return np.stack([x + length * rays[..., 0], z + length * rays[..., 2]], axis=-1)

    def mm_per_px(self, xz_m: ArrayLike, height_y_m: float = 0.0) -> float:
        """Millimetres on the table that one pixel spans at a point, the mean over directions."""
        point = np.asarray(xz_m, dtype=np.float64).reshape(2)
        step_m = 0.001
        around = np.stack([point, point + np.array([step_m, 0.0]), point + np.array([0.0, step_m])])
        pixels = self.table_to_pixel(around, height_y_m)
        jacobian = (pixels[1:] - pixels[0]) / (step_m * 1000.0)
        area_px_per_mm2 = abs(float(np.linalg.det(jacobian)))
        return float(1.0 / np.sqrt(area_px_per_mm2)) if area_px_per_mm2 > 0 else float("nan")

    def undistort(self, image: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """The picture as a lens without distortion would show it, same size and `K`."""
        return np.asarray(cv2.undistort(image, self.K, self.distortion), dtype=np.uint8)

    def undistort_px(self, px: ArrayLike) -> FloatArray:
        """Pixels (..., 2) of the picture as pixels of the undistorted picture."""
        pixels = np.asarray(px, dtype=np.float64)
        flat = np.ascontiguousarray(pixels.reshape(-1, 1, 2))
        plain = cv2.undistortPoints(flat, self.K, self.distortion, P=self.K, criteria=_UNDISTORT_UNTIL)
        return np.asarray(plain, dtype=np.float64).reshape(pixels.shape)

    @property
    def H_table_pixel(self) -> FloatArray:
        """Homography (3, 3) from undistorted pixels (u, v, 1) to the table's (x, z, 1), metres."""
        to_pixel = self.K @ np.column_stack([self.R_camera_cell[:, 0], self.R_camera_cell[:, 1], self.t_camera_cell_m])
        H = np.linalg.inv(to_pixel)
        return np.asarray(H / H[2, 2], dtype=np.float64)

    def sees(self, px: ArrayLike, margin_px: float = 0.0) -> NDArray[np.bool_]:
        """Whether pixels (..., 2) lie in the picture, `margin_px` inside its edge."""
        pixels = np.asarray(px, dtype=np.float64)
        top = np.asarray(self.size_px, dtype=np.float64) - 1 - margin_px
        with np.errstate(invalid="ignore"):
            inside = (pixels >= margin_px) & (pixels <= top)
        return np.asarray(inside.all(axis=-1))

    def matches(self, image: NDArray[np.uint8]) -> bool:
        """Whether a picture has the size that this view was calibrated for."""
        return (image.shape[1], image.shape[0]) == self.size_px
