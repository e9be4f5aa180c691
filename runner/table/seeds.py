"""Seeds: for each hole, the row nearby that twists the arm least away from the square's approach pose.

Among the usable rows of the band, within some distance of the hole, the one whose largest difference in j1…j5 is the
smallest. A seed is where a scan may begin; it fills nothing by itself.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from runner.kinematics.model import FloatArray
from runner.table.approach import Approach, ArcApproach
from runner.table.holes import Asked, HoleMap, SquareState
from runner.table.region import Square, centres_m, patches, said

SEED_DIST_M = 0.030
_FIRST_COMPARED = 1  # j0 only turns the arm to another place


@dataclass(frozen=True, slots=True)
class Seed:
    """One hole's seed."""

    x_mm: int
    z_mm: int
    row: int
    point_m: tuple[float, float, float]  # the row's tool point
    joints_deg: tuple[float, ...]
    difference_deg: float  # the largest of j1…j5 to the approach pose
    dist_mm: float  # from the square's centre, in the x-z plane

    @property
    def square(self) -> Square:
        """The hole's centre in millimetres."""
        return self.x_mm, self.z_mm


@dataclass(frozen=True, slots=True)
class Seeds:
    """Seeds of all holes that have one, in the order of the map, and the holes that have none."""

    found: tuple[Seed, ...]
    without: tuple[Square, ...]
    step_mm: int

    def as_dict(self) -> dict[str, Any]:
        """For programs."""
        differences = [s.difference_deg for s in self.found]
        return {
            "holes": len(self.found) + len(self.without),
            "with_seed": len(self.found),
            "smallest_difference_deg": min(differences, default=None),
            "largest_difference_deg": max(differences, default=None),
            "seeds": [
                {
                    "x_mm": s.x_mm, "z_mm": s.z_mm, "row": s.row, "point_m": s.point_m, "joints_deg": s.joints_deg,
                    "difference_deg": s.difference_deg, "dist_mm": s.dist_mm,
                }
                for s in self.found
            ],
            "without": [{"squares": patch, "said": said(patch)} for patch in patches(self.without, self.step_mm)],
        }  # fmt: skip

    def to_csv(self) -> str:
        """One line a seed: square, row, joints, tool point, difference."""
        n = len(self.found[0].joints_deg) if self.found else 6
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        joints = [f"j{i}" for i in range(n)]
        writer.writerow(["grid_x_mm", "grid_z_mm", "row", *joints, "ee_x", "ee_y", "ee_z", "difference_deg", "dist_mm"])
        for s in self.found:
            numbers = [*s.joints_deg, *s.point_m, s.difference_deg, s.dist_mm]
            writer.writerow([s.x_mm, s.z_mm, s.row, *(f"{number:.6g}" for number in numbers)])
        return out.getvalue()


def find_seeds(
    holes: HoleMap, squares: Sequence[SquareState], asked: Asked, approach: Approach, *, dist_m: float = SEED_DIST_M
) -> Seeds:
    """A seed for each of these squares.

    Args:
        holes: the map that they are from: its band counts.
        squares: the holes.
        asked: the table and what makes a row of it usable.
        approach: where the reference j1…j5 of a square come from; where it has none, the nearest square's.
        dist_m: how far from a hole a seed's tool point may be.
    """
    rows, table = asked.usable_rows(holes.ground.band_y_m), asked.table
    tree = cKDTree(np.stack((table.columns[0][rows], table.columns[2][rows]), axis=1))
    centres = centres_m([s.square for s in squares])
    found: list[Seed] = []
    without: list[Square] = []
    for state, centre in zip(squares, centres, strict=True):
        near = np.sort(np.array(tree.query_ball_point(centre, dist_m), dtype=np.int64))
        reference = _reference_deg(state, approach)
        if not len(near) or reference is None:
            without.append(state.square)
            continue
        joints = table.joints_deg[:, rows[near]].T
        twist = np.abs(joints - reference)[:, _FIRST_COMPARED:].max(axis=1)
        best = int(np.argmin(twist))  # of equal ones the lowest row
        row = int(rows[near[best]])
        x, y, z = (float(c[row]) for c in table.columns[:3])
        found.append(
            Seed(
                state.x_mm,
                state.z_mm,
                row,
                (x, y, z),
                tuple(float(j) for j in joints[best]),
                float(twist[best]),
                float(np.hypot(x - centre[0], z - centre[1])) * 1000.0,
            )
        )
    return Seeds(tuple(found), tuple(without), holes.ground.region.step_mm)


def _reference_deg(state: SquareState, approach: Approach) -> FloatArray | None:
    """The approach pose that a square's seed is compared with."""
    if state.approach_deg is not None:
        return np.array(state.approach_deg)
    content = approach.content
    if isinstance(content, ArcApproach):
        return np.array(content.base_angles_deg)
    nearest = content.nearest((state.x_mm / 1000.0, state.z_mm / 1000.0))
    return None if nearest is None else np.array(nearest[0].pose(0).joints_deg)
