"""Printed markers: only those of the dictionary that was asked for."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from vision.markers import UnknownDictionary, find_markers


def marker_picture(number, at, size_px=60, dictionary=cv2.aruco.DICT_4X4_50):
    picture = np.full((480, 640, 3), 200, np.uint8)
    tile = cv2.aruco.generateImageMarker(cv2.aruco.getPredefinedDictionary(dictionary), number, size_px)
    picture[at[1] : at[1] + size_px, at[0] : at[0] + size_px] = tile[..., None]
    return picture


def test_markers_of_another_dictionary_are_not_reported():
    picture = marker_picture(3, (100, 100), dictionary=cv2.aruco.DICT_6X6_250)
    assert find_markers(picture, "DICT_4X4_50") == ()
    assert [m.id for m in find_markers(picture, "DICT_6X6_250")] == [3]
    with pytest.raises(UnknownDictionary, match="'DICT_9X9'"):
        find_markers(picture, "DICT_9X9")
