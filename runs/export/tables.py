"""Tables of runs as CSV and JSON Lines, units in the names of the columns, streamed so that memory stays flat.

One row a run, or one a lookup, stage, pick or tip measurement. It reads the index and writes where it is told.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from datetime import datetime
from typing import IO, Any, Literal, get_args

from runs.index.questions import ManyRuns
from runs.index.select import Selection
from runs.index.shape import COLUMNS, NESTED
from runs.store import open_folder

Table = Literal["runs", "lookups", "stages", "picks", "tips"]
TABLES: tuple[Table, ...] = get_args(Table)

_WOULD_BE_RUN = ("=", "+", "-", "@", "\t", "\r")
"""A text that begins so is taken for a formula by spreadsheets; in a CSV it gets an apostrophe in front."""


def table_rows(many: ManyRuns, selection: Selection, table: Table = "runs") -> Iterator[dict[str, Any]]:
    """The rows of a table, plain values, the oldest run first; `started` is left out beside `started_at`.

    Raises:
        BadSelection
    """
    names = [name for name in COLUMNS if name not in (*NESTED, "started")]
    for row in many.stream(selection, ["cell", *names] if table == "runs" else None, table=table):
        yield {name: value.isoformat() if isinstance(value, datetime) else value for name, value in row.items()}


def write_csv(rows: Iterator[dict[str, Any]], out: IO[str]) -> int:
    """Rows as CSV (RFC 4180): a line of names, then a line each; what is not known is empty. How many rows."""
    writer = csv.writer(out, lineterminator="\r\n")
    n = 0
    for row in rows:
        if n == 0:
            writer.writerow(row)
        writer.writerow([_csv_value(value) for value in row.values()])
        n += 1
    return n


def write_jsonl(rows: Iterator[dict[str, Any]], out: IO[str]) -> int:
    """Rows as JSON Lines; how many."""
    n = 0
    for row in rows:
        out.write(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n")
        n += 1
    return n


def whole_logs(many: ManyRuns, selection: Selection) -> Iterator[dict[str, Any]]:
    """The selected logs themselves, today's schema, with later rulings and verdicts in them, but for unreadable ones.

    Raises:
        BadSelection
    """
    for row in many.stream(selection, ["cell", "run_id", "state"]):
        if row["state"] != "unreadable":
            log = open_folder(many.runs_dir(row["cell"]) / row["run_id"]).log
            yield {"cell": row["cell"], **log.model_dump(mode="json")}


def _csv_value(value: Any) -> Any:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        value = "; ".join(map(str, value))
    if isinstance(value, str) and value.startswith(_WOULD_BE_RUN):
        return f"'{value}"
    return value
