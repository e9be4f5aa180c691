"""Fixtures that many tests share: the shared folder where it is present, the default arm, a twin."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.config import Config
from runner.kinematics.frames import BaseInCell
from runner.kinematics.model import ArmModel, load_arm

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real pictures and logs beside the checkout; tests that need it are skipped where it is not."""
    folder = ROOT.parent / "shared"
    if not folder.is_dir():
        pytest.skip("skipped: the folder of real pictures and logs is not beside this checkout")
    return folder


@pytest.fixture(scope="session")
def config() -> Config:
    return Config()


@pytest.fixture(scope="session")
def arm(config: Config) -> ArmModel:
    """The mechArm with the tool of the default cell."""
    return load_arm(config.arm.model).with_tool(tcp_mm=config.arm.tcp_mm, roll_deg=config.arm.tool_roll_deg)


@pytest.fixture(scope="session")
def base(config: Config) -> BaseInCell:
    return BaseInCell.at(config.arm.base_shift_m, config.arm.base_yaw_deg)
