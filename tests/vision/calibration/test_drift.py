"""Fixed marks tell whether the camera moved."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from vision.calibration.drift import check_drift, marks_in


@pytest.fixture
def desk():
    picture = np.full((480, 640, 3), 190, np.uint8)
    dictionary = cv2.aruco.getPredefinedDictionary(cv2.aruco.DICT_4X4_50)
    for number, (u, v) in {40: (60, 60), 41: (500, 60), 42: (500, 340), 43: (60, 340)}.items():
        tile = cv2.aruco.generateImageMarker(dictionary, number, 60)
        picture[v : v + 60, u : u + 60] = tile[..., None]
    return picture


def test_a_camera_that_stands_still_is_all_well(desk):
    marks = marks_in(desk)
    assert [mark.id for mark in marks] == [40, 41, 42, 43]
    drift = check_drift(desk, marks)
    assert drift.problem is None
    assert max(drift.moved_px.values()) < 0.2


def test_a_camera_that_moved_is_named(desk):
    drift = check_drift(np.roll(desk, 6, axis=1), marks_in(desk))
    assert drift.problem is not None
    assert "4 of 4 marks moved by up to 6.0 px" in drift.problem
    assert drift.camera_moved


def test_one_mark_that_was_pushed_is_told_from_a_moved_camera(desk):
    marks = marks_in(desk)
    desk[50:130, 50:140] = 190
    pushed = desk.copy()
    tile = cv2.aruco.generateImageMarker(cv2.aruco.getPredefinedDictionary(cv2.aruco.DICT_4X4_50), 40, 60)
    pushed[66:126, 68:128] = tile[..., None]
    drift = check_drift(pushed, marks)
    assert drift.problem is not None
    assert drift.problem.startswith("mark 40 was moved")
    assert not drift.camera_moved


def test_hidden_marks_are_listed_and_none_in_sight_is_a_problem(desk):
    marks = marks_in(desk, ids=(40, 41))
    desk[:, :300] = 30
    assert check_drift(desk, marks).missing == (40,)
    assert "none of the 2 marks" in (check_drift(np.zeros_like(desk), marks).problem or "")
    assert "no marks were kept" in (check_drift(desk, ()).problem or "")
