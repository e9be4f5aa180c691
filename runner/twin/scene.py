"""The scene as MuJoCo's XML: arm, gripper, table, block, open box, mast, calibration board, from data and settings.

Text only: it simulates nothing and holds no state. MuJoCo's world frame is the arm's base frame (z up, x forward,
y left); `runner.kinematics.frames.BaseInCell` carries the cell's places into it.

Groups of geoms: 0 stands still and is seen, 1 moves and is seen, 2 is the calibration board, 3 collides, unseen.
Grasping is friction and contact; the figures that hold a block are those of `CONTACT`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import radians

import numpy as np

from runner.config import Config
from runner.kinematics.frames import BaseInCell
from runner.kinematics.gripper import gripper_of, theta_from_opening_rad
from runner.kinematics.model import ArmModel, FloatArray, GripperData, Look, MassData, ServoData, Shape, rpy_matrix
from runner.twin.errors import ArmWithoutTwin

STILL, MOVING, BOARD, UNSEEN = 0, 1, 2, 3  # groups of geoms

# Linear reflectance, red green blue. Plastic is never pure white nor pure black.
COLOURS = {
    "white": (0.72, 0.73, 0.72),
    "grey": (0.34, 0.35, 0.37),
    "dark": (0.045, 0.047, 0.052),
    "glass": (0.025, 0.028, 0.035),
    "gripper": (0.085, 0.088, 0.095),
    "pad": (0.02, 0.10, 0.42),  # blue silicone: vision finds the fingertips by it
    "steel": (0.42, 0.43, 0.45),
    "box": (0.80, 0.80, 0.785),
    "paper": (0.78, 0.78, 0.77),
    "mug": (0.42, 0.035, 0.03),
    "coffee": (0.025, 0.014, 0.008),
    "tape": (0.03, 0.10, 0.30),
    "cork": (0.33, 0.22, 0.13),
}
BLOCK_COLOURS = {
    "red": (0.52, 0.022, 0.026),
    "orange": (0.72, 0.19, 0.012),
    "yellow": (0.78, 0.52, 0.02),
    "green": (0.035, 0.30, 0.06),
    "blue": (0.02, 0.09, 0.46),
    "purple": (0.17, 0.04, 0.34),
}

# A held block creeps 0.1 mm/s with these; with MuJoCo's pyramidal cone and impratio 1 it is lost. Solver stiffness:
# 10 ms. Pads have priority, so their friction decides whatever they touch.
CONTACT = 'solref="0.01 1" solimp="0.9 0.95 0.001" condim="4"'
BOX_MASS_KG = 0.085  # a printed box of 3 mm walls
MAST_HEIGHT_M = 1.0
TABLE_TOP_X_M, TABLE_TOP_Z_M = (-0.70, 0.70), (-0.25, 0.65)  # cell frame; beyond it things would fall
JAW_ARMATURE = 2e-4  # kg·m²: a geared micro servo, and what keeps light links steady at 2 ms
JAW_KP, JAW_KV = 3.0, 0.03  # N·m/rad, N·m·s/rad; the force limit decides, not the stiffness
BOARD_THICKNESS_M = 0.001
WAITING_XZ_M = (0.66, -0.20)  # cell frame: on the table, out of the default camera's sight


@dataclass(frozen=True, slots=True)
class Scene:
    """What `World` compiles: the text, the frame it stands in, and the figures that it was made from."""

    xml: str
    config: Config
    arm: ArmModel  # with the mounted tool
    base: BaseInCell
    board_size_m: tuple[float, float]  # of the sheet: along the long side, along the short one
    tool_off_mm: tuple[float, float, float] = (0.0, 0.0, 0.0)  # the gripper beside its place, last link's frame

    @property
    def table_z_m(self) -> float:
        """Height of the table top in the base frame."""
        return float(self.base.to_base(np.zeros(3))[2])


def build_scene(
    config: Config,
    arm: ArmModel,
    board_size_m: tuple[float, float],
    extra_blocks: Sequence[str] = (),
    *,
    tool_off_mm: tuple[float, float, float] = (0.0, 0.0, 0.0),
) -> Scene:
    """The scene for these settings and this arm (as loaded; the tool of the settings is mounted here).

    Args:
        tool_off_mm: how far the gripper sits beside its place, last link's frame.
        extra_blocks: colours of more blocks, which wait out of the camera's sight until they are put somewhere.

    Raises:
        ArmWithoutTwin: the arm file has no gripper, masses or servo.
        KeyError: a colour that no block has.
    """
    arm = arm.with_tool(tcp_mm=config.arm.tcp_mm, roll_deg=config.arm.tool_roll_deg)
    base = BaseInCell.at(config.arm.base_shift_m, config.arm.base_yaw_deg)
    if arm.data.gripper is None or arm.data.masses is None or arm.data.servo is None:
        missing = "gripper" if arm.data.gripper is None else "masses" if arm.data.masses is None else "servo"
        raise ArmWithoutTwin(arm.name, missing)
    world = [*_desk(config, base), *_clutter(config, base), *_arm(config, arm, tool_off_mm)]
    world += _things(config, board_size_m)
    world += _extra_blocks(config, base, extra_blocks)
    xml = f"""<mujoco model="trialcell">
<compiler angle="radian" autolimits="true" inertiafromgeom="auto"/>
<option timestep="{config.twin.timestep_s}" integrator="implicitfast" cone="elliptic" impratio="10">
<flag sleep="enable"/>
</option>
<size memory="8M"/>
<default><geom {CONTACT} friction="{config.twin.table_friction} 0.005 0.0001"/></default>
<worldbody>
{chr(10).join(world)}
</worldbody>
<contact><exclude body1="finger_r" body2="finger_l"/></contact>
<equality>
{_couplings()}
</equality>
<actuator>
{chr(10).join(_actuators(arm.data.servo, arm.data.gripper, config.block.side_mm))}
</actuator>
</mujoco>
"""
    return Scene(xml, config, arm, base, board_size_m, tool_off_mm)


def _desk(config: Config, base: BaseInCell) -> Iterable[str]:
    """Table and mast. The table's texture and markers are the camera's affair."""
    origin = base.to_base(np.zeros(3))
    yaw = -radians(config.arm.base_yaw_deg)
    (x0, x1), (z0, z1) = TABLE_TOP_X_M, TABLE_TOP_Z_M
    middle = base.to_base(np.array([(x0 + x1) / 2, 0.0, (z0 + z1) / 2]))
    yield (
        f'<geom name="table" type="plane" pos="{_v([middle[0], middle[1], origin[2]])}" euler="0 0 {yaw!r}" '
        f'size="{(z1 - z0) / 2} {(x1 - x0) / 2} 0.1" group="{STILL}" contype="1" conaffinity="1" {_rgba("cork")}/>'
    )
    foot = base.to_base(np.array([config.camera.mast_xz_m[0], 0.0, config.camera.mast_xz_m[1]]))
    top = base.to_base(np.array([config.camera.mast_xz_m[0], MAST_HEIGHT_M, config.camera.mast_xz_m[1]]))
    yield (
        f'<geom name="mast" type="cylinder" fromto="{_v(foot)} {_v(top)}" size="{config.camera.mast_radius_m}" '
        f'group="{STILL}" contype="1" conaffinity="1" {_rgba("steel")}/>'
    )
    yield (
        f'<geom name="mast_foot" type="box" pos="{_v(np.add(foot, (0.0, 0.0, 0.004)))}" size="0.045 0.045 0.004" '
        f'euler="0 0 {yaw!r}" group="{STILL}" contype="0" conaffinity="0" {_rgba("dark")}/>'
    )


def _clutter(config: Config, base: BaseInCell) -> Iterable[str]:
    """Things at the desk's edges, out of the arm's reach: seen, never touched."""
    if not config.twin.clutter:
        return
    for name, (x, z), bottom_m, top_m, radius_m, colour in (
        ("mug", (-0.475, 0.20), 0.0, 0.075, 0.034, "mug"),
        ("mug_inside", (-0.475, 0.20), 0.0752, 0.0756, 0.030, "coffee"),
        ("tape", (0.465, 0.25), 0.0, 0.018, 0.036, "tape"),
        ("tape_core", (0.465, 0.25), 0.0181, 0.0183, 0.025, "cork"),
    ):
        ends = base.to_base(np.array([[x, bottom_m, z], [x, top_m, z]]))
        yield (
            f'<geom name="{name}" type="cylinder" fromto="{_v(ends[0])} {_v(ends[1])}" size="{radius_m}" '
            f'group="{STILL}" contype="0" conaffinity="0" {_rgba(colour)}/>'
        )


def _arm(config: Config, arm: ArmModel, tool_off_mm: Sequence[float]) -> Iterable[str]:
    """Nested bodies, one a joint: frames exactly as the kinematics has them."""
    masses, servo = arm.data.masses, arm.data.servo
    assert masses is not None
    assert servo is not None
    looks = arm.data.look or tuple(Look(**s.model_dump(), colour="white") for s in arm.data.shape)
    yield from _link_geoms(0, arm.data.shape, looks, masses)
    for i, joint in enumerate(arm.data.joint):
        T = arm.T_parent_joint[i]
        lo, hi = np.deg2rad(joint.min_deg), np.deg2rad(joint.max_deg)
        yield f'<body name="link{i + 1}" pos="{_v(T[:3, 3])}" quat="{_v(quaternion_of(T[:3, :3]))}">'
        yield (
            f'<joint name="{joint.name}" axis="{_v(arm.axes[i])}" range="{_v([lo, hi])}" damping="{servo.damping}" '
            f'armature="{servo.armature}"/>'
        )
        yield from _link_geoms(i + 1, arm.data.shape, looks, masses)
    yield from _hand(config, gripper_of(arm), masses, tool_off_mm)
    yield from ["</body>"] * arm.n_joints


def _link_geoms(link: int, shapes: Sequence[Shape], looks: Sequence[Look], masses: MassData) -> Iterable[str]:
    """What collides (with the link's mass, by volume) and what is seen."""
    shells = [s for s in shapes if s.link == link]
    volumes = [_volume(s) for s in shells]
    mass_kg = masses.links_g[link - 1] / 1000.0 if link else 0.0
    for shell, volume in zip(shells, volumes, strict=True):
        share = mass_kg * volume / sum(volumes)
        mass = f'mass="{share:.6g}"' if link else ""
        yield f'<geom {_primitive(shell)} group="{UNSEEN}" contype="0" conaffinity="1" {mass}/>'
    if link and not shells:
        yield f'<inertial pos="0 0 0" mass="{mass_kg}" diaginertia="1e-5 1e-5 1e-5"/>'
    for look in looks:
        if look.link == link:
            group = MOVING if link else STILL
            yield (
                f'<geom name="look_{link}_{looks.index(look)}_{look.colour}" {_primitive(look)} group="{group}" '
                f'contype="0" conaffinity="0" mass="0" {_rgba(look.colour)}/>'
            )


def _hand(config: Config, g: GripperData, masses: MassData, off_mm: Sequence[float]) -> Iterable[str]:
    """The gripper: a body with two parallelograms, each a bar and a counter-turning finger."""
    roll = rpy_matrix(0.0, 0.0, np.deg2rad(config.arm.tool_roll_deg))
    bx, by, bz = (h / 1000.0 for h in g.body_half_mm)
    cz = g.body_centre_z_mm / 1000.0
    grip = f'friction="{config.twin.pad_friction} 0.005 0.0001" priority="1"'
    place = _v([mm / 1000.0 for mm in off_mm])
    yield f'<body name="hand" pos="{place}" quat="{_v(quaternion_of(roll))}">'
    yield (
        f'<geom name="hand_shell" type="box" size="{bx} {by} {bz}" pos="0 0 {cz}" group="{UNSEEN}" contype="0" '
        f'conaffinity="1" mass="{masses.hand_g / 1000.0}"/>'
    )
    yield from _hand_looks(g)
    px, pz = g.pivot_x_mm / 1000.0, (g.base_z_mm + g.pivot_z_mm) / 1000.0
    lx, lz = g.link_x_mm / 1000.0, g.link_z_mm / 1000.0
    thick, across, along = (p / 1000.0 for p in g.pad_mm)
    face, tip = g.inner_face_mm / 1000.0, g.tip_z_mm / 1000.0
    back = 0.0035  # half the finger's thickness behind the pad
    for side, name in ((1.0, "r"), (-1.0, "l")):
        span = f'range="{g.theta_closed_rad - 0.02} {g.theta_open_rad + 0.02}"'
        yield f'<body name="bar_{name}" pos="{side * px} 0 {pz}">'
        yield f'<joint name="drive_{name}" axis="0 {side} 0" {span} damping="0.004" armature="{JAW_ARMATURE}"/>'
        yield (
            f'<geom name="bar_{name}_look" type="box" fromto="0 0.009 0 {side * lx} 0.009 {lz}" size="0.0055 0.003" '
            f'group="{MOVING}" contype="0" conaffinity="0" mass="0.003" {_rgba("gripper")}/>'
        )
        yield (
            f'<geom name="bar2_{name}_look" type="box" fromto="0 -0.009 0 {side * lx} -0.009 {lz}" size="0.0055 0.003" '
            f'group="{MOVING}" contype="0" conaffinity="0" mass="0.003" {_rgba("gripper")}/>'
        )
        yield f'<body name="finger_{name}" pos="{side * lx} 0 {lz}">'
        yield f'<joint name="counter_{name}" axis="0 {side} 0" damping="0.001" armature="{JAW_ARMATURE}"/>'
        pad_x, back_x = side * (thick / 2 - face), side * (thick + back - face)
        yield (
            f'<geom name="pad_{name}" type="box" size="{thick / 2} {across / 2} {along / 2}" '
            f'pos="{pad_x} 0 {tip - along / 2}" group="{MOVING}" contype="0" conaffinity="1" {grip} '
            f'mass="{masses.jaw_g / 2000.0}" {_rgba("pad")}/>'
        )
        yield (
            f'<geom name="finger_{name}_shell" type="box" size="{back} {across / 2 - 0.001} {tip / 2 - 0.002}" '
            f'pos="{back_x} 0 {tip / 2}" group="{MOVING}" contype="0" conaffinity="1" friction="0.4 0.005 0.0001" '
            f'priority="1" mass="{masses.jaw_g / 2000.0}" {_rgba("gripper")}/>'
        )
        yield (
            f'<geom name="knuckle_{name}_look" type="box" size="{face / 2 - 0.001} 0.0075 0.006" '
            f'pos="{-side * (face / 2 - 0.001)} 0 0.003" group="{MOVING}" contype="0" conaffinity="0" mass="0" '
            f"{_rgba('gripper')}/>"
        )
        yield "</body></body>"
    yield "</body>"


def _hand_looks(g: GripperData) -> Iterable[str]:
    """Motor housing, yoke and flange of the adaptive gripper: dark grey with a lighter cap."""
    parts = (
        ("housing", "box", f'size="0.024 0.0145 0.016" pos="0 0 {g.base_z_mm / 1000.0 - 0.016}"', "gripper"),
        ("yoke", "box", f'size="0.021 0.0115 0.010" pos="0 0 {g.base_z_mm / 1000.0 + 0.006}"', "dark"),
        ("motor", "box", 'size="0.012 0.021 0.011" pos="0 0.004 0.021"', "dark"),
        ("plate", "cylinder", 'size="0.0205 0.003" pos="0 0 0.008"', "grey"),
    )
    for name, kind, place, colour in parts:
        yield (
            f'<geom name="hand_{name}_look" type="{kind}" {place} group="{MOVING}" contype="0" conaffinity="0" '
            f'mass="0" {_rgba(colour)}/>'
        )


def _things(config: Config, board_size_m: tuple[float, float]) -> Iterable[str]:
    """Block, open box and calibration board, all put in their places later."""
    half = config.block.side_mm / 2000.0
    r, g, b = BLOCK_COLOURS.get(config.block.colour, BLOCK_COLOURS["red"])
    yield (
        f'<body name="block" pos="0.2 -0.2 {half}"><freejoint name="block"/><geom name="block" type="box" '
        f'size="{half} {half} {half}" group="{MOVING}" contype="1" conaffinity="1" '
        f'mass="{config.twin.block_mass_g / 1000.0}" rgba="{r} {g} {b} 1"/></body>'
    )
    x, y = (s / 2000.0 for s in config.box.outside_mm)
    t, h = config.box.wall_mm / 2000.0, config.box.wall_height_mm / 1000.0
    rise = f"{h / 2 + t}"  # walls stand on the floor plate, so only the plate touches the table
    tall = f"{h / 2 - t}"
    parts = (
        ("floor", f"{x} {y} {t}", f"0 0 {t}"),
        ("wall_x1", f"{t} {y} {tall}", f"{x - t} 0 {rise}"),
        ("wall_x0", f"{t} {y} {tall}", f"{t - x} 0 {rise}"),
        ("wall_y1", f"{x - 2 * t} {t} {tall}", f"0 {y - t} {rise}"),
        ("wall_y0", f"{x - 2 * t} {t} {tall}", f"0 {t - y} {rise}"),
    )
    yield '<body name="box" pos="0.2 0.2 0"><freejoint name="box"/>'
    for name, size, pos in parts:
        yield (
            f'<geom name="box_{name}" type="box" size="{size}" pos="{pos}" group="{MOVING}" contype="1" '
            f'conaffinity="1" mass="{BOX_MASS_KG / 5}" {_rgba("box")}/>'
        )
    yield "</body>"
    u, v = board_size_m
    yield (
        f'<body name="board" mocap="true" pos="0 0 -5"><geom name="board" type="box" '
        f'size="{u / 2} {v / 2} {BOARD_THICKNESS_M / 2}" pos="0 0 {-BOARD_THICKNESS_M / 2}" group="{BOARD}" '
        f'contype="0" conaffinity="0" {_rgba("paper")}/></body>'
    )


def _extra_blocks(config: Config, base: BaseInCell, colours: Sequence[str]) -> Iterable[str]:
    """More blocks of the same size, waiting in a row at the table's end."""
    half = config.block.side_mm / 2000.0
    for i, colour in enumerate(colours):
        r, g, b = BLOCK_COLOURS[colour]
        x, y, z = base.to_base(np.array([WAITING_XZ_M[0], half, WAITING_XZ_M[1] + 0.06 * i])).tolist()
        yield (
            f'<body name="block_{i}" pos="{x!r} {y!r} {z!r}"><freejoint name="block_{i}"/><geom name="block_{i}" '
            f'type="box" size="{half} {half} {half}" group="{MOVING}" contype="1" conaffinity="1" '
            f'mass="{config.twin.block_mass_g / 1000.0}" rgba="{r} {g} {b} 1"/></body>'
        )


def _couplings() -> str:
    """Parallelograms keep a finger's direction; one gear drives both sides."""
    stiff = 'solref="0.004 1" solimp="0.99 0.999 0.0001"'
    return "\n".join(
        (
            f'<joint joint1="counter_r" joint2="drive_r" polycoef="0 -1 0 0 0" {stiff}/>',
            f'<joint joint1="counter_l" joint2="drive_l" polycoef="0 -1 0 0 0" {stiff}/>',
            f'<joint joint1="drive_l" joint2="drive_r" polycoef="0 1 0 0 0" {stiff}/>',
        )
    )


def _actuators(servo: ServoData, g: GripperData, grip_mm: float) -> Iterable[str]:
    limit = servo.force_limit_nm
    for i, (kp, kv) in enumerate(zip(servo.kp, servo.kv, strict=True)):
        yield f'<position name="servo{i}" joint="j{i}" kp="{kp}" kv="{kv}" forcerange="{-limit} {limit}"/>'
    # Both pads together do the drive's work: torque = 2 × force × travel per radian, at the block's width.
    theta = theta_from_opening_rad(grip_mm, g)
    travel_m = (g.link_z_mm * np.cos(theta) - g.link_x_mm * np.sin(theta)) / 1000.0
    torque = 2.0 * g.force_n * float(travel_m)
    yield f'<position name="jaws" joint="drive_r" kp="{JAW_KP}" kv="{JAW_KV}" forcerange="{-torque} {torque}"/>'


def quaternion_of(R: FloatArray) -> FloatArray:
    """Unit quaternion (w, x, y, z) of a rotation, to full precision: from the largest of its four squares."""
    squares = np.array(
        [
            1 + R[0, 0] + R[1, 1] + R[2, 2],
            1 + R[0, 0] - R[1, 1] - R[2, 2],
            1 - R[0, 0] + R[1, 1] - R[2, 2],
            1 - R[0, 0] - R[1, 1] + R[2, 2],
        ]
    )
    w = R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]
    s = R[0, 1] + R[1, 0], R[0, 2] + R[2, 0], R[1, 2] + R[2, 1]
    rows = (
        (squares[0], w[0], w[1], w[2]),
        (w[0], squares[1], s[0], s[1]),
        (w[1], s[0], squares[2], s[2]),
        (w[2], s[1], s[2], squares[3]),
    )
    q = np.array(rows[int(np.argmax(squares))])
    return np.asarray(q / np.linalg.norm(q))


def _primitive(shape: Shape | Look) -> str:
    if shape.kind == "box":
        assert shape.half_mm is not None
        centre = np.array(shape.centre_mm or (0.0, 0.0, 0.0)) / 1000.0
        return f'type="box" size="{_v(np.array(shape.half_mm) / 1000.0)}" pos="{_v(centre)}"'
    assert shape.a_mm is not None
    assert shape.b_mm is not None
    assert shape.radius_mm is not None
    ends = f"{_v(np.array(shape.a_mm) / 1000.0)} {_v(np.array(shape.b_mm) / 1000.0)}"
    return f'type="{shape.kind}" fromto="{ends}" size="{shape.radius_mm / 1000.0}"'


def _volume(shape: Shape) -> float:
    if shape.kind == "box":
        assert shape.half_mm is not None
        return float(8.0 * np.prod(shape.half_mm))
    assert shape.radius_mm is not None
    length = float(np.linalg.norm(np.subtract(shape.a_mm or 0.0, shape.b_mm or 0.0)))
    return float(np.pi * shape.radius_mm**2 * (length + 4.0 / 3.0 * shape.radius_mm))


def _rgba(colour: str) -> str:
    return 'rgba="{} {} {} 1"'.format(*COLOURS[colour])


def _v(values: FloatArray | Sequence[float]) -> str:
    return " ".join(repr(float(v)) for v in values)
