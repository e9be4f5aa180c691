"""What was seen: block, box and gripper tip, each with its place, its spread and how sure it is."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from runs.schema.base import Record
from runs.schema.geometry import Pixel, TablePoint

Seen = Literal["block", "box", "tip"]


class Dropped(Record):
    """A candidate that was looked at and not taken, and why."""

    what: Seen
    centre_px: Pixel
    area_px: float
    reason: str


class BlockDetection(Record):
    """One block. Table figures are None without a calibration.

    `xz_m` is where the cube's centre stands over the table; `yaw_deg` is the direction of one of its edges in
    [-45, 45), from +x toward +z. `spread_mm` is the largest distance of a capture that was used from the median.
    """

    centre_px: Pixel
    angle_px_deg: float
    size_px: tuple[float, float]
    outline_px: tuple[Pixel, ...]
    score: float = Field(ge=0, le=1)
    colour: str
    touches_border: bool
    xz_m: TablePoint | None = None
    yaw_deg: float | None = None
    size_mm: float | None = None
    spread_px: float = 0.0
    spread_mm: float | None = None
    n_captures: int = 1


class BoxDetection(Record):
    """The open box. `inside_*` is the polygon of the inner walls at rim height; corners are those of the outer rim."""

    centre_px: Pixel
    corners_px: tuple[Pixel, ...]
    inside_px: tuple[Pixel, ...]
    score: float = Field(ge=0, le=1)
    touches_border: bool
    xz_m: TablePoint | None = None
    yaw_deg: float | None = None
    size_mm: tuple[float, float] | None = None
    inside_xz_m: tuple[TablePoint, ...] | None = None
    spread_px: float = 0.0
    spread_mm: float | None = None
    n_captures: int = 1


class TipDetection(Record):
    """The middle between the gripper's fingertips, placed at the height that it is known to have.

    `ends_px` are the two fingertips themselves, in no order; None by marker.
    """

    centre_px: Pixel
    score: float = Field(ge=0, le=1)
    method: Literal["marker", "fingers"]
    ends_px: tuple[Pixel, Pixel] | None = None
    xz_m: TablePoint | None = None
    height_y_m: float | None = None
    spread_mm: float | None = None
    n_captures: int = 1


class DetectRecord(Record):
    """One look at the table (the field log's `detect` entry and what is known beyond it)."""

    stage: int | str
    source: str
    block_xz_m: TablePoint | None
    box_xz_m: TablePoint | None
    block_score: float | None
    box_score: float | None
    n_captures: int
    top_camera_index: int | str | None = None
    at: str | None = None
    attempt: int | None = None
    arm_joints_deg: tuple[float, ...] | None = None
    block: BlockDetection | None = None
    box: BoxDetection | None = None
    dropped: tuple[Dropped, ...] = ()
    images: tuple[str, ...] = ()
    note: str | None = None
