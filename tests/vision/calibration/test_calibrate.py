"""Lens and plane from drawn boards, held against the camera that they were drawn through."""

from __future__ import annotations

import numpy as np
import pytest

from vision.calibration.board import BoardSeen, board_image, find_board, find_boards, find_chessboard
from vision.calibration.file import LensFile, PlaneFile, content_hash, load_lens, load_plane, load_view, save, view_of
from vision.calibration.lens import calibrate_lens
from vision.calibration.plane import board_on_table_xz_m, plane_from_board, plane_from_points
from vision.errors import BoardNotFound, CalibrationMissing, CalibrationTooPoor, CalibrationUnreadable

GRID = np.stack(np.meshgrid(np.linspace(-0.3, 0.3, 7), np.linspace(0.02, 0.38, 5)), axis=-1).reshape(-1, 2)


@pytest.fixture(scope="module")
def lens(tilted_pictures, spec, overhead):
    seen, without = find_boards(tilted_pictures, spec)
    assert not without
    return calibrate_lens(seen, overhead.size_px)


@pytest.fixture(scope="module")
def plane(lens, overhead, spec, show_board):
    yaw = np.deg2rad(12.0)
    along, up = (np.cos(yaw), 0.0, np.sin(yaw)), (-np.sin(yaw), 0.0, np.cos(yaw))
    image = show_board(overhead, (0.03, 0.001, 0.22), along, up, seed=99)
    return plane_from_board(lens, find_board(image, spec), spec, (0.03, 0.22), 12.0, thickness_m=0.001)


def test_corners_are_found_to_a_fraction_of_a_pixel(overhead, spec, show_board):
    image = show_board(overhead, (0.0, 0.0, 0.2), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0))
    seen = find_board(image, spec)
    assert len(seen.ids) == 24
    wanted = overhead.table_to_pixel(board_on_table_xz_m(seen.points_m, spec, (0.0, 0.2), 0.0))
    assert np.sqrt(np.mean(np.sum((seen.corners_px - wanted) ** 2, axis=1))) < 0.15


def test_twelve_tilted_views_give_the_lens(lens, overhead):
    assert lens.K[0, 0] == pytest.approx(overhead.K[0, 0], rel=0.01)
    assert lens.distortion[0] == pytest.approx(-0.12, abs=0.01)
    assert lens.held_out_px < 0.3
    assert lens.held_out_mm < 0.3
    assert len(lens.per_view_px) == 12


def test_a_board_that_lies_flat_in_every_view_is_refused(flat_pictures, spec, overhead):
    seen, _ = find_boards(flat_pictures, spec)
    with pytest.raises(CalibrationTooPoor, match="a board lying flat can't calibrate a lens"):
        calibrate_lens(seen, overhead.size_px)


def test_too_few_views_are_refused(tilted_pictures, spec, overhead):
    seen, _ = find_boards(tilted_pictures[:7], spec)
    with pytest.raises(CalibrationTooPoor, match="7 views of the board, 8 needed"):
        calibrate_lens(seen, overhead.size_px)


def test_the_calibrated_view_places_points_at_any_height_to_two_millimetres(plane, overhead):
    for height_m in (0.0, 0.03, 0.085):
        found = plane.view.pixel_to_table_xz_m(overhead.table_to_pixel(GRID, height_m), height_m)
        assert np.linalg.norm(found - GRID, axis=1).max() < 0.002
    assert plane.held_out_px < 0.3
    assert plane.held_out_mm < 0.3


def test_a_plane_from_measured_points(lens, overhead):
    noise_m = np.random.default_rng(3).normal(0, 0.0005, GRID.shape)
    plane = plane_from_points(lens, GRID + noise_m, overhead.table_to_pixel(GRID))
    assert 0.2 < plane.held_out_mm < 1.5
    assert plane.view.camera_m == pytest.approx(overhead.camera_m, abs=0.02)


def test_points_that_can_give_no_plane_are_refused(lens, overhead):
    with pytest.raises(CalibrationTooPoor, match="5 points, 6 needed"):
        plane_from_points(lens, GRID[:5], overhead.table_to_pixel(GRID[:5]))
    line = np.stack([np.linspace(-0.2, 0.2, 8), np.full(8, 0.2)], axis=1)
    with pytest.raises(CalibrationTooPoor, match="on a line"):
        plane_from_points(lens, line, overhead.table_to_pixel(line))
    with pytest.raises(CalibrationTooPoor, match=r"mirrored|left out of the fit"):
        plane_from_points(lens, GRID * [-1, 1], overhead.table_to_pixel(GRID))
    shuffled = np.random.default_rng(0).permutation(GRID)
    with pytest.raises(CalibrationTooPoor, match=r"belong to other pixels|left out of the fit"):
        plane_from_points(lens, shuffled, overhead.table_to_pixel(GRID))


def test_a_picture_without_the_board_says_how_much_of_it_was_seen(spec, overhead, paint):
    with pytest.raises(BoardNotFound, match="0 board corners in the picture, 8 needed"):
        find_board(paint(overhead), spec)
    with pytest.raises(BoardNotFound):
        find_chessboard(paint(overhead), (7, 5), 25.0)


def test_the_printed_board_has_its_size_and_margin(spec):
    sheet = board_image(spec, px_per_m=1000.0, margin_mm=10.0)
    assert sheet.shape == (170, 230)
    assert (sheet[:9] == 255).all()


def test_calibration_files_keep_everything_and_make_the_view(tmp_path, lens, plane, overhead):
    lens_file = LensFile.of(lens, source="12 drawn boards")
    plane_file = PlaneFile.of(plane, lens_file, source="a drawn board at (0.03, 0.22)")
    save(lens_file, tmp_path)
    save(plane_file, tmp_path)
    assert load_lens(tmp_path) == lens_file
    assert load_plane(tmp_path) == plane_file
    view = load_view(tmp_path)
    pixels = overhead.table_to_pixel(GRID, 0.02)
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


def test_a_chessboard_is_found_whole():
    squares = np.kron(np.indices((6, 8)).sum(axis=0) % 2, np.ones((40, 40)))
    sheet = np.pad((255 * squares).astype(np.uint8), 60, constant_values=255)
    seen = find_chessboard(np.dstack([sheet] * 3), (7, 5), 25.0, source="sheet")
    assert isinstance(seen, BoardSeen)
    assert len(seen.corners_px) == 35
    assert np.linalg.norm(seen.points_m[1] - seen.points_m[0]) == pytest.approx(0.025)
