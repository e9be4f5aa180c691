"""The board: its corners in pictures, its print, and pictures that lack it."""

from __future__ import annotations

import numpy as np
import pytest

from vision.calibration.board import BoardSeen, board_image, find_board, find_chessboard
from vision.calibration.plane import board_on_table_xz_m
from vision.errors import BoardNotFound


def test_corners_are_found_to_a_fraction_of_a_pixel(overhead, spec, show_board):
    image = show_board(overhead, (0.0, 0.0, 0.2), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0))
    seen = find_board(image, spec)
    assert len(seen.ids) == 24
    wanted = overhead.table_to_pixel(board_on_table_xz_m(seen.points_m, spec, (0.0, 0.2), 0.0))
    assert np.sqrt(np.mean(np.sum((seen.corners_px - wanted) ** 2, axis=1))) < 0.15


def test_a_picture_without_the_board_says_how_much_of_it_was_seen(spec, overhead, paint):
    with pytest.raises(BoardNotFound, match="0 board corners in the picture, 8 needed"):
        find_board(paint(overhead), spec)
    with pytest.raises(BoardNotFound):
        find_chessboard(paint(overhead), (7, 5), 25.0)


def test_the_printed_board_has_its_size_and_margin(spec):
    sheet = board_image(spec, px_per_m=1000.0, margin_mm=10.0)
    assert sheet.shape == (170, 230)
    assert (sheet[:9] == 255).all()


def test_a_chessboard_is_found_whole():
    squares = np.kron(np.indices((6, 8)).sum(axis=0) % 2, np.ones((40, 40)))
    sheet = np.pad((255 * squares).astype(np.uint8), 60, constant_values=255)
    seen = find_chessboard(np.dstack([sheet] * 3), (7, 5), 25.0, source="sheet")
    assert isinstance(seen, BoardSeen)
    assert len(seen.corners_px) == 35
    assert np.linalg.norm(seen.points_m[1] - seen.points_m[0]) == pytest.approx(0.025)
