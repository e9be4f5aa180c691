"""What a judge gets and gives: evidence in, a verdict out.

The evidence holds pictures and measurements, never what the controller believes, aimed at or expects.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal, Protocol

from runs.schema.motion import GripReading
from runs.schema.verdict import JudgedStage, SentImage, Verdict
from vision.calibration.view import View
from vision.cameras.protocol import Picture
from vision.detect.protocol import DetectSettings

Role = Literal["before", "during", "after"]

Keep = Callable[[str, bytes, int, int], str]
"""Keeps a picture that is sent: label, JPEG bytes, width and height in px; returns where it is, as in `Capture`."""


@dataclass(frozen=True, slots=True, eq=False)
class LabelledPicture:
    """One picture of the evidence: (h, w, 3) blue-green-red, its label and on which side of the step it was taken.

    A closer look at what another picture shows is a `crop`; `source_sha256` is the hash of the file it was read from.
    """

    label: str
    role: Role
    image_bgr: Picture
    crop: bool = False
    source_sha256: str | None = None

    @property
    def sha256(self) -> str:
        """Hash of the pixels, for the audit."""
        return sha256(self.image_bgr.tobytes()).hexdigest()


@dataclass(frozen=True, slots=True, eq=False)
class KeptPicture:
    """A picture as a model got it once: its bytes, and what its audit says of it."""

    record: SentImage
    jpeg: bytes


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """What is put before a judge. Pictures run from before to after, the decisive one last.

    `repeat` counts the asks of one judge about one step, from 0: a later ask puts the pictures in another order or the
    question in other words, so that an answer that hangs on either shows. What measures need not heed it. `keep` is
    called with every picture that leaves the house, before it does; None where nobody keeps them. `sent` are the
    pictures that a model got about this step before: a model gets these again, byte for byte, where it would be sent
    the same ones. A judge that waits for somebody gives up, without a verdict, as soon as `given_up` says so.
    """

    stage: JudgedStage
    pictures: tuple[LabelledPicture, ...]
    grip: GripReading | None
    settings: DetectSettings
    view: View | None = None
    attempt: int = 1
    repeat: int = 0
    keep: Keep | None = None
    sent: tuple[KeptPicture, ...] = ()
    given_up: Callable[[], bool] | None = None

    def last(self, role: Role) -> LabelledPicture | None:
        """The last whole picture of that role."""
        return next((p for p in reversed(self.pictures) if p.role == role and not p.crop), None)


class Judge(Protocol):
    """Says yes, no or unsure of one step, with its reason."""

    @property
    def name(self) -> str:
        """How it is called in the log."""
        ...

    def judge(self, evidence: Evidence) -> Verdict:
        """A verdict; one without a word (`verdict` None) says in `error` why there is none."""
        ...
