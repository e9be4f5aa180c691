"""What was calibrated of an arm lies over the settings: where they say nothing themselves, and for that arm only."""

from __future__ import annotations

import pytest

from runner.arm_calibration import ArmFile, HeldOut, as_calibrated, as_delivered
from runner.cell import make_cell, open_cell
from runner.config import Config, with_overrides
from runner.table.rows import CellOfTable
from vision.calibration.kept import save

SHIFT, ZERO = (1.0, -2.0, 3.0), (0.5, -1.0, 0.25, 0.0, 1.5, -2.0)


@pytest.fixture
def cell(tmp_path):
    """A cell whose arm was calibrated."""
    make_cell(tmp_path, Config())
    file = ArmFile(
        made_at="2026-01-01T00:00:00+00:00", source="a test", method="touched", arm_model="mecharm270",
        tcp_mm=(0.0, 0.0, 100.3), tool_shift_mm=SHIFT, joint_zero_deg=ZERO, parameters=(), singular_values=(),
        n_poses=12, n_dropped=0, rms_before_mm=9.0, rms_mm=0.5, held_out=HeldOut(n=12, median_mm=0.5, worst_mm=1.0),
    )  # fmt: skip
    save(file, tmp_path / "calibration")
    return tmp_path


def test_an_opened_cell_knows_its_arm(cell):
    config = open_cell(cell).config
    assert (config.arm.tool_shift_mm, config.arm.joint_zero_deg) == (SHIFT, ZERO)
    assert CellOfTable.of(config).tcp_mm == pytest.approx((1.0, -2.0, 103.3))
    assert as_delivered(config) == Config()


def test_what_the_settings_say_themselves_counts_more(cell):
    config = open_cell(cell, ["arm.joint_zero_deg=[0, 0, 0, 0, 0, 1]"]).config
    assert config.arm.joint_zero_deg == (0, 0, 0, 0, 0, 1)
    assert config.arm.tool_shift_mm == SHIFT


def test_another_arm_is_not_taken_for_the_one_that_was_calibrated(cell):
    config = with_overrides(Config(), ['arm.model="mycobot_280"'])
    assert as_calibrated(config, cell / "calibration") is config


def test_a_cell_without_a_calibrated_arm_is_as_its_settings_say(tmp_path):
    assert as_calibrated(Config(), tmp_path) == Config()
