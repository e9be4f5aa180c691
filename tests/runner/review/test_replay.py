"""The motion again: links where forward kinematics puts them, in the order and with the times of the log."""

from __future__ import annotations

import json

import numpy as np
import pytest

from runner.config import Config
from runner.kinematics.fk import link_poses
from runner.review.replay import MOST_FRAMES, NoReplay, replay
from runner.table.postures import arm_of
from runs.migrate import load_log
from runs.schema.run import RunLog


@pytest.fixture
def log(generator) -> RunLog:
    return RunLog.model_validate_json(json.dumps(generator.make_log(1, 0)))


def turned(q, v):
    u, w = np.array(q[:3]), q[3]
    t = 2 * np.cross(u, v)
    return v + w * t + np.cross(u, t)


def test_every_link_is_where_kinematics_puts_it(log):
    arm, _ = arm_of(Config())
    found = replay(log, Config())
    last = log.moves[-1].post_actual
    for link, pose in zip(found["links"][-1], link_poses(np.array(last), arm), strict=True):
        assert link[:3] == pytest.approx(pose[:3, 3] * 1000, abs=0.06)
        for axis in np.eye(3):
            assert turned(link[3:], axis) == pytest.approx(pose[:3, :3] @ axis, abs=2e-3)


def test_moves_take_as_long_as_the_log_says_and_go_through_every_pose(log):
    via = (10.0, 20.0, -30.0, 0.0, 40.0, 5.0)
    one = log.moves[0].model_copy(update={"via": (via,), "duration_s": 4.0})
    found = replay(log.model_copy(update={"moves": (one,), "gripper": ()}), Config())
    assert found["times_s"][-1] == pytest.approx(4.0)
    arm, _ = arm_of(Config())
    tip = link_poses(np.array(via), arm)[-1, :3, 3] * 1000
    nearest = min(np.linalg.norm(np.array(links[-1][:3]) - tip) for links in found["links"])
    steps = [
        np.linalg.norm(np.subtract(a[-1][:3], b[-1][:3]))
        for a, b in zip(found["links"], found["links"][1:], strict=False)
    ]
    assert nearest <= max(steps)


def test_the_block_is_held_from_close_to_open(log):
    found = replay(log, Config())
    held = found["held"]
    assert True in held
    assert len(found["links"]) == len(found["times_s"]) == len(held) == len(found["openings_mm"]) <= MOST_FRAMES + 20


def test_a_log_that_says_no_times_is_told_in_the_order_of_its_stages(field_log):
    found = replay(load_log(field_log), Config())
    labels = list(dict.fromkeys(found["labels"]))
    stages = [int("".join(c for c in label.split("_")[0] if c.isdigit())) for label in labels]
    assert stages == sorted(stages)
    assert set(found["openings_mm"]) == {None}  # every gripper answer was empty there
    assert True in found["held"]


def test_nothing_that_moved_is_said(log):
    with pytest.raises(NoReplay, match="nothing moved"):
        replay(log.model_copy(update={"moves": (), "gripper": ()}), Config())


def test_settings_of_another_version_are_no_reason_not_to_draw(log):
    provenance = log.provenance.model_copy(update={"settings": {"arm": {"model": "gone.toml", "tcp_mm": "far"}}})
    assert replay(log.model_copy(update={"provenance": provenance}), Config())["links"]
