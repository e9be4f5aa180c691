"""What detectors get and give: settings in, a frozen result with reasons out.

A detector never guesses: what it isn't sure of is in `dropped` with a reason, and `best` is None.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Protocol, Self, TypeVar

from pydantic import Field, model_validator

from runs.schema.base import Record
from runs.schema.detection import BlockDetection, BoxDetection, Dropped, TipDetection
from vision.calibration.view import View
from vision.cameras.protocol import Picture
from vision.errors import WrongPictureSize

T_co = TypeVar("T_co", BlockDetection, BoxDetection, TipDetection, covariant=True)

BLOCK_SIDE_RANGE_MM = (20.0, 45.0)  # what the adaptive gripper holds


class Region(Record):
    """A rectangle of the table in which things count, metres, cell frame."""

    x_min_m: float
    x_max_m: float
    z_min_m: float
    z_max_m: float

    @model_validator(mode="after")
    def _has_an_inside(self) -> Self:
        if not (self.x_min_m < self.x_max_m and self.z_min_m < self.z_max_m):
            raise ValueError("the region's minimum must lie below its maximum")
        return self

    def holds(self, x_m: float, z_m: float) -> bool:
        """Whether a table point lies inside."""
        return self.x_min_m <= x_m <= self.x_max_m and self.z_min_m <= z_m <= self.z_max_m


class LearnedColour(Record):
    """A colour taken from a picture: hue, saturation and brightness of a face, and how far the hue spreads."""

    hue_deg: float = Field(ge=0, lt=360)
    saturation: float = Field(ge=0, le=1)
    value: float = Field(ge=0, le=1)
    hue_spread_deg: float = Field(default=12.0, gt=0, le=90)


class DetectSettings(Record):
    """What to look for. Lengths as measured on the real things; `region` None means wherever the camera looks."""

    colour: str = "red"
    learned: LearnedColour | None = None
    block_side_mm: float = Field(default=30.0, ge=BLOCK_SIDE_RANGE_MM[0], le=BLOCK_SIDE_RANGE_MM[1])
    block_side_tolerance: float = Field(default=0.15, gt=0, le=1)
    box_outer_mm: tuple[float, float] = (120.0, 120.0)
    box_wall_height_mm: float = Field(default=43.0, gt=0)
    box_wall_mm: float = Field(default=3.0, gt=0)
    region: Region | None = None
    score_limit: float = Field(default=0.5, ge=0, le=1)
    tip_colour: str = "blue"
    tip_marker_id: int | None = None
    tip_marker_dictionary: str = "DICT_4X4_50"


@dataclass(frozen=True, slots=True)
class Found(Generic[T_co]):
    """What one picture showed: the best, all that were accepted (best first), and what was dropped and why."""

    best: T_co | None
    accepted: tuple[T_co, ...]
    dropped: tuple[Dropped, ...]


class Detector(Protocol[T_co]):
    """Finds one kind of thing in one picture; pixels only where there is no view."""

    def __call__(self, image_bgr: Picture, view: View | None, settings: DetectSettings) -> Found[T_co]: ...


def check_fits(image_bgr: Picture, view: View | None) -> None:
    """Refuse a picture of another size than the calibration's.

    Raises:
        WrongPictureSize: the table figures would be wrong.
    """
    if view is not None and not view.matches(image_bgr):
        raise WrongPictureSize("the picture", view.size_px, (image_bgr.shape[1], image_bgr.shape[0]))
