"""Shapes of places and angles as they stand in files: metres in the cell frame, degrees, pixels.

The cell frame is x right, y up, z forward (left-handed). A table point is (x, z). A yaw is measured on the table from
+x toward +z: `atan2(dz, dx)`. Pixels are (u, v): u to the right, v down, the centre of the upper left pixel at (0, 0).
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from annotated_types import Len

TablePoint = tuple[float, float]
"""(x, z), metres, cell frame, on the table or seen straight from above."""

Point = tuple[float, float, float]
"""(x, y, z), metres, cell frame."""

Pixel = tuple[float, float]
"""(u, v), pixels."""

Joints = Annotated[tuple[float, ...], Len(1, 16)]
"""One angle a joint, degrees, from the base."""


class TableVector(NamedTuple):
    """A difference between two table points, millimetres."""

    dx_mm: float
    dz_mm: float
