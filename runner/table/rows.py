"""Rows of the reach table: tool points and the joints that bring them about, for which cell, and where they came from.

Holds and checks them; reads and writes no file (that is `format.py` and `csv_file.py`) and finds nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from pydantic import BaseModel, ConfigDict

from runner.config import Config
from runner.kinematics.frames import BaseInCell
from runner.kinematics.model import ArmModel, FloatArray, Vector, frozen, load_arm
from runner.table.errors import BadRows, WrongTable
from runs.files import sha256_hex

POSITION_COLUMNS = ("ee_x", "ee_y", "ee_z")


class RowBatch(BaseModel):
    """Where some consecutive rows came from."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rows: int
    source: str
    made_at: str
    offered: int | None = None  # rows that the source had; those that the table had already were not taken again


class CellOfTable(BaseModel):
    """What rows depend on: arm, tool and the base's place."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    arm_model: str
    tcp_mm: tuple[float, float, float]
    tool_roll_deg: float
    base_shift_m: tuple[float, float, float]
    base_yaw_deg: float

    @classmethod
    def of(cls, config: Config) -> CellOfTable:
        """As the settings say."""
        a = config.arm
        return cls(
            arm_model=load_arm(a.model).name,
            tcp_mm=tool_point_mm(a.tcp_mm, a.tool_shift_mm),
            tool_roll_deg=a.tool_roll_deg,
            base_shift_m=a.base_shift_m,
            base_yaw_deg=a.base_yaw_deg,
        )

    def arm(self) -> ArmModel:
        """The arm with this tool, where its model ships with the program."""
        return load_arm(self.arm_model).with_tool(tcp_mm=self.tcp_mm, roll_deg=self.tool_roll_deg)

    def base(self) -> BaseInCell:
        """Where the base stands."""
        return BaseInCell.at(self.base_shift_m, self.base_yaw_deg)

    def require(self, wanted: CellOfTable, path: Path | str) -> None:
        """Refuse a table of another cell.

        Raises:
            WrongTable: names what differs first.
        """
        for name in type(self).model_fields:
            if getattr(self, name) != getattr(wanted, name):
                raise WrongTable(path, name.replace("_", " "), getattr(self, name), getattr(wanted, name))


@dataclass(frozen=True, slots=True, eq=False)
class ReachTable:
    """Rows in stable order. `columns[i]` is one contiguous read-only float64 array: ee_x, ee_y, ee_z, j0, …."""

    columns: FloatArray  # (3 + n_joints, N), C order
    cell: CellOfTable
    batches: tuple[RowBatch, ...]
    content_hash: str  # SHA-256 of the columns' bytes

    def __len__(self) -> int:
        """How many rows."""
        return int(self.columns.shape[1])

    @property
    def n_joints(self) -> int:
        """How many joints a row has."""
        return int(self.columns.shape[0]) - 3

    @property
    def joints_deg(self) -> FloatArray:
        """Joint columns, shape (n_joints, N)."""
        return self.columns[3:]

    def row_joints_deg(self, row: int) -> FloatArray:
        """One row's joints, shape (n_joints,)."""
        return frozen(self.columns[3:, row].copy())


def tool_point_mm(tcp_mm: Vector, shift_mm: Vector) -> Vector:
    """The tool point of a gripper that sits beside its place, mm, last link's frame."""
    x, y, z = (at + by for at, by in zip(tcp_mm, shift_mm, strict=True))
    return x, y, z


def make_table(
    points_m: FloatArray, joints_deg: FloatArray, cell: CellOfTable, batches: Sequence[RowBatch]
) -> ReachTable:
    """A table from points (N, 3) in the cell frame, metres, and joints (N, n_joints), degrees.

    Raises:
        BadRows: not finite, or the batches don't add up to N rows.
    """
    columns = np.ascontiguousarray(np.hstack((points_m, joints_deg)).T, dtype=np.float64)
    if not np.isfinite(columns).all():
        row = int(np.flatnonzero(~np.isfinite(columns).all(axis=0))[0])
        raise BadRows("reach table", "a number is missing or not finite", row=row)
    if sum(b.rows for b in batches) != columns.shape[1]:
        raise BadRows("reach table", f"{columns.shape[1]} rows, but the batches account for another number")
    return ReachTable(frozen(columns), cell, tuple(batches), content_hash(columns))


def content_hash(columns: FloatArray) -> str:
    """What stands for a table's content: the SHA-256 of its columns' bytes, (3 + n_joints, N) in C order."""
    return sha256_hex(columns.reshape(-1).view(np.uint8).data)


def column_names(n_joints: int) -> tuple[str, ...]:
    """Column names in the field's order."""
    return (*POSITION_COLUMNS, *(f"j{i}" for i in range(n_joints)))


def now_utc() -> str:
    """The time as it stands in files."""
    return datetime.now(UTC).isoformat(timespec="seconds")
