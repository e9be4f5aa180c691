"""The desk: its name, its camera, what stands on it, and the board that it is calibrated with."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, ValidationInfo, field_validator

from runner.settings.section import Range, Section, Vec2

BLOCK_SIDE_MAX_MM = 43.0
JAWS_OPEN_MM = 44.6


def _between_the_jaws(side_mm: float) -> float:
    if side_mm > BLOCK_SIDE_MAX_MM:
        raise ValueError(f"a block may be at most {BLOCK_SIDE_MAX_MM:g} mm wide, for the jaws open {JAWS_OPEN_MM:g} mm")
    return side_mm


SidePx = Annotated[int, Field(ge=16, le=16_384)]
"""A side of a picture that a camera can deliver."""


class CellSettings(Section):
    """The cell itself."""

    id: str = Field("desk", min_length=1, description="name of this cell; stands in every run log")


class CameraSettings(Section):
    """The camera above the table."""

    kind: Literal["auto", "twin", "folder", "opencv"] = Field("auto", description="auto: the twin's with the twin arm")
    source: str = Field("", description="folder or video path; camera name, device path or index")
    size_px: tuple[SidePx, SidePx] = Field((1280, 720), description="width and height that the camera must deliver")
    captures: int = Field(3, ge=1, le=15, description="captures per detection")
    settle_s: float = Field(1.0, ge=0, description="wait before pictures, so that neither arm nor table shakes")
    mast_xz_m: Vec2 = Field((0.0, 0.50), description="foot of the camera's mast, kept clear by every path")
    mast_radius_m: float = Field(0.015, gt=0, description="half the mast's thickness")


class BlockSettings(Section):
    """The block."""

    colour: str = Field("red", description="red, orange, yellow, green, blue or purple, or learned with detect --learn")
    side_mm: Annotated[float, AfterValidator(_between_the_jaws)] = Field(
        30.0, ge=20, description=f"edge length, at most {BLOCK_SIDE_MAX_MM:g}: the jaws open {JAWS_OPEN_MM:g}"
    )


class BoxSettings(Section):
    """The open white box."""

    wall_height_mm: float = Field(43.0, gt=0, description="height of the rim over the table")
    wall_mm: float = Field(3.0, gt=0, description="thickness of walls and floor")
    outside_mm: Vec2 = Field((120.0, 120.0), validate_default=True, description="outer width and depth")
    score_limit: float = Field(0.5, ge=0, le=1, description="a box that scores less is not believed")
    fallback: bool = Field(False, description="use fallback_xz_m when no box is believed (off: the trial is invalid)")
    fallback_xz_m: Vec2 = Field((-0.010, 0.108), description="where the box is then taken to be")

    @field_validator("outside_mm")
    @classmethod
    def _room_between_walls(cls, outside_mm: Vec2, info: ValidationInfo) -> Vec2:
        wall_mm = info.data.get("wall_mm")  # not there when it is wrong itself
        if wall_mm is not None and min(outside_mm) <= 2 * wall_mm + 1:
            raise ValueError(f"each side must be more than two walls of {wall_mm:g} mm and 1 mm between them")
        return outside_mm


class WorkspaceSettings(Section):
    """The part of the table where blocks and boxes count; what lies outside is clutter."""

    x_m: Range = Field((-0.40, 0.40), description="from, to")
    z_m: Range = Field((0.0, 0.44), description="from, to")


class CalibrationSettings(Section):
    """The calibration board and where it lies for the plane."""

    board_squares: tuple[int, int] = Field((7, 5), description="squares across and down")
    board_square_mm: float = Field(30.0, gt=0, description="side of a square")
    board_marker_mm: float = Field(22.0, gt=0, description="side of a marker")
    board_xz_m: Vec2 = Field((0.0, 0.22), description="centre of the board when it lies on the table")
    board_yaw_deg: float = Field(0.0, description="direction of the board's long side, from +x toward +z")
    lens_views: int = Field(12, ge=6, description="tilted views for the lens")
    drift_every: int = Field(
        10, ge=0, description="a batch looks before every so many trials whether a joint slipped; 0: never"
    )
