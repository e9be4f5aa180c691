"""How many rows of the reach table lie over each 20 mm square of the table, in one band of heights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runner.table.rows import ReachTable

SQUARE_M = 0.020
_X_SQUARES = (-18, 18)  # centres at multiples of 20 mm, from and to
_Z_SQUARES = (-4, 19)
_MARKS = ((0, "."), (1, "1"), (10, "2"), (100, "3"), (1000, "4"))


@dataclass(frozen=True, slots=True, eq=False)
class Density:
    """Rows a square: `rows[i, j]` over the square at (x, z) = (first_x + 20 i, first_z + 20 j) mm."""

    rows: NDArray[np.int64]
    first_x_mm: int
    first_z_mm: int

    def drawn(self) -> str:
        """A map in letters: z upwards, x to the right; a digit is the power of ten, a dot an empty square."""
        lines = []
        for j in reversed(range(self.rows.shape[1])):
            marks = "".join(_mark(int(n)) + " " for n in self.rows[:, j])
            lines.append(f"z {self.first_z_mm + 20 * j:4d}  {marks}")
        last_x_mm = self.first_x_mm + 20 * (self.rows.shape[0] - 1)
        lines.append(
            f"        x {self.first_x_mm} … {last_x_mm} mm   . none  1 few  2 ten  3 a hundred  4 a thousand or more"
        )
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """For programs: counts by x, then z."""
        return {"first_x_mm": self.first_x_mm, "first_z_mm": self.first_z_mm, "step_mm": 20, "rows": self.rows.tolist()}


def density_map(table: ReachTable, band_y_m: tuple[float, float]) -> Density:
    """Count the rows whose height lies in the band (from, up to but not with), metres."""
    x, y, z = table.columns[:3]
    inside = (y >= band_y_m[0]) & (y < band_y_m[1])
    edges = [(np.arange(first, last + 2) - 0.5) * SQUARE_M for first, last in (_X_SQUARES, _Z_SQUARES)]
    rows, _, _ = np.histogram2d(x[inside], z[inside], bins=(edges[0], edges[1]))
    return Density(rows.astype(np.int64), _X_SQUARES[0] * 20, _Z_SQUARES[0] * 20)


def _mark(count: int) -> str:
    return next(mark for least, mark in reversed(_MARKS) if count >= least)
