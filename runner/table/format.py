"""The reach table: rows of tool points and the joints that bring them about, and its file, `reach.parquet`.

One file, one name: an update replaces the content whole, and what was there goes to `archive/` under date and content
hash. Reads and writes; finds nothing (that is `lookup.py`). A file that is cut off, of another arm or of another tool
is refused, never half used.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from pydantic import BaseModel, ConfigDict, ValidationError

from runner.config import Config
from runner.kinematics.frames import BaseInCell, tool_points_cell_m
from runner.kinematics.model import ArmModel, FloatArray, frozen, load_arm
from runner.table.errors import BadRows, BadTableFile, NoTableYet, WrongTable
from runs.files import sha256_hex, storage, sync_folder, write_atomic

TABLE_FILE = "reach.parquet"
ARCHIVE = "archive"
POSITION_COLUMNS = ("ee_x", "ee_y", "ee_z")
_META = b"trialcell"
_FORMAT = 1
_FK_CHECKED_ROWS = 64
_FK_TOLERANCE_M = 0.02  # between a row's point and its joints: rounding, sag models; not another arm


class RowBatch(BaseModel):
    """Where some consecutive rows came from."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rows: int
    source: str
    made_at: str


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
            tcp_mm=a.tcp_mm,
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
    return ReachTable(frozen(columns), cell, tuple(batches), sha256_hex(columns.tobytes()))


def read_table(path: Path, *, wanted: CellOfTable | None = None) -> ReachTable:
    """The table in a file.

    Args:
        path: of `reach.parquet`.
        wanted: the arm, tool and base that it must have been made for.

    Raises:
        NoTableYet: there is no such file.
        BadTableFile: cut off, not Parquet, or not as its own metadata says.
        WrongTable: made for another arm, tool or base.
    """
    if not path.exists():
        raise NoTableYet(path)
    try:
        raw = pq.read_table(path, memory_map=False)
    except (pa.ArrowException, OSError) as error:
        raise BadTableFile(path, f"cut off or not Parquet ({_first_line(error)})") from error
    try:
        meta: dict[str, Any] = json.loads((raw.schema.metadata or {})[_META])
        if meta["format"] > _FORMAT:
            raise BadTableFile(path, f"it has format {meta['format']}, this program reads up to {_FORMAT}")
        cell = CellOfTable.model_validate(meta["cell"])
        batches = tuple(RowBatch.model_validate(b) for b in meta["batches"])
        columns = np.stack([raw.column(name).to_numpy() for name in meta["columns"]])
    except KeyError as error:
        raise BadTableFile(path, f"it has no {error.args[0]!r}") from error
    except (ValidationError, ValueError) as error:
        raise BadTableFile(path, _first_line(error)) from error
    if wanted is not None:
        cell.require(wanted, path)
    digest = sha256_hex(columns.tobytes())
    if digest != meta.get("content_hash") or columns.shape[1] != meta.get("rows"):
        raise BadTableFile(path, "its rows are not the ones that its metadata speaks of")
    return ReachTable(frozen(columns), cell, batches, digest)


def write_table(path: Path, table: ReachTable) -> None:
    """Put the table under `path`; what was there goes to `archive/` beside it, under date and content hash.

    Raises:
        StorageUnwritable: nothing was changed.
    """
    with storage(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    data = _to_parquet(table)
    if path.exists():
        keep_in_archive(path)
    write_atomic(path, data)


def keep_in_archive(path: Path, folder: Path | None = None) -> Path:
    """Link the file's content into `archive/` (beside it, or in `folder`) under date and hash; it stays as it is."""
    digest = sha256_hex(path.read_bytes())[:12]
    day = datetime.now(UTC).strftime("%Y%m%d_%H%M%S")
    kept = (folder or path.parent) / ARCHIVE / f"{path.stem}_{day}_{digest}{path.suffix}"
    with storage(kept):
        kept.parent.mkdir(exist_ok=True)
        if not any(kept.parent.glob(f"{path.stem}_*_{digest}{path.suffix}")):
            kept.hardlink_to(path)
            sync_folder(kept.parent)
    return kept


def export_csv(path: Path, table: ReachTable) -> None:
    """The rows as CSV in the field's column order; numbers in full, so that nothing is lost.

    Raises:
        StorageUnwritable: nothing was changed.
    """
    names = column_names(table.n_joints)
    out = BytesIO()
    data = pa.table(dict(zip(names, table.columns, strict=True)))
    out.write((",".join(names) + "\n").encode())
    pa_csv.write_csv(data, out, pa_csv.WriteOptions(include_header=False, quoting_style="none"))
    write_atomic(path, out.getvalue())


def import_csv(path: Path, cell: CellOfTable) -> ReachTable:
    """A table from a CSV with the field's columns.

    Raises:
        NoTableYet: there is no such file.
        BadRows: a column is missing, a number is missing or not finite, angles are radians by the look of them, or the
            points are not where this arm's joints put them.
        BadTableFile: not CSV.
    """
    if not path.exists():
        raise NoTableYet(path)
    arm = cell.arm()
    names = column_names(arm.n_joints)
    try:
        options = pa_csv.ConvertOptions(column_types=dict.fromkeys(names, pa.float64()))
        raw = pa_csv.read_csv(path, convert_options=options)
    except (pa.ArrowException, OSError) as error:
        raise BadTableFile(path, _first_line(error)) from error
    missing = [name for name in names if name not in raw.column_names]
    if missing:
        raise BadRows(str(path), f"no column {', '.join(missing)}", next_step=f"one header line: {','.join(names)}")
    columns = np.stack([raw.column(name).to_numpy() for name in names])
    bad = np.flatnonzero(~np.isfinite(columns).all(axis=0))
    if len(bad):
        raise BadRows(str(path), "a number is missing or not finite", row=int(bad[0]) + 1)
    _refuse_strange(path, columns, arm, cell.base())
    batch = RowBatch(rows=columns.shape[1], source=f"csv {path.name}", made_at=now_utc())
    return make_table(columns[:3].T, columns[3:].T, cell, [batch])


def column_names(n_joints: int) -> tuple[str, ...]:
    """Column names in the field's order."""
    return (*POSITION_COLUMNS, *(f"j{i}" for i in range(n_joints)))


def now_utc() -> str:
    """The time as it stands in files."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _to_parquet(table: ReachTable) -> bytes:
    names = column_names(table.n_joints)
    meta = {
        "format": _FORMAT,
        "rows": len(table),
        "columns": names,
        "content_hash": table.content_hash,
        "cell": table.cell.model_dump(mode="json"),
        "batches": [b.model_dump(mode="json") for b in table.batches],
    }
    schema = pa.schema([(name, pa.float64()) for name in names], metadata={_META: json.dumps(meta).encode()})
    data = pa.Table.from_arrays([pa.array(column) for column in table.columns], schema=schema)
    out = BytesIO()
    pq.write_table(data, out, compression="zstd", compression_level=1, use_dictionary=list(names[3:]))
    return out.getvalue()


def _refuse_strange(path: Path, columns: FloatArray, arm: ArmModel, base: BaseInCell) -> None:
    """Refuse radians and rows of another arm or tool."""
    joints = columns[3:].T
    if len(joints) and np.abs(joints).max() <= 2 * np.pi:
        raise BadRows(str(path), "the angles are radians by the look of them", next_step="give degrees")
    rows = np.linspace(0, len(joints) - 1, min(_FK_CHECKED_ROWS, len(joints))).astype(int)
    off = np.linalg.norm(tool_points_cell_m(joints[rows], arm, base) - columns[:3, rows].T, axis=1)
    if len(off) and np.median(off) > _FK_TOLERANCE_M:
        why = f"its points are {np.median(off) * 1000:.0f} mm from where {arm.name} with this tool has them"
        raise BadRows(str(path), why, next_step="import it into the cell that it was made for, in metres and degrees")


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
