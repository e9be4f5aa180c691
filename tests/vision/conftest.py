"""Synthetic desks for the vision tests: boxes, cubes, shadows, arms and light drawn with the view's own projection.

It knows nothing of the twin; what it draws is exact to a fraction of a pixel, so that accuracy can be asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import cv2
import numpy as np
import pytest

from vision.calibration.view import View

OVERSAMPLE = 2
EDGE_STEPS = 6


@dataclass(frozen=True)
class Body:
    """A closed box standing on the table: centre, yaw, sides along and across, height, colour (BGR)."""

    xz_m: tuple[float, float]
    yaw_deg: float
    size_m: tuple[float, float, float]
    bgr: tuple[int, int, int]
    base_y_m: float = 0.0


@dataclass(frozen=True)
class OpenBox:
    """An open box: outer sides, wall height and thickness."""

    xz_m: tuple[float, float]
    yaw_deg: float
    outer_m: tuple[float, float] = (0.120, 0.120)
    height_m: float = 0.043
    wall_m: float = 0.003
    bgr: tuple[int, int, int] = (228, 232, 235)


@dataclass(frozen=True)
class Desk:
    """One scene. `light` multiplies blue, green and red; `arm_m` are thick lines between points over the table."""

    cubes: Sequence[Body] = ()
    box: OpenBox | None = None
    arm_m: Sequence[tuple[tuple[float, float, float], tuple[float, float, float], float]] = ()
    arm_bgr: tuple[int, int, int] = (225, 228, 230)
    table_bgr: tuple[int, int, int] = (120, 150, 175)
    light: tuple[float, float, float] = (1.0, 1.0, 1.0)
    gradient: float = 0.15
    lamp_m: tuple[float, float, float] = (0.25, 1.2, 0.35)
    noise: float = 2.0
    blur_px: float = 0.6
    motion_px: int = 0
    grain: float = 5.0
    glare_at_xz_m: tuple[float, float, float] | None = None
    seed: int = 0
    extra: dict[str, float] = field(default_factory=dict)


def turned(xz_m: tuple[float, float], yaw_deg: float, along: float, across: float) -> tuple[float, float]:
    """A point of a body's own axes on the table."""
    c, s = np.cos(np.deg2rad(yaw_deg)), np.sin(np.deg2rad(yaw_deg))
    return xz_m[0] + c * along - s * across, xz_m[1] + s * along + c * across


class Painter:
    """Draws faces far to near with a lamp's shading."""

    def __init__(self, view: View, desk: Desk) -> None:
        self.view, self.desk = view, desk
        w, h = view.size_px
        rng = np.random.default_rng(desk.seed)
        grain = cv2.resize(rng.normal(0, 1, (h // 6, w // 40)), (w, h), interpolation=cv2.INTER_CUBIC)
        table = np.array(desk.table_bgr, float) + desk.grain * grain[..., None]
        self.image = cv2.resize(
            np.clip(table, 0, 255).astype(np.float32), (w * OVERSAMPLE, h * OVERSAMPLE), interpolation=cv2.INTER_LINEAR
        )
        self.rng = rng

    def fill(self, corners_m: np.ndarray, bgr: np.ndarray) -> None:
        px = self.polygon(corners_m)
        cv2.fillPoly(self.image, [px], [float(c) for c in bgr], lineType=cv2.LINE_8, shift=4)

    def polygon(self, corners_m: np.ndarray) -> np.ndarray:
        following = np.roll(corners_m, -1, axis=0)
        steps = np.linspace(0, 1, EDGE_STEPS, endpoint=False)[None, :, None]
        edge_points = (corners_m[:, None] + steps * (following - corners_m)[:, None]).reshape(-1, 3)
        px = self.view.point_to_pixel(edge_points)
        return np.round(((px + 0.5) * OVERSAMPLE - 0.5) * 16).astype(np.int32)

    def shade(self, corners_m: np.ndarray, bgr: tuple[int, int, int], outward: np.ndarray) -> None:
        """One flat face, if it is turned toward the camera."""
        centre = corners_m.mean(axis=0)
        if np.dot(np.asarray(self.view.camera_m) - centre, outward) <= 0:
            return
        to_lamp = np.asarray(self.desk.lamp_m) - centre
        lit = max(0.0, float(np.dot(to_lamp, outward) / np.linalg.norm(to_lamp)))
        self.fill(corners_m, np.array(bgr) * (0.45 + 0.55 * lit))

    def shadow(self, points_m: np.ndarray) -> None:
        lamp = np.asarray(self.desk.lamp_m)
        ray = points_m - lamp
        on_table = lamp + ray * (-lamp[1] / ray[:, 1])[:, None]
        hull = cv2.convexHull(on_table[:, [0, 2]].astype(np.float32)).reshape(-1, 2)
        corners = np.stack([hull[:, 0], np.zeros(len(hull)), hull[:, 1]], axis=1)
        outline = self.polygon(corners)
        (u0, v0), (u1, v1) = outline.min(axis=0) // 16 - 20, outline.max(axis=0) // 16 + 20
        part = self.image[max(v0, 0) : max(v1, 0), max(u0, 0) : max(u1, 0)]
        if not part.size:
            return
        mask = np.zeros(part.shape[:2], np.float32)
        cv2.fillPoly(mask, [outline - 16 * np.array([max(u0, 0), max(v0, 0)])], 1.0, shift=4)
        part *= 1 - 0.45 * cv2.GaussianBlur(mask, (0, 0), 4)[..., None]

    def finish(self) -> np.ndarray:
        desk, (w, h) = self.desk, self.view.size_px
        image = cv2.resize(self.image, (w, h), interpolation=cv2.INTER_AREA)
        x = np.linspace(-1, 1, w)[None, :, None]
        y = np.linspace(-1, 1, h)[:, None, None]
        image = image * (1 + desk.gradient * (0.8 * x + 0.6 * y)) * np.array(desk.light)
        if desk.glare_at_xz_m is not None:
            u, v = self.view.table_to_pixel(desk.glare_at_xz_m[:2], 0.03)
            yy, xx = np.mgrid[0:h, 0:w]
            spot = np.exp(-((xx - u) ** 2 + (yy - v) ** 2) / (2 * desk.glare_at_xz_m[2] ** 2))
            image = image + 200 * spot[..., None]
        if desk.motion_px > 1:
            image = cv2.blur(image, (desk.motion_px, 1))
        noise = desk.noise * self.rng.standard_normal((h, w, 3), dtype=np.float32)
        image = cv2.GaussianBlur(image.astype(np.float32), (0, 0), desk.blur_px) + noise
        return np.clip(np.round(image), 0, 255).astype(np.uint8)


def box_corners(xz_m: tuple[float, float], yaw_deg: float, along: float, across: float, y_m: float) -> np.ndarray:
    half = ((-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5))
    table = [turned(xz_m, yaw_deg, a * along, b * across) for a, b in half]
    return np.array([[x, y_m, z] for x, z in table])


def paint_body(painter: Painter, body: Body) -> None:
    along, across, height = body.size_m
    low = box_corners(body.xz_m, body.yaw_deg, along, across, body.base_y_m)
    high = box_corners(body.xz_m, body.yaw_deg, along, across, body.base_y_m + height)
    for i in range(4):
        j = (i + 1) % 4
        outward = (low[i] + low[j]) / 2 - low.mean(axis=0)
        painter.shade(np.array([low[i], low[j], high[j], high[i]]), body.bgr, outward / np.linalg.norm(outward))
    painter.shade(high, body.bgr, np.array([0.0, 1.0, 0.0]))


def paint_open_box(painter: Painter, box: OpenBox) -> None:
    (along, across), h = box.outer_m, box.height_m
    low, high = (box_corners(box.xz_m, box.yaw_deg, along, across, y) for y in (0.0, h))
    for i in range(4):
        j = (i + 1) % 4
        outward = (low[i] + low[j]) / 2 - low.mean(axis=0)
        painter.shade(np.array([low[i], low[j], high[j], high[i]]), box.bgr, outward / np.linalg.norm(outward))
    painter.shade(high, box.bgr, np.array([0.0, 1.0, 0.0]))
    inner = (along - 2 * box.wall_m, across - 2 * box.wall_m)
    floor, rim = (box_corners(box.xz_m, box.yaw_deg, *inner, y) for y in (box.wall_m, h))
    outside = painter.image.copy()
    dark = tuple(int(0.8 * c) for c in box.bgr)
    painter.fill(floor, np.array(dark) * 0.95)
    for i in range(4):
        j = (i + 1) % 4
        inward = floor.mean(axis=0) - (floor[i] + floor[j]) / 2
        painter.shade(np.array([floor[i], floor[j], rim[j], rim[i]]), dark, inward / np.linalg.norm(inward))
    opening = np.zeros(painter.image.shape[:2], np.uint8)  # what is inside is seen through the rim only
    cv2.fillPoly(opening, [painter.polygon(rim)], 1, shift=4)
    painter.image = np.where(opening[..., None] > 0, painter.image, outside)


def draw(view: View, desk: Desk) -> np.ndarray:
    """The picture (h, w, 3) uint8 of a desk."""
    painter = Painter(view, desk)
    bodies: list[Body | OpenBox] = [*desk.cubes, *([desk.box] if desk.box else [])]
    for body in bodies:
        size = body.size_m if isinstance(body, Body) else (*body.outer_m, body.height_m)
        base = body.base_y_m if isinstance(body, Body) else 0.0
        points = [box_corners(body.xz_m, body.yaw_deg, size[0], size[1], y) for y in (base, base + size[2])]
        painter.shadow(np.concatenate(points))
    bodies.sort(key=lambda b: isinstance(b, Body))
    for body in bodies:
        if isinstance(body, Body):
            paint_body(painter, body)
        else:
            paint_open_box(painter, body)
    for start, end, width_m in desk.arm_m:
        u0, u1 = view.point_to_pixel([start, end])
        px_per_m = 1000.0 / view.mm_per_px((start[0], start[2]), start[1])
        at = [tuple(np.round((np.asarray(u) + 0.5) * OVERSAMPLE - 0.5).astype(int).tolist()) for u in (u0, u1)]
        cv2.line(painter.image, at[0], at[1], [float(c) for c in desk.arm_bgr], round(width_m * px_per_m * OVERSAMPLE))
    return painter.finish()


@pytest.fixture(scope="session")
def overhead() -> View:
    """The default cell's camera: 0.9 m above (0, 0.20), 1280×720, 60° wide, barrel distortion."""
    return View.looking_at(
        (0.0, 0.9, 0.2), (0.0, 0.0, 0.2), size_px=(1280, 720), width_deg=60.0, distortion=(-0.12, 0.04, 0, 0, 0)
    )


@pytest.fixture(scope="session")
def tilted() -> View:
    """A camera in front, looking down at 35° from the vertical."""
    return View.looking_at(
        (0.0, 0.7, -0.25), (0.0, 0.0, 0.22), size_px=(1280, 720), width_deg=60.0, distortion=(-0.10, 0.03, 0, 0, 0)
    )


@pytest.fixture(scope="session")
def make_cube():
    """A coloured cube: place, yaw, side in mm, BGR."""

    def make(xz_m, yaw_deg=0.0, side_mm=30.0, bgr=(40, 35, 195), base_y_m=0.0):
        side = side_mm / 1000
        return Body(tuple(xz_m), yaw_deg, (side, side, side), bgr, base_y_m)

    return make


@pytest.fixture(scope="session")
def make_box():
    """An open white box."""

    def make(xz_m, yaw_deg=0.0, **kw):
        return OpenBox(tuple(xz_m), yaw_deg, **kw)

    return make


@pytest.fixture(scope="session")
def paint():
    """Draws a desk: `paint(view, cubes=…, box=…, …)`."""

    def make(view, **kw):
        return draw(view, Desk(**kw))

    return make
