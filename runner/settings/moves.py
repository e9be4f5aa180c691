"""How poses are looked up and what is checked before a move."""

from __future__ import annotations

from pydantic import Field

from runner.settings.section import Range, Section, Vec2


class TableSettings(Section):
    """Lookups in the reach table and the approach tables."""

    pick_band_y_m: Range = Field((0.010, 0.040), description="heights of rows for a pick: from, up to")
    place_band_y_m: Range = Field((0.070, 0.100), description="heights of rows for a place: from, up to")
    place_floor_y_m: float = Field(0.070, ge=0, description="no place pose below this")
    dist_max_m: float = Field(0.030, gt=0, description="nearest row may be at most this far in the x-z plane")
    joint_tol_deg: float = Field(15.0, gt=0, description="place: every joint within this of the approach pose")
    arc_x_residual_m: float = Field(0.020, gt=0, description="arc approach: limit of the residual in x")
    grasp_y_m: float = Field(
        0.022, gt=0, description="height of the tool point at the grasp; higher where tips need it"
    )
    release_y_m: float = Field(0.085, gt=0, description="height of the tool point at the release")
    tip_clearance_m: float = Field(0.006, ge=0, description="kept between fingertips and table at the grasp")
    lift_m: Vec2 = Field((0.030, 0.055), description="approach pose before the target, along the tool: place, pick")
    refine_mm: float = Field(1.0, gt=0, description="the commanded pose misses its target by at most this")
    tries: int = Field(24, ge=1, description="rows and postures tried before a target is refused")


class GuardSettings(Section):
    """Margins of the path check."""

    table_mm: float = Field(1.0, ge=0, description="least clearance of arm and gripper to the table")
    box_mm: float = Field(3.0, ge=0, description="least clearance to the box walls")
    mast_mm: float = Field(10.0, ge=0, description="least clearance to the camera's mast")
    self_mm: float = Field(2.0, ge=0, description="least clearance of the arm to itself")
    block_mm: float = Field(
        0.5,
        ge=0,
        description="least clearance to a block on the table; wide ones leave open jaws 1.3 mm a side at most",
    )
    max_offset_deg: float = Field(
        6.0, gt=0, description="what a command may differ from where the arm is meant to get to, to take off its sag"
    )
    sweep_step_deg: float = Field(2.0, gt=0, description="largest joint step between two poses that are checked")
