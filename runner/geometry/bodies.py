"""What moves: the arm's shells, its gripper at one opening and a block between the jaws, as spheres and boxes.

Made from the figures of the arm file. Capsules become rows of spheres that are a little too large, so that a clearance
is never better than the truth. Knows no cell.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import ceil

import numpy as np
from numpy.typing import NDArray

from runner.geometry.obstacles import HeldBlock
from runner.kinematics.gripper import outer_pivot_mm, theta_from_opening_rad, tip_z_mm
from runner.kinematics.model import ArmModel, FloatArray, GripperData, Shape, frozen

IntArray = NDArray[np.int64]

HELD = "held block"

_SPACING = 0.8  # of spheres along a capsule, in radii; they are drawn 8 % larger to cover it
_BAR_MM = 6.0  # half the thickness of the gripper's bars; estimate from product pictures
_FINGER_MM = 3.5  # half the thickness of a finger behind its pad; the same


@dataclass(frozen=True, slots=True, eq=False)
class Body:
    """Spheres and boxes, each in the frame of a link: 0 the base, k after joint k, n + 1 the tool point. Metres."""

    parts: tuple[str, ...]  # what they belong to, in words
    part_link: IntArray  # (parts,): the link that carries the part, 0…n
    sphere_frame: IntArray  # (S,)
    sphere_m: FloatArray  # (S, 3)
    sphere_radius_m: FloatArray  # (S,)
    sphere_part: IntArray  # (S,)
    box_frame: IntArray  # (B,)
    box_m: FloatArray  # (B, 3)
    box_axes: FloatArray  # (B, 3, 3): columns are the box's own axes
    box_half_m: FloatArray  # (B, 3)
    box_part: IntArray  # (B,)


class _Builder:
    """Collects shapes in millimetres."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.links: list[int] = []
        self.spheres: list[tuple[int, FloatArray, float, int]] = []
        self.boxes: list[tuple[int, FloatArray, FloatArray, FloatArray, int]] = []

    def part(self, name: str, link: int) -> int:
        if name not in self.parts:
            self.parts.append(name)
            self.links.append(link)
        return self.parts.index(name)

    def capsule(self, frame: int, a_mm: FloatArray, b_mm: FloatArray, radius_mm: float, part: int) -> None:
        """Spheres that cover the capsule: between two of them the hull must not dip below its surface."""
        length = float(np.linalg.norm(b_mm - a_mm))
        count = max(1, ceil(length / (_SPACING * radius_mm)))
        gap = length / count
        radius = float(np.hypot(radius_mm, gap / 2.0))
        for share in np.linspace(0.0, 1.0, count + 1) if length > 0 else (0.0,):
            self.spheres.append((frame, (a_mm + share * (b_mm - a_mm)) / 1000.0, radius / 1000.0, part))

    def box(self, frame: int, centre_mm: FloatArray, half_mm: FloatArray, part: int) -> None:
        self.boxes.append((frame, centre_mm / 1000.0, np.eye(3), half_mm / 1000.0, part))

    def bar(self, frame: int, a_mm: FloatArray, b_mm: FloatArray, half_mm: float, part: int) -> None:
        """A square bar from a to b in a plane of constant y, its ends half a thickness beyond them."""
        along = b_mm - a_mm
        length = float(np.linalg.norm(along))
        z = along / length
        axes = np.stack((np.array([z[2], 0.0, -z[0]]), np.array([0.0, 1.0, 0.0]), z), axis=1)
        half = np.array([half_mm, half_mm, length / 2.0 + half_mm])
        self.boxes.append((frame, (a_mm + b_mm) / 2000.0, axes, half / 1000.0, part))

    def build(self) -> Body:
        s, b = self.spheres, self.boxes
        return Body(
            parts=tuple(self.parts),
            part_link=np.array(self.links, dtype=np.int64),
            sphere_frame=np.array([x[0] for x in s], dtype=np.int64),
            sphere_m=frozen(np.array([x[1] for x in s]).reshape(-1, 3)),
            sphere_radius_m=frozen(np.array([x[2] for x in s], dtype=float)),
            sphere_part=np.array([x[3] for x in s], dtype=np.int64),
            box_frame=np.array([x[0] for x in b], dtype=np.int64),
            box_m=frozen(np.array([x[1] for x in b]).reshape(-1, 3)),
            box_axes=frozen(np.array([x[2] for x in b]).reshape(-1, 3, 3)),
            box_half_m=frozen(np.array([x[3] for x in b]).reshape(-1, 3)),
            box_part=np.array([x[4] for x in b], dtype=np.int64),
        )


@lru_cache(maxsize=32)
def arm_body(arm: ArmModel, opening_mm: float | None = None) -> Body:
    """The arm's shells and, where it has a gripper, the gripper with its jaws `opening_mm` apart (None: wide open).

    Raises:
        OutsideOpening: the jaws can't be that far apart.
    """
    builder = _Builder()
    for shape in arm.data.shape:
        _add_shell(builder, shape)
    if arm.data.gripper is not None:
        g = arm.data.gripper
        theta = g.theta_open_rad if opening_mm is None else theta_from_opening_rad(opening_mm, g)
        _add_gripper(builder, arm, g, theta)
    return builder.build()


def with_held(body: Body, held: HeldBlock, arm: ArmModel) -> Body:
    """The body with a cube between its jaws."""
    part = len(body.parts)
    return Body(
        parts=(*body.parts, HELD),
        part_link=np.append(body.part_link, arm.n_joints),
        sphere_frame=body.sphere_frame,
        sphere_m=body.sphere_m,
        sphere_radius_m=body.sphere_radius_m,
        sphere_part=body.sphere_part,
        box_frame=np.append(body.box_frame, arm.n_joints + 1),
        box_m=np.vstack((body.box_m, held.T_tcp_block[:3, 3])),
        box_axes=np.concatenate((body.box_axes, held.T_tcp_block[None, :3, :3])),
        box_half_m=np.vstack((body.box_half_m, np.full(3, held.side_mm / 2000.0))),
        box_part=np.append(body.box_part, part),
    )


def _add_shell(builder: _Builder, shape: Shape) -> None:
    part = builder.part("base" if shape.link == 0 else f"link {shape.link}", shape.link)
    if shape.kind == "capsule":
        assert shape.a_mm is not None
        assert shape.b_mm is not None
        assert shape.radius_mm is not None
        builder.capsule(shape.link, np.array(shape.a_mm), np.array(shape.b_mm), shape.radius_mm, part)
    else:
        assert shape.centre_mm is not None
        assert shape.half_mm is not None
        builder.box(shape.link, np.array(shape.centre_mm), np.array(shape.half_mm), part)


def _add_gripper(builder: _Builder, arm: ArmModel, g: GripperData, theta: float) -> None:
    """Body, bars, fingers and pads in the tool frame: x along the jaws' travel, z along the tool."""
    n, tool = arm.n_joints, arm.n_joints + 1
    tcp_mm = arm.T_link_tcp[:3, :3].T @ arm.T_link_tcp[:3, 3] * 1000.0

    def at(x: float, y: float, z: float) -> FloatArray:
        return np.asarray(np.array([x, y, z]) - tcp_mm)

    builder.box(tool, at(0.0, 0.0, g.body_centre_z_mm), np.array(g.body_half_mm), builder.part("gripper body", n))
    pivot_x, pivot_z = outer_pivot_mm(theta, g)
    inner_x, tip_z = pivot_x - g.inner_face_mm, tip_z_mm(theta, g)
    thick, across, along = g.pad_mm
    finger, pad = builder.part("finger", n), builder.part("pad", n)
    for side in (-1.0, 1.0):
        bar = at(side * g.pivot_x_mm, 0.0, g.base_z_mm + g.pivot_z_mm)
        hinge = at(side * pivot_x, 0.0, pivot_z)
        behind_pad = side * (inner_x + thick + _FINGER_MM)
        builder.bar(tool, bar, hinge, _BAR_MM, finger)
        builder.bar(tool, hinge, at(behind_pad, 0.0, pivot_z + 2.0 * _BAR_MM), _BAR_MM, finger)
        length = (tip_z - pivot_z) / 2.0
        blade = np.array([_FINGER_MM, across / 2.0 - 1.0, length])
        builder.box(tool, at(behind_pad, 0.0, tip_z - length), blade, finger)
        centre = at(side * (inner_x + thick / 2.0), 0.0, tip_z - along / 2.0)
        builder.box(tool, centre, np.array([thick, across, along]) / 2.0, pad)
