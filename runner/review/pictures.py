"""Pictures of a run for the browser: the file itself, or a part of it, never anything outside the cell.

A picture is named by its place in the run's own list, not by a path. What is too big, damaged or gone is said in words.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

import cv2
import numpy as np

from runner.review.errors import NotThere, TooBig
from runs.report.pictures import MOST_BYTES, MOST_PIXELS, size_of
from runs.schema.run import RunLog
from runs.store import StoredRun, picture_path
from runs.verdicts import answers_in

Part = tuple[int, int, int, int]
"""Left, top, width, height, pixels."""


@dataclass(frozen=True, slots=True)
class Served:
    """Bytes for the browser; `tag` changes whenever they do."""

    data: bytes
    kind: str
    tag: str


def names_of(log: RunLog) -> list[str]:
    """Every picture that a log names, each once: those taken, then those that a judge was sent."""
    sent = [image.image for verdict in log.verdicts for each in answers_in(verdict) for image in each.audit.images]
    looked = [image for look in log.detect for image in look.images]
    taken = [capture.image for capture in log.vlm_captures]
    judged = [judgment.image for judgment in log.judgments.values()]
    return list(dict.fromkeys(name for name in (*taken, *looked, *judged, *sent) if name))


def picture_bytes(stored: StoredRun, number: int) -> tuple[bytes, tuple[int, int]]:
    """The file of a picture of a run and the size that it says it has.

    Raises:
        NotThere: no such picture, or its file is gone, or no picture.
        TooBig: beyond what is opened here.
    """
    names = names_of(stored.log)
    if not 0 <= number < len(names):
        raise NotThere("that run has no such picture")
    path = picture_path(names[number], stored.entry.folder)
    if path is None:
        raise NotThere("the picture is not there")
    try:
        if path.stat().st_size > MOST_BYTES:
            raise TooBig("the picture is too big to be shown")
        data = path.read_bytes()
    except OSError as error:
        raise NotThere(f"the picture can't be read: {(error.strerror or str(error)).lower()}") from None
    size = size_of(data)
    if size is None:
        raise NotThere("the file is no picture that can be shown")
    if size[0] * size[1] > MOST_PIXELS:
        raise TooBig("the picture is too big to be shown")
    return data, size


def served(stored: StoredRun, number: int, part: Part | None = None) -> Served:
    """A picture as it is, or a part of it.

    Raises:
        NotThere, TooBig
    """
    data, (wide, high) = picture_bytes(stored, number)
    if part is None:
        kind = "image/png" if data.startswith(b"\x89PNG") else "image/jpeg"
        return Served(data, kind, sha256(data).hexdigest()[:16])
    left, top, width, height = part
    image = cv2.imdecode(np.frombuffer(data, dtype=np.uint8), cv2.IMREAD_COLOR)
    if image is None:
        raise NotThere("the file is no picture that can be shown")
    high, wide = image.shape[:2]
    left, top = max(0, left), max(0, top)
    cut = image[top : min(high, top + height), left : min(wide, left + width)]
    if not cut.size:
        raise NotThere("the picture has no such part")
    coded = cv2.imencode(".png", cut)[1].tobytes()
    return Served(coded, "image/png", sha256(coded).hexdigest()[:16])
