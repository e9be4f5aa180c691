"""What a judge gets and gives: evidence in, a verdict out.

The evidence holds pictures and measurements, never what the controller believes, aimed at or expects.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import Literal, Protocol

from runs.schema.motion import GripReading
from runs.schema.verdict import JudgedStage, Verdict
from vision.calibration.view import View
from vision.cameras.protocol import Picture
from vision.detect.protocol import DetectSettings

Role = Literal["before", "after"]


@dataclass(frozen=True, slots=True, eq=False)
class LabelledPicture:
    """One picture of the evidence: (h, w, 3) blue-green-red, its label and on which side of the step it was taken."""

    label: str
    role: Role
    image_bgr: Picture

    @property
    def sha256(self) -> str:
        """Hash of the pixels, for the audit."""
        return sha256(self.image_bgr.tobytes()).hexdigest()


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """What is put before a judge. Pictures run from before to after, the decisive one last."""

    stage: JudgedStage
    pictures: tuple[LabelledPicture, ...]
    grip: GripReading | None
    settings: DetectSettings
    view: View | None = None
    attempt: int = 1

    def last(self, role: Role) -> LabelledPicture | None:
        """The last picture of that role."""
        return next((p for p in reversed(self.pictures) if p.role == role), None)


class Judge(Protocol):
    """Says yes, no or unsure of one step, with its reason."""

    @property
    def name(self) -> str:
        """How it is called in the log."""
        ...

    def judge(self, evidence: Evidence) -> Verdict:
        """A verdict; one without a word (`verdict` None) says in `error` why there is none."""
        ...
