"""A run as frames: nothing between what the log knows, and each value says how it is known."""

from __future__ import annotations

import pytest

from runs.export.frames import Known, NoFrames, frames_of
from runs.migrate import parse_log
from runs.schema.motion import GripperRecord, GripReading, MoveRecord
from runs.schema.run import Capture, RunLog


def at(second):
    return f"2026-07-03T13:23:{10 + second:02d}.000Z"


def move(second, goal, read, before=(0.0, 0.0)):
    return MoveRecord(
        label=f"move{second}", target_angles=goal, reach_tol_deg=1, pre_actual=before, pre_max_delta_deg=None,
        dry_run=False, arrived=True, retried=False, post_actual=read, post_max_delta_deg=None, at=at(second),
        duration_s=1.5,
    )  # fmt: skip


@pytest.fixture
def log():
    """Two moves, the second without a read-back; the gripper told, then read; one picture."""
    return RunLog(
        run_id="run_0001_20260703_132310", started_at=at(0), dry_run=False, frames_dir="", constants={},
        moves=(move(1, (10.0, 0.0), (9.5, 0.1)), move(4, (20.0, 5.0), None)),
        gripper=(
            GripperRecord(stage="close", action="close", grip_value=20, at=at(2)),
            GripperRecord(
                stage="check", action="check", at=at(3),
                reading=GripReading(value=52, opening_mm=29, holding=True, reason="holds"),
            ),
        ),
        vlm_captures=(Capture(label="pick", image="pick.jpg", dry_run=False, at=at(5)),),
        result=None, ended_at=None,
    )  # fmt: skip


def test_a_frame_is_what_the_log_knows_and_says_how(log):
    frames = frames_of(log)
    assert [frame.label for frame in frames] == ["move1", "close", "check", "move4", "pick"]
    assert [frame.joints_deg for frame in frames] == [(9.5, 0.1)] * 3 + [(20.0, 5.0)] * 2
    read, carried, commanded = Known.READ, Known.CARRIED, Known.COMMANDED
    assert [frame.joints_known for frame in frames] == [read, carried, carried, commanded, commanded]
    assert [frame.gripper for frame in frames] == [0, 20, 52, 52, 52]
    assert [frame.gripper_known for frame in frames] == [Known.NOT, commanded, read, carried, carried]
    assert [frame.since_start_s for frame in frames] == [1, 2, 3, 4, 5]
    assert [frame.lasted_s for frame in frames] == [1.5, 0, 0, 1.5, 0]
    assert [frame.picture for frame in frames] == [None] * 4 + ["pick.jpg"]


def test_the_action_is_what_is_commanded_next(log):
    frames = frames_of(log)
    assert [frame.action_deg for frame in frames] == [(20.0, 5.0)] * 5
    assert [frame.action_gripper for frame in frames] == [20] * 5
    two = log.model_copy(update={"moves": (*log.moves, move(6, (30.0, 0.0), (30.0, 0.0)))})
    assert [frame.action_deg[0] for frame in frames_of(two)] == [20, 20, 20, 30, 30, 30]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"moves": ()}, "no joint was read back"),
        ({"moves": (move(1, (1.0, 2.0), (1.0, 2.0)), move(2, (1.0, 2.0, 3.0), None))}, "how many joints"),
        ({"vlm_captures": (Capture(label="x", image="x.jpg", dry_run=False),)}, "no times"),
    ],
)
def test_what_makes_no_frames_says_why(log, change, why):
    with pytest.raises(NoFrames, match=why):
        frames_of(log.model_copy(update=change))


def test_a_field_log_has_no_times_and_is_not_given_any(golden):
    path = golden / "v0.json"
    with pytest.raises(NoFrames, match="no times"):
        frames_of(parse_log(path.read_bytes(), path))
