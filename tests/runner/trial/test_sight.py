"""What the arm covers of a picture, held against the picture that the twin takes of it."""

from __future__ import annotations

import numpy as np
import pytest

from runner.config import Config
from runner.trial.sight import arm_discs_px, gap_px
from runner.twin.setup import build_twin

SQUARE = ((100.0, 100.0), (140.0, 100.0), (140.0, 140.0), (100.0, 140.0))


def test_the_gap_is_from_the_outline_to_the_nearest_disc():
    centres, radii = np.array([[200.0, 120.0], [120.0, 300.0]]), np.array([10.0, 5.0])
    assert gap_px(SQUARE, centres, radii) == pytest.approx(50.0, abs=0.5)


def test_a_disc_over_the_outline_is_a_negative_gap():
    assert gap_px(SQUARE, np.array([[120.0, 120.0]]), np.array([4.0])) < 0
    assert gap_px(SQUARE, np.array([[145.0, 120.0]]), np.array([10.0])) < 0


def test_the_corners_may_come_in_any_order():
    shuffled = (SQUARE[2], SQUARE[0], SQUARE[3], SQUARE[1])
    centre, radius = np.array([[170.0, 90.0]]), np.array([3.0])
    assert gap_px(shuffled, centre, radius) == pytest.approx(gap_px(SQUARE, centre, radius), abs=0.1)


def test_a_disc_behind_the_camera_counts_for_nothing():
    centres, radii = np.array([[np.nan, np.nan], [200.0, 120.0]]), np.array([10.0, 10.0])
    assert gap_px(SQUARE, centres, radii) == pytest.approx(50.0, abs=0.5)


@pytest.mark.slow
def test_where_the_arm_is_said_to_be_is_where_the_picture_changes(arm, base):
    twin = build_twin(Config(), seed=2)
    try:
        home, aside = np.array([0, 0, 0, 0, 0, -30.0]), np.array([60.0, 20, -30, 0, 10, -30.0])
        before = twin.camera.noiseless().astype(int)
        twin.arm.send_path(aside[None], speed_percent=100)
        twin.clock.sleep(4.0)
        after = twin.camera.noiseless().astype(int)
    finally:
        twin.close()
    ratio = (after + 5.0) / (before + 5.0)
    tinted = (np.abs(after - before).max(axis=2) > 60) & (
        np.ptp(ratio, axis=2) > 0.5
    )  # a shadow dims all colours alike
    changed = np.argwhere(tinted)[:, ::-1]
    said = [arm_discs_px(pose, arm, base, twin.view) for pose in (home, aside)]
    centres, radii = (np.concatenate([one[i] for one in said]) for i in (0, 1))
    distance = np.linalg.norm(changed[:, None] - centres[None], axis=2) - radii[None]
    assert len(changed) > 5000
    assert np.mean(distance.min(axis=1) < 15) > 0.99
