"""From a URDF's tree of links to one chain of turning joints: the arm.

Fixed joints are folded into the joint after them, the last ones into the tool. It guesses nothing that a person should
say: where the tree branches it asks for the tip, and a joint without limits is refused until it is given some.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import atan2, cos, degrees, hypot, sin

import numpy as np

from runner.kinematics.model import FloatArray, Vector, rpy_matrix
from runner.kinematics.urdf.document import UrdfDocument, UrdfJoint, UrdfShape
from runner.kinematics.urdf.errors import ChooseLink, JointNotUsable

TOOL_AXES: dict[str, FloatArray] = {
    "z": np.eye(3),
    "x": np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]),
    "y": np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]),
    "-z": np.diag([1.0, -1.0, -1.0]),
    "-x": np.array([[0.0, 0.0, -1.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]),
    "-y": np.array([[0.0, -1.0, 0.0], [0.0, 0.0, -1.0], [1.0, 0.0, 0.0]]),
}
"""Turns whose third column is that axis of the tip link: the frame whose z points along the tool."""

_EXACT = 1e-12  # a rotation nearer to none than this is none


@dataclass(frozen=True, slots=True)
class ChainJoint:
    """One turning joint with the fixed ones before it folded in; figures as an arm file has them."""

    urdf_name: str
    line: int
    folded: tuple[str, ...]  # fixed joints that are part of its origin
    origin_mm: Vector
    rpy_deg: Vector
    axis: Vector
    min_deg: float
    max_deg: float
    limits_given: bool  # by the caller, not by the file


@dataclass(frozen=True, slots=True)
class ChainShape:
    """A collision shape of the arm: a capsule from a to b, or a box, in the frame of a link."""

    link: int
    a_mm: Vector | None
    b_mm: Vector | None
    radius_mm: float | None
    centre_mm: Vector | None
    half_mm: Vector | None


@dataclass(frozen=True, slots=True)
class Chain:
    """An arm out of a URDF, and what was left out of it."""

    base_link: str
    tip_link: str
    joints: tuple[ChainJoint, ...]
    tool_folded: tuple[str, ...]
    tcp_mm: Vector
    shapes: tuple[ChainShape, ...]
    left_out: tuple[str, ...]  # moving joints that are not on the way from base to tip


def chain_of(
    document: UrdfDocument,
    *,
    base_link: str | None = None,
    tip_link: str | None = None,
    limits_deg: Mapping[str, tuple[float, float]] | None = None,
    tool_axis: str = "z",
) -> Chain:
    """The chain from base to tip.

    Args:
        base_link: where the arm begins; the only link without a parent if not given.
        tip_link: the link whose origin is the tool point; the end of the only chain if not given.
        limits_deg: of joints for which the file has none, or others than it has.
        tool_axis: the axis of the tip link that points along the tool, a key of `TOOL_AXES`.

    Raises:
        ChooseLink: there is more than one base or tip, or a named link is not there.
        JointNotUsable: a joint on the way slides, follows another, has no limits, or there is none at all.
    """
    given = dict(limits_deg or {})
    base = _base(document, base_link)
    way = _way(document, base, tip_link)
    turning = [joint for joint in way if joint.kind != "fixed"]
    for joint in turning:
        _refuse(document, joint, given)
    if not turning:
        raise JointNotUsable(document.path, "", f"no joint turns between {base!r} and its tip", "name another tip link")
    unknown = given.keys() - {joint.name for joint in turning}
    if unknown:
        names = ", ".join(joint.name for joint in turning)
        raise JointNotUsable(
            document.path, min(unknown), "limits for a joint that is not in the arm", f"it has {names}"
        )
    joints: list[ChainJoint] = []
    carried: list[tuple[str, FloatArray, int]] = [(base, np.eye(4), 0)]  # links, where they lie, behind which joint
    folded: list[str] = []
    T, moved = np.eye(4), False
    for joint in way:
        step = _transform(joint.xyz_m, joint.rpy_rad)
        if joint.kind == "fixed":
            T, moved = T @ step, moved or not np.allclose(step, np.eye(4), rtol=0, atol=_EXACT)
            folded.append(joint.name)
            carried.append((joint.child, T, len(joints)))
            continue
        origin = T @ step
        rpy = _rpy(origin[:3, :3]) if moved else joint.rpy_rad
        lo_hi = given.get(joint.name)
        lo, hi = lo_hi or (_tidy(degrees(limit)) for limit in joint.limits_rad or ())
        xyz = origin[:3, 3] if moved else np.array(joint.xyz_m)
        joints.append(
            ChainJoint(
                urdf_name=joint.name,
                line=joint.line,
                folded=tuple(folded),
                origin_mm=_mm(xyz),
                rpy_deg=_degrees(rpy),
                axis=joint.axis,
                min_deg=lo,
                max_deg=hi,
                limits_given=lo_hi is not None,
            )
        )
        T, moved, folded = np.eye(4), False, []
        carried.append((joint.child, T, len(joints)))
    tool = T @ _turn(TOOL_AXES[tool_axis])
    joints[-1] = _turned(joints[-1], tool[:3, :3])
    tcp_m = tool[:3, :3].T @ tool[:3, 3]
    on_way = {joint.name for joint in way}
    return Chain(
        base_link=base,
        tip_link=way[-1].child,
        joints=tuple(joints),
        tool_folded=tuple(folded),
        tcp_mm=_mm(tcp_m),
        shapes=tuple(_shapes(document, carried, len(joints), tool[:3, :3])),
        left_out=tuple(j.name for j in document.joints if j.kind != "fixed" and j.name not in on_way),
    )


def _base(document: UrdfDocument, wanted: str | None) -> str:
    children = {joint.child for joint in document.joints}
    roots = [name for name in document.links if name not in children]
    if wanted is not None:
        if wanted not in document.links:
            raise ChooseLink(document.path, "--base-link", f"there is no link {wanted!r}", tuple(document.links))
        return wanted
    if len(roots) != 1:
        why = f"{len(roots)} links hang on nothing: {', '.join(roots)}"
        raise ChooseLink(document.path, "--base-link", why, tuple(roots))
    return roots[0]


def _way(document: UrdfDocument, base: str, tip: str | None) -> list[UrdfJoint]:
    """The joints from base to tip, in order."""
    if tip is None:
        return _only_way(document, base)
    if tip not in document.links:
        raise ChooseLink(document.path, "--tip-link", f"there is no link {tip!r}", tuple(document.links))
    above = {joint.child: joint for joint in document.joints}
    way: list[UrdfJoint] = []
    at = tip
    while at != base:
        if at not in above:
            why = f"link {tip!r} does not hang on {base!r}"
            raise ChooseLink(document.path, "--tip-link", why, tuple(_below(document, base)))
        way.append(above[at])
        at = above[at].parent
    return way[::-1]


def _only_way(document: UrdfDocument, base: str) -> list[UrdfJoint]:
    """Along the only branch that moves, and at its end along the only fixed branch."""
    behind = _behind(document)
    moves = _with_something_moving(document)
    way: list[UrdfJoint] = []
    at = base
    while steps := behind.get(at, []):
        moving = [joint for joint in steps if joint.name in moves]
        if len(moving) > 1 or (not moving and len(steps) > 1):
            ends = [joint.child for joint in (moving or steps)]
            what = "moving parts" if moving else "fixed parts"
            why = f"the arm branches at link {at!r} into {len(ends)} {what}: {', '.join(ends)}"
            raise ChooseLink(document.path, "--tip-link", why, (at, *ends))
        way.append((moving or steps)[0])
        at = way[-1].child
    return way


def _behind(document: UrdfDocument) -> dict[str, list[UrdfJoint]]:
    """The joints that hang on each link."""
    found: dict[str, list[UrdfJoint]] = {}
    for joint in document.joints:
        found.setdefault(joint.parent, []).append(joint)
    return found


def _with_something_moving(document: UrdfDocument) -> set[str]:
    """Names of joints that move, or behind which something does."""
    above = {joint.child: joint for joint in document.joints}
    found: set[str] = set()
    for joint in document.joints:
        at: UrdfJoint | None = joint if joint.kind != "fixed" else None
        while at is not None and at.name not in found:
            found.add(at.name)
            at = above.get(at.parent)
    return found


def _below(document: UrdfDocument, link: str) -> list[str]:
    behind = _behind(document)
    found = [link]
    for name in found:
        found += [joint.child for joint in behind.get(name, [])]
    return found[1:]


def _refuse(document: UrdfDocument, joint: UrdfJoint, given: Mapping[str, tuple[float, float]]) -> None:
    shorter = f"if it belongs to a tool, end the arm before it: --tip-link {joint.parent}"
    limits = f"say how far it may turn, in degrees: --limits {joint.name}=-170,170"
    if joint.kind in ("prismatic", "floating", "planar"):
        does = "slides" if joint.kind == "prismatic" else "moves freely"
        why = f"it {does} ({joint.kind}), and only joints that turn can be used"
        raise JointNotUsable(document.path, joint.name, why, shorter)
    if joint.mimics is not None:
        raise JointNotUsable(document.path, joint.name, f"it follows joint {joint.mimics!r} (mimic)", shorter)
    if joint.name in given:
        lo, hi = given[joint.name]
        if not (np.isfinite((lo, hi)).all() and lo < hi):
            raise JointNotUsable(document.path, joint.name, f"limits {lo:g}…{hi:g}° do not run upwards", limits)
        return
    if joint.kind == "continuous":
        why = "it turns for ever (continuous), and planning needs limits"
        raise JointNotUsable(document.path, joint.name, why, limits)
    if joint.limits_rad is None:
        raise JointNotUsable(document.path, joint.name, "it has no limits", limits)


def _shapes(
    document: UrdfDocument, carried: list[tuple[str, FloatArray, int]], n_joints: int, R_tool: FloatArray
) -> list[ChainShape]:
    """The simple collision shapes along the chain; cylinders as the capsules that cover them."""
    found = []
    for name, T_link, number in carried:
        for shape in document.links[name].shapes:
            T = T_link @ _transform(shape.xyz_m, shape.rpy_rad)
            if number == n_joints:
                T = _turn(R_tool.T) @ T
            found.append(_shape(shape, T, number))
    return found


def _shape(shape: UrdfShape, T: FloatArray, link: int) -> ChainShape:
    if shape.kind == "box":
        half = np.abs(T[:3, :3]) @ np.array(shape.size_m) / 2.0
        return ChainShape(link, None, None, None, _mm(T[:3, 3]), _mm(half))
    along = T[:3, 2] * (shape.size_m[1] / 2.0 if shape.kind == "cylinder" else 0.0)
    return ChainShape(link, _mm(T[:3, 3] - along), _mm(T[:3, 3] + along), _tidy(shape.size_m[0] * 1000.0), None, None)


def _turned(joint: ChainJoint, R: FloatArray) -> ChainJoint:
    """The joint with its frame turned by R, so that what hangs on it stands as the tool does; it turns as before."""
    if np.allclose(R, np.eye(3), rtol=0, atol=_EXACT):
        return joint
    turned = rpy_matrix(*np.radians(joint.rpy_deg)) @ R
    return ChainJoint(
        urdf_name=joint.urdf_name,
        line=joint.line,
        folded=joint.folded,
        origin_mm=joint.origin_mm,
        rpy_deg=_degrees(_rpy(turned)),
        axis=_vector(R.T @ np.array(joint.axis)),
        min_deg=joint.min_deg,
        max_deg=joint.max_deg,
        limits_given=joint.limits_given,
    )


def _transform(xyz_m: Vector, rpy_rad: Vector) -> FloatArray:
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = rpy_matrix(*rpy_rad), xyz_m
    return T


def _turn(R: FloatArray) -> FloatArray:
    T = np.eye(4)
    T[:3, :3] = R
    return T


def _rpy(R: FloatArray) -> Vector:
    """Roll, pitch, yaw of a rotation, radians. Good at a pitch of 90° too: roll is what yaw leaves over."""
    yaw = atan2(R[1, 0], R[0, 0])
    pitch = atan2(-R[2, 0], hypot(R[0, 0], R[1, 0]))
    c, s = cos(yaw), sin(yaw)
    return atan2(s * R[0, 2] - c * R[1, 2], c * R[1, 1] - s * R[0, 1]), pitch, yaw


def _tidy(value: float) -> float:
    """To fifteen digits: what a product of decimals should have been."""
    return float(f"{value:.15g}") + 0.0


def _vector(values: FloatArray) -> Vector:
    x, y, z = (_tidy(float(v)) for v in values)
    return x, y, z


def _mm(metres: FloatArray) -> Vector:
    return _vector(np.where(np.abs(metres) < 1e-15, 0.0, metres) * 1000.0)


def _degrees(rpy_rad: Vector) -> Vector:
    return _vector(np.degrees(rpy_rad))
