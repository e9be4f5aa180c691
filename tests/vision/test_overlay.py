"""Drawings for people: they change a copy, stay inside the picture, and make a strip."""

from __future__ import annotations

import numpy as np
import pytest

from runs.schema.detection import TipDetection
from vision.detect.block import find_block
from vision.detect.box import find_box
from vision.detect.protocol import DetectSettings
from vision.overlay import BLOCK_COLOUR, BOX_COLOUR, draw_overlay, strip


def test_what_was_found_is_drawn_on_a_copy(overhead, paint, make_cube, make_box):
    image = paint(overhead, cubes=[make_cube((0.2, 0.2)), make_cube((0.515, 0.3))], box=make_box((-0.2, 0.2)))
    before = image.copy()
    blocks, boxes = find_block(image, overhead, DetectSettings()), find_box(image, overhead, DetectSettings())
    tip = TipDetection(centre_px=(1279.0, 5.0), score=0.9, method="fingers", xz_m=(0.0, 0.1), height_y_m=0.05)
    drawn = draw_overlay(image, blocks=blocks.accepted, box=boxes.best, tip=tip, dropped=blocks.dropped)
    assert np.array_equal(image, before)
    assert drawn.shape == image.shape
    for colour in (BLOCK_COLOUR, BOX_COLOUR):
        assert (np.abs(drawn.astype(int) - colour).max(axis=2) < 12).sum() > 100


def test_an_empty_overlay_is_the_picture(overhead, paint):
    image = paint(overhead)
    assert np.array_equal(draw_overlay(image), image)


def test_a_strip_holds_all_pictures_at_one_height():
    wide, tall = np.full((90, 160, 3), 200, np.uint8), np.full((200, 100, 3), 90, np.uint8)
    band = strip([("before", wide), ("a label that is much too long for a narrow picture", tall)], height_px=100)
    assert band.shape == (110, 178 + 6 + 50, 3)
    with pytest.raises(ValueError, match="at least one"):
        strip([])
