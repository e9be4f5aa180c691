"""The field's scan, merged into a table: nine bases, merge, Parquet and index, against the plain way to do each.

    python benchmarks/scan.py [--into 300000] [--rounds 3] [--json]

Nine base poses with 7⁵ offsets are 151,263 rows. They are merged into a table of that many rows, half of them twice.
Plain: rows made in a loop over stacks of 4 × 4 matrices, numpy.unique over rows, and CSV, as the field had it.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from runner.cell import open_cell
from runner.compiled import SWITCH
from runner.kinematics.fk import tool_pose
from runner.table.format import write_table
from runner.table.merge import merge_into
from runner.table.opening import open_table
from runner.table.postures import arm_of, hard_limits
from runner.table.rows import CellOfTable, RowBatch, make_table, now_utc
from runner.table.scan import sample, scan

BASES_DEG = np.array([[10.0 * i - 40.0, 55.0, -10.0, 5.0 * (i % 3), -40.0, -30.0] for i in range(9)])


def seconds(call: Callable[[], Any]) -> tuple[float, Any]:
    """How long a call takes, and what it gives."""
    start = time.perf_counter()
    out = call()
    return time.perf_counter() - start, out


def main() -> int:
    """Run, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--into", type=int, default=300_000, help="rows of the table that is there")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    os.environ[SWITCH] = "wait"
    took: dict[str, list[float]] = {}
    rows = 0
    for _ in range(args.rounds):
        with tempfile.TemporaryDirectory() as folder:
            figures, rows = one_round(Path(folder), args.into)
        for name, s in figures.items():
            took.setdefault(name, []).append(s)
    medians = {name: statistics.median(values) for name, values in took.items()}
    if args.json:
        print(json.dumps({"rows": rows, "median_s": {name: round(s, 4) for name, s in medians.items()}}))
        return 0
    print(f"{rows:,} rows in the end; medians of {args.rounds}, s")
    for name, s in medians.items():
        print(f"  {name:45} {s:>8.3f}")
    return 0


def one_round(folder: Path, into: int) -> tuple[dict[str, float], int]:
    """Everything once, on a table of its own."""
    cell = open_cell(folder / "cell")
    config, wanted = cell.config, CellOfTable.of(cell.config)
    arm, base = arm_of(config)

    def table_of(rows: Any, source: str) -> Any:
        batch = RowBatch(rows=len(rows.joints_deg), source=source, made_at=now_utc())
        return make_table(rows.points_m, rows.joints_deg, wanted, [batch])

    there = table_of(sample(into, arm, base, limits=hard_limits(arm, config), seed=1), "there")
    write_table(cell.table_file, there)
    took: dict[str, float] = {}
    cpu = time.process_time()
    took["scan nine bases"], rows = seconds(lambda: scan(BASES_DEG, arm, base))
    new = table_of(rows, "nine bases")
    took["merge, archive, Parquet"], result = seconds(lambda: merge_into(cell.table_file, [new], wanted))
    took["index, made and saved"], _ = seconds(lambda: open_table(cell.table_file, config))
    took["all of it"] = sum(took.values())
    took["all of it, processor time"] = time.process_time() - cpu
    assert len(rows.joints_deg) == 9 * 7**5
    took["plain: 4 × 4 matrices"], _ = seconds(
        lambda: [tool_pose(part, arm) for part in np.array_split(rows.joints_deg, 40)]
    )
    union = np.vstack((there.columns.T, new.columns.T))
    took["plain: numpy.unique over rows"], _ = seconds(lambda: np.unique(union, axis=0))
    took["plain: numpy.savetxt"], _ = seconds(lambda: np.savetxt(folder / "rows.csv", new.columns.T, delimiter=","))
    return took, len(result.table)


if __name__ == "__main__":
    sys.exit(main())
