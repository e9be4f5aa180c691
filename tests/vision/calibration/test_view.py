"""The camera model: pixels to the table and back, at any height, as OpenCV has it."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vision.calibration.view import View

VIEW = View.looking_at(
    (0.05, 0.8, -0.2), (0.0, 0.0, 0.2), size_px=(1280, 720), width_deg=62.0, distortion=(-0.15, 0.05, 8e-4, -5e-4, 0.01)
)


@given(st.floats(-0.3, 0.3), st.floats(0.0, 0.4), st.floats(0.0, 0.15))
def test_a_point_seen_and_put_back_on_its_height_is_where_it_was(x, z, y):
    pixel = VIEW.table_to_pixel((x, z), y)
    assert np.linalg.norm(VIEW.pixel_to_table_xz_m(pixel, y) - [x, z]) < 1e-8


def test_projection_is_opencvs_with_points_given_as_x_z_y():
    points = np.random.default_rng(0).uniform([-0.3, 0.0, 0.0], [0.3, 0.2, 0.4], (50, 3))
    turn = cv2.Rodrigues(VIEW.R_camera_cell)[0]
    wanted, _ = cv2.projectPoints(points[:, [0, 2, 1]], turn, VIEW.t_camera_cell_m, VIEW.K, VIEW.distortion)
    np.testing.assert_allclose(VIEW.point_to_pixel(points), wanted.reshape(-1, 2), atol=1e-9)


def test_arrays_keep_their_shape():
    grid = np.zeros((4, 5, 2)) + [0.1, 0.2]
    assert VIEW.table_to_pixel(grid, 0.01).shape == (4, 5, 2)
    assert VIEW.pixel_to_table_xz_m(VIEW.table_to_pixel(grid), np.zeros((4, 5))).shape == (4, 5, 2)
    assert VIEW.point_to_pixel(np.zeros((0, 3))).shape == (0, 2)
    assert VIEW.pixel_to_table_xz_m(np.zeros((0, 2))).shape == (0, 2)


def test_an_overhead_view_has_right_to_the_right_and_forward_up(overhead):
    middle, right, forward = overhead.table_to_pixel([[0.0, 0.2], [0.1, 0.2], [0.0, 0.3]])
    assert np.allclose(middle, [639.5, 359.5])
    assert right[0] > middle[0] + 100
    assert forward[1] < middle[1] - 100
    assert overhead.camera_m == pytest.approx((0.0, 0.9, 0.2))


def test_what_is_behind_the_camera_or_above_the_horizon_is_nan():
    level = View.looking_at((0.0, 0.3, 0.0), (0.0, 0.3, 1.0), size_px=(640, 480), width_deg=60.0)
    assert np.isnan(level.pixel_to_table_xz_m((320.0, 10.0))).all()
    assert np.isfinite(level.pixel_to_table_xz_m((320.0, 470.0))).all()
    assert np.isnan(level.point_to_pixel((0.0, 0.3, -1.0))).all()


def test_millimetres_per_pixel_grow_away_from_the_camera_and_shrink_with_height(tilted):
    assert tilted.mm_per_px((0.0, 0.4)) > tilted.mm_per_px((0.0, 0.0)) > tilted.mm_per_px((0.0, 0.0), 0.1)


def test_the_homography_agrees_with_the_view_on_undistorted_pixels(overhead):
    pixels = overhead.table_to_pixel([[0.2, 0.1], [-0.3, 0.35]])
    plain = overhead.undistort_px(pixels)
    mapped = np.column_stack([plain, np.ones(2)]) @ overhead.H_table_pixel.T
    np.testing.assert_allclose(mapped[:, :2] / mapped[:, 2:], [[0.2, 0.1], [-0.3, 0.35]], atol=1e-6)


def test_height_is_parallax(overhead):
    on_table, raised = overhead.table_to_pixel((0.25, 0.2)), overhead.table_to_pixel((0.25, 0.2), 0.03)
    shift_mm = np.linalg.norm(overhead.pixel_to_table_xz_m(raised) - [0.25, 0.2]) * 1000
    assert raised[0] > on_table[0]
    assert shift_mm == pytest.approx(1000 * 0.25 * 0.03 / 0.87, rel=1e-3)


def test_a_view_is_frozen_and_refuses_too_many_lens_terms(overhead):
    with pytest.raises(ValueError, match="read-only"):
        overhead.K[0, 0] = 1.0
    with pytest.raises(ValueError, match="distortion terms"):
        View.make(np.eye(3), np.zeros(8), np.eye(3), np.zeros(3), (640, 480))
