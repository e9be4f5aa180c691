"""A part of the table as squares: where a map of holes, a fill or a picture looks.

Squares and numbers only; knows no arm and no row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import ndimage

from runner.config import Config
from runner.kinematics.model import FloatArray
from runner.table.errors import BadQuery
from runs.schema.geometry import TablePoint

FillPhase = Literal["pick", "place"]
Square = tuple[int, int]
"""Its centre, (x, z) in millimetres."""

DEFAULT_STEP_MM = 20
DEFAULT_TOLERANCE_MM = 10.0
_MOST_SQUARES = 20_000


@dataclass(frozen=True, slots=True)
class Region:
    """Squares whose centres stand on a grid: x from one end to the other, z upwards. Whole millimetres."""

    x_mm: tuple[int, int]
    z_mm: tuple[int, int]
    step_mm: int = DEFAULT_STEP_MM

    @classmethod
    def of(cls, x_m: tuple[float, float], z_m: tuple[float, float], step_mm: int = DEFAULT_STEP_MM) -> Region:
        """A region from metres.

        Raises:
            BadQuery: not finite, no size, or so many squares that it must be a mistake.
        """
        for name, pair in (("x", x_m), ("z", z_m)):
            if not np.isfinite(pair).all() or max(abs(c) for c in pair) > 1.0:
                raise BadQuery("region", f"{name} must run between two places on the table in metres, got {pair}")
        if not 1 <= step_mm <= 100:
            raise BadQuery("step_mm", f"must be 1 to 100 mm, got {step_mm}")
        (x0, x1), (z0, z1) = ((round(c * 1000) for c in pair) for pair in (x_m, z_m))
        region = cls((x0, x1), (min(z0, z1), max(z0, z1)), step_mm)
        if len(region) > _MOST_SQUARES:
            raise BadQuery("region", f"{len(region)} squares are too many (at most {_MOST_SQUARES})")
        return region

    @property
    def xs_mm(self) -> list[int]:
        """Centres in x, in the order of the region."""
        a, b = self.x_mm
        step = self.step_mm if b >= a else -self.step_mm
        return list(range(a, b + (1 if step > 0 else -1), step))

    @property
    def zs_mm(self) -> list[int]:
        """Centres in z, upwards."""
        return list(range(self.z_mm[0], self.z_mm[1] + 1, self.step_mm))

    @property
    def squares(self) -> list[Square]:
        """All squares, by x as the region runs, then by z."""
        return [(x, z) for x in self.xs_mm for z in self.zs_mm]

    def __len__(self) -> int:
        """How many squares."""
        return len(self.xs_mm) * len(self.zs_mm)

    def square_of(self, point_xz_m: TablePoint) -> Square | None:
        """The square that a point lies in, of two the one with the nearest centre; None outside the region."""
        square = tuple(
            min(line, key=lambda c: (abs(c - p * 1000.0), c)) for line, p in zip(self._lines, point_xz_m, strict=True)
        )
        off = max(abs(c - p * 1000.0) for c, p in zip(square, point_xz_m, strict=True))
        return (square[0], square[1]) if off <= self.step_mm / 2 + 1e-6 else None

    @property
    def _lines(self) -> tuple[list[int], list[int]]:
        return self.xs_mm, self.zs_mm


@dataclass(frozen=True, slots=True)
class Ground:
    """What a square is asked for: the region, a band of heights, and what counts as near enough."""

    phase: FillPhase
    region: Region
    band_y_m: tuple[float, float]  # from, up to but not with
    tolerance_mm: float  # in x and in z
    dist_max_m: float
    joint_tol_deg: float | None  # to the approach pose; None: any
    floor_y_m: float | None
    arc_x_residual_m: float  # of an arc's approach

    @classmethod
    def of(
        cls,
        config: Config,
        phase: FillPhase = "place",
        *,
        region: Region | None = None,
        band_y_m: tuple[float, float] | None = None,
        tolerance_mm: float = DEFAULT_TOLERANCE_MM,
    ) -> Ground:
        """As the settings have it; a pick is not held near its approach pose.

        Raises:
            BadQuery: a band or a tolerance that can't be meant.
        """
        t = config.table
        place = phase == "place"
        band = band_y_m or (t.place_band_y_m if place else t.pick_band_y_m)
        if not (np.isfinite(band).all() and -0.5 < band[0] < band[1] < 1.0):
            raise BadQuery("band", f"must run upwards between two heights in metres, got {band}")
        if not 0.0 < tolerance_mm <= 50.0:
            raise BadQuery("tolerance_mm", f"must be over 0 and at most 50 mm, got {tolerance_mm}")
        return cls(
            phase=phase,
            region=region or (PLACE_REGION if place else PICK_REGION),
            band_y_m=band,
            tolerance_mm=tolerance_mm,
            dist_max_m=t.dist_max_m,
            joint_tol_deg=t.joint_tol_deg if place else None,
            floor_y_m=t.place_floor_y_m if place else None,
            arc_x_residual_m=t.arc_x_residual_m,
        )


PLACE_REGION = Region((-50, -330), (100, 340))
PICK_REGION = Region((50, 330), (100, 340))


def patches(squares: Sequence[Square], step_mm: int) -> list[list[Square]]:
    """The squares sorted into patches that hang together, corners included; the largest first."""
    if not squares:
        return []
    at = np.array(squares) // step_mm
    at -= at.min(axis=0)
    grid = np.zeros(at.max(axis=0) + 1, dtype=int)
    grid[at[:, 0], at[:, 1]] = 1
    labels, count = ndimage.label(grid, structure=np.ones((3, 3)))
    found: list[list[Square]] = [[] for _ in range(count)]
    for square, (i, j) in zip(squares, at, strict=True):
        found[int(labels[i, j]) - 1].append(square)
    return sorted(found, key=lambda patch: (-len(patch), patch[0]))


def said(patch: Sequence[Square]) -> str:
    """A patch in words: how many squares, from where to where."""
    x, z = np.array(patch).T
    return f"{len(patch)} squares, x {x.min()}…{x.max()}, z {z.min()}…{z.max()} mm"


def centres_m(squares: Sequence[Square]) -> FloatArray:
    """Centres of squares, shape (N, 2), metres."""
    return np.asarray(np.array(squares, dtype=float).reshape(-1, 2) / 1000.0)
