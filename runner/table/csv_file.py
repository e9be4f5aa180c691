"""The reach table as CSV in the field's column order, out and in, without losing a bit.

What comes in is checked row by row against the arm that it is for (`plausible.py`); a file that is not whole and right
is refused with what is wrong and where, never taken in part.
"""

from __future__ import annotations

import csv
from io import SEEK_END, BytesIO
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from runner.kinematics.model import FloatArray
from runner.table.errors import BadRows, NoSuchFile
from runner.table.format import read_table
from runner.table.plausible import require_plausible
from runner.table.rows import CellOfTable, ReachTable, RowBatch, column_names, make_table, now_utc
from runs.files import storage, write_atomic_parts

TABLE_SUFFIX = ".parquet"


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
    with storage(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic_parts(path, [out.getbuffer()])


def import_csv(path: Path, cell: CellOfTable) -> ReachTable:
    """A table from a CSV with the field's columns, in any order.

    Raises:
        NoSuchFile: there is no such file.
        BadRows: it is empty or no CSV; a column is missing, doubled or unknown; a line has another number of fields; a
            number is missing or not finite; or the points are not where this arm's joints put them, with the likely
            cause: radians, millimetres, another place of the base, another arm or tool.
    """
    names = column_names(cell.arm().n_joints)
    try:
        _refuse_cut(path, names)
        options = pa_csv.ConvertOptions(column_types=dict.fromkeys(names, pa.float64()), strings_can_be_null=False)
        raw = pa_csv.read_csv(path, convert_options=options)
    except FileNotFoundError:
        raise NoSuchFile(path) from None
    except (pa.ArrowException, OSError) as error:
        raise BadRows(str(path), _plainly(str(error)), next_step=_wanted(names)) from error
    _check_names(path, raw.column_names, names)
    if raw.num_rows == 0:
        raise BadRows(str(path), "it has no rows", next_step=_wanted(names))
    columns = np.stack([raw.column(name).to_numpy() for name in names])
    bad = np.flatnonzero(~np.isfinite(columns).all(axis=0))
    if len(bad):
        row = int(bad[0])
        name = names[int(np.flatnonzero(~np.isfinite(columns[:, row]))[0])]
        why = f"{name} is missing or not a finite number ({len(bad):,} such rows in all)"
        raise BadRows(str(path), why, row=row + 1, next_step="mend or drop these rows; none was taken")
    require_plausible(str(path), columns, cell)
    batch = RowBatch(rows=columns.shape[1], source=f"csv {path.name}", made_at=now_utc())
    return make_table(columns[:3].T, columns[3:].T, cell, [batch])


def read_rows(path: Path, cell: CellOfTable) -> ReachTable:
    """The rows of a CSV or of another copy of a reach table, for this cell.

    Raises:
        NoSuchFile: there is no such file.
        BadTableFile, WrongTable, BadRows: it can't be used, or is not for this cell; see `read_table`, `import_csv`.
    """
    if path.suffix != TABLE_SUFFIX:
        return import_csv(path, cell)
    if not path.exists():
        raise NoSuchFile(path)
    table = read_table(path, wanted=cell)
    require_plausible(str(path), table.columns, cell)
    return table


def read_base_poses(path: Path, n_joints: int) -> FloatArray:
    """Base poses for a scan from a CSV, shape (K, n_joints), degrees: columns j0…, whatever other columns there are.

    Raises:
        NoSuchFile: there is no such file.
        BadRows: it is empty or no CSV, a joint's column is missing, or an angle is missing or not finite.
    """
    names = column_names(n_joints)[3:]
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            lines = list(csv.DictReader(file))
        poses = np.array([[float(line[name]) for name in names] for line in lines])
    except FileNotFoundError:
        raise NoSuchFile(path) from None
    except KeyError as error:
        raise BadRows(str(path), f"no column {error.args[0]}", next_step=f"wanted: {','.join(names)}") from error
    except (ValueError, TypeError, csv.Error, OSError) as error:
        raise BadRows(str(path), f"an angle can't be read ({error})") from error
    if not len(poses) or not np.isfinite(poses).all():
        raise BadRows(str(path), "it has no base poses" if not len(poses) else "an angle is not finite")
    return poses


def _refuse_cut(path: Path, names: tuple[str, ...]) -> None:
    """A last line without an end may be a number cut short, and nothing else would show it."""
    with path.open("rb") as file:
        if file.seek(0, SEEK_END) == 0:
            raise BadRows(str(path), "it is empty", next_step=_wanted(names))
        file.seek(-1, SEEK_END)
        if file.read(1) not in b"\r\n":
            next_step = "write it again; if it is whole, put a line end there"
            raise BadRows(str(path), "its last line has no end, so it may be cut off", next_step=next_step)


def _check_names(path: Path, given: list[str], names: tuple[str, ...]) -> None:
    missing = [name for name in names if name not in given]
    if missing:
        raise BadRows(str(path), f"no column {', '.join(missing)}", next_step=_wanted(names))
    unknown = [name for name in given if name not in names]
    if unknown:
        why = f"a column that no table has: {', '.join(repr(name) for name in unknown[:3])}"
        raise BadRows(str(path), why, next_step=f"leave it out. {_wanted(names)}")
    if len(given) != len(names):
        raise BadRows(str(path), "a column stands there twice", next_step=_wanted(names))


def _plainly(said: str) -> str:
    """What the reader of CSV says, in our words where they are known."""
    line = said.splitlines()[0] if said else "it can't be read"
    if "Expected" in line and "columns, got" in line:
        return f"a line has another number of fields ({line.split(':', 1)[-1].strip()})"
    if "conversion error" in line:
        return f"a number can't be read ({line})"
    return line


def _wanted(names: tuple[str, ...]) -> str:
    return f"wanted: one header line, {','.join(names)}, then one row a line"
