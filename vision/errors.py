"""The errors of seeing: pictures, cameras, calibrations. Each keeps its facts and says what to do next.

A block or box that is not found is no error but a result (`Found` with `best=None` and reasons).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from runs.errors import Family, TrialcellError


class VisionError(TrialcellError):
    """Root of everything that vision raises on purpose."""

    family: ClassVar[Family] = "invalid"


class NotAPicture(VisionError):
    """A file or array that can't be used as a colour picture."""

    family: ClassVar[Family] = "usage"

    def __init__(self, what: Path | str, why: str) -> None:
        self.what, self.why = what, why
        super().__init__(f"{what} is no picture that can be read: {why}", next_step="give a JPEG, PNG or video file")


class CameraUnavailable(VisionError):
    """A camera that can't be opened or that stopped giving pictures."""

    family: ClassVar[Family] = "device"

    def __init__(self, camera: str, why: str, *, next_step: str | None = None) -> None:
        self.camera, self.why = camera, why
        super().__init__(
            f"camera {camera} is not available: {why}",
            next_step=next_step or "check the cable and the name, then: trialcell doctor",
        )


class WrongPictureSize(VisionError):
    """A camera that gives another size than asked for, or a picture that doesn't fit its calibration."""

    def __init__(self, what: str, wanted_px: tuple[int, int], got_px: tuple[int, int]) -> None:
        self.what, self.wanted_px, self.got_px = what, wanted_px, got_px
        super().__init__(
            f"{what} is {got_px[0]}×{got_px[1]} px where {wanted_px[0]}×{wanted_px[1]} px was expected",
            next_step="set the camera's size as it was when calibrated, or calibrate again",
        )


class FrameStale(VisionError):
    """A picture that is older than allowed: the camera hands out what lay in its buffer."""

    family: ClassVar[Family] = "device"

    def __init__(self, camera: str, age_s: float, allowed_s: float) -> None:
        self.camera, self.age_s, self.allowed_s = camera, age_s, allowed_s
        super().__init__(
            f"camera {camera} gave a picture {age_s:.1f} s old (allowed {allowed_s:.1f} s)",
            next_step="close other programs that use the camera, or plug it in again",
        )


class CameraFrozen(VisionError):
    """A camera that hangs and gives one picture again and again."""

    family: ClassVar[Family] = "device"

    def __init__(self, camera: str, pictures: int) -> None:
        self.camera, self.pictures = camera, pictures
        super().__init__(
            f"camera {camera} hangs: {pictures} pictures in a row are equal to the last bit",
            next_step="plug it in again, then: trialcell doctor",
        )


class UnknownColour(VisionError):
    """A colour name that the detectors don't know."""

    family: ClassVar[Family] = "usage"

    def __init__(self, name: str, known: Sequence[str]) -> None:
        self.name, self.known = name, tuple(known)
        super().__init__(
            f"no colour is called {name!r}; known: {', '.join(known)}",
            next_step="use one of these names, or learn the colour from a click on the block",
        )


class CannotLearnColour(VisionError):
    """A click that does not lie on one clear colour."""

    family: ClassVar[Family] = "usage"

    def __init__(self, px: tuple[float, float], why: str) -> None:
        self.px, self.why = px, why
        super().__init__(
            f"no colour can be learned at pixel ({px[0]:.0f}, {px[1]:.0f}): {why}",
            next_step="click on the middle of a face of the block",
        )


class CalibrationMissing(VisionError):
    """A calibration file that isn't there."""

    def __init__(self, path: Path, kind: str) -> None:
        self.path, self.kind = path, kind
        super().__init__(f"no {kind} calibration at {path}", next_step=f"make one: trialcell calibrate {kind}")


class CalibrationUnreadable(VisionError):
    """A calibration file that is cut off, edited by hand or of another kind."""

    def __init__(self, path: Path, why: str) -> None:
        self.path, self.why = path, why
        super().__init__(
            f"calibration {path} can't be used: {why}", next_step="calibrate again: trialcell calibrate lens | plane"
        )


class BoardNotFound(VisionError):
    """No calibration board, or too little of it, in a picture."""

    def __init__(self, picture: str, found: int, needed: int) -> None:
        self.picture, self.found, self.needed = picture, found, needed
        super().__init__(
            f"{found} board corners in {picture}, {needed} needed",
            next_step="show the whole board, flat, sharp and without glare, and check its size and dictionary",
        )


class CalibrationTooPoor(VisionError):
    """Views or points from which no honest calibration follows."""

    def __init__(self, kind: str, why: str, *, next_step: str) -> None:
        self.kind, self.why = kind, why
        super().__init__(f"the {kind} can't be calibrated from these: {why}", next_step=next_step)
