"""A desk of the twin's on which scenes are laid out at will: block, box, more blocks, the arm, what it holds.

Physics settles what is laid out, and the label comes from the twin's truth afterwards, never from what was intended. It
plans no motion: the arm is put where the scene wants it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import atan2, cos, degrees, radians, sin

import numpy as np

from runner.config import Config
from runner.kinematics.frames import stance_of, stance_rotation
from runner.kinematics.gripper import (
    gripper_of,
    opening_from_value_mm,
    theta_from_opening_rad,
    value_from_theta,
)
from runner.kinematics.ik.dls import DampedLeastSquares
from runner.kinematics.ik.protocol import IkTarget, JointLimits
from runner.kinematics.model import FloatArray, rpy_matrix
from runner.twin.profiles import PERFECT
from runner.twin.scene import BLOCK_COLOURS, MOVING, STILL
from runner.twin.setup import Twin
from runner.twin.shading import Light, light_for
from runner.twin.starts import Start
from runner.twin.streams import stream
from runner.twin.world import Resting, Truth
from runs.schema.geometry import Point, TablePoint
from vision.cameras.protocol import Picture

AWAY = Resting((-0.80, -0.20), 0.0)  # where a box is out of the camera's sight
GONE = (0.62, -0.20)  # and a block
STRENGTH = (0.55, 1.12)  # of the light, beyond what the twin's own stream varies
SWEPT_DEG = (85.0, -85.0, 0.0)
_JAW_PLAY_MM = 0.8
_CLOSING_S = 0.10
_SETTLE_S = 0.7


@dataclass(frozen=True, slots=True)
class Placed:
    """A block put down: its middle's place, how high its lowest face is at no tilt, and its turns."""

    xz_m: TablePoint
    bottom_y_m: float = 0.0
    yaw_deg: float = 0.0
    tilt_deg: tuple[float, float] = (0.0, 0.0)  # about its own two level axes


@dataclass(frozen=True, slots=True)
class Held:
    """A block between the jaws: which one, how far its middle is off the tool point, and its pitch."""

    name: str = "block"
    along_m: float = 0.0  # out toward the fingertips
    across_m: float = 0.0
    pitch_deg: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """One scene before physics has settled it. `jaws_mm` None leaves the jaws open."""

    block: Placed
    box: Resting
    arm_deg: FloatArray
    jaws_mm: float | None = None
    held: Held | None = None
    extras: Mapping[int, Placed] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Shot:
    """A scene that has settled: its picture, the truth, and what the gripper answers."""

    image_bgr: Picture
    truth: Truth
    gripper_value: float | None


class Desk:
    """One twin with spare blocks. `begin` sets a new desk in a new light; `show` lays out a scene and looks."""

    def __init__(self, config: Config) -> None:
        self.config = config.model_copy(update={"twin": config.twin.model_copy(update={"profile": "perfect"})})
        others = [colour for colour in BLOCK_COLOURS if colour != config.block.colour]
        self.colours = (config.block.colour, *others)  # of the extras, in their order
        self.twin = Twin(self.config, extra_blocks=self.colours)
        self._solver = DampedLeastSquares(
            self.twin.arm.model, limits=JointLimits.of(self.twin.arm.model, margin_deg=1.0), restarts=6
        )
        self._snapshot = self.twin.world.new_snapshot()
        self._names = self.twin.world.geom_names()
        self._seed = 0

    @property
    def empty_jaws_mm(self) -> float:
        """How far jaws that have closed on nothing are apart."""
        return opening_from_value_mm(self.config.gripper.grip_value, gripper_of(self.twin.arm.model))

    def close(self) -> None:
        """Let the twin go."""
        self.twin.close()

    def begin(self, seed: int) -> tuple[Start, str]:
        """A new desk: where things start, and its light in words."""
        self._seed = seed
        self.twin.reset(seed)
        assert self.twin.start is not None
        drawn = light_for(seed, self.config.twin.light_height_m)
        strength = float(stream(seed, "strength of light").uniform(*STRENGTH))
        light = replace(drawn, lamp=drawn.lamp * np.float32(strength), room=drawn.room * np.float32(strength))
        self.twin.relight(light, seed)
        return self.twin.start, _in_words(light, strength)

    def show(self, layout: Layout, *, settle_s: float = _SETTLE_S) -> Shot:
        """Lay out a scene, let it settle, take a picture of it."""
        self.settle(layout, settle_s=settle_s)
        return self.look()

    def look(self) -> Shot:
        """The scene as it stands."""
        twin = self.twin
        return Shot(twin.camera.read().image_bgr, twin.truth(), twin.arm.read_gripper_value())

    def settle(self, layout: Layout, *, settle_s: float = _SETTLE_S) -> Truth:
        """Lay out a scene and let it settle; the truth then."""
        twin, world = self.twin, self.twin.world
        joints = twin.arm.begin(PERFECT, stream(self._seed, "arm"), layout.arm_deg)
        world.reset(joints, gripper_of(twin.arm.model).theta_open_rad, Resting(GONE, 0.0), layout.box)
        if layout.jaws_mm is not None:
            self._close_jaws(layout.jaws_mm)
        self._put("block", layout.block)
        for i, placed in layout.extras.items():
            self._put(f"block_{i}", placed)
        if layout.held is not None:
            self._grip(layout.held, layout.arm_deg)
        twin.clock.sleep(settle_s)
        return twin.truth()

    def over(self, point_m: Point, *, tilt_deg: float, heading_deg: float | None = None) -> FloatArray | None:
        """Joints with the tool point there, jaws level; heading outward where none is given. None: out of reach."""
        base = self.twin.world.scene.base
        outward = degrees(atan2(point_m[2], point_m[0]))
        rotation = stance_rotation(tilt_deg, outward if heading_deg is None else heading_deg, base)
        start = np.array([np.clip(outward - 90.0, -150, 150), 40.0, 0.0, 0.0, 10.0, -30.0])
        found = self._solver.solve(IkTarget(base.to_base(np.array(point_m)), rotation), start)
        return found.angles_deg if found.converged else None

    def swept(self, j0_deg: float) -> FloatArray:
        """Home with the base joint turned aside."""
        pose = np.array(self.config.arm.home_deg)
        pose[0] = j0_deg
        return pose

    def visible(self, name: str = "block") -> float:
        """How much of a block's surface that faces the camera is seen, 0…1."""
        half = self.config.block.side_mm / 2000.0
        world, view = self.twin.world, self.twin.view
        world.take(self._snapshot)
        geom = self._names.index(name)
        middle, turn = self._snapshot.geom_place_m[geom], self._snapshot.geom_turn[geom]
        eye = world.scene.base.to_base(np.array(view.camera_m))
        points = middle + (_FACES * half) @ turn.T
        toward = points - eye
        facing = ((_NORMALS @ turn.T) * toward).sum(axis=1) < -0.05 * np.linalg.norm(toward, axis=1)
        rays = toward[facing] / np.linalg.norm(toward[facing], axis=1, keepdims=True)
        hit = self._snapshot.cast(eye, rays, (STILL, MOVING)).geom == geom
        return float(hit.mean())

    def box_visible(self) -> float:
        """How much of the box's rim is seen, 0…1."""
        world = self.twin.world
        world.take(self._snapshot)
        floor = self._names.index("box_floor")
        middle, turn = self._snapshot.geom_place_m[floor], self._snapshot.geom_turn[floor]
        box = self.config.box
        half = np.array(box.outside_mm) / 2000.0 - box.wall_mm / 2000.0
        at = np.linspace(-1.0, 1.0, 7)
        flat = np.concatenate([np.column_stack([at, np.full(7, s)]) for s in (-1, 1)])
        flat = np.concatenate([flat, flat[:, ::-1]]) * half
        points = middle + np.column_stack([flat, np.full(len(flat), box.wall_height_mm / 1000.0)]) @ turn.T
        eye = world.scene.base.to_base(np.array(self.twin.view.camera_m))
        toward = points - eye
        rays = self._snapshot.cast(eye, toward / np.linalg.norm(toward, axis=1, keepdims=True), (STILL, MOVING))
        return float(np.mean([geom >= 0 and self._names[geom].startswith("box_") for geom in rays.geom]))

    def _put(self, name: str, placed: Placed) -> None:
        half = self.config.block.side_mm / 2000.0
        base = self.twin.world.scene.base
        level = stance_rotation(0.0, placed.yaw_deg, base)
        turn = level @ rpy_matrix(radians(placed.tilt_deg[0]), 0.0, radians(placed.tilt_deg[1]))
        self.twin.world.pose(name, (placed.xz_m[0], placed.bottom_y_m + half, placed.xz_m[1]), turn)

    def _close_jaws(self, opening_mm: float) -> None:
        gripper = gripper_of(self.twin.arm.model)
        value = value_from_theta(theta_from_opening_rad(opening_mm, gripper), gripper)
        self.twin.arm.send_gripper_value(int(np.ceil(value)))
        self.twin.clock.sleep(1.3)

    def _grip(self, held: Held, arm_deg: FloatArray) -> None:
        """Close the jaws on a block that is kept where it is until they have it; friction holds it from then on."""
        twin, world = self.twin, self.twin.world
        base = world.scene.base
        stance = stance_of(arm_deg, twin.arm.model, base)
        tilt, heading = radians(stance.tilt_deg), radians(stance.heading_deg)
        along = np.array([cos(tilt) * cos(heading), -sin(tilt), cos(tilt) * sin(heading)])
        across = np.array([sin(tilt) * cos(heading), cos(tilt), sin(tilt) * sin(heading)])
        turn = stance_rotation(held.pitch_deg, stance.heading_deg, base)
        self._close_jaws(self.config.block.side_mm + _JAW_PLAY_MM)
        x, y, z = (np.array(world.truth().tool_m) + held.along_m * along + held.across_m * across).tolist()
        twin.arm.send_gripper_value(self.config.gripper.grip_value)
        for _ in range(round(_CLOSING_S / world.dt_s)):
            world.pose(held.name, (x, y, z), turn)
            twin.clock.sleep(world.dt_s)


def _in_words(light: Light, strength: float) -> str:
    side = "left" if light.lamp_m[0] < -0.15 else "right" if light.lamp_m[0] > 0.15 else "middle"
    return f"{light.lamp_k:.0f} K, strength {strength:.2f}, lamp {side}"


def _on_faces() -> tuple[FloatArray, FloatArray]:
    """Points on a cube of half side 1 and the normals there, (n, 3) each."""
    points, normals = [], []
    grid = np.linspace(-0.85, 0.85, 5)
    for axis in range(3):
        for side in (-1.0, 1.0):
            for a in grid:
                for b in grid:
                    point = np.insert(np.array([a, b]), axis, side)
                    points.append(point)
                    normals.append(np.eye(3)[axis] * side)
    return np.array(points), np.array(normals)


_FACES, _NORMALS = _on_faces()
