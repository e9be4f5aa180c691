"""A small set with every kind of scene once, rendered once a test session."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from judges.labelled import OpenSet
from runner.calibrate.first_use import calibrate_twin
from runner.calibrate.judge_set.make import ReadGrip, least_scenes, make_set
from runner.config import Config
from runner.kinematics.gripper import gripper_of
from runner.table.postures import arm_of
from runner.trial.grip import judge_reading


@pytest.fixture(scope="session")
def read_grip() -> ReadGrip:
    config = Config()
    return partial(judge_reading, gripper=gripper_of(arm_of(config)[0]), settings=config.gripper, block=config.block)


@pytest.fixture(scope="session")
def calibration(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("calibration")
    calibrate_twin(Config(), folder, lambda _: None)
    return folder


@pytest.fixture(scope="session")
def small_set(tmp_path_factory, calibration, read_grip) -> OpenSet:
    folder = tmp_path_factory.mktemp("sets") / "small"
    scenes = least_scenes(("place", "pick"))
    return make_set(folder, Config(), calibration, scenes=scenes, seed=11, read=read_grip)
