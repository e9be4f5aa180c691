"""Printed square markers (ArUco): where they are in a picture, and their middle on the table.

Finds markers of one dictionary only; what looks like a marker of another is not reported.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.cameras.protocol import Picture
from vision.errors import VisionError

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Marker:
    """One marker: its number and its four corners (4, 2) in px, from the upper left of the print, clockwise."""

    id: int
    corners_px: FloatArray

    @property
    def centre_px(self) -> tuple[float, float]:
        """Where the diagonals cross: the image of the marker's middle, in any perspective."""
        (a, b, c, d) = (np.append(corner, 1.0) for corner in self.corners_px)
        u, v, w = np.cross(np.cross(a, c), np.cross(b, d))
        return float(u / w), float(v / w)


class UnknownDictionary(VisionError):
    """A name that no marker dictionary has."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"no marker dictionary is called {name!r}", next_step="for example DICT_4X4_50")


def dictionary_of(name: str) -> cv2.aruco.Dictionary:
    """The dictionary of a name such as DICT_4X4_50.

    Raises:
        UnknownDictionary: no such name.
    """
    number = getattr(cv2.aruco, name, None) if name.startswith("DICT_") else None
    if not isinstance(number, int):
        raise UnknownDictionary(name)
    return cv2.aruco.getPredefinedDictionary(number)


@lru_cache(maxsize=8)
def _detector(name: str) -> cv2.aruco.ArucoDetector:
    parameters = cv2.aruco.DetectorParameters()
    parameters.cornerRefinementMethod = cv2.aruco.CORNER_REFINE_SUBPIX
    parameters.cornerRefinementWinSize = 4
    return cv2.aruco.ArucoDetector(dictionary_of(name), parameters)


def find_markers(image_bgr: Picture, dictionary: str = "DICT_4X4_50") -> tuple[Marker, ...]:
    """All markers of a dictionary in a picture, by number.

    Raises:
        UnknownDictionary: no such dictionary.
    """
    grey = cv2.cvtColor(image_bgr, cv2.COLOR_BGR2GRAY)
    corners, ids, _ = _detector(dictionary).detectMarkers(grey)
    if ids is None:
        return ()
    found = [
        Marker(int(number), np.asarray(four, dtype=np.float64).reshape(4, 2))
        for number, four in zip(np.asarray(ids).ravel(), corners, strict=True)
    ]
    return tuple(sorted(found, key=lambda marker: marker.id))
