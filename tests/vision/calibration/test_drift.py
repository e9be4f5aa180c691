"""Fixed marks tell whether the camera moved."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from vision.calibration.drift import check_drift, likeness, marks_in, scene_of


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


def table_top(rng):
    """A picture of a table with a few dark things on it."""
    image = np.full((720, 1280, 3), 150, np.uint8)
    for x, y in rng.integers((60, 60), (1200, 640), (9, 2)).tolist():
        cv2.circle(image, (x, y), 45, (40, 50, 60), -1)
    return image


def test_a_scene_is_known_again_in_other_light_and_told_from_another():
    here, there = table_top(np.random.default_rng(1)), table_top(np.random.default_rng(2))
    scene = scene_of(here)
    assert likeness(here, scene) == pytest.approx(1.0)
    assert likeness((here * 0.6).astype(np.uint8), scene) > 0.95
    assert likeness(there, scene) < 0.3
    assert likeness(np.full_like(here, 90), scene) == 0.0


def test_what_lay_there_only_for_calibrating_is_left_out_of_the_scene():
    here = table_top(np.random.default_rng(1))
    with_board = here.copy()
    corners = np.array([[500.0, 250.0], [800.0, 250.0], [800.0, 470.0], [500.0, 470.0]])
    with_board[250:470, 500:800] = 255
    assert likeness(here, scene_of(with_board)) < likeness(here, scene_of(with_board, but_px=corners))
    assert likeness(here, scene_of(with_board, but_px=corners)) > 0.9


def test_a_text_that_is_no_scene_is_refused():
    with pytest.raises(ValueError, match="a scene of 3 points"):
        likeness(table_top(np.random.default_rng(1)), "AAAA")
