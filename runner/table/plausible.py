"""Are these rows poses of this arm? Forward kinematics of every row says so, and what is wrong where they aren't.

Rows bring no word of their units, arm or base along. Where points and joints don't go together, the usual mistakes are
tried one by one, and the one that explains the rows is named. Nothing is converted: the one who brings the rows mends
them or the settings.
"""

from __future__ import annotations

import numpy as np

from runner.kinematics.frames import tool_points_cell_m
from runner.kinematics.model import FloatArray
from runner.table.errors import BadRows
from runner.table.rows import CellOfTable

TOLERANCE_MM = 3.0
"""Between a row's point and where its joints put the tool: rounding, and what an arm file may be off by. The field
log's two rows are 0.24 and 0.22 mm off."""

_TRIED_ROWS = 2000
_ALIKE_MM = 0.5  # rows that are off by the same vector differ by less


def off_mm(columns: FloatArray, cell: CellOfTable) -> FloatArray:
    """How far each row's point is from where its joints put the tool, mm; columns (3 + n_joints, N)."""
    there = tool_points_cell_m(columns[3:].T, cell.arm(), cell.base())
    return np.asarray(np.linalg.norm(there - columns[:3].T, axis=1)) * 1000.0


def require_plausible(where: str, columns: FloatArray, cell: CellOfTable) -> None:
    """Refuse rows whose points are not where their joints put this arm's tool.

    Args:
        where: what the rows are called.
        columns: (3 + n_joints, N), finite; metres and degrees.
        cell: the arm, tool and base that they are for.

    Raises:
        BadRows: with the first such row and the likely cause.
    """
    off = off_mm(columns, cell)
    bad = np.flatnonzero(off > TOLERANCE_MM)
    if not len(bad):
        return
    row = int(bad[0])
    mistake = _mistake(columns, cell)
    if mistake is not None:
        why, next_step = mistake
        raise BadRows(where, why, next_step=next_step)
    far = f"{np.median(off[bad]):.0f} mm from where {cell.arm_model} with this tool has them"
    if len(bad) == len(off):
        raise BadRows(
            where,
            f"its points are {far}",
            next_step="import it into a cell with the arm, tool and base that it was made for (arm.* in cell.toml)",
        )
    raise BadRows(
        where,
        f"the points of {len(bad):,} of {len(off):,} rows are {far}; this is the first",
        row=row + 1,
        next_step="mend or drop these rows; none was taken",
    )


def _mistake(columns: FloatArray, cell: CellOfTable) -> tuple[str, str] | None:
    """What explains that all rows are off, and what to do; None where nothing does."""
    some = columns[:, np.linspace(0, columns.shape[1] - 1, min(_TRIED_ROWS, columns.shape[1])).astype(int)]
    points, joints = some[:3], some[3:]
    if np.abs(joints).max() <= 4 * np.pi:  # degrees all over an arm are larger
        if _fits(points, np.degrees(joints), cell):
            return "the angles are radians by the look of them", "give degrees"
        if _fits(points / 1000.0, np.degrees(joints), cell):
            return "points and angles are millimetres and radians by the look of them", "give metres and degrees"
        if np.abs(joints).max() <= 2 * np.pi:
            return "the angles are radians by the look of them, or of another arm", "give degrees, from this arm"
    if _fits(points / 1000.0, joints, cell):
        return "the points are millimetres by the look of them", "give metres"
    apart = points.T - tool_points_cell_m(joints.T, cell.arm(), cell.base())
    shift = np.median(apart, axis=0)
    if np.abs(apart - shift).max() * 1000.0 <= _ALIKE_MM:
        by = ", ".join(f"{c * 1000:+.1f}" for c in shift)
        base = ", ".join(f"{c:.4f}" for c in shift + np.array(cell.base_shift_m))
        return (
            f"all its points are off by ({by}) mm: it was made for another place of the base",
            f"set arm.base_shift_m = [{base}] in cell.toml if that is where the base stands",
        )
    return None


def _fits(points: FloatArray, joints: FloatArray, cell: CellOfTable) -> bool:
    return bool(np.median(off_mm(np.vstack((points, joints)), cell)) <= TOLERANCE_MM)
