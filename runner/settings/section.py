"""What all sections of settings are, and the kinds of value that several hold."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict

Vec2 = tuple[float, float]
Vec3 = tuple[float, float, float]


class Section(BaseModel):
    """Base of all sections: frozen, without unknown keys, without NaN."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, strict=False)


def _upwards(pair: Vec2) -> Vec2:
    lo, hi = pair
    if not lo < hi:
        raise ValueError(f"it must run upwards, and {lo} is not below {hi}")
    return pair


Range = Annotated[Vec2, AfterValidator(_upwards)]
"""From, to: two numbers that run upwards."""
