"""The reach table's file, `reach.parquet`: one file, one name.

An update replaces the content whole, and what was there goes to `archive/` under date and content hash. A file that is
cut off, of another arm or of another tool is refused, never half used. Rows themselves are `rows.py`'s business.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any

import filelock
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import ValidationError

from runner.kinematics.model import frozen
from runner.table.errors import BadTableFile, NoTableYet, TableBusy
from runner.table.rows import CellOfTable, ReachTable, RowBatch, column_names, content_hash
from runner.table.stamp import FileStamp
from runs.files import sha256_hex, storage, sync_folder, write_atomic_parts

TABLE_FILE = "reach.parquet"
ARCHIVE = "archive"
LOCK_FILE = "reach.lock"
LOCK_WAIT_S = 120.0
_META = b"trialcell"
_FORMAT = 1


@dataclass(frozen=True, slots=True)
class TableHead:
    """What a table's file says of itself, without its rows."""

    cell: CellOfTable
    batches: tuple[RowBatch, ...]
    rows: int
    content_hash: str
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class FileRead:
    """A table as it was read, and the file that it was read from."""

    table: ReachTable
    stamp: FileStamp
    sha256: str  # of the file's bytes


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
    return read_file(path, wanted=wanted).table


def read_file(path: Path, *, wanted: CellOfTable | None = None) -> FileRead:
    """The table in a file with what stands for the file. Arguments and errors as `read_table`."""
    try:
        with path.open("rb") as file:
            stamp = FileStamp.of(os.fstat(file.fileno()))
            data = file.read()
        raw = pq.read_table(pa.BufferReader(data))
    except FileNotFoundError:
        raise NoTableYet(path) from None
    except (pa.ArrowException, OSError) as error:
        raise BadTableFile(path, f"cut off or not Parquet ({first_line(error)})") from error
    head = _head(path, raw.schema)
    try:
        columns = np.stack([raw.column(name).to_numpy() for name in head.columns])
    except (KeyError, ValueError) as error:
        raise BadTableFile(path, first_line(error)) from error
    if wanted is not None:
        head.cell.require(wanted, path)
    if columns.dtype != np.float64 or columns.shape[1] != head.rows or content_hash(columns) != head.content_hash:
        raise BadTableFile(path, "its rows are not the ones that its metadata speaks of")
    if sum(batch.rows for batch in head.batches) != head.rows:
        raise BadTableFile(path, "its batches account for another number of rows")
    return FileRead(ReachTable(frozen(columns), head.cell, head.batches, head.content_hash), stamp, sha256_hex(data))


def read_head(path: Path) -> TableHead:
    """What a table's file says of itself; its rows are not read, and so not checked.

    Raises:
        NoTableYet, BadTableFile: as `read_table`.
    """
    try:
        schema = pq.read_schema(path)
    except FileNotFoundError:
        raise NoTableYet(path) from None
    except (pa.ArrowException, OSError) as error:
        raise BadTableFile(path, f"cut off or not Parquet ({first_line(error)})") from error
    return _head(path, schema)


def _head(path: Path, schema: pa.Schema) -> TableHead:
    try:
        meta: dict[str, Any] = json.loads((schema.metadata or {})[_META])
        if meta["format"] > _FORMAT:
            raise BadTableFile(path, f"it has format {meta['format']}, this program reads up to {_FORMAT}")
        return TableHead(
            cell=CellOfTable.model_validate(meta["cell"]),
            batches=tuple(RowBatch.model_validate(b) for b in meta["batches"]),
            rows=int(meta["rows"]),
            content_hash=str(meta["content_hash"]),
            columns=tuple(meta["columns"]),
        )
    except KeyError as error:
        name = error.args[0].decode() if isinstance(error.args[0], bytes) else error.args[0]
        raise BadTableFile(path, f"it has no {name!r}, so it is no reach table") from error
    except (ValidationError, ValueError, TypeError) as error:
        raise BadTableFile(path, first_line(error)) from error


@contextmanager
def changing(path: Path, *, wait_s: float = LOCK_WAIT_S) -> Iterator[None]:
    """Hold the table for a change that starts from what is there: others that would change it wait.

    Reading needs no lock. A holder that died doesn't keep it. What a writer that was killed left behind is cleared.

    Raises:
        TableBusy: another process held it for longer than `wait_s`.
        StorageUnwritable: the folder can't be written.
    """
    with storage(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = filelock.FileLock(path.parent / LOCK_FILE, timeout=wait_s)
        try:
            lock.acquire()
        except filelock.Timeout:
            raise TableBusy(path, wait_s) from None
    try:
        for left in path.parent.glob(f".{path.name}.*.tmp"):
            left.unlink(missing_ok=True)
        yield
    finally:
        lock.release()


def write_table(path: Path, table: ReachTable) -> None:
    """Put the table under `path`; what was there goes to `archive/` beside it, under date and content hash.

    Raises:
        TableBusy: another process has held the table for too long.
        StorageUnwritable: nothing was changed.
    """
    with changing(path):
        put_table(path, table)


def put_table(path: Path, table: ReachTable) -> None:
    """`write_table` for those who hold the table already.

    Raises:
        StorageUnwritable: nothing was changed.
    """
    data = _to_parquet(table)
    if path.exists():
        keep_in_archive(path)
    write_atomic_parts(path, [data])


def keep_in_archive(path: Path, folder: Path | None = None) -> Path:
    """Link the file's content into `archive/` (beside it, or in `folder`) under date and hash; it stays as it is.

    Where the file system knows no links it is copied.
    """
    with storage(path):
        digest = sha256_hex(path.read_bytes())[:12]
    day = datetime.now(UTC).strftime("%Y%m%d_%H%M%S")
    kept = (folder or path.parent) / ARCHIVE / f"{path.stem}_{day}_{digest}{path.suffix}"
    with storage(kept):
        kept.parent.mkdir(exist_ok=True)
        already = sorted(kept.parent.glob(f"{path.stem}_*_{digest}{path.suffix}"))
        if already:
            return already[0]
        try:
            kept.hardlink_to(path)
        except OSError:
            part = kept.with_name(f".{kept.name}.tmp")
            shutil.copyfile(path, part)
            part.replace(kept)
        sync_folder(kept.parent)
    return kept


def archived(path: Path) -> list[Path]:
    """What the table's file held before, oldest first."""
    return sorted((path.parent / ARCHIVE).glob(f"{path.stem}_*_*{path.suffix}"))


def _to_parquet(table: ReachTable) -> memoryview:
    names = column_names(table.n_joints)
    meta = {
        "format": _FORMAT,
        "rows": len(table),
        "columns": names,
        "content_hash": table.content_hash,
        "cell": table.cell.model_dump(mode="json"),
        "batches": [b.model_dump(mode="json", exclude_none=True) for b in table.batches],
    }
    schema = pa.schema([(name, pa.float64()) for name in names], metadata={_META: json.dumps(meta).encode()})
    data = pa.Table.from_arrays([pa.array(column) for column in table.columns], schema=schema)
    out = BytesIO()
    pq.write_table(data, out, compression="zstd", compression_level=1, use_dictionary=_repeating(names))
    return out.getbuffer()


def _repeating(names: Sequence[str]) -> list[str]:
    """Columns whose values repeat: the joints of scans."""
    return list(names[3:])


def first_line(error: Exception) -> str:
    """The first line of what a library says."""
    return (str(error).splitlines() or [type(error).__name__])[0]
