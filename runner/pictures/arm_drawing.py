"""An arm as a skeleton in perspective: links, joint axes, tool, target and error over a floor with a scale.

Draws into a frame of a `Canvas`. All sizes follow the arm's, so a teaching arm of eight metres looks as good as a small
one. Computes no poses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import cv2
import numpy as np

from runner.kinematics.fk import link_poses
from runner.kinematics.frames import BaseInCell
from runner.kinematics.model import ArmModel, FloatArray, Shape
from runner.pictures.canvas import BLUE, INK, SHELL_GREY, SOFT_INK, Canvas, Point, mixed
from runner.pictures.perspective import Perspective, round_step
from vision.overlay import GREEN, ORANGE, SKY_BLUE, VERMILLION, WHITE, Bgr

FLOOR_GREY: Bgr = (243, 241, 239)
SHADOW_GREY: Bgr = (214, 211, 208)
_AXIS = 0.085  # of the scene's size: half the length of a joint's axis


@dataclass(frozen=True, slots=True, eq=False)
class Upright:
    """From an arm's base frame to a right-handed frame with z up, in which it is drawn: (z, ∓x, y) of the cell."""

    R: FloatArray  # (3, 3)
    shift_m: FloatArray  # (3,)
    sideways: float  # what a metre along the drawn y axis is in the cell's x

    @classmethod
    def of(cls, base: BaseInCell) -> Upright:
        """For an arm whose base stands so; the cell is left-handed, but for arms with y up (`cell_of`)."""
        sideways = 1.0 if np.linalg.det(base.M) > 0 else -1.0
        P = np.array([[0.0, 0.0, 1.0], [sideways, 0.0, 0.0], [0.0, 1.0, 0.0]])
        return cls(P @ base.M, P @ base.shift_m, sideways)

    def points(self, points_base_m: FloatArray) -> FloatArray:
        """Points (..., 3) as drawn."""
        return np.asarray(points_base_m @ self.R.T + self.shift_m)

    def turn(self, vectors_base: FloatArray) -> FloatArray:
        """Directions (..., 3) as drawn."""
        return np.asarray(vectors_base @ self.R.T)


@dataclass(frozen=True, slots=True, eq=False)
class ArmDrawing:
    """What is drawn: the final pose, those on the way to it, the target."""

    arm: ArmModel
    base: BaseInCell
    poses_deg: FloatArray  # (steps + 1, n_joints): the start first, the final pose last
    target_m: FloatArray  # (3,), base frame
    target_R: FloatArray | None  # (3, 3): how the tool shall stand, base frame
    residual_mm: float
    reached: bool


def draw_arm(canvas: Canvas, frame: tuple[float, float, float, float], drawing: ArmDrawing) -> None:
    """The arm in the frame (left, top, width, height)."""
    up = Upright.of(drawing.base)
    chains = np.stack([arm_chain(drawing.arm, pose, up) for pose in drawing.poses_deg])
    target = up.points(drawing.target_m)
    ends = np.vstack((chains[0], chains[-1], target))
    size = float(np.ptp(ends, axis=0).max())
    floor = floor_corners(ends, size)
    eye = Perspective.looking(
        np.vstack((ends, floor)), frame, azimuth_deg=_azimuth_deg(target, chains[-1][-1]), elevation_deg=20.0
    )
    pen = _Pen(canvas, eye, size)
    pen.floor(floor, up)
    pen.shadow(chains[-1], target)
    pen.shells(drawing.arm, drawing.poses_deg[-1], up)
    for number, chain in enumerate(chains[:-1]):
        pen.ghost(chain, mixed(SKY_BLUE, WHITE, 0.72 - 0.4 * number / len(chains)), dashed=number == 0)
    pen.path(chains[:, -1])
    T = link_poses(drawing.poses_deg[-1], drawing.arm)
    axes = [up.turn(T[i, :3, :3] @ drawing.arm.axes[i]) for i in range(drawing.arm.n_joints)]
    pen.skeleton(chains[-1], axes, [joint.name for joint in drawing.arm.data.joint])
    pen.error(chains[-1][-1], target)
    pen.tool(chains[-1][-1], up.turn(T[-1, :3, 2]))
    pen.target(target, None if drawing.target_R is None else up.turn(drawing.target_R[:, 2]))
    pen.words(chains[-1], target, drawing.residual_mm, reached=drawing.reached)


class _Pen:
    """Draws parts of the scene; `size` is the scene's, metres."""

    def __init__(self, canvas: Canvas, eye: Perspective, size: float) -> None:
        self.canvas, self.eye, self.size = canvas, eye, size

    def floor(self, corners: FloatArray, up: Upright) -> None:
        """A grid with figures along two sides, metres in the cell's axes."""
        (x0, y0), (x1, y1) = corners[:, :2].min(axis=0), corners[:, :2].max(axis=0)
        step = round_step(max(x1 - x0, y1 - y0), 10)
        self.canvas.area(self.eye.to_px(np.array([[x0, y0, 0], [x1, y0, 0], [x1, y1, 0], [x0, y1, 0]])), FLOOR_GREY)
        near_x, near_y = self._near_sides(x0, x1, y0, y1)
        out_x = np.array([1.0 if near_x == x1 else -1.0, 0.0, 0.0])
        out_y = np.array([0.0, 1.0 if near_y == y1 else -1.0, 0.0])
        for x in _multiples(step, x0, x1):
            self._stroke(np.array([[x, y0, 0], [x, y1, 0]]), WHITE, 2.0 if abs(x) > 1e-9 else 3.4)
            self._figure(np.array([x, near_y, 0.0]), out_y, x)
        for y in _multiples(step, y0, y1):
            self._stroke(np.array([[x0, y, 0], [x1, y, 0]]), WHITE, 2.0 if abs(y) > 1e-9 else 3.4)
            self._figure(np.array([near_x, y, 0.0]), out_x, y * up.sideways)
        self._axis_name(np.array([(x0 + x1) / 2, near_y, 0.0]), out_y, "z, m")
        self._axis_name(np.array([near_x, (y0 + y1) / 2, 0.0]), out_x, "x, m")

    def shadow(self, chain: FloatArray, target: FloatArray) -> None:
        """The arm's shadow straight down, and the target's foot."""
        flat = chain * np.array([1.0, 1.0, 0.0])
        self._stroke(flat, SHADOW_GREY, self._width_px(flat.mean(axis=0), 0.030))
        foot = target * np.array([1.0, 1.0, 0.0])
        a, b = self.eye.to_px(np.stack((target, foot)))
        self.canvas.dashed((a[0], a[1]), (b[0], b[1]), VERMILLION, 1.4)
        circle = foot + 0.02 * self.size * _circle(np.array([0.0, 0.0, 1.0]))
        self.canvas.line(self.eye.to_px(circle), VERMILLION, 1.4, closed=True)

    def shells(self, arm: ArmModel, pose_deg: FloatArray, up: Upright) -> None:
        """The arm file's collision shapes as a pale body, the far ones first."""
        frames = np.concatenate((np.eye(4)[None], link_poses(pose_deg, arm)[:-1]))
        outlines = []
        for shape in arm.data.shape:
            points, radius = _shape_points(shape, frames[shape.link])
            drawn = up.points(points)
            outlines.append((float(self.eye.depth_m(drawn).mean()), self._hull(drawn, radius)))
        for _, hull in sorted(outlines, key=lambda pair: -pair[0]):
            self.canvas.area(hull, SHELL_GREY)
            self.canvas.line(hull, mixed(SHELL_GREY, SOFT_INK, 0.18), 1.0, closed=True)

    def ghost(self, chain: FloatArray, colour: Bgr, *, dashed: bool) -> None:
        """The arm at a step on the way; the start is dashed."""
        points = self.eye.to_px(chain)
        if not dashed:
            self.canvas.line(points, colour, 2.2)
            return
        for a, b in pairwise(points):
            self.canvas.dashed((a[0], a[1]), (b[0], b[1]), SOFT_INK, 2.2, on=8, off=6)

    def path(self, tips: FloatArray) -> None:
        """Where the tool point went, a dot a step."""
        points = self.eye.to_px(tips)
        self.canvas.line(points, SKY_BLUE, 1.8)
        for point in points:
            self.canvas.disc((point[0], point[1]), 3.2, SKY_BLUE)

    def skeleton(self, chain: FloatArray, axes: Sequence[FloatArray], names: Sequence[str]) -> None:
        """Links as tubes, the far ones first, then joints as arrows along their axes."""
        middles = (chain[:-1] + chain[1:]) / 2
        for i in np.argsort(-self.eye.depth_m(middles), kind="stable"):
            self._tube(chain[i], chain[i + 1])
        for i in np.argsort(-self.eye.depth_m(chain[1:-1]), kind="stable"):
            self._joint(chain[i + 1], axes[i])
        taken: list[FloatArray] = [self.eye.to_px(chain[-1])]
        for i, name in enumerate(names):
            taken.append(self._name_beside(chain, chain[i + 1], axes[i], name, taken))

    def tool(self, point: FloatArray, along: FloatArray) -> None:
        """The tool point and the way that the tool points."""
        self._arrow(point, point + 0.13 * self.size * along, GREEN, 3.0)
        at = self.eye.to_px(point)
        self.canvas.disc((at[0], at[1]), 6.0, WHITE)
        self.canvas.disc((at[0], at[1]), 4.6, GREEN)

    def target(self, point: FloatArray, along: FloatArray | None) -> None:
        """A ring with a cross, and how the tool shall stand there."""
        if along is not None:
            a, b = self.eye.to_px(np.stack((point, point + 0.17 * self.size * along)))
            self.canvas.dashed((a[0], a[1]), (b[0], b[1]), VERMILLION, 2.0)
        x, y = self.eye.to_px(point)
        for colour, width in ((WHITE, 5.0), (VERMILLION, 2.4)):
            self.canvas.ring((x, y), 11.0, colour, width)
            for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1)):
                self.canvas.line([(x + 7 * dx, y + 7 * dy), (x + 17 * dx, y + 17 * dy)], colour, width)

    def error(self, tip: FloatArray, target: FloatArray) -> None:
        """What is left between tool point and target, where it can be seen."""
        ends = self.eye.to_px(np.stack((tip, target)))
        if float(np.hypot(*(ends[1] - ends[0]))) > 14.0:
            self.canvas.line(ends, WHITE, 6.0)
            self.canvas.line(ends, VERMILLION, 3.0)

    def words(self, chain: FloatArray, target: FloatArray, residual_mm: float, *, reached: bool) -> None:
        """How it went, beside the target, where it covers the least."""
        words = f"target: {'reached, ' if reached else 'missed by '}{length_text(residual_mm)}"
        width = self.canvas.text_width(words, size=16, weight=600)
        x, y = self.eye.to_px(target)
        links = self.eye.to_px(chain)
        spots = [(x + s * 24 - (width if s < 0 else 0), y + dy) for s in (1, -1) for dy in (-14, 30, 6)]

        def cost(spot: Point) -> float:
            middle = np.array([spot[0] + width / 2, spot[1] - 6])
            near = min(_to_segment(middle, a, b) for a, b in pairwise(links))
            return self.canvas.crowding(spot, width, 16.0) + 20.0 * max(0.0, width / 2 + 10 - near)

        self.canvas.text(min(spots, key=cost), words, size=16, colour=VERMILLION, weight=600, halo=True)

    def _joint(self, at: FloatArray, axis: FloatArray) -> None:
        reach = _AXIS * self.size * axis
        self._arrow(at - reach, at + reach, ORANGE, 3.0)
        point = self.eye.to_px(at)
        radius = self._width_px(at, 0.021) / 2
        self.canvas.disc((point[0], point[1]), radius + 1.6, INK)
        self.canvas.disc((point[0], point[1]), radius, mixed(ORANGE, WHITE, 0.15))

    def _name_beside(
        self, chain: FloatArray, at: FloatArray, axis: FloatArray, name: str, taken: Sequence[FloatArray]
    ) -> FloatArray:
        """A joint's name near it, where it covers the least; returns where that is."""
        point, tip, tail = self.eye.to_px(np.stack((at, at + _AXIS * self.size * axis, at - _AXIS * self.size * axis)))
        along = (tip - point) / max(float(np.hypot(*(tip - point))), 1e-9)
        across = np.array([-along[1], along[0]])
        spots = [tip + 17 * along, tail - 17 * along, point + 27 * across, point - 27 * across]
        links = self.eye.to_px(chain)

        def room(spot: FloatArray) -> float:
            clear = [_to_segment(spot, a, b) for a, b in pairwise(links)]
            return min([*clear, *(float(np.hypot(*(spot - other))) for other in taken), 40.0])

        best = max(spots, key=lambda spot: round(room(spot)))
        self.canvas.text((best[0], best[1] + 6), name, size=16, weight=600, align="centre", halo=True)
        return np.asarray(best)

    def _tube(self, a: FloatArray, b: FloatArray) -> None:
        """A link as a tube with a dark rim and a bright side."""
        if float(np.linalg.norm(b - a)) < 1e-9:
            return
        ends = self.eye.to_px(np.stack((a, b)))
        width = self._width_px((a + b) / 2, 0.026)
        self.canvas.line(ends, mixed(BLUE, INK, 0.55), width + 2.4)
        self.canvas.line(ends, BLUE, width)
        self.canvas.line(ends - np.array([0.0, width * 0.18]), mixed(BLUE, WHITE, 0.35), width * 0.30)

    def _arrow(self, a: FloatArray, b: FloatArray, colour: Bgr, width: float) -> None:
        p, q = self.eye.to_px(np.stack((a, b)))
        self.canvas.arrow((p[0], p[1]), (q[0], q[1]), WHITE, width + 2.6, head=14.0)
        self.canvas.arrow((p[0], p[1]), (q[0], q[1]), colour, width, head=12.0)

    def _stroke(self, points: FloatArray, colour: Bgr, width: float) -> None:
        self.canvas.line(self.eye.to_px(points), colour, width)

    def _width_px(self, at: FloatArray, share: float) -> float:
        return max(2.0, share * self.size * self.eye.px_per_m(at))

    def _hull(self, points: FloatArray, radius_m: float) -> FloatArray:
        """The outline on the sheet of spheres of that radius round the points."""
        flat = self.eye.to_px(points)
        if radius_m > 0:
            rims = [self.eye.px_per_m(p) * radius_m * _circle_2d() for p in points]
            flat = np.concatenate([centre + rim for centre, rim in zip(flat, rims, strict=True)])
        return np.asarray(cv2.convexHull(flat.astype(np.float32)).reshape(-1, 2), dtype=float)

    def _near_sides(self, x0: float, x1: float, y0: float, y1: float) -> tuple[float, float]:
        """The sides of the floor nearer to the eye: an x and a y."""
        x = min((x0, x1), key=lambda v: float(self.eye.depth_m(np.array([v, (y0 + y1) / 2, 0.0]))))
        y = min((y0, y1), key=lambda v: float(self.eye.depth_m(np.array([(x0 + x1) / 2, v, 0.0]))))
        return x, y

    def _beyond(self, at: FloatArray, out: FloatArray, far_px: float) -> Point:
        """A point on the sheet that far beyond a point of the floor's edge, away from the floor."""
        a, b = self.eye.to_px(np.stack((at, at + 0.05 * self.size * out)))
        x, y = b + (b - a) / max(float(np.hypot(*(b - a))), 1e-9) * far_px - (b - a)
        return float(x), float(y)

    def _figure(self, at: FloatArray, out: FloatArray, value: float) -> None:
        x, y = self._beyond(at, out, 18.0)
        self.canvas.text((x, y + 5), f"{value + 0.0:.4g}".replace("-", "−"), size=13, colour=SOFT_INK, align="centre")

    def _axis_name(self, at: FloatArray, out: FloatArray, name: str) -> None:
        x, y = self._beyond(at, out, 52.0)
        self.canvas.text((x, y + 5), name, size=15, colour=SOFT_INK, weight=600, align="centre")


def arm_chain(arm: ArmModel, pose_deg: FloatArray, up: Upright) -> FloatArray:
    """The base's origin, every joint's, the tool point: shape (n_joints + 2, 3), as drawn."""
    T = link_poses(pose_deg, arm)
    return up.points(np.vstack((np.zeros((1, 3)), T[:, :3, 3])))


def floor_corners(points: FloatArray, size: float) -> FloatArray:
    """The corners of a floor under all points, with whole steps round them."""
    step = round_step(size, 10)
    flat = np.vstack((points[:, :2], np.zeros((1, 2))))
    lo = np.floor((flat.min(axis=0) - 0.10 * size) / step) * step
    hi = np.ceil((flat.max(axis=0) + 0.10 * size) / step) * step
    return np.array([[lo[0], lo[1], 0.0], [hi[0], lo[1], 0.0], [hi[0], hi[1], 0.0], [lo[0], hi[1], 0.0]])


def _azimuth_deg(target: FloatArray, tip: FloatArray) -> float:
    """An eye that sees the arm's bends: from its side, a little to the front."""
    there = target if float(np.hypot(*target[:2])) > 1e-6 else tip
    heading = float(np.degrees(np.arctan2(there[1], there[0])))
    return heading - 58.0


def _shape_points(shape: Shape, T: FloatArray) -> tuple[FloatArray, float]:
    """Corner points in the base frame, and the radius round them, metres."""
    if shape.kind == "box":
        assert shape.half_mm is not None
        signs = np.array([[i, j, k] for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)])
        local, radius = np.array(shape.centre_mm or (0.0, 0.0, 0.0)) + signs * np.array(shape.half_mm), 0.0
    else:
        assert shape.a_mm is not None
        assert shape.b_mm is not None
        assert shape.radius_mm is not None
        local, radius = np.array([shape.a_mm, shape.b_mm]), shape.radius_mm
    return np.asarray(local / 1000.0 @ T[:3, :3].T + T[:3, 3]), radius / 1000.0


def _circle(axis: FloatArray) -> FloatArray:
    a = np.linspace(0.0, 2 * np.pi, 49)[:-1]
    first = np.cross(axis, np.eye(3)[int(np.argmin(np.abs(axis)))])
    first /= np.linalg.norm(first)
    return np.asarray(np.cos(a)[:, None] * first + np.sin(a)[:, None] * np.cross(axis, first))


def _circle_2d() -> FloatArray:
    a = np.linspace(0.0, 2 * np.pi, 33)[:-1]
    return np.stack((np.cos(a), np.sin(a)), axis=1)


def _multiples(step: float, lo: float, hi: float) -> FloatArray:
    """The multiples of a step from lo to hi."""
    return np.asarray(np.arange(round(np.ceil(lo / step - 1e-6)), round(np.floor(hi / step + 1e-6)) + 1) * step)


def _to_segment(point: FloatArray, a: FloatArray, b: FloatArray) -> float:
    """Distance of a point from a segment, on the sheet."""
    along = b - a
    share = float(np.clip((point - a) @ along / max(float(along @ along), 1e-9), 0.0, 1.0))
    return float(np.hypot(*(point - a - share * along)))


def length_text(mm: float) -> str:
    """A length for people."""
    if mm < 0.001:
        return "under 0.001 mm"
    return f"{mm:.0f} mm" if mm >= 100 else f"{mm:.3g} mm"
