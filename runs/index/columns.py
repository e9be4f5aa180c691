"""Rows as columns: from rows in Python to a file of columns (Parquet) that the database asks without reading it in.

It knows types and files, not what a row means. pyarrow takes long to import, so only whoever makes rows loads this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from runs.index.shape import COLUMNS, NESTED

_TYPES = {
    "VARCHAR": pa.string(),
    "VARCHAR[]": pa.list_(pa.string()),
    "INTEGER": pa.int32(),
    "BIGINT": pa.int64(),
    "DOUBLE": pa.float64(),
    "BOOLEAN": pa.bool_(),
    "TIMESTAMP": pa.timestamp("us"),
}

_LOOKED_UP = ["run_id", "number", "state", "started"]
"""Columns whose least and greatest values are noted, so that the database can pass by what it does not seek."""

Rows = Sequence[dict[str, Any]]


def table_of(rows: Rows, spoilt: Callable[[dict[str, Any], str], dict[str, Any]]) -> pa.Table:
    """Rows as a table with the columns of `COLUMNS`.

    Args:
        rows: each with every column, in their order.
        spoilt: another row for one that holds what no column can, with the reason; it must fit.
    """
    try:
        return _table(rows)
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        if len(rows) == 1:
            return _table([spoilt(rows[0], str(error))])
        half = len(rows) // 2
        return pa.concat_tables([table_of(rows[:half], spoilt), table_of(rows[half:], spoilt)])


def write_table(tables: Iterable[pa.Table], out: Path) -> None:
    """Tables of rows as one file."""
    texts = [name for name, kind in COLUMNS.items() if kind.startswith("VARCHAR")]
    pq.write_table(
        pa.concat_tables(tables),
        out,
        row_group_size=1 << 20,
        compression="lz4",
        use_dictionary=texts,
        write_statistics=_LOOKED_UP,
    )


def _table(rows: Rows) -> pa.Table:
    values = zip(*(row.values() for row in rows), strict=True) if rows else ((),) * len(COLUMNS)
    arrays = [_array(name, some) for name, some in zip(COLUMNS, values, strict=True)]
    return pa.Table.from_arrays(arrays, names=list(COLUMNS))


def _array(name: str, values: Sequence[Any]) -> pa.Array:
    if name in NESTED:
        return _many(name, values)
    if COLUMNS[name] == "TIMESTAMP":
        return pa.array(values, pa.string()).cast(_TYPES["TIMESTAMP"])
    return pa.array(values, _TYPES[COLUMNS[name]])


def _many(name: str, values: Sequence[Any]) -> pa.Array:
    """What each run holds many of, made flat: one column after the other, and where each run's begin."""
    lists = [some or () for some in values]
    flat = list(chain.from_iterable(lists))
    columns = NESTED[name].items()
    arrays = [pa.array(list(map(of, flat)), _TYPES[kind]) for _, (kind, of) in columns]
    begins = pa.array(list(accumulate(map(len, lists), initial=0)), pa.int32())
    return pa.ListArray.from_arrays(begins, pa.StructArray.from_arrays(arrays, [column for column, _ in columns]))
