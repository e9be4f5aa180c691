"""Pictures for a model: they only shrink, to what no model shrinks further, and colours of small things survive."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from judges.pictures import LONG_EDGE_PX, MAX_PATCHES, fitted_size, patches, prepare
from judges.protocol import Evidence, LabelledPicture
from vision.detect.protocol import DetectSettings


@pytest.mark.parametrize(
    ("size", "tokens"),
    [((640, 480), 414), ((1092, 812), 1131), ((1280, 720), 1196), ((1288, 952), 1564), ((1456, 819), 1560)],
)
def test_tokens_are_patches(size, tokens):
    """Reference values: the table of measured counts that the patch formula was fitted to."""
    assert patches(*size) == tokens
    assert fitted_size(*size) == size


@pytest.mark.parametrize("size", [(1920, 1080), (4000, 3000), (3000, 4000), (8000, 200), (1456, 1456), (12000, 9000)])
def test_large_pictures_shrink_to_what_no_model_shrinks(size):
    wide, high = fitted_size(*size)
    assert max(wide, high) <= LONG_EDGE_PX
    assert patches(wide, high) <= MAX_PATCHES
    assert wide / high == pytest.approx(size[0] / size[1], rel=0.02)
    assert patches(wide, high) > 0.9 * MAX_PATCHES or max(wide, high) > 0.98 * LONG_EDGE_PX


def test_small_pictures_stay_as_they_are():
    assert fitted_size(1, 1) == (1, 1)
    assert fitted_size(100, 60) == (100, 60)


def test_the_colour_of_a_small_block_survives():
    image = np.full((720, 1280, 3), 200, np.uint8)
    image[300:303, 600:603] = (30, 30, 220)
    evidence = Evidence("place", (LabelledPicture("a", "after", image),), grip=None, settings=DetectSettings())
    (sent,) = prepare(evidence, crops=True)
    back = cv2.imdecode(np.frombuffer(sent.jpeg, np.uint8), cv2.IMREAD_COLOR)
    blue, green, red = back[301, 601].astype(int)
    assert red - max(blue, green) > 120
    assert b"Exif" not in sent.jpeg


def test_the_same_pixels_are_the_same_bytes():
    image = np.random.default_rng(1).integers(0, 255, (90, 120, 3)).astype(np.uint8)
    evidence = Evidence("pick", (LabelledPicture("a", "after", image),), grip=None, settings=DetectSettings())
    assert prepare(evidence, crops=False)[0].sha256_sent == prepare(evidence, crops=False)[0].sha256_sent
