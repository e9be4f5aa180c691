"""The motion of a run again, from its logged joints: where every link was, for a drawing in the browser.

Between two logged poses the joints go evenly, as the controller moves them; how long a move took is the log's word, and
nothing is known of how it sped up. Block and box are drawn where they were seen, the block in the jaws from the moment
that they held it, or were told to close where nobody read them. Lengths are millimetres in the arm's base frame (x
forward, y left, z up); angles don't leave here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from runner.config import Config, ConfigError, parse
from runner.kinematics.fk import link_poses
from runner.kinematics.frames import BaseInCell
from runner.kinematics.model import ArmModel, FloatArray, Look, Shape
from runner.table.postures import arm_of
from runs.errors import TrialcellError
from runs.schema.motion import GripperRecord, MoveRecord
from runs.schema.run import RunLog

FRAME_S = 0.1
MOST_FRAMES = 4000
"""Of a longer run the frames are further apart."""

_UNKNOWN_S = 2.0  # of a move in a log that says no times
_MOST_S = 60.0  # a figure beyond that is a fault of the log, and nobody would wait for it
_WAIT_S = 0.6  # waits are shortened to this: nothing moves in them
_STAGE = re.compile(r"stage(\d+)(b?)")


class NoReplay(TrialcellError):
    """Nothing moved in the run, or with another arm than the settings say."""


@dataclass(frozen=True, slots=True)
class _Span:
    """One thing that took time: a move through poses, or the gripper."""

    label: str
    poses_deg: tuple[tuple[float, ...], ...]
    lasts_s: float
    opening_mm: float | None
    takes: bool | None  # True: the block is held from here; False: let go of


def replay(log: RunLog, config: Config) -> dict[str, Any]:
    """Frames and what stands round them, as plain values.

    Args:
        config: the cell's settings; where the log keeps those of its own time, they count.

    Raises:
        NoReplay
    """
    arm, base = arm_then(log, config)
    spans = list(_spans(log, arm))
    if not any(span.poses_deg for span in spans):
        raise NoReplay("nothing moved in this run")
    step_s = max(FRAME_S, sum(span.lasts_s for span in spans) / MOST_FRAMES)
    times, poses, labels, openings, held = _sampled(spans, step_s, arm)
    T = link_poses(poses, arm)  # (N, n + 1, 4, 4)
    return {
        "arm": arm.data.title,
        "times_s": [round(float(t), 3) for t in times],
        "labels": labels,
        "openings_mm": openings,
        "held": held,
        "links": [[_seven(frame) for frame in T[at]] for at in range(len(T))],
        "parts": [_part(part) for part in (arm.data.look or arm.data.shape)],
        "jaws": _jaws(arm),
        **_round_it(log, config, base),
    }


def arm_then(log: RunLog, config: Config) -> tuple[ArmModel, BaseInCell]:
    """The arm of a run and where it stood: by the settings in its log, else by those of today.

    Raises:
        TrialcellError: the settings of today mean no arm.
    """
    settings = log.provenance.settings if log.provenance is not None else {}
    then = config
    if isinstance(settings.get("arm"), dict):
        try:
            kept = {name: settings["arm"][name] for name in _OF_THE_ARM if name in settings["arm"]}
            now = config.model_dump(mode="json")
            then = parse({**now, "arm": {**now["arm"], **kept}}, "the run's settings")
        except ConfigError:  # of a version with other settings: today's will have to do
            then = config
    try:
        return arm_of(then)
    except TrialcellError:
        if then is config:
            raise
        return arm_of(config)


_OF_THE_ARM = ("model", "base_shift_m", "base_yaw_deg", "tcp_mm", "tool_roll_deg")


def _spans(log: RunLog, arm: ArmModel) -> Iterator[_Span]:
    """Moves and gripper actions in the order in which they were."""
    records: Sequence[MoveRecord | GripperRecord] = (*log.moves, *log.gripper)
    last: tuple[float, ...] | None = None
    for record in sorted(records, key=_order(records)):
        if isinstance(record, GripperRecord):
            yield _gripper_span(record, last)
            continue
        goal = record.commanded or record.target_angles
        stood = [record.pre_actual or last, *record.via, record.post_actual or (last if record.dry_run else goal)]
        poses = tuple(pose for pose in stood if pose is not None and len(pose) == arm.n_joints)
        if poses:
            last = poses[-1]
            yield _Span(record.label, poses, _sensible_s(record.duration_s), None, None)


def _order(records: Sequence[MoveRecord | GripperRecord]) -> Any:
    """By their times; a log without times by the numbers of their stages."""
    if all(record.at is not None for record in records):
        return lambda record: record.at

    def by_stage(record: MoveRecord | GripperRecord) -> tuple[int, int, str]:
        label = record.label if isinstance(record, MoveRecord) else record.stage
        found = _STAGE.match(label)
        return (int(found[1]), int(found[2] == "b"), "") if found else (99, 0, "")

    return by_stage


def _gripper_span(record: GripperRecord, last: tuple[float, ...] | None) -> _Span:
    reading = record.reading
    takes = {"open": False, "close": True}.get(record.action)
    if reading is not None and reading.holding is not None:
        takes = reading.holding
    opening = None if reading is None else reading.opening_mm
    lasts_s = 0.0 if record.action == "check" or last is None else _WAIT_S
    return _Span(record.stage, (last,) if last is not None else (), lasts_s, opening, takes)


def _sensible_s(seconds: float | None) -> float:
    return _UNKNOWN_S if seconds is None else min(max(seconds, FRAME_S), _MOST_S)


def _sampled(
    spans: Sequence[_Span], step_s: float, arm: ArmModel
) -> tuple[FloatArray, FloatArray, list[str], list[float | None], list[bool]]:
    """Times, joints (N, n), the label, the jaws' opening where it was read, whether the block is held."""
    times: list[float] = []
    poses: list[FloatArray] = []
    labels: list[str] = []
    openings: list[float | None] = []
    held: list[bool] = []
    now_s, holds = 0.0, False
    opening: float | None = None
    for span in spans:
        opening = span.opening_mm if span.takes is not None or span.opening_mm is not None else opening
        holds = holds if span.takes is None else span.takes
        if not span.poses_deg or span.lasts_s <= 0:
            continue
        n = max(1, round(span.lasts_s / step_s))
        shares = np.arange(1, n + 1) / n
        for share, pose in zip(shares, _along(np.array(span.poses_deg), shares), strict=True):
            times.append(now_s + share * span.lasts_s)
            poses.append(pose)
            labels.append(span.label)
            openings.append(None if opening is None else round(opening, 1))
            held.append(holds)
        now_s += span.lasts_s
    return np.array(times), np.array(poses).reshape(-1, arm.n_joints), labels, openings, held


def _along(poses: FloatArray, shares: FloatArray) -> FloatArray:
    """Poses at shares 0…1 of the way, each leg as long as its largest joint's turn."""
    if len(poses) == 1:
        return np.repeat(poses, len(shares), axis=0)
    legs = np.abs(np.diff(poses, axis=0)).max(axis=1)
    at = np.concatenate(([0.0], np.cumsum(legs)))
    if at[-1] <= 0:
        return np.repeat(poses[-1:], len(shares), axis=0)
    return np.stack([np.interp(shares * at[-1], at, poses[:, i]) for i in range(poses.shape[1])], axis=1)


def _seven(T: FloatArray) -> list[float]:
    """Place, mm, and turn, a quaternion x y z w."""
    return [*(round(float(v) * 1000, 1) for v in T[:3, 3]), *(round(float(v), 4) for v in _quaternion(T[:3, :3]))]


def _quaternion(R: FloatArray) -> FloatArray:
    """Source: Shepperd (1978), Quaternion from Rotation Matrix: the largest of the four is found first."""
    trace = float(np.trace(R))
    four = np.array([R[0, 0], R[1, 1], R[2, 2], trace])
    i = int(four.argmax())
    if i == 3:
        q = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1], 1.0 + trace])
    else:
        j, k = (i + 1) % 3, (i + 2) % 3
        q = np.empty(4)
        q[i], q[j] = 1.0 + 2.0 * R[i, i] - trace, R[j, i] + R[i, j]
        q[k], q[3] = R[k, i] + R[i, k], R[k, j] - R[j, k]
    return np.asarray(q / np.linalg.norm(q))


def _part(part: Shape | Look) -> dict[str, Any]:
    """A part of a link; a cylinder is drawn like a capsule."""
    colour = part.colour if isinstance(part, Look) else "white"
    if part.kind == "box":
        return {"link": part.link, "kind": "box", "centre": part.centre_mm, "half": part.half_mm, "colour": colour}
    return {
        "link": part.link, "kind": part.kind, "a": part.a_mm, "b": part.b_mm, "radius": part.radius_mm,
        "colour": colour,
    }  # fmt: skip


def _jaws(arm: ArmModel) -> dict[str, Any]:
    """How the jaws hang on the last link, mm: its tool point, and how the tool is rolled."""
    T = arm.T_link_tcp
    gripper = arm.data.gripper
    return {
        "from_mm": 0.0 if gripper is None else gripper.base_z_mm,
        "to_mm": float(T[2, 3]) * 1000,
        "across": [round(float(v), 4) for v in T[:3, 0]],
    }


def _round_it(log: RunLog, config: Config, base: BaseInCell) -> dict[str, Any]:
    """Table, block and box, and what was aimed at."""
    seen = next((look for look in log.detect if look.block_xz_m is not None), None)
    boxed = next((look for look in log.detect if look.box_xz_m is not None), None)
    side = config.block.side_mm / 1000
    told: dict[str, Any] = {"table_z": round(float(base.to_base(np.zeros(3))[2]) * 1000, 1), "block": None, "box": None}
    if seen is not None and seen.block_xz_m is not None:
        yaw = seen.block.yaw_deg if seen.block is not None and seen.block.yaw_deg is not None else 0.0
        square = _square(seen.block_xz_m, (side, side), yaw)
        told["block"] = {"floor": _in_base(square, 0.0, base), "side": round(side * 1000, 1)}
    if boxed is not None and boxed.box_xz_m is not None:
        yaw = boxed.box.yaw_deg if boxed.box is not None and boxed.box.yaw_deg is not None else 0.0
        wide, deep = (each / 1000 for each in config.box.outside_mm)
        square = _square(boxed.box_xz_m, (wide, deep), yaw)
        told["box"] = {"floor": _in_base(square, 0.0, base), "height": config.box.wall_height_mm}
    targets = [lookup for lookup in log.lookups if lookup.phase in ("pick", "place_withblock")]
    told["targets"] = [
        _in_base([lookup.target_xz_m], lookup.refined.target_m[1] if lookup.refined is not None else 0.0, base)[0]
        for lookup in targets
    ]
    return told


def _square(xz_m: tuple[float, float], size_m: tuple[float, float], yaw_deg: float) -> list[tuple[float, float]]:
    a = np.radians(yaw_deg)
    turn = np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]])
    corners = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)]) * np.array(size_m) / 2
    return [(float(x), float(z)) for x, z in corners @ turn.T + np.array(xz_m)]


def _in_base(points_xz_m: Sequence[tuple[float, float]], y_m: float, base: BaseInCell) -> list[list[float]]:
    """Points of the cell at one height in the base frame, mm."""
    cell = np.array([(x, y_m, z) for x, z in points_xz_m])
    return [[round(float(v) * 1000, 1) for v in point] for point in base.to_base(cell)]
