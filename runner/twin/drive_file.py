"""What was learned of an arm's drive train from its own runs (`calibration/drive.json`), and the profile made of it.

Holds and keeps it; how it is found is said in `drive_fit.py`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from runner.twin.profiles import FIELD, Profile
from vision.calibration.kept import FILE_VERSION, Kept, load

DRIVE_KIND = "drive"


class DriveFile(Kept):
    """One arm's sag, dead band, lag and what neither explains; degrees, one a joint.

    `left_deg` is what corrected joints were left beside their goals at so many grasps, in the mean, with its spread;
    empty where there were too few. `before_deg` and `after_deg` are the parity error on moves that the fit had not
    seen: recorded error less the twin's, root mean square over joints, with the profile `before` and with this one.
    """

    kind: Literal["drive"] = "drive"
    version: Literal[1] = FILE_VERSION
    arm_model: str
    offset_deg: tuple[float, ...]
    half_width_deg: tuple[float, ...]
    lag_deg: tuple[float, ...]
    lag_s: float
    ripple_deg: tuple[float, ...]
    left_deg: tuple[float, ...] = ()
    left_sd_deg: tuple[float, ...] = ()
    grasps: int = 0
    moves: int
    held_out: int
    before: str
    before_deg: float
    after_deg: float
    tip_bias_mm: tuple[float, float] | None = None
    tip_sd_mm: tuple[float, float] | None = None
    tips: int = 0
    pad_friction: float | None = None
    picks: int = 0

    @property
    def truer(self) -> bool:
        """Whether the fit made the twin truer on the moves left out."""
        return self.after_deg < self.before_deg

    @property
    def profile(self) -> Profile:
        """As the twin takes it; zeros that no encoder sees are not in it."""
        return Profile(
            "fitted",
            offset_deg=self.offset_deg,
            half_width_deg=self.half_width_deg,
            lag_deg=self.lag_deg,
            lag_s=self.lag_s,
            ripple_deg=self.ripple_deg,
            zero_sigma_deg=FIELD.zero_sigma_deg,
            left_deg=self.left_deg,
            left_sd_deg=self.left_sd_deg,
        )


def has_drive_file(folder: Path) -> bool:
    """Whether a calibration folder holds one."""
    return (folder / f"{DRIVE_KIND}.json").exists()


def load_drive_file(folder: Path) -> DriveFile:
    """That of a calibration folder.

    Raises:
        CalibrationMissing, CalibrationUnreadable.
    """
    return load(folder, DriveFile, kind=DRIVE_KIND)


def drive_of(folder: Path, arm_model: str) -> Profile:
    """How this arm's joints sag and lag: as fitted, or as the field's arm did where nothing was fitted to this one.

    Raises:
        CalibrationUnreadable: there is a file, and it can't be used.
    """
    if not has_drive_file(folder):
        return FIELD
    file = load_drive_file(folder)
    return file.profile if file.arm_model == arm_model else FIELD
