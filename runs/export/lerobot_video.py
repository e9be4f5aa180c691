"""The pictures of many episodes as one video after the other: a picture a frame, the last one where there is none."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from runs.errors import StorageUnwritable
from runs.report.pictures import Picture

CAMERA = "observation.images.top"

FPS = 10
"""Nominal: frames are events, and the format wants them evenly apart."""

_MOST_BYTES = 180_000_000
"""A file that is larger gets no further episode; readers expect at most 200 MB."""


class Video:
    """Writes MPEG-4 files under a root; all pictures have the size of the first."""

    def __init__(self, root: Path, pattern: str, chunk: int) -> None:
        self.size: tuple[int, int] | None = None  # height, width, pixels
        self._root, self._pattern, self._chunk = root, pattern, chunk
        self._writer: cv2.VideoWriter | None = None
        self._path = root
        self._file, self._frames = -1, 0

    def add(self, pictures: Sequence[Picture | None]) -> dict[str, Any]:
        """An episode, a picture or None a frame; returns where it is, by the format's names.

        Raises:
            StorageUnwritable: no video can be made there, or the one before was cut short.
        """
        if self.size is None:
            first = next(picture for picture in pictures if picture is not None)
            self.size = (first.shape[0], first.shape[1])
        writer = self._open(self.size)
        begin = self._frames
        last = np.zeros((*self.size, 3), dtype=np.uint8)
        for picture in pictures:
            last = last if picture is None else picture
            writer.write(last)
        self._frames += len(pictures)
        return {
            f"videos/{CAMERA}/chunk_index": self._file // self._chunk,
            f"videos/{CAMERA}/file_index": self._file % self._chunk,
            f"videos/{CAMERA}/from_timestamp": begin / FPS,
            f"videos/{CAMERA}/to_timestamp": self._frames / FPS,
        }

    def _open(self, size: tuple[int, int]) -> cv2.VideoWriter:
        if self._writer is not None and self._path.stat().st_size < _MOST_BYTES:
            return self._writer
        self.close()
        self._file, self._frames = self._file + 1, 0
        name = self._pattern.format(
            video_key=CAMERA, chunk_index=self._file // self._chunk, file_index=self._file % self._chunk
        )
        self._path = self._root / name
        self._path.parent.mkdir(parents=True, exist_ok=True)
        writer = cv2.VideoWriter(str(self._path), cv2.VideoWriter.fourcc(*"mp4v"), FPS, (size[1], size[0]))
        if not writer.isOpened():
            raise StorageUnwritable(self._path, "no video can be written there")
        self._writer = writer
        return writer

    def close(self) -> None:
        """End the file.

        Raises:
            StorageUnwritable: it is shorter than what went in; the library that writes it says nothing of a full disk.
        """
        if self._writer is None:
            return
        self._writer.release()
        self._writer = None
        if not _is_whole(self._path, self._frames):
            raise StorageUnwritable(self._path, "the video in it was cut short: the disk is full or failing")


def _is_whole(path: Path, frames: int) -> bool:
    """Whether a video has so many frames and its last one can be seen."""
    video = cv2.VideoCapture(str(path))
    try:
        counted = round(video.get(cv2.CAP_PROP_FRAME_COUNT))
        return counted == frames and video.set(cv2.CAP_PROP_POS_FRAMES, frames - 1) and video.read()[0]
    finally:
        video.release()


def video_feature(size: tuple[int, int] | None) -> dict[str, Any]:
    """What `info.json` says of the video."""
    assert size is not None
    high, wide = size
    return {
        "dtype": "video", "shape": [high, wide, 3], "names": ["height", "width", "channels"],
        "info": {
            "video.height": high, "video.width": wide, "video.codec": "mpeg4", "video.pix_fmt": "yuv420p",
            "video.is_depth_map": False, "video.fps": FPS, "video.channels": 3, "has_audio": False,
        },
    }  # fmt: skip
