"""The calibration board (ChArUco): what it looks like, and its corners found in pictures. Chessboards too.

Finds corners to a fraction of a pixel; refuses pictures with too little of the board, and never fills in what it
didn't see.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.cameras.protocol import Picture
from vision.errors import BoardNotFound
from vision.markers import dictionary_of

FloatArray = NDArray[np.float64]

MIN_CORNERS = 8


@dataclass(frozen=True, slots=True)
class BoardSpec:
    """A ChArUco board: squares (across, down), lengths in mm, dictionary of its markers."""

    squares: tuple[int, int] = (7, 5)
    square_mm: float = 30.0
    marker_mm: float = 22.0
    dictionary: str = "DICT_4X4_50"

    @property
    def size_m(self) -> tuple[float, float]:
        """(width, height) of the squares, without margin."""
        return self.squares[0] * self.square_mm / 1000.0, self.squares[1] * self.square_mm / 1000.0

    def opencv(self) -> cv2.aruco.CharucoBoard:
        """OpenCV's board, lengths in metres."""
        return cv2.aruco.CharucoBoard(
            self.squares, self.square_mm / 1000.0, self.marker_mm / 1000.0, dictionary_of(self.dictionary)
        )

    def corners_m(self) -> FloatArray:
        """All inner corners (n, 2) on the board: x to the right, y down from the print's upper left, metres."""
        return np.asarray(self.opencv().getChessboardCorners(), dtype=np.float64)[:, :2]


@dataclass(frozen=True, slots=True, eq=False)
class BoardSeen:
    """Corners of a board seen in one picture: on the board (n, 2) m, in the picture (n, 2) px; where it came from."""

    points_m: FloatArray
    corners_px: FloatArray
    ids: tuple[int, ...]
    source: str


def board_image(spec: BoardSpec, *, px_per_m: float = 8000.0, margin_mm: float = 10.0) -> NDArray[np.uint8]:
    """The board as it is printed, (h, w) uint8, with a white margin, for paper or for a texture."""
    margin_px = round(margin_mm / 1000.0 * px_per_m)
    w_m, h_m = spec.size_m
    size = (round(w_m * px_per_m) + 2 * margin_px, round(h_m * px_per_m) + 2 * margin_px)
    return np.asarray(spec.opencv().generateImage(size, marginSize=margin_px), dtype=np.uint8)


def find_board(
    image_bgr: Picture, spec: BoardSpec, *, source: str = "the picture", min_corners: int = MIN_CORNERS
) -> BoardSeen:
    """The board's inner corners in a picture.

    Raises:
        BoardNotFound: fewer than `min_corners`, or all of them on one line.
    """
    grey = np.asarray(cv2.cvtColor(image_bgr, cv2.COLOR_BGR2GRAY), dtype=np.uint8)
    corners, ids, _, _ = cv2.aruco.CharucoDetector(spec.opencv()).detectBoard(grey)
    found = 0 if ids is None else len(ids)
    if ids is None or found < min_corners:
        raise BoardNotFound(source, found, min_corners)
    numbers = tuple(int(i) for i in np.asarray(ids).ravel())
    points = spec.corners_m()[list(numbers)]
    if np.linalg.matrix_rank(points - points.mean(axis=0), tol=1e-6) < 2:
        raise BoardNotFound(source, found, min_corners)
    pixels = np.asarray(corners, dtype=np.float64).reshape(-1, 2)
    return BoardSeen(points_m=points, corners_px=_refined(grey, pixels), ids=numbers, source=source)


def find_chessboard(
    image_bgr: Picture, inner: tuple[int, int], square_mm: float, *, source: str = "the picture"
) -> BoardSeen:
    """The inner corners (across, down) of a plain chessboard, all of them.

    Raises:
        BoardNotFound: the whole board isn't in the picture.
    """
    grey = cv2.cvtColor(image_bgr, cv2.COLOR_BGR2GRAY)
    found, corners = cv2.findChessboardCornersSB(grey, inner, flags=cv2.CALIB_CB_NORMALIZE_IMAGE)
    if not found:
        raise BoardNotFound(source, 0, inner[0] * inner[1])
    across, down = np.meshgrid(np.arange(inner[0]), np.arange(inner[1]))
    points = np.stack([across.ravel(), down.ravel()], axis=1).astype(np.float64) * (square_mm / 1000.0)
    pixels = np.asarray(corners, dtype=np.float64).reshape(-1, 2)
    return BoardSeen(points_m=points, corners_px=pixels, ids=tuple(range(len(points))), source=source)


def find_boards(pictures: Sequence[tuple[str, Picture]], spec: BoardSpec) -> tuple[list[BoardSeen], list[str]]:
    """The board in each of several named pictures, and for those without it why not."""
    seen: list[BoardSeen] = []
    without: list[str] = []
    for name, image in pictures:
        try:
            seen.append(find_board(image, spec, source=name))
        except BoardNotFound as error:
            without.append(str(error))
    return seen, without


def _refined(grey: NDArray[np.uint8], corners_px: FloatArray) -> FloatArray:
    """Corners moved onto the saddle of the grey levels, in a window that shrinks with the squares."""
    gaps = np.linalg.norm(corners_px[:, None] - corners_px[None], axis=2)
    np.fill_diagonal(gaps, np.inf)
    half = int(np.clip(np.median(gaps.min(axis=1)) / 6, 2, 9))
    until = (cv2.TERM_CRITERIA_EPS + cv2.TERM_CRITERIA_COUNT, 40, 1e-3)
    start = corners_px.astype(np.float32).reshape(-1, 1, 2)
    return np.asarray(cv2.cornerSubPix(grey, start, (half, half), (-1, -1), until), dtype=np.float64).reshape(-1, 2)
