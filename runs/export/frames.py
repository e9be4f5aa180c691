"""A run as a row of frames: one for each thing that its log knows happened, nothing in between.

A log holds moves with their read-back, gripper actions and pictures, no stream of thirty readings a second. So a frame
is a move's end, a gripper action or reading, or a picture, in the order of their times; no pose is interpolated. What
an earlier frame said still stands in a later one, and each frame tells read from carried over.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import IntEnum

from runs.errors import RecordError
from runs.events import seconds_between
from runs.schema.motion import GripperRecord, MoveRecord
from runs.schema.run import Capture, RunLog

_WIDE_OPEN = 100.0


class Known(IntEnum):
    """How a value of a frame is known."""

    NOT = 0  # nothing is known yet: the figure beside it is 0 and means nothing
    COMMANDED = 1  # it was told to be there, and nobody has read it
    CARRIED = 2  # read in an earlier frame, and nothing has been commanded since
    READ = 3  # read in this very frame


@dataclass(frozen=True, slots=True)
class Frame:
    """One moment. Joints in degrees; the gripper 0 (closed) to 100 (open).

    `since_start_s` is by the computer's clock; `lasted_s`, what the move that ends here took, by the arm's, 0 where
    nothing moved. `action_*` is what is commanded next after this frame, at the end what was commanded last.
    `picture` is the name of one taken in this frame.
    """

    label: str
    since_start_s: float
    lasted_s: float
    joints_deg: tuple[float, ...]
    joints_known: Known
    gripper: float
    gripper_known: Known
    action_deg: tuple[float, ...]
    action_gripper: float
    picture: str | None


class NoFrames(RecordError):
    """A run that makes no frames; the message says why."""


NO_TIMES = "its records carry no times, so their order is not known"
"""Why a run is in no export that puts its records on one line of time; so it is with every field log."""


def has_times(log: RunLog) -> bool:
    """Whether each move, gripper action and picture of a run says when it was."""
    records: list[MoveRecord | GripperRecord | Capture] = [*log.moves, *log.gripper, *log.vlm_captures]
    return all(record.at is not None for record in records)


def frames_of(log: RunLog) -> list[Frame]:
    """The frames of a run, the first where its first joints were read.

    Raises:
        NoFrames: nothing moved, no joint was read, or its records carry no times.
    """
    if not has_times(log):
        raise NoFrames(NO_TIMES)
    found: list[MoveRecord | GripperRecord | Capture] = [*log.moves, *log.gripper, *log.vlm_captures]
    found.sort(key=lambda record: record.at or "")
    start = next((m.pre_actual for m in log.moves if m.pre_actual is not None), None)
    if start is None:
        raise NoFrames("no joint was read back in it")
    if any(len(pose) != len(start) for m in log.moves for pose in (_goal(m), m.post_actual or start)):
        raise NoFrames("its moves don't agree how many joints the arm has")
    return _with_actions(list(_seen(found, start, log.started_at)), found)


def _seen(
    found: list[MoveRecord | GripperRecord | Capture], start: tuple[float, ...], started_at: str
) -> Iterator[Frame]:
    """Frames whose action is still what was commanded before them."""
    joints, joints_known = start, Known.CARRIED
    gripper, gripper_known = 0.0, Known.NOT
    goal, grip_goal = start, _WIDE_OPEN
    for record in found:
        lasted_s, picture = 0.0, None
        joints_known, gripper_known = _older(joints_known), _older(gripper_known)
        if isinstance(record, MoveRecord):
            goal, lasted_s, label = _goal(record), record.duration_s or 0.0, record.label
            if record.post_actual is not None:
                joints, joints_known = record.post_actual, Known.READ
            else:
                joints, joints_known = goal, Known.COMMANDED
        elif isinstance(record, GripperRecord):
            label = record.stage
            told = _told(record)
            if told is not None:
                grip_goal = gripper = told
                gripper_known = Known.COMMANDED
            if record.reading is not None and record.reading.value is not None:
                gripper, gripper_known = record.reading.value, Known.READ
        else:
            label, picture = record.label, record.image
        at_s = seconds_between(started_at, record.at) or 0.0
        yield Frame(
            label, at_s, lasted_s, joints, joints_known, gripper, gripper_known, goal, grip_goal, picture
        )  # fmt: skip


def _with_actions(frames: list[Frame], found: list[MoveRecord | GripperRecord | Capture]) -> list[Frame]:
    """The same with what is commanded next after each."""
    if not frames:
        raise NoFrames("nothing happened in it")
    goal, grip_goal = frames[-1].action_deg, frames[-1].action_gripper
    done = []
    for frame, record in zip(reversed(frames), reversed(found), strict=True):
        done.append(replace(frame, action_deg=goal, action_gripper=grip_goal))
        if isinstance(record, MoveRecord):
            goal = _goal(record)
        elif isinstance(record, GripperRecord):
            told = _told(record)
            grip_goal = grip_goal if told is None else told
    return done[::-1]


def _older(known: Known) -> Known:
    return Known.CARRIED if known is Known.READ else known


def _goal(move: MoveRecord) -> tuple[float, ...]:
    return move.commanded or move.target_angles


def _told(record: GripperRecord) -> float | None:
    """What a gripper action commanded, 0…100; None for one that only looks."""
    if record.action == "check":
        return None
    if record.grip_value is not None:
        return float(record.grip_value)
    return _WIDE_OPEN if record.action == "open" else 0.0
