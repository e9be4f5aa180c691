"""What calibration found of a cell's arm: where the gripper sits, where the joints' zeros are (`calibration/arm.json`).

Holds it, keeps it in a file and lays it over the settings, which is how all of the program comes to use it. How it is
found is said in `runner/calibrate`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from runner.config import Config
from runner.settings.arm import ArmSettings
from runs.schema.base import Record
from runs.schema.geometry import Joints, Pixel, Point
from vision.calibration.kept import FILE_VERSION, Kept, load

ARM_KIND = "arm"


class FittedParameter(Record):
    """One unknown of the arm's fit: what came out, how sure that is, and what was held likely before (all in `unit`).

    `determined` False: the data say less of it than was known before, so it was left as it was.
    """

    name: str
    unit: Literal["deg", "mm"]
    value: float
    sigma: float
    prior: float
    prior_sigma: float
    determined: bool


class RegionError(Record):
    """Errors on points of one region that the fit had not seen, mm."""

    region: str
    n: int
    median_mm: float
    worst_mm: float


class HeldOut(Record):
    """Errors on points that the fit had not seen, mm, all together and by region."""

    n: int
    median_mm: float
    worst_mm: float
    regions: tuple[RegionError, ...] = ()


class CheckPose(Record):
    """A pose at which the fingertips were looked at right after calibrating, to find later whether a joint slipped.

    `goal_deg` is where the arm was sent, `encoder_deg` what its encoders said there, `ends_px` where both fingertips
    were seen: the one on the side of the tool's x first.
    """

    goal_deg: Joints
    encoder_deg: Joints
    ends_px: tuple[Pixel, Pixel]


class ArmFile(Kept):
    """The arm as calibrated. Angles in degrees, lengths in mm; `method` says how the tool was followed."""

    kind: Literal["arm"] = "arm"
    version: Literal[1] = FILE_VERSION
    method: Literal["seen", "touched"]
    arm_model: str
    tcp_mm: Point
    tool_shift_mm: Point
    joint_zero_deg: Joints
    parameters: tuple[FittedParameter, ...]
    confused: tuple[str, ...] = ()
    singular_values: tuple[float, ...]
    n_poses: int
    n_dropped: int
    rms_before_mm: float
    rms_mm: float
    rms_px: float | None = None
    held_out: HeldOut
    calibration_hashes: dict[str, str] = Field(default_factory=dict)
    check_poses: tuple[CheckPose, ...] = ()


def load_arm_file(folder: Path) -> ArmFile:
    """The arm's file of a calibration folder.

    Raises:
        CalibrationMissing, CalibrationUnreadable.
    """
    return load(folder, ArmFile, kind=ARM_KIND)


def has_arm_file(folder: Path) -> bool:
    """Whether the arm of this calibration folder was ever calibrated."""
    return (folder / f"{ARM_KIND}.json").exists()


def as_calibrated(config: Config, folder: Path) -> Config:
    """The settings with what was calibrated of the arm laid over them, where they don't say it themselves.

    Raises:
        CalibrationUnreadable: there is a file, and it can't be used.
    """
    if not has_arm_file(folder):
        return config
    file = load_arm_file(folder)
    if file.arm_model != model_name(config):
        return config  # another arm stands there now; what was found of the one before says nothing of it
    return laid_over(config, file.tool_shift_mm, file.joint_zero_deg)


def model_name(config: Config) -> str:
    """What the arm of the settings is called: a shipped name, or its file's, wherever that lies."""
    return Path(config.arm.model).name


def laid_over(config: Config, tool_shift_mm: Point, joint_zero_deg: Joints) -> Config:
    """The settings with this tool and these zeros where they don't say others themselves."""
    said = config.arm
    found: dict[str, object] = {}
    if not any(said.tool_shift_mm):
        found["tool_shift_mm"] = tool_shift_mm
    if not any(said.joint_zero_deg):
        found["joint_zero_deg"] = joint_zero_deg
    return config.model_copy(update={"arm": said.model_copy(update=found)})


def as_delivered(config: Config) -> Config:
    """The settings without anything calibrated of the arm: where a fit begins."""
    plain = ArmSettings.model_fields
    known = {name: plain[name].default for name in ("tool_shift_mm", "joint_zero_deg")}
    return config.model_copy(update={"arm": config.arm.model_copy(update=known)})
