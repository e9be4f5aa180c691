"""The digital twin."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from runner.settings.section import Range, Section, Vec3


class TwinSettings(Section):
    """The digital twin: how the desk is set up and how imperfect it is. Never read by vision or the trial."""

    profile: Literal["perfect", "field", "uncalibrated"] = Field(
        "perfect", description="how imperfect arm and camera are"
    )
    desk_seed: int = Field(1, ge=0, description="uncalibrated: fixes what is off on this desk, in all its trials")
    seed: int = Field(1, ge=0, description="fixes block, box, yaws, light and noise")
    firmware: Literal["none", "new", "old"] = Field(
        "none", description="none: driven directly; new, old: by the driver of a real arm, through its firmware"
    )
    faults: tuple[str, ...] = Field(
        (), description="what goes wrong with arm and camera: NAME, at a random moment, or NAME@SECONDS"
    )
    servos_c: float = Field(35.0, ge=0, le=100, description="how warm the servos are at the start")
    slip_deg: tuple[float, float, float, float, float, float] = Field(
        (0.0,) * 6, description="joints that have slipped by so much, unseen by their encoders"
    )
    block_mass_g: float = Field(16.0, gt=0, description="mass of the block")
    pad_friction: float = Field(1.0, gt=0, description="friction of the finger pads")
    table_friction: float = Field(0.6, gt=0, description="friction of table and box")
    camera_position_m: Vec3 = Field((0.0, 0.90, 0.20), description="the camera in the cell frame")
    camera_look_at_m: Vec3 = Field((0.0, 0.0, 0.20), description="the point that it looks at")
    camera_fov_deg: float = Field(60.0, gt=10, lt=120, description="horizontal field of view")
    lens_k1: float = Field(-0.12, description="first radial distortion")
    lens_k2: float = Field(0.04, description="second radial distortion")
    light_height_m: float = Field(1.2, gt=0.3, description="the lamp over the table")
    clutter: bool = Field(True, description="a mug, a roll of tape and a cable at the desk's edges")
    timestep_s: float = Field(0.004, ge=0.0005, le=0.005, description="physics step")
    block_x_min_m: float = Field(0.05, description="random starts: block at x from here")
    block_r_m: Range = Field((0.15, 0.30), description="random starts: distance of the block from the base axis")
    box_x_max_m: float = Field(-0.05, description="random starts: box at x up to here")
    box_r_m: Range = Field((0.16, 0.33), description="random starts: distance of the box from the base axis")
