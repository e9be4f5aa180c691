"""Trying a motion in the twin before the arm makes it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from runner.settings.section import Section


class RehearseSettings(Section):
    """Trying a pick in the twin before the arm makes it. Spreads are standard deviations of what is not known."""

    policy: Literal["off", "on-doubt", "always"] = Field(
        "off", description="on-doubt: where the way is awkward, the block was seen badly, or a pick failed before"
    )
    tries: int = Field(128, ge=16, le=2048, description="tries of one rehearsal, over all ways")
    choices: int = Field(12, ge=2, le=40, description="most ways that are tried")
    limit_s: float = Field(20.0, gt=0, description="where an arm of metal waits: then what was tried so far decides")
    seed: int = Field(1, ge=0, description="of the disturbances; the attempt's number is added")
    block_sd_mm: float = Field(2.0, ge=0, description="spread of where the block is; what captures differ by is added")
    block_sd_deg: float = Field(3.0, ge=0, description="spread of how it is turned")
    box_sd_mm: float = Field(2.0, ge=0, description="spread of where the box is")
    box_sd_deg: float = Field(2.0, ge=0, description="spread of how it is turned")
    zero_sd_deg: float = Field(0.3, ge=0, description="spread of a joint's zero, which its encoder does not see")
    pad_friction: float = Field(0.7, gt=0, description="friction of the pads, as far as it is known")
    table_friction: float = Field(0.5, gt=0, description="friction of table and box, as far as it is known")
    friction_factor: float = Field(1.8, ge=1, description="two thirds of all pads and tables lie within this factor")
