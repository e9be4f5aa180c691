"""A live camera through OpenCV, chosen by name, device path, network address or index.

Checks that the camera delivers the size asked for, empties its buffer before each picture. A network stream that was
not read for a moment is opened anew: on its way many seconds of pictures may lie in buffers that nobody can count.
It never falls back to another camera, and never hands out a picture that waited in a buffer.
"""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

from vision.cameras.protocol import Frame, Picture, checked_picture, utc_now_iso
from vision.cameras.quality import frozen
from vision.errors import CameraFrozen, CameraUnavailable, FrameStale, WrongPictureSize

DRAINED_FRAMES = 3  # buffers of common webcams hold up to three pictures
MAX_WAIT_S = 3.0
STREAM_WAIT_S = 10.0  # a stream has to be found, opened and sent over a network first
STREAM_IDLE_S = 0.25  # unread for longer, a stream's pictures are taken to be old
_V4L = Path("/sys/class/video4linux")
_BY_ID = Path("/dev/v4l/by-id")


@dataclass(frozen=True, slots=True)
class CameraEntry:
    """A camera that the system knows: what to open it with, and its names."""

    source: str
    names: tuple[str, ...]


def list_cameras() -> list[CameraEntry]:
    """Cameras with names, on Linux; elsewhere the list is empty and an index or path must be given."""
    if not sys.platform.startswith("linux") or not _V4L.is_dir():
        return []
    by_device: dict[str, list[str]] = {}
    if _BY_ID.is_dir():
        for link in sorted(_BY_ID.iterdir()):
            by_device.setdefault(os.path.realpath(link), []).append(link.name)
    entries = []
    for folder in sorted(_V4L.iterdir(), key=lambda f: (len(f.name), f.name)):
        device = f"/dev/{folder.name}"
        label = folder / "name"
        names = ([label.read_text().strip()] if label.is_file() else []) + by_device.get(device, [])
        entries.append(CameraEntry(device, tuple(names)))
    return entries


def resolve_source(wanted: str | int) -> int | str:
    """What OpenCV must open for an index, a path, an address, or (part of) a camera's name.

    Raises:
        CameraUnavailable: no camera, or more than one, has that name.
    """
    text = str(wanted).strip()
    if text.isdigit():
        return int(text)
    if "://" in text or Path(text).exists():
        return text
    cameras = list_cameras()
    matching = [c for c in cameras if any(text.lower() in name.lower() for name in c.names)]
    exact = [c for c in matching if text in c.names]
    if len(exact) == 1:
        return exact[0].source
    devices = {c.names[0] if c.names else c.source for c in matching}
    if (
        matching and len(devices) == 1
    ):  # one camera often has a second device for its metadata: the first is the picture
        return matching[0].source
    known = ", ".join(f"{c.source} ({'; '.join(c.names)})" for c in cameras) or "none with a name"
    why = f"{len(devices)} cameras are called so" if matching else "no camera is called so"
    raise CameraUnavailable(text, f"{why}; known: {known}", next_step="name it more exactly, or by its path")


class OpenCvCamera:
    """A live camera. The device is opened by the first `read` or `size_px`, not by the constructor."""

    def __init__(self, source: str | int, *, size_px: tuple[int, int] | None = None, max_age_s: float = 1.0) -> None:
        self.source = source
        self.wanted_px = size_px
        self.max_age_s = max_age_s
        self._capture: cv2.VideoCapture | None = None
        self._size_px: tuple[int, int] | None = None
        self._opened: int | str | None = None
        self._seq = 0
        self._streams = "://" in str(source)
        self._read_s = float("-inf")

    @property
    def name(self) -> str:
        """As it was asked for."""
        return str(self.source)

    @property
    def index(self) -> int | str | None:
        """The index or path that was opened; before that, what was asked for."""
        return self._opened if self._opened is not None else self.source

    @property
    def size_px(self) -> tuple[int, int]:
        """(width, height) as delivered.

        Raises:
            CameraUnavailable, WrongPictureSize: as in `read`.
        """
        if self._size_px is None:
            self.read()
        assert self._size_px is not None
        return self._size_px

    @property
    def replays(self) -> bool:
        """It looks at what is there now."""
        return False

    def put_back(self) -> None:
        """Nothing to do: the next picture is taken anew."""

    def read(self) -> Frame:
        """A picture taken after the call: what lies in the buffer is thrown away first.

        Raises:
            CameraUnavailable: it can't be opened, or gives nothing within three seconds (a stream: ten).
            FrameStale: the driver stamped the picture longer ago than allowed.
            CameraFrozen: all pictures of this reading are one and the same.
            WrongPictureSize: it delivers another size than asked for.
        """
        if self._streams and time.monotonic() - self._read_s > STREAM_IDLE_S:
            self.close()
        capture = self._open()
        began = time.monotonic()
        patience_s = STREAM_WAIT_S if self._streams else MAX_WAIT_S
        pictures: list[Picture] = []
        for _ in range(DRAINED_FRAMES + 1):
            got, image = capture.read()
            if not got or image is None:
                self.close()
                raise CameraUnavailable(self.name, "it gave no picture")
            if time.monotonic() - began > patience_s:
                self.close()
                raise CameraUnavailable(self.name, f"a picture took longer than {patience_s:.0f} s")
            pictures.append(checked_picture(np.asarray(image), self.name))
        taken_at, self._read_s = utc_now_iso(), time.monotonic()
        picture = pictures[-1]
        if frozen(pictures):
            self.close()
            raise CameraFrozen(self.name, len(pictures))
        age_s = self._age_s(capture)
        if age_s is not None and age_s > self.max_age_s:
            raise FrameStale(self.name, age_s, self.max_age_s)
        got_px = (int(picture.shape[1]), int(picture.shape[0]))
        if self.wanted_px is not None and got_px != self.wanted_px:
            raise WrongPictureSize(f"camera {self.name}", self.wanted_px, got_px)
        self._size_px = got_px
        frame = Frame(image_bgr=picture, taken_at=taken_at, seq=self._seq, source=self.name)
        self._seq += 1
        return frame

    def close(self) -> None:
        """Let go of the device."""
        if self._capture is not None:
            self._capture.release()
            self._capture = None

    def _open(self) -> cv2.VideoCapture:
        if self._capture is not None:
            return self._capture
        self._opened = resolve_source(self.source)
        capture = self._captured(self._opened)
        if not capture.isOpened():
            capture.release()
            why = "nobody answers there" if self._streams else "another program may hold it"
            raise CameraUnavailable(self.name, f"it can't be opened; {why}")
        if self.wanted_px is not None:
            capture.set(cv2.CAP_PROP_FRAME_WIDTH, self.wanted_px[0])
            capture.set(cv2.CAP_PROP_FRAME_HEIGHT, self.wanted_px[1])
        capture.set(cv2.CAP_PROP_BUFFERSIZE, 1)
        self._capture = capture
        return capture

    def _captured(self, source: int | str) -> cv2.VideoCapture:
        if not self._streams:
            return cv2.VideoCapture(source)
        wait_ms = round(STREAM_WAIT_S * 1000)
        limits = [cv2.CAP_PROP_OPEN_TIMEOUT_MSEC, wait_ms, cv2.CAP_PROP_READ_TIMEOUT_MSEC, wait_ms]
        return cv2.VideoCapture(str(source), cv2.CAP_FFMPEG, limits)

    def _age_s(self, capture: cv2.VideoCapture) -> float | None:
        """How long ago the driver stamped the picture, where it stamps with the machine's running time."""
        if self._streams or Path(str(self._opened)).is_file():
            return None  # it counts from its own beginning
        stamp_s = float(capture.get(cv2.CAP_PROP_POS_MSEC)) / 1000.0
        age_s = time.monotonic() - stamp_s
        return age_s if stamp_s > 0 and 0 <= age_s < 3600 else None
