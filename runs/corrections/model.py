"""What lessons add up to: a model that says, for a point on the table, by how much the tip would miss it.

A model is frozen and has a hash of its own; whatever it was made from, it is used in one way only: what it says is
subtracted from the detected target, once. It learns nothing and reads no file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from math import hypot, radians, sqrt
from typing import Literal

from pydantic import Field

from runs.corrections.table import CorrectedPhase, Way, cell_key
from runs.schema.base import Record
from runs.schema.geometry import TablePoint
from runs.schema.run import CorrectionUse

RuleName = Literal["none", "field", "robust"]
Columns = Mapping[str, tuple[float, float]]


class Parameter(Record):
    """One figure of the global fit with its standard deviation, in `unit`."""

    name: str
    unit: Literal["mm", "deg", "%"]
    value: float
    sd: float


class LeftAlone(Record):
    """A figure that the lessons can't tell, so that it is taken to be right, and why."""

    name: str
    why: str


class SquareValue(Record):
    """What a square adds to the global fit, mm, from `n` lessons; half of them lie within `spread_mm` of the middle."""

    dx_mm: float
    dz_mm: float
    n: int
    spread_mm: float | None = None


class CorrectionModel(Record):
    """By how much the tip would miss, anywhere on the table.

    Keys of `squares` are cell keys, with `/left` or `/right` behind them where the tool came from there. A square of
    fewer than `enough` lessons is known but not used. `covariance` is that of the parameters, in their order and units.
    """

    rule: RuleName = "none"
    parameters: tuple[Parameter, ...] = ()
    covariance: tuple[tuple[float, ...], ...] = ()
    left_alone: tuple[LeftAlone, ...] = ()
    about_xz_mm: tuple[float, float] = (0.0, 0.0)
    squares: Mapping[str, SquareValue] = Field(default_factory=dict)
    enough: int = 1
    cap_mm: float | None = None
    noise_mm: float | None = None
    lessons: int = 0
    outliers: int = 0

    @property
    def content_hash(self) -> str:
        """SHA-256 of what it says."""
        ordered = self.model_copy(update={"squares": dict(sorted(self.squares.items()))})
        return hashlib.sha256(ordered.model_dump_json().encode()).hexdigest()

    @property
    def says_anything(self) -> bool:
        """Whether it corrects any point at all."""
        return bool(self.parameters) or any(square.n >= self.enough for square in self.squares.values())

    @property
    def asks_for_way(self) -> bool:
        """Whether it needs to know how the tool will come to a point."""
        return any("/" in key for key in self.squares) or any(one.name in OF_THE_WAY for one in self.parameters)

    def global_mm(self, xz_m: TablePoint, way: Way) -> tuple[float, float, float] | None:
        """What the global fit says of a point: (dx, dz) and its standard deviation, mm; None where it can't say."""
        if not self.parameters:
            return (0.0, 0.0, 0.0)
        found = columns_at(xz_m, way, self.about_xz_mm)
        if any(one.name not in found for one in self.parameters):
            return None
        rows = [found[one.name] for one in self.parameters]
        dx, dz = (sum(one.value * row[i] for one, row in zip(self.parameters, rows, strict=True)) for i in (0, 1))
        variance = sum(
            self.covariance[a][b] * rows[a][i] * rows[b][i]
            for i in (0, 1)
            for a in range(len(rows))
            for b in range(len(rows))
        )
        return dx, dz, sqrt(max(0.0, variance))

    def apply(
        self,
        phase: CorrectedPhase,
        detected_xz_m: TablePoint,
        way: Way | None = None,
        *,
        missed_mm: tuple[float, float] | None = None,
    ) -> tuple[TablePoint, CorrectionUse]:
        """Correct a detected target: `detected - what the model says`, at most `cap_mm`.

        Returns the target to aim at, metres, and the record of what was done, millimetres. Where the model says
        nothing, or needs to know a way that is None, the target stays as it is and the record says so.

        Args:
            missed_mm: by how much the attempt before missed with this same model, as the camera saw it; it is taken off
                as well.
        """
        key = cell_key(phase, detected_xz_m)
        come = way or Way()
        square = self.squares.get(square_key(key, come))
        wide = self.global_mm(detected_xz_m, come) if way is not None or not self.asks_for_way else None
        known = square is not None and square.n >= self.enough
        says = wide is not None and (known or bool(self.parameters))
        before_mm = (detected_xz_m[0] * 1000, detected_xz_m[1] * 1000)
        use = CorrectionUse(
            phase=phase,
            target_before_mm=before_mm,
            target_after_mm=before_mm,
            cell_key=key,
            dx_mm=None if square is None else square.dx_mm,
            dz_mm=None if square is None else square.dz_mm,
            n=0 if square is None else square.n,
            applied=False,
            model=None if self.rule == "none" else self.content_hash,
            missed_mm=missed_mm,
        )
        if not says and missed_mm is None:
            return detected_xz_m, use
        dx, dz = missed_mm or (0.0, 0.0)
        if says and wide is not None:
            dx, dz = dx + wide[0], dz + wide[1]
            if known and square is not None:
                dx, dz = dx + square.dx_mm, dz + square.dz_mm
        size, capped = hypot(dx, dz), False
        if self.cap_mm is not None and size > self.cap_mm:
            dx, dz, capped = dx * self.cap_mm / size, dz * self.cap_mm / size, True
        after_mm = (before_mm[0] - dx, before_mm[1] - dz)
        done = {"target_after_mm": after_mm, "dx_mm": dx, "dz_mm": dz, "applied": True, "capped": capped}
        sd = wide[2] if wide is not None and self.parameters else None
        return (after_mm[0] / 1000, after_mm[1] / 1000), use.model_copy(update={**done, "sd_mm": sd})


NO_MODEL = CorrectionModel()
"""Corrects nothing."""

JOINTS = tuple(f"j{number}" for number in range(16))
TOOL = ("tool_x", "tool_y", "tool_z")
OF_THE_WAY = frozenset((*JOINTS, *TOOL))
"""Parameters whose effect depends on how the tool comes to a point."""


def square_key(key: str, way: Way) -> str:
    """The key of a square's value for the direction from which the tool comes."""
    return key if way.direction == "ahead" else f"{key}/{way.direction}"


def columns_at(
    xz_m: TablePoint, way: Way, about_xz_mm: tuple[float, float], *, seen: bool = False
) -> dict[str, tuple[float, float]]:
    """By how many mm (x, z) the tip would miss a point for one unit of each parameter.

    Units: shift, height and tool mm, yaw and joints degrees, scale percent; yaw and scale are about `about_xz_mm`.
    Height, tool and joints are there where the way is known.

    Args:
        seen: as the camera sees it instead, which places a tip that is too high elsewhere.
    """
    x, z = xz_m[0] * 1000 - about_xz_mm[0], xz_m[1] * 1000 - about_xz_mm[1]
    found = {
        "shift_x": (1.0, 0.0),
        "shift_z": (0.0, 1.0),
        "yaw": (-z * radians(1), x * radians(1)),
        "scale": (x / 100, z / 100),
    }
    if way.parallax_mm is not None:
        found["height"] = way.parallax_mm
    for names, moved, up in (
        (TOOL, way.per_tool_mm, way.per_tool_up_mm),
        (JOINTS, way.per_joint_mm, way.per_joint_up_mm),
    ):
        px, pz = way.parallax_mm if seen and up and way.parallax_mm is not None else (0.0, 0.0)
        raised = up or (0.0,) * len(moved)
        found |= {name: (dx + px * dy, dz + pz * dy) for name, (dx, dz), dy in zip(names, moved, raised, strict=False)}
    return found
