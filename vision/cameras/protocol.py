"""What every camera is: a named source of fresh colour pictures.

A camera hands out pictures as they are; it refuses to give an old or broken one and never repeats silently.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.errors import NotAPicture

Picture = NDArray[np.uint8]
"""(h, w, 3), blue-green-red, 0…255."""

MAX_SIDE_PX = 16_384


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """One picture with where and when it was taken. `image_bgr` is (h, w, 3) uint8 and read-only by agreement."""

    image_bgr: Picture
    taken_at: str  # UTC, ISO 8601
    seq: int  # counts the pictures of this camera, from 0
    source: str  # the camera's name, or the file

    @property
    def size_px(self) -> tuple[int, int]:
        """(width, height)."""
        return int(self.image_bgr.shape[1]), int(self.image_bgr.shape[0])


class Camera(Protocol):
    """A source of pictures. `read` gives a picture taken after the call, or raises."""

    @property
    def name(self) -> str:
        """How people call it."""

    @property
    def index(self) -> int | str | None:
        """The system's index or path, None where there is no such thing."""

    @property
    def size_px(self) -> tuple[int, int]:
        """(width, height) of its pictures."""

    @property
    def replays(self) -> bool:
        """Its pictures were stored before: two in a row may show different scenes, so they are never fused."""

    def read(self) -> Frame:
        """A fresh picture.

        Raises:
            CameraUnavailable: nothing came.
            FrameStale: only old pictures came.
            NotAPicture: what came can't be read.
        """

    def put_back(self) -> None:
        """The last picture was only glanced at: where pictures are replayed, the next `read` gives it again."""

    def close(self) -> None:
        """Let go of the device. Safe more than once."""


def utc_now_iso() -> str:
    """Now, UTC, ISO 8601 with microseconds."""
    return datetime.now(UTC).isoformat()


def checked_picture(image: object, what: str) -> Picture:
    """`image` itself if it is a colour picture; grey pictures get three equal channels.

    Raises:
        NotAPicture: another type, shape or size.
    """
    if not isinstance(image, np.ndarray):
        raise NotAPicture(what, "it holds no pixels")
    if image.dtype != np.uint8:
        raise NotAPicture(what, f"its values are {image.dtype}, not 8 bit")
    if image.ndim == 2:
        image = np.asarray(cv2.cvtColor(image, cv2.COLOR_GRAY2BGR))
    if image.ndim != 3 or image.shape[2] != 3:
        raise NotAPicture(what, f"its shape is {image.shape}, not (height, width, 3)")
    if min(image.shape[:2]) < 16 or max(image.shape[:2]) > MAX_SIDE_PX:
        raise NotAPicture(what, f"its size is {image.shape[1]}×{image.shape[0]} px")
    return image.astype(np.uint8, copy=False)


def read_picture(path: Path | str) -> Picture:
    """A picture file as (h, w, 3) blue-green-red.

    Raises:
        NotAPicture: not there, a folder, empty, cut off or another kind of file.
    """
    path = Path(path)
    try:
        data = np.frombuffer(path.read_bytes(), np.uint8)
    except FileNotFoundError as error:
        raise NotAPicture(path, "there is no such file") from error
    except IsADirectoryError as error:
        raise NotAPicture(path, "it is a folder") from error
    except OSError as error:
        raise NotAPicture(path, error.strerror or str(error)) from error
    if data.size == 0:
        raise NotAPicture(path, "it is empty")
    try:
        image = cv2.imdecode(data, cv2.IMREAD_COLOR)
    except cv2.error as error:
        raise NotAPicture(path, "its content can't be decoded") from error
    if image is None:
        raise NotAPicture(path, "its content is no known picture format")
    return checked_picture(image, str(path))
