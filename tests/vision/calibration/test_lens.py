"""The lens from drawn boards, held against the camera that they were drawn through."""

from __future__ import annotations

import pytest

from vision.calibration.board import find_boards
from vision.calibration.lens import calibrate_lens
from vision.errors import CalibrationTooPoor


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
