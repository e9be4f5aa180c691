"""Stored pictures as a camera: a folder in name order, one picture, or a video file.

Replays what was taken; it never makes pictures up. At the end it repeats the last one or all, or says that it is at
the end, as it was told to.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import cv2
import numpy as np

from vision.cameras.protocol import Frame, Picture, checked_picture, read_picture, utc_now_iso
from vision.errors import CameraUnavailable, NotAPicture

PICTURE_ENDINGS = (".jpg", ".jpeg", ".png", ".bmp", ".webp", ".tif", ".tiff")
VIDEO_ENDINGS = (".mp4", ".avi", ".mov", ".mkv", ".webm", ".m4v")

AtEnd = Literal["repeat_last", "from_start", "stop"]


class FolderCamera:
    """Pictures of a folder, a picture file or a video, in turn. Nothing is opened before it is needed."""

    def __init__(self, path: Path | str, *, at_end: AtEnd = "repeat_last") -> None:
        self.path = Path(path)
        self.at_end = at_end
        self._files: list[Path] | None = None
        self._video: cv2.VideoCapture | None = None
        self._next = 0
        self._seq = 0
        self._last: tuple[Picture, str] | None = None
        self._waiting: list[tuple[Picture, str]] = []  # taken from the folder or put back; the next one first
        self._given: tuple[Picture, str] | None = None

    @property
    def name(self) -> str:
        """`folder:` and the path."""
        return f"folder:{self.path}"

    @property
    def index(self) -> int | str | None:
        """There is no device behind it."""
        return None

    @property
    def size_px(self) -> tuple[int, int]:
        """(width, height) of the picture that comes next.

        Raises:
            CameraUnavailable, NotAPicture: as in `read`.
        """
        if not self._waiting:
            self._waiting.append(self._following())
        high, wide = self._waiting[0][0].shape[:2]
        return int(wide), int(high)

    @property
    def replays(self) -> bool:
        """They were all stored before."""
        return True

    def read(self) -> Frame:
        """The next picture.

        Raises:
            CameraUnavailable: nothing there, or the end was reached and must not be passed.
            NotAPicture: a file that can't be decoded.
        """
        image, source = self._given = self._waiting.pop(0) if self._waiting else self._following()
        frame = Frame(image_bgr=image.copy(), taken_at=utc_now_iso(), seq=self._seq, source=source)
        self._seq += 1
        return frame

    def put_back(self) -> None:
        """The next `read` gives the last picture again; without one nothing changes, nor when it was put back."""
        if self._given is not None:
            self._waiting.insert(0, self._given)
            self._given = None

    def close(self) -> None:
        """Let go of the video file."""
        if self._video is not None:
            self._video.release()
            self._video = None

    def _following(self) -> tuple[Picture, str]:
        if self.path.suffix.lower() in VIDEO_ENDINGS and self.path.is_file():
            return self._from_video()
        return self._from_files()

    def _from_files(self) -> tuple[Picture, str]:
        if self._files is None:
            self._files = self._listed()
        if self._next >= len(self._files):
            if self.at_end == "stop":
                raise self._ended(len(self._files))
            if self.at_end == "repeat_last" and self._last is not None:
                return self._last
            self._next = 0
        file = self._files[self._next]
        self._next += 1
        self._last = read_picture(file), str(file)
        return self._last

    def _listed(self) -> list[Path]:
        if not self.path.exists():
            raise CameraUnavailable(self.name, "there is no such file or folder", next_step="check the path")
        if self.path.is_file():
            return [self.path]
        try:
            files = sorted(f for f in self.path.iterdir() if f.suffix.lower() in PICTURE_ENDINGS and f.is_file())
        except OSError as error:
            raise CameraUnavailable(
                self.name, error.strerror or str(error), next_step="check its permissions"
            ) from error
        if not files:
            raise CameraUnavailable(
                self.name, "the folder holds no pictures", next_step=f"put files there: {', '.join(PICTURE_ENDINGS)}"
            )
        return files

    def _from_video(self) -> tuple[Picture, str]:
        if self._video is None:
            self._video = cv2.VideoCapture(str(self.path))
            if not self._video.isOpened():
                raise NotAPicture(self.path, "it is no video that can be decoded")
        got, image = self._video.read()
        if not got:
            if self._last is None:
                raise NotAPicture(self.path, "the video holds no pictures")
            if self.at_end == "stop":
                raise self._ended(self._next)
            if self.at_end == "repeat_last":
                return self._last
            self._video.set(cv2.CAP_PROP_POS_FRAMES, 0)
            self._next = 0
            got, image = self._video.read()
            if not got:
                raise NotAPicture(self.path, "the video can't be rewound")
        self._last = checked_picture(np.asarray(image), str(self.path)), f"{self.path}#{self._next}"
        self._next += 1
        return self._last

    def _ended(self, count: int) -> CameraUnavailable:
        return CameraUnavailable(
            self.name, f"all {count} pictures have been given", next_step="add pictures, or let the last one repeat"
        )
