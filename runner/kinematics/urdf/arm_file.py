"""A chain out of a URDF as the text of an arm file: each figure with the file, line and hash that it came from.

Text only, for people to read and to add to. What a URDF has no word for (gripper, servos, looks) is left out and said.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from runner.kinematics.model import ArmModel, read_arm
from runner.kinematics.urdf.chain import Chain, ChainJoint, chain_of
from runner.kinematics.urdf.document import UrdfDocument, read_urdf


@dataclass(frozen=True, slots=True, eq=False)
class ImportedArm:
    """An arm file made from a URDF: its text, the arm that it gives, and what a person should know of it."""

    text: str
    arm: ArmModel
    document: UrdfDocument
    chain: Chain
    notes: tuple[str, ...]


def import_arm(
    path: Path,
    name: str,
    *,
    base_link: str | None = None,
    tip_link: str | None = None,
    limits_deg: Mapping[str, tuple[float, float]] | None = None,
    tool_axis: str = "z",
) -> ImportedArm:
    """An arm file from a URDF.

    Args:
        path: the URDF.
        name: of the arm, as logs and tables will have it.
        base_link, tip_link, limits_deg, tool_axis: see `chain_of`.

    Raises:
        BadUrdf, ChooseLink, JointNotUsable: it can't be made one; the error says what to do.
    """
    document = read_urdf(path)
    chain = chain_of(document, base_link=base_link, tip_link=tip_link, limits_deg=limits_deg, tool_axis=tool_axis)
    text = "\n".join(_lines(document, chain, name, tool_axis)) + "\n"
    return ImportedArm(text, read_arm(text, str(path)), document, chain, tuple(_notes(document, chain)))


def _lines(document: UrdfDocument, chain: Chain, name: str, tool_axis: str) -> Iterable[str]:
    source = f"{_one_line(document.path.name)}, sha256 {document.sha256}"
    yield f"# {name}: made from a URDF. Lengths mm, angles degrees."
    yield f"# Every figure is from {_one_line(document.path.name)} (robot {_one_line(document.robot)!r}),"
    yield f"# at the lines named below; its sha256: {document.sha256}"
    yield f"# Base frame: link {_one_line(chain.base_link)}. Tool point: origin of link {_one_line(chain.tip_link)};"
    yield f"# the tool points along its {tool_axis} axis, which is z here."
    yield ""
    yield f"name = {_text(name)}"
    yield f"title = {_text(f'{_one_line(document.robot)}, from {document.path.name}')}"
    yield f"source = {_text(source)}"
    yield 'up = "z"'
    yield "# not from the URDF: zero where a joint may stand there, else the middle of its range"
    yield f"home_deg = {_array([_home(joint) for joint in chain.joints])}"
    for number, joint in enumerate(chain.joints):
        yield ""
        after = f", behind fixed {_one_line(', '.join(joint.folded))}" if joint.folded else ""
        yield f"# line {joint.line}{after}"
        yield "[[joint]]"
        yield f'name = "j{number}"'
        yield f"urdf_name = {_text(_one_line(joint.urdf_name))}"
        yield f"origin_mm = {_array(joint.origin_mm)}"
        yield f"rpy_deg = {_array(joint.rpy_deg)}"
        yield f"axis = {_array(joint.axis)}"
        if joint.limits_given:
            yield "# limits given by hand when the file was made"
        yield f"min_deg = {joint.min_deg!r}"
        yield f"max_deg = {joint.max_deg!r}"
    yield ""
    if chain.tool_folded:
        yield f"# behind fixed {_one_line(', '.join(chain.tool_folded))}"
    yield "[tool]"
    yield f"tcp_mm = {_array(chain.tcp_mm)}"
    yield from _shells(chain)


def _shells(chain: Chain) -> Iterable[str]:
    if not chain.shapes:
        yield ""
        yield "# The URDF has no simple collision shapes along the arm: add [[shape]] capsules and boxes round"
        yield "# each link, or nothing keeps the links off table and box."
        return
    yield ""
    yield "# Collision shapes of the URDF; cylinders as the capsules that cover them."
    for shape in chain.shapes:
        yield ""
        yield "[[shape]]"
        yield f"link = {shape.link}"
        if shape.half_mm is not None and shape.centre_mm is not None:
            yield 'kind = "box"'
            yield f"centre_mm = {_array(shape.centre_mm)}"
            yield f"half_mm = {_array(shape.half_mm)}"
        elif shape.a_mm is not None and shape.b_mm is not None:
            yield 'kind = "capsule"'
            yield f"a_mm = {_array(shape.a_mm)}"
            yield f"b_mm = {_array(shape.b_mm)}"
            yield f"radius_mm = {shape.radius_mm!r}"


def _notes(document: UrdfDocument, chain: Chain) -> Iterable[str]:
    meshes = sum(len(link.meshes) for link in document.links.values())
    missing = document.missing_meshes()
    if meshes:
        gone = f", {len(missing)} of them not there ({missing[0]})" if missing else ""
        yield f"{_count(meshes, 'mesh', 'meshes')} not read{gone}: kinematics needs none"
    if not chain.shapes:
        yield "no simple collision shapes: the guard knows nothing of the links until [[shape]] entries are added"
    if chain.left_out:
        yield f"not part of the arm: {_count(len(chain.left_out), 'joint', 'joints')} ({', '.join(chain.left_out[:6])})"
    by_hand = [joint.urdf_name for joint in chain.joints if joint.limits_given]
    if by_hand:
        yield f"limits given by hand: {', '.join(by_hand)}"


def _home(joint: ChainJoint) -> float:
    return 0.0 if joint.min_deg <= 0 <= joint.max_deg else round((joint.min_deg + joint.max_deg) / 2, 3)


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _array(values: Sequence[float]) -> str:
    return "[" + ", ".join(repr(float(v)) for v in values) + "]"


def _one_line(text: str) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)
