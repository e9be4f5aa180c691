"""Collision geometry: what the arm and the cell take up in space, and how far apart they are.

`obstacles` holds what stands still and what the jaws hold, `bodies` what moves, `clearance` the distances between them.
"""

from runner.geometry.clearance import (
    Clearance,
    clearances,
    each_clearance_mm,
    first_broken,
    interpolated,
    margin_mm,
    smallest_mm,
    swept,
)
from runner.geometry.obstacles import BlockOnTable, BoxOnTable, HeldBlock, Mast, Obstacles, obstacles_of

__all__ = [
    "BlockOnTable",
    "BoxOnTable",
    "Clearance",
    "HeldBlock",
    "Mast",
    "Obstacles",
    "clearances",
    "each_clearance_mm",
    "first_broken",
    "interpolated",
    "margin_mm",
    "obstacles_of",
    "smallest_mm",
    "swept",
]
