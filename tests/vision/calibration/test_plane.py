"""The table plane from a board and from measured points, held against the truth."""

from __future__ import annotations

import numpy as np
import pytest

from vision.calibration.plane import plane_from_points
from vision.errors import CalibrationTooPoor


def test_the_calibrated_view_places_points_at_any_height_to_two_millimetres(plane, overhead, table_grid):
    for height_m in (0.0, 0.03, 0.085):
        found = plane.view.pixel_to_table_xz_m(overhead.table_to_pixel(table_grid, height_m), height_m)
        assert np.linalg.norm(found - table_grid, axis=1).max() < 0.002
    assert plane.held_out_px < 0.3
    assert plane.held_out_mm < 0.3


def test_a_plane_from_measured_points(lens, overhead, table_grid):
    noise_m = np.random.default_rng(3).normal(0, 0.0005, table_grid.shape)
    plane = plane_from_points(lens, table_grid + noise_m, overhead.table_to_pixel(table_grid))
    assert 0.2 < plane.held_out_mm < 1.5
    assert plane.view.camera_m == pytest.approx(overhead.camera_m, abs=0.02)


def test_points_that_can_give_no_plane_are_refused(lens, overhead, table_grid):
    with pytest.raises(CalibrationTooPoor, match="5 points, 6 needed"):
        plane_from_points(lens, table_grid[:5], overhead.table_to_pixel(table_grid[:5]))
    line = np.stack([np.linspace(-0.2, 0.2, 8), np.full(8, 0.2)], axis=1)
    with pytest.raises(CalibrationTooPoor, match="on a line"):
        plane_from_points(lens, line, overhead.table_to_pixel(line))
    with pytest.raises(CalibrationTooPoor, match=r"mirrored|left out of the fit"):
        plane_from_points(lens, table_grid * [-1, 1], overhead.table_to_pixel(table_grid))
    shuffled = np.random.default_rng(0).permutation(table_grid)
    with pytest.raises(CalibrationTooPoor, match=r"belong to other pixels|left out of the fit"):
        plane_from_points(lens, shuffled, overhead.table_to_pixel(table_grid))
