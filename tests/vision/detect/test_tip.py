"""The gripper's tip, by its pads and by a marker, and tips that can't be told."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from vision.detect.protocol import DetectSettings
from vision.detect.tip import find_tip

SETTINGS = DetectSettings()


def pads(paint, make_cube, view, tip_xz, y_m, heading_deg=70.0, gap_m=0.04):
    """Two blue pads whose ends are at a tip, pointing along a heading."""
    c, s = np.cos(np.deg2rad(heading_deg)), np.sin(np.deg2rad(heading_deg))
    proto = make_cube((0, 0))
    cubes = []
    for side in (-1, 1):
        x = tip_xz[0] - 0.012 * c - side * gap_m / 2 * s
        z = tip_xz[1] - 0.012 * s + side * gap_m / 2 * c
        cubes.append(proto.__class__((x, z), heading_deg, (0.024, 0.005, 0.002), (150, 80, 25), y_m))
    return paint(view, cubes=cubes, table_bgr=(60, 80, 100))


def marker_picture(number, at, size_px=60, dictionary=cv2.aruco.DICT_4X4_50):
    picture = np.full((480, 640, 3), 200, np.uint8)
    tile = cv2.aruco.generateImageMarker(cv2.aruco.getPredefinedDictionary(dictionary), number, size_px)
    picture[at[1] : at[1] + size_px, at[0] : at[0] + size_px] = tile[..., None]
    return picture


def test_the_tip_is_the_middle_between_the_pads_ends_at_its_height(overhead, paint, make_cube):
    image = pads(paint, make_cube, overhead, (0.15, 0.2), 0.10)
    result = find_tip(image, overhead, SETTINGS, height_y_m=0.102, near_xz_m=(0.157, 0.194), heading_deg=70.0)
    assert result.best is not None
    assert result.best.method == "fingers"
    assert np.hypot(result.best.xz_m[0] - 0.15, result.best.xz_m[1] - 0.2) * 1000 < 2.0


def test_a_tip_that_cannot_be_told_is_not_guessed(overhead, paint, make_cube):
    image = pads(paint, make_cube, overhead, (0.15, 0.2), 0.10)
    assert find_tip(image, overhead, SETTINGS, height_y_m=0.1).best is None
    away = find_tip(image, overhead, SETTINGS, height_y_m=0.1, near_xz_m=(-0.2, 0.2), heading_deg=70.0)
    assert away.best is None
    assert "no pair of finger pads" in away.dropped[0].reason
    one_pad = paint(overhead, cubes=[make_cube((0.15, 0.2), bgr=(150, 80, 25))])
    assert find_tip(one_pad, overhead, SETTINGS, height_y_m=0.03, near_xz_m=(0.15, 0.2), heading_deg=70.0).best is None


def test_a_marker_on_the_gripper_gives_the_tip():
    settings = DetectSettings(tip_marker_id=7)
    tip = find_tip(marker_picture(7, (300, 200)), None, settings).best
    assert tip is not None
    assert tip.method == "marker"
    assert tip.centre_px == pytest.approx((329.5, 229.5), abs=0.7)
    missing = find_tip(marker_picture(8, (300, 200)), None, settings)
    assert missing.best is None
    assert "marker 7 was seen 0 times" in missing.dropped[0].reason
