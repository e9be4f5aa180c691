"""Pictures of a run for a page: smaller, inside the page, with what was seen drawn over them as lines.

A picture is only ever shown, never followed: what is too big, damaged or not where the log says becomes a sentence.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from runs.schema.detection import DetectRecord
from runs.schema.geometry import Pixel
from runs.schema.run import Capture, RunLog
from runs.store import picture_path

Picture = NDArray[np.uint8]

MOST_BYTES = 30_000_000
MOST_PIXELS = 40_000_000
"""Beyond these a picture is not opened; ours have a million pixels."""


@dataclass(frozen=True, slots=True)
class Outline:
    """Something seen in a picture, in its own pixels; `what` is block, box, inside or tip."""

    what: str
    points_px: Sequence[Pixel]


@dataclass(frozen=True, slots=True)
class Shown:
    """A picture as the page has it, or why it has none. `size_px` is that of the picture as it was taken."""

    label: str
    data_uri: str | None
    size_px: tuple[int, int]
    outlines: tuple[Outline, ...] = ()
    problem: str | None = None
    note: str | None = None


def shown(
    capture: Capture, folder: Path, *, wide_px: int, outlines: Sequence[Outline] = (), note: str | None = None
) -> Shown:
    """One picture of a log, at most `wide_px` wide."""
    image, problem = read_picture(capture.image, folder)
    if image is None:
        return Shown(capture.label, None, (0, 0), problem=problem)
    high, wide = image.shape[:2]
    if wide > wide_px:
        small = (wide_px, max(1, round(high * wide_px / wide)))
        image = np.asarray(cv2.resize(image, small, interpolation=cv2.INTER_AREA), dtype=np.uint8)
    coded = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, 82])[1].tobytes()
    uri = "data:image/jpeg;base64," + base64.b64encode(coded).decode()
    return Shown(capture.label, uri, (wide, high), tuple(outlines), note=note)


def read_picture(name: str, folder: Path) -> tuple[Picture | None, str | None]:
    """A picture that a log names, (h, w, 3) BGR, or why there is none. What is too big isn't opened."""
    path = picture_path(name, folder)
    if path is None:
        return None, "the picture is not there"
    try:
        data = path.read_bytes() if path.stat().st_size <= MOST_BYTES else None
    except OSError as error:
        return None, (error.strerror or str(error)).lower()
    size = None if data is None else size_of(data)
    if data is None or (size is not None and size[0] * size[1] > MOST_PIXELS):
        return None, "the picture is too big to be shown"
    image = None if size is None else cv2.imdecode(np.frombuffer(data, dtype=np.uint8), cv2.IMREAD_COLOR)
    if image is None:
        return None, "the file is no picture that can be read"
    return np.asarray(image, dtype=np.uint8), None


def size_of(data: bytes) -> tuple[int, int] | None:
    """Width and height that a JPEG's or PNG's own header says; None for anything else."""
    if data[:8] == b"\x89PNG\r\n\x1a\n" and len(data) >= 24:
        width, height = struct.unpack(">II", data[16:24])
        return width, height
    if data[:2] != b"\xff\xd8":
        return None
    at = 2
    while at + 9 < len(data) and data[at] == 0xFF:
        kind = data[at + 1]
        if 0xC0 <= kind <= 0xCF and kind not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return width, height
        at += 2 + struct.unpack(">H", data[at + 2 : at + 4])[0] if kind != 0xFF else 1
    return None


def outlines_in(look: DetectRecord) -> tuple[Outline, ...]:
    """Block and box of one look at the table."""
    found = []
    if look.box is not None:
        found += [Outline("box", look.box.corners_px), Outline("inside", look.box.inside_px)]
    if look.block is not None:
        found.append(Outline("block", look.block.outline_px))
    return tuple(found)


def pictures_of(log: RunLog, folder: Path, *, wide_px: int, only: Sequence[str] | None = None) -> list[Shown]:
    """The pictures of a run in the order in which they were taken, with what was seen in each.

    Block and box are drawn where they were found; in pictures after that the box is drawn where it had last been seen.

    Args:
        only: beginnings of labels; all by default.
    """
    looks = {image: look for look in log.detect for image in look.images}
    tips = {tip.image: tip.tip for tip in log.tip_measurements if tip.tip is not None}
    told = []
    box: tuple[Outline, ...] = ()
    for capture in log.vlm_captures:
        look = looks.get(capture.image)
        tip = tips.get(capture.image)
        note = None
        outlines: tuple[Outline, ...] = ()
        if look is not None:
            outlines = outlines_in(look)
            box = tuple(each for each in outlines if each.what == "inside") or box
        elif tip is not None:
            outlines = (Outline("tip", (tip.centre_px,)), *box)
        elif capture.label.startswith("place"):
            outlines, note = box, "the box where it was seen before" if box else None
        if only is None or capture.label.startswith(tuple(only)):
            told.append(shown(capture, folder, wide_px=wide_px, outlines=outlines, note=note))
    return told
