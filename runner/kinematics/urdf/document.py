"""A URDF file as links and joints: read safely, checked for sense, nothing chosen yet.

Reads plain URDF only. It expands no xacro, follows no mesh, and refuses files that declare a document type, because an
entity there can name other files or grow without end. What to make an arm of is `chain.py`'s business.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Literal, get_args
from xml.parsers import expat

from runner.kinematics.model import Vector
from runner.kinematics.urdf.errors import BadUrdf

MAX_BYTES = 20_000_000
FARTHEST_M = 20.0  # a longer step between two joints is millimetres by mistake
WIDEST_RAD = 13.0  # two turns each way; more than that is degrees by mistake

Kind = Literal["revolute", "continuous", "prismatic", "fixed", "floating", "planar"]


@dataclass(frozen=True, slots=True)
class UrdfShape:
    """A collision shape of a link: sizes as in the file, metres and radians."""

    kind: Literal["box", "cylinder", "sphere"]
    xyz_m: Vector
    rpy_rad: Vector
    size_m: tuple[float, ...]  # box: three sides; cylinder: radius, length; sphere: radius


@dataclass(frozen=True, slots=True)
class UrdfLink:
    """A link: its simple collision shapes and the meshes that it names."""

    name: str
    shapes: tuple[UrdfShape, ...]
    meshes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UrdfJoint:
    """A joint between two links, as the file has it."""

    name: str
    kind: Kind
    parent: str
    child: str
    xyz_m: Vector
    rpy_rad: Vector
    axis: Vector
    limits_rad: tuple[float, float] | None
    mimics: str | None
    line: int


@dataclass(frozen=True, slots=True)
class UrdfDocument:
    """A whole file."""

    path: Path
    sha256: str
    robot: str
    links: dict[str, UrdfLink]
    joints: tuple[UrdfJoint, ...]

    def missing_meshes(self) -> list[str]:
        """Meshes that are named by a path and are not there; `package://` names can't be looked up without ROS."""
        named = [mesh for link in self.links.values() for mesh in link.meshes if not mesh.startswith("package:")]
        return [m for m in dict.fromkeys(named) if not (self.path.parent / m.removeprefix("file://")).exists()]


@dataclass(slots=True)
class _Node:
    """An element with what is needed of it."""

    tag: str
    attributes: dict[str, str]
    line: int
    below: list[_Node] = field(default_factory=list)

    def first(self, tag: str) -> _Node | None:
        return next((node for node in self.below if node.tag == tag), None)

    def all(self, *tags: str) -> Iterable[_Node]:
        return (node for node in self.below if node.tag in tags)


def read_urdf(path: Path) -> UrdfDocument:
    """The links and joints of a file.

    Raises:
        BadUrdf: it can't be read, is not XML or not URDF, or says something that makes no sense; names the line.
    """
    try:
        raw = path.read_bytes() if path.stat().st_size <= MAX_BYTES else None
    except OSError as error:
        raise BadUrdf(path, error.strerror or str(error), "give the path of a URDF file") from error
    if raw is None:
        raise BadUrdf(path, f"it is larger than {MAX_BYTES // 1_000_000} MB", "a URDF is text; give the .urdf file")
    root = _tree(path, raw)
    if root.tag in ("sdf", "mujoco"):
        told = {"sdf": "SDF", "mujoco": "MuJoCo's MJCF"}[root.tag]
        raise BadUrdf(path, f"it is {told}, not URDF", "export the arm as URDF")
    if root.tag != "robot":
        raise BadUrdf(path, f"its root is <{root.tag}>, a URDF's is <robot>", "give the path of a URDF file")
    _refuse_xacro(path, root)
    links: dict[str, UrdfLink] = {}
    for node in root.all("link"):
        name = _text(path, node, "name")
        if name in links:
            raise BadUrdf(path, f"line {node.line}: there are two links called {name!r}", "give each its own name")
        links[name] = _link(path, node, name)
    joints = [_joint(path, node) for node in root.all("joint")]
    _check_names(path, links, joints)
    return UrdfDocument(
        path, hashlib.sha256(raw).hexdigest(), root.attributes.get("name", path.stem), links, tuple(joints)
    )


def _tree(path: Path, raw: bytes) -> _Node:
    parser = expat.ParserCreate()  # knows no namespaces: many a URDF uses prefixes that it never declares
    top = _Node("", {}, 0)
    open_nodes = [top]

    def start(tag: str, attributes: dict[str, str]) -> None:
        node = _Node(tag, attributes, parser.CurrentLineNumber)
        open_nodes[-1].below.append(node)
        open_nodes.append(node)

    def end(_tag: str) -> None:
        open_nodes.pop()

    def refuse(*_told: object) -> None:
        raise BadUrdf(path, "it declares a document type (<!DOCTYPE …>), which a URDF has no need of", "take it out")

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(raw, True)
    except expat.ExpatError as error:
        why = f"it is not XML: {expat.ErrorString(error.code)} in line {error.lineno}"
        raise BadUrdf(path, why, "give the path of a URDF file") from None
    except (ValueError, LookupError) as error:  # an encoding that Python has no name for
        raise BadUrdf(path, f"it is not XML: {error}", "save it as UTF-8") from None
    return top.below[0]


def _refuse_xacro(path: Path, root: _Node) -> None:
    """Xacro that was never expanded. A left-over xacro:property does no harm and is common."""
    calls = [n for n in root.below if n.tag.startswith("xacro:") and n.tag not in ("xacro:property", "xacro:arg")]
    nodes, line = [root], calls[0].line if calls else 0
    while nodes and not line:
        node = nodes.pop()
        if node.tag.startswith("xacro:"):
            continue
        if any("${" in value or "$(" in value for value in node.attributes.values()):
            line = node.line
        nodes += node.below
    if line:
        raise BadUrdf(
            path, f"it is a xacro file (line {line}), from which a URDF is yet to be made", "xacro FILE > arm.urdf"
        )


def _link(path: Path, node: _Node, name: str) -> UrdfLink:
    shapes, meshes = [], []
    for part in node.all("visual", "collision"):
        geometry = part.first("geometry")
        for form in geometry.below if geometry is not None else ():
            if form.tag == "mesh":
                meshes.append(form.attributes.get("filename", ""))
            elif part.tag == "collision" and form.tag in ("box", "cylinder", "sphere"):
                shape = _shape(path, part, form)
                shapes += [shape] if min(shape.size_m) > 0 else []
    return UrdfLink(name, tuple(shapes), tuple(dict.fromkeys(m for m in meshes if m)))


def _shape(path: Path, part: _Node, form: _Node) -> UrdfShape:
    xyz, rpy = _origin(path, part)
    if form.tag == "box":
        size = _numbers(path, form, "size", 3)
    else:
        names = ("radius", "length") if form.tag == "cylinder" else ("radius",)
        size = tuple(_numbers(path, form, name, 1)[0] for name in names)
    if min(size) < 0:
        raise BadUrdf(path, f"line {form.line}: a {form.tag} of size {min(size):g}", "sizes are not below zero")
    return UrdfShape(form.tag, xyz, rpy, size)  # type: ignore[arg-type]


def _joint(path: Path, node: _Node) -> UrdfJoint:
    name, kind = _text(path, node, "name"), _text(path, node, "type")
    if kind not in get_args(Kind):
        raise BadUrdf(path, f"line {node.line}: joint {name!r} is of no known type: {kind!r}", "revolute is what turns")
    ends = []
    for tag in ("parent", "child"):
        end = node.first(tag)
        if end is None:
            raise BadUrdf(path, f"line {node.line}: joint {name!r} has no <{tag}>", f'add <{tag} link="…"/>')
        ends.append(_text(path, end, "link"))
    xyz, rpy = _origin(path, node)
    axis_node, mimic = node.first("axis"), node.first("mimic")
    axis = (1.0, 0.0, 0.0) if axis_node is None else _vector(path, axis_node, "xyz")
    if kind != "fixed" and max(map(abs, axis)) < 1e-9:
        raise BadUrdf(path, f"line {node.line}: joint {name!r} has an axis of no direction", 'for example xyz="0 0 1"')
    return UrdfJoint(
        name=name,
        kind=kind,  # type: ignore[arg-type]
        parent=ends[0],
        child=ends[1],
        xyz_m=xyz,
        rpy_rad=rpy,
        axis=axis,
        limits_rad=_limits(path, node, name) if kind == "revolute" else None,
        mimics=None if mimic is None else mimic.attributes.get("joint", "?"),
        line=node.line,
    )


def _limits(path: Path, node: _Node, name: str) -> tuple[float, float] | None:
    """Lower and upper; None where the file has none, or the same number twice."""
    limit = node.first("limit")
    if limit is None:
        return None
    lower, upper = (_numbers(path, limit, key, 1, "0")[0] for key in ("lower", "upper"))
    if lower > upper:
        raise BadUrdf(path, f"line {limit.line}: joint {name!r}: lower {lower:g} is above upper {upper:g}", "swap them")
    if max(abs(lower), abs(upper)) > WIDEST_RAD:
        raise BadUrdf(
            path,
            f"line {limit.line}: joint {name!r} is limited to {lower:g}…{upper:g} rad, which look like degrees",
            "a URDF has radians: divide by 57.2958",
        )
    return (lower, upper) if lower < upper else None


def _origin(path: Path, node: _Node) -> tuple[Vector, Vector]:
    origin = node.first("origin")
    if origin is None:
        return (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    xyz = _vector(path, origin, "xyz", "0 0 0")
    if max(map(abs, xyz)) > FARTHEST_M:
        why = f"line {origin.line}: an origin {max(map(abs, xyz)):g} m away, which looks like millimetres"
        raise BadUrdf(path, why, "a URDF has metres: divide by 1000")
    return xyz, _vector(path, origin, "rpy", "0 0 0")


def _vector(path: Path, node: _Node, key: str, default: str | None = None) -> Vector:
    x, y, z = _numbers(path, node, key, 3, default)
    return x, y, z


def _numbers(path: Path, node: _Node, key: str, count: int, default: str | None = None) -> tuple[float, ...]:
    text = node.attributes.get(key, default)
    if text is None:
        raise BadUrdf(path, f"line {node.line}: <{node.tag}> has no {key}", f'add {key}="…"')
    try:
        values = tuple(float(word) for word in text.replace(", ", " ").split())
    except ValueError:
        values = ()
    if len(values) != count or not all(map(isfinite, values)):
        what = "a finite number" if count == 1 else f"{count} finite numbers"
        raise BadUrdf(path, f'line {node.line}: <{node.tag} {key}="{text}"> is not {what}', "mend that line")
    return values


def _text(path: Path, node: _Node, key: str) -> str:
    text = node.attributes.get(key, "").strip()
    if not text:
        raise BadUrdf(path, f"line {node.line}: <{node.tag}> has no {key}", f'add {key}="…"')
    return text


def _check_names(path: Path, links: dict[str, UrdfLink], joints: list[UrdfJoint]) -> None:
    if not links:
        raise BadUrdf(path, "it has no links", "give the URDF of an arm")
    seen: set[str] = set()
    parent_of: dict[str, UrdfJoint] = {}
    for joint in joints:
        if joint.name in seen:
            raise BadUrdf(path, f"line {joint.line}: there are two joints called {joint.name!r}", "rename one")
        seen.add(joint.name)
        for link in (joint.parent, joint.child):
            if link not in links:
                raise BadUrdf(
                    path, f"line {joint.line}: joint {joint.name!r} names a link that is not there: {link!r}", "add it"
                )
        if joint.child in parent_of:
            other = parent_of[joint.child].name
            raise BadUrdf(
                path,
                f"link {joint.child!r} hangs on two joints, {other!r} and {joint.name!r}: the links make a loop",
                "an arm is a chain: take one of the two joints out",
            )
        parent_of[joint.child] = joint
    sound: set[str] = set()
    for name in links:
        met, at = {name}, name
        while at in parent_of and at not in sound:
            at = parent_of[at].parent
            if at in met:
                raise BadUrdf(path, f"link {at!r} hangs on itself: the links make a loop", "an arm is a chain")
            met.add(at)
        sound |= met
