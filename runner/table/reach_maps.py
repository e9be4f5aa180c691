"""The maps of a table as pictures and figures: holes before and after, rows a square, tilt, room to limits, last move.

Counts and looks up over the squares and hands the result to `square_maps.py`, which draws it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from runner.kinematics.fk import tool_pose
from runner.kinematics.frames import BaseInCell, stance_of_rotation
from runner.kinematics.model import ArmModel
from runner.table.density import Density
from runner.table.holes import Asked, HoleMap, Status
from runner.table.region import Ground, Region, Square
from runner.table.square_maps import Panel, Picture, Sign, StatePanel, ValuePanel, draw_panels
from vision.overlay import GREEN, ORANGE, VERMILLION, WHITE

PLACE_TABLE = Region((-10, -370), (-60, 380))
PICK_TABLE = Region((10, 370), (-60, 380))
_SIGNS = {
    Status.DENSE: Sign("dense", GREEN, "dot", WHITE),
    Status.MARGINAL: Sign("marginal", ORANGE, "triangle"),
    Status.HOLE: Sign("hole", WHITE, "ring"),
    Status.UNREACHABLE: Sign("unreachable", (200, 196, 192), "cross"),
    Status.BLOCKED: Sign("blocked", VERMILLION, "block"),
}


@dataclass(frozen=True, slots=True, eq=False)
class ReachMap:
    """What the table holds over each square, in one band. Squares without a row are left out."""

    ground: Ground
    rows: dict[Square, int]  # usable ones
    tilt_deg: dict[Square, float]  # of the row that is farthest from its limits
    room_deg: dict[Square, float]  # how far that row is from its nearest limit
    last_move_deg: dict[Square, float]  # largest change of a joint from the approach pose to the row that is looked up

    def as_dict(self) -> dict[str, Any]:
        """For programs."""
        squares = [
            {
                "x_mm": s[0], "z_mm": s[1], "rows": n, "tilt_deg": self.tilt_deg[s], "room_deg": self.room_deg[s],
                "last_move_deg": self.last_move_deg.get(s),
            }
            for s, n in self.rows.items()
        ]  # fmt: skip
        return {"phase": self.ground.phase, "band_y_m": self.ground.band_y_m, "squares": squares}

    def drawn(self) -> str:
        """Rows a square as a digit, the power of ten, and the span of the other figures."""
        g = self.ground
        xs = sorted(g.region.xs_mm)
        lines = [f"{g.phase} band {g.band_y_m[0] * 1000:.0f}…{g.band_y_m[1] * 1000:.0f} mm, usable rows a square"]
        for z in reversed(g.region.zs_mm):
            digits = (str(len(str(self.rows[x, z]))) if (x, z) in self.rows else "." for x in xs)
            lines.append(f"z {z:4d}  " + " ".join(digits))
        lines.append(f"        x {xs[0]} … {xs[-1]} mm   . none  1 below ten  2 below a hundred  3 below a thousand  …")
        for name, values in (
            ("tilt below the level", self.tilt_deg),
            ("room to the nearest limit", self.room_deg),
            ("largest joint step of the last move", self.last_move_deg),
        ):
            if values:
                lines.append(f"{name}: {min(values.values()):.1f}° to {max(values.values()):.1f}°")
        return "\n".join(lines)


def reach_map(asked: Asked, holes: HoleMap, arm: ArmModel, base: BaseInCell) -> ReachMap:
    """Rows, tilt, room and last move of every square of a map of holes."""
    ground = holes.ground
    rows = asked.usable_rows(ground.band_y_m)
    joints = asked.table.joints_deg[:, rows]
    hi = asked.limits.max_deg.copy()
    hi[1] = min(hi[1], asked.j1_safe_max_deg)
    room = np.minimum(joints - asked.limits.min_deg[:, None], hi[:, None] - joints).min(axis=0)
    step = ground.region.step_mm
    x0, z0 = min(ground.region.xs_mm), min(ground.region.zs_mm)
    count = len(ground.region.xs_mm), len(ground.region.zs_mm)
    i, k = (
        np.rint((asked.table.columns[c][rows] * 1000.0 - first) / step).astype(np.int64)
        for c, first in ((0, x0), (2, z0))
    )
    inside = np.flatnonzero((i >= 0) & (i < count[0]) & (k >= 0) & (k < count[1]))
    cell = i[inside] * count[1] + k[inside]
    order = np.lexsort((-room[inside], cell))
    cells, first, counts = np.unique(cell[order], return_index=True, return_counts=True)
    best = inside[order[first]]
    frames = tool_pose(joints[:, best].T, arm)[:, :3, :3]
    tilts = [stance_of_rotation(R, base).tilt_deg for R in frames]
    squares = [(x0 + step * int(c // count[1]), z0 + step * int(c % count[1])) for c in cells]
    return ReachMap(
        ground,
        {s: int(n) for s, n in zip(squares, counts, strict=True)},
        dict(zip(squares, tilts, strict=True)),
        {s: float(room[b]) for s, b in zip(squares, best, strict=True)},
        {s.square: s.max_dj_deg for s in holes.squares if s.max_dj_deg is not None and s.lookup_method == "fk_nearest"},
    )


def draw_reach_map(found: ReachMap) -> Picture:
    """Four panels: rows, tilt, last move, room to the limits."""
    g = found.ground
    last, room = [*found.last_move_deg.values()], [*found.room_deg.values()]
    most = max([100.0, *(float(n) for n in found.rows.values())])
    panels: list[Panel] = [
        ValuePanel("usable rows a square", "", {s: float(n) for s, n in found.rows.items()}, (1.0, most), True),
        ValuePanel("tilt of the tool below the level", "°", found.tilt_deg, (0.0, 90.0)),
        ValuePanel("largest joint step of the last move", "°", found.last_move_deg, (0.0, _round_up(last, 15.0))),
        ValuePanel("room to the nearest limit", "°", found.room_deg, (0.0, _round_up(room, 20.0))),
    ]
    lo, hi = (1000.0 * y for y in g.band_y_m)
    heading = f"Reach of the table, {g.phase}: tool point at {lo:.0f}…{hi:.0f} mm"
    note = "tilt and room: of each square's row that is farthest from its limits; the base axis is at x 0, z 0"
    return draw_panels(heading, panels, g.region.xs_mm, g.region.zs_mm, note=note)


def draw_holes(maps: Sequence[tuple[str, HoleMap]]) -> Picture:
    """Maps of holes side by side, each with its name."""
    order = list(_SIGNS)
    panels = [
        StatePanel(name or "now", {s.square: order.index(s.status) for s in found.squares}, list(_SIGNS.values()))
        for name, found in maps
    ]
    g = maps[0][1].ground
    lo, hi = (1000.0 * y for y in g.band_y_m)
    tol = "" if g.joint_tol_deg is None else f", each joint within {g.joint_tol_deg:g}° of the approach pose"
    heading = f"Holes of the table, {g.phase}: tool point at {lo:.0f}…{hi:.0f} mm"
    note = f"dense: a row at most {g.tolerance_mm:g} mm off the centre in x and in z{tol}"
    return draw_panels(heading, panels, g.region.xs_mm, g.region.zs_mm, columns=max(1, len(panels)), note=note)


def draw_density(maps: Sequence[tuple[str, Density]]) -> Picture:
    """Rows a square, side by side, each with its name; two in a row."""
    most = max([100.0, *(float(d.rows.max()) for _, d in maps)])
    panels: list[Panel] = [ValuePanel(name, "", _counted(found), (1.0, most), True) for name, found in maps]
    first = maps[0][1]
    xs = [first.first_x_mm + 20 * i for i in range(first.rows.shape[0])]
    zs = [first.first_z_mm + 20 * j for j in range(first.rows.shape[1])]
    return draw_panels("Rows of the reach table over 20 mm squares", panels, xs, zs)


def _counted(found: Density) -> dict[Square, float]:
    at = np.argwhere(found.rows > 0)
    return {(found.first_x_mm + 20 * int(i), found.first_z_mm + 20 * int(j)): float(found.rows[i, j]) for i, j in at}


def _round_up(values: Sequence[float], least: float) -> float:
    return max(least, 10.0 * float(np.ceil(max([*values, 0.0]) / 10.0)))
