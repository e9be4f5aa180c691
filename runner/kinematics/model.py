"""Arms as data: joints, axes, origins, limits, tool point, shells and gripper, read from `arms/*.toml`.

Holds figures and checks them; computes nothing with them (that is `fk.py` and `ik/`).
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from math import radians
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from runner.kinematics.errors import BadArmFile, UnknownArm

FloatArray = NDArray[np.float64]
Vector = tuple[float, float, float]


class _Data(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class JointData(_Data):
    """One revolute joint: its frame in the frame before it, its axis, its limits."""

    name: str
    urdf_name: str | None = None
    origin_mm: Vector
    rpy_deg: Vector
    axis: Vector
    min_deg: float
    max_deg: float


class ToolData(_Data):
    """The tool centre point in the last link's frame, and the tool's roll about the flange axis."""

    tcp_mm: Vector
    roll_deg: float = 0.0
    flange_z_mm: float = 0.0


class Shape(_Data):
    """A capsule or a box in the frame of a link (0 the base, n the link after joint n)."""

    link: int = Field(ge=0)
    kind: Literal["capsule", "box"]
    a_mm: Vector | None = None
    b_mm: Vector | None = None
    radius_mm: float | None = None
    centre_mm: Vector | None = None
    half_mm: Vector | None = None


class Look(_Data):
    """A part of a link as the twin's camera sees it; collisions know only `Shape`."""

    link: int = Field(ge=0)
    kind: Literal["capsule", "cylinder", "box"]
    a_mm: Vector | None = None
    b_mm: Vector | None = None
    radius_mm: float | None = None
    centre_mm: Vector | None = None
    half_mm: Vector | None = None
    colour: Literal["white", "grey", "dark", "glass"] = "white"


class GripperData(_Data):
    """A two-finger gripper on parallelogram four-bars; figures as in the arm file."""

    name: str
    theta_closed_rad: float
    theta_open_rad: float
    base_z_mm: float
    pivot_x_mm: float
    pivot_z_mm: float
    link_x_mm: float
    link_z_mm: float
    inner_face_mm: float
    tip_z_mm: float
    force_n: float
    pad_mm: Vector
    body_half_mm: Vector
    body_centre_z_mm: float


class MassData(_Data):
    """Masses of the links and the hand, grams."""

    links_g: tuple[float, ...]
    hand_g: float
    jaw_g: float
    source: str


class ServoData(_Data):
    """The twin's position servos."""

    kp: tuple[float, ...]
    kv: tuple[float, ...]
    armature: float
    damping: float
    force_limit_nm: float
    max_speed_deg_s: float
    max_acceleration_deg_s2: float
    encoder_steps: int


class SearchData(_Data):
    """Where searches for postures of the arm begin, and which of its wrist's two ways is kept."""

    starts_deg: tuple[tuple[float, ...], ...] = Field(min_length=1)
    fallback_deg: tuple[tuple[float, ...], ...] = ()
    """Further starts, on branches that are less handy, for what the others don't lead to."""
    wrist_roll: int | None = Field(None, ge=0)
    """Half a turn of this joint, and the next one the other way, points the tool alike: it is kept near zero."""


class ArmData(_Data):
    """A whole arm file."""

    name: str
    title: str
    source: str = ""
    up: Literal["y", "z"]
    home_deg: tuple[float, ...]
    joint: tuple[JointData, ...] = Field(min_length=1)
    tool: ToolData
    shape: tuple[Shape, ...] = ()
    look: tuple[Look, ...] = ()
    gripper: GripperData | None = None
    masses: MassData | None = None
    servo: ServoData | None = None
    search: SearchData | None = None


@dataclass(frozen=True, slots=True, eq=False)
class ArmModel:
    """An arm ready to compute with. Arrays are read-only; lengths metres, limits degrees."""

    data: ArmData
    T_parent_joint: FloatArray  # (n, 4, 4): each joint's frame at zero in the frame before it
    axes: FloatArray  # (n, 3): unit axis in the joint's own frame
    T_link_tcp: FloatArray  # (4, 4): the tool point in the last link's frame
    min_deg: FloatArray  # (n,)
    max_deg: FloatArray  # (n,)
    home_deg: FloatArray  # (n,)
    hand_shift_m: FloatArray  # (3,): how far the gripper sits beside its place, last link's frame

    @property
    def name(self) -> str:
        """The arm's short name, as in the configuration."""
        return self.data.name

    @property
    def n_joints(self) -> int:
        """How many joints the arm has."""
        return len(self.data.joint)

    @property
    def longest_reach_m(self) -> float:
        """No tool point is farther from the base's origin: all steps from joint to joint laid end to end."""
        steps = np.concatenate((self.T_parent_joint[:, :3, 3], self.T_link_tcp[None, :3, 3]))
        return float(np.linalg.norm(steps, axis=1).sum())

    def with_tool(
        self, *, tcp_mm: Vector | None = None, roll_deg: float = 0.0, shift_mm: Vector = (0.0, 0.0, 0.0)
    ) -> ArmModel:
        """The same arm with another tool: its point (mm, last link's frame) and its roll about the flange axis.

        `shift_mm` is how far the gripper sits beside its place; its point and its fingers are moved by it alike.
        """
        meant = self.data.tool.tcp_mm if tcp_mm is None else tcp_mm
        x, y, z = np.add(meant, shift_mm).tolist()
        shift_m = frozen(np.array(shift_mm, dtype=float) / 1000.0)
        return replace(self, T_link_tcp=_tool((x, y, z), roll_deg), hand_shift_m=shift_m)

    def with_zeros(self, zero_deg: FloatArray, *, upper_deg: FloatArray | None = None) -> ArmModel:
        """The same arm with the joints' zeros off by so much: neither a joint nor its encoder may pass the limits.

        Args:
            zero_deg: where a joint is less what its encoder says, shape (n_joints,).
            upper_deg: what the encoders may show at most, shape (n_joints,); the arm's limits where not given.
        """
        top = self.max_deg if upper_deg is None else upper_deg
        low, high = np.maximum(self.min_deg, self.min_deg + zero_deg), np.minimum(self.max_deg, top + zero_deg)
        return replace(self, min_deg=frozen(low), max_deg=frozen(high))


def frozen(array: FloatArray) -> FloatArray:
    """The array, no longer writable."""
    array.setflags(write=False)
    return array


def rpy_matrix(roll: float, pitch: float, yaw: float) -> FloatArray:
    """Rotation from fixed-axis roll, pitch, yaw in radians, shape (3, 3): Rz(yaw) Ry(pitch) Rx(roll), as in URDF."""
    cr, sr, cp, sp, cy, sy = np.cos(roll), np.sin(roll), np.cos(pitch), np.sin(pitch), np.cos(yaw), np.sin(yaw)
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def _tool(tcp_mm: Vector, roll_deg: float) -> FloatArray:
    T = np.eye(4)
    T[:3, :3] = rpy_matrix(0.0, 0.0, radians(roll_deg))
    T[:3, 3] = np.asarray(tcp_mm) / 1000.0
    return frozen(T)


def build(data: ArmData) -> ArmModel:
    """An `ArmModel` from the figures of an arm file."""
    n = len(data.joint)
    T = np.tile(np.eye(4), (n, 1, 1))
    for i, joint in enumerate(data.joint):
        T[i, :3, :3] = rpy_matrix(*(radians(a) for a in joint.rpy_deg))
        T[i, :3, 3] = np.asarray(joint.origin_mm) / 1000.0
    axes = np.array([joint.axis for joint in data.joint], dtype=float)
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    return ArmModel(
        data=data,
        T_parent_joint=frozen(T),
        axes=frozen(axes),
        T_link_tcp=_tool(data.tool.tcp_mm, data.tool.roll_deg),
        min_deg=frozen(np.array([j.min_deg for j in data.joint])),
        max_deg=frozen(np.array([j.max_deg for j in data.joint])),
        home_deg=frozen(np.array(data.home_deg, dtype=float)),
        hand_shift_m=frozen(np.zeros(3)),
    )


def shipped_arms() -> list[str]:
    """Names of the arms that come with the program."""
    return sorted(p.name.removesuffix(".toml") for p in _arms_folder().iterdir() if p.name.endswith(".toml"))


@cache
def load_arm(name: str) -> ArmModel:
    """The arm of that name, or the one in the arm file of that path.

    Raises:
        UnknownArm: neither a shipped name nor an existing file.
        BadArmFile: the file is not TOML, has wrong keys, or its figures contradict each other.
    """
    if name in shipped_arms():
        text, where = (_arms_folder() / f"{name}.toml").read_text(encoding="utf-8"), name
    elif Path(name).is_file():
        try:
            text, where = Path(name).read_text(encoding="utf-8"), name
        except (OSError, UnicodeDecodeError) as error:
            raise BadArmFile(name, f"can't be read: {error}") from error
    else:
        raise UnknownArm(name, shipped_arms())
    return read_arm(text, where)


def read_arm(text: str, where: str) -> ArmModel:
    """The arm that the text of an arm file describes; `where` it stands, for messages.

    Raises:
        BadArmFile: see `load_arm`.
    """
    try:
        data = ArmData.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise BadArmFile(where, f"not TOML: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        raise BadArmFile(where, f"{'.'.join(str(p) for p in first['loc'])}: {first['msg']}") from error
    wrong = _contradiction(data)
    if wrong is not None:
        raise BadArmFile(where, wrong)
    return build(data)


def _contradiction(data: ArmData) -> str | None:
    """What can't be so in figures that are each of the right kind; None where all fit."""
    n = len(data.joint)
    if len(data.home_deg) != n:
        return f"home_deg has {len(data.home_deg)} angles for {n} joints"
    for joint in data.joint:
        if not joint.min_deg < joint.max_deg:
            return f"{joint.name}: min_deg {joint.min_deg} is not below max_deg {joint.max_deg}"
        if not any(joint.axis):
            return f"{joint.name}: an axis of no direction"
    parts: tuple[Shape | Look, ...] = (*data.shape, *data.look)
    for part in parts:
        wrong = _part_contradiction(part, n)
        if wrong is not None:
            return wrong
    return _count_contradiction(data)


def _part_contradiction(part: Shape | Look, n_joints: int) -> str | None:
    box = part.kind == "box"
    needed: tuple[object, ...] = (part.centre_mm, part.half_mm) if box else (part.a_mm, part.b_mm, part.radius_mm)
    if None in needed:
        return (
            f"a {part.kind} of link {part.link} needs {'centre_mm and half_mm' if box else 'a_mm, b_mm and radius_mm'}"
        )
    if part.link > n_joints:
        return f"a {part.kind} of link {part.link}, and the last link is {n_joints}"
    return None


def _count_contradiction(data: ArmData) -> str | None:
    """Figures that must be as many as the joints, and joints that must be there."""
    n = len(data.joint)
    figures: list[tuple[str, tuple[float, ...]]] = []
    if data.masses is not None:
        figures.append(("masses.links_g", data.masses.links_g))
    if data.servo is not None:
        figures += [("servo.kp", data.servo.kp), ("servo.kv", data.servo.kv)]
    if data.search is not None:
        figures += [("search.starts_deg", start) for start in data.search.starts_deg]
        figures += [("search.fallback_deg", start) for start in data.search.fallback_deg]
        if data.search.wrist_roll is not None and data.search.wrist_roll >= n - 1:
            return f"search.wrist_roll {data.search.wrist_roll} has no joint after it"
    for key, values in figures:
        if len(values) != n:
            return f"{key} has {len(values)} figures for {n} joints"
    return None


def _arms_folder() -> Path:
    return Path(str(files("runner.kinematics") / "arms"))
