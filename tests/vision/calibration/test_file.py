"""Calibration files keep everything, and refuse what was cut off, changed or belongs to another lens."""

from __future__ import annotations

import numpy as np
import pytest

from vision.calibration.file import LensFile, PlaneFile, load_lens, load_plane, load_view, view_of
from vision.calibration.kept import content_hash, save
from vision.errors import CalibrationMissing, CalibrationUnreadable


def test_calibration_files_keep_everything_and_make_the_view(tmp_path, lens, plane, overhead, table_grid):
    lens_file = LensFile.of(lens, source="12 drawn boards")
    plane_file = PlaneFile.of(plane, lens_file, source="a drawn board at (0.03, 0.22)")
    save(lens_file, tmp_path)
    save(plane_file, tmp_path)
    assert load_lens(tmp_path) == lens_file
    assert load_plane(tmp_path) == plane_file
    view = load_view(tmp_path)
    pixels = overhead.table_to_pixel(table_grid, 0.02)
    expected = plane.view.pixel_to_table_xz_m(pixels, 0.02)
    np.testing.assert_allclose(view.pixel_to_table_xz_m(pixels, 0.02), expected, atol=1e-12)
    assert not list(tmp_path.glob(".*"))


def test_calibration_files_that_are_missing_cut_off_changed_or_of_another_lens_are_refused(tmp_path, lens, plane):
    with pytest.raises(CalibrationMissing, match="trialcell calibrate lens"):
        load_lens(tmp_path)
    lens_file = LensFile.of(lens, source="boards")
    path = save(lens_file, tmp_path)
    whole = path.read_text()
    path.write_text(whole[: len(whole) // 2])
    with pytest.raises(CalibrationUnreadable, match="cut off or not JSON"):
        load_lens(tmp_path)
    path.write_text(whole.replace('"n_views": 12', '"n_views": 13'))
    with pytest.raises(CalibrationUnreadable, match="changed after it was written"):
        load_lens(tmp_path)
    path.write_text(whole.replace('"version": 1', '"version": 2'))
    with pytest.raises(CalibrationUnreadable, match="version 2, this program reads up to 1"):
        load_lens(tmp_path)
    other = lens_file.model_copy(update={"rms_px": 9.0})
    plane_file = PlaneFile.of(plane, other, source="board")
    assert content_hash(other) != content_hash(lens_file)
    with pytest.raises(CalibrationUnreadable, match="another lens"):
        view_of(lens_file, plane_file)
