"""Opening the reach table: the mapped index against reading the table, and what building and one command line cost.

    python benchmarks/table_open.py [--rows 1000000] [--rounds 5] [--json]

Ways take turns in one run. Indexes are built with compiled code, as a running process does, and in NumPy, as a fresh
machine and a single command line do. "First answer" is from nothing but the files to one lookup's answer in NumPy: with
the saved index, and with the index made anew from Parquet. "Process" is `trialcell table lookup` as a whole against
`python -c "import numpy"`.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from runner.cell import Cell, open_cell
from runner.compiled import SWITCH, kernels
from runner.table.csv_file import export_csv
from runner.table.format import read_table, write_table
from runner.table.index import Index, build_index, map_index, save_index
from runner.table.lookup import Lookup
from runner.table.opening import open_table
from runner.table.postures import arm_of, hard_limits
from runner.table.query import Query
from runner.table.rows import CellOfTable, ReachTable, RowBatch, make_table, now_utc
from runner.table.scan import sample
from runner.table.stamp import index_file, note_file

ASK = Query((0.2, 0.2), (0.01, 0.04), 0.03)
LOOKUP = ["-c", "from runner.cli.main import main; main()", "table", "lookup", "--x", "0.2", "--z", "0.2"]


RATIOS = (
    ("numpy.loadtxt of the CSV", "build the index"),
    ("numpy.loadtxt of the CSV", "build and save the index"),
    ("numpy.loadtxt of the CSV", "build the index, NumPy"),
    ("process: trialcell table lookup", "process: import numpy"),
)


def spread_table(rows: int, cell: Cell) -> ReachTable:
    """That many poses all over the limits, rounded as the field's CSV was."""
    arm, base = arm_of(cell.config)
    made = sample(rows, arm, base, limits=hard_limits(arm, cell.config), seed=1)
    batch = RowBatch(rows=rows, source="benchmark", made_at=now_utc())
    return make_table(np.round(made.points_m, 6), made.joints_deg, CellOfTable.of(cell.config), [batch])


def seconds(call: Callable[[], object]) -> tuple[float, float]:
    """How long a call takes, and how much processor time, its child processes' included."""
    start, own, before = time.perf_counter(), time.process_time(), os.times()
    call()
    took, worked, after = time.perf_counter() - start, time.process_time() - own, os.times()
    return took, worked + sum(after[2:4]) - sum(before[2:4])


def main() -> int:
    """Run, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    os.environ[SWITCH] = "wait"
    if kernels("runner.table.sort_kernels") is None:
        print("no compiled code to be had here: everything is measured in NumPy", file=sys.stderr)
    with tempfile.TemporaryDirectory() as folder:
        cell = open_cell(Path(folder) / "cell")
        table = spread_table(args.rows, cell)
        write_table(cell.table_file, table)
        csv = Path(folder) / "rows.csv"
        export_csv(csv, table)
        took = measure(cell, csv, table, args.rounds)
    medians = {name: statistics.median(wall for wall, _ in values) for name, values in took.items()}
    work = {name: round(statistics.median(cpu for _, cpu in values), 4) for name, values in took.items()}
    ratios = {}
    for word, by in (("time", medians), ("processor time", work)):
        for dear, cheap in RATIOS:
            ratios[f"{dear} / {cheap}, {word}"] = by[dear] / by[cheap]
    if args.json:
        figures = {name: round(s, 6) for name, s in medians.items()}
        rounded = {name: round(value, 2) for name, value in ratios.items()}
        print(json.dumps({"rows": args.rows, "median_s": figures, "processor_s": work, "ratios": rounded}))
        return 0
    print(f"{args.rows:,} rows; medians of {args.rounds}, ms: time, processor time")
    for name, s in medians.items():
        print(f"  {name:45} {s * 1000:>10,.2f} {work[name] * 1000:>10,.0f}")
    for name, value in ratios.items():
        print(f"  {name:75} {value:>6.1f} ×")
    return 0


def measure(cell: Cell, csv: Path, table: ReachTable, rounds: int) -> dict[str, list[tuple[float, float]]]:
    """Every way in turn, as often as asked."""
    path, config = cell.table_file, cell.config
    limits = hard_limits(arm_of(config)[0], config)

    def build(compiled: bool = True) -> Index:
        safe_deg = config.arm.j1_safe_max_deg
        return build_index(table.columns, limits.min_deg, limits.max_deg, j1_safe_max_deg=safe_deg, compiled=compiled)

    def build_and_save() -> None:
        save_index(csv.with_suffix(".index"), build())

    def mapped() -> None:
        assert Lookup.over(map_index(index_file(path)), compiled=False).find(ASK).ok

    def opened() -> None:
        assert open_table(path, config).lookup(compiled=False).find(ASK).ok

    def made_anew() -> None:
        index_file(path).unlink()
        note_file(path).unlink()
        opened()

    environment = {k: v for k, v in os.environ.items() if k != SWITCH} | {"TRIALCELL_DIR": str(cell.folder)}

    def process(*words: str) -> None:
        subprocess.run([sys.executable, *words], env=environment, stdout=subprocess.DEVNULL, check=True)

    ways: dict[str, Callable[[], object]] = {
        "build the index": build,
        "build the index, NumPy": lambda: build(compiled=False),
        "build and save the index": build_and_save,
        "first answer: saved index, checked": opened,
        "first answer: saved index, only mapped": mapped,
        "read the table from Parquet, checked": lambda: read_table(path),
        "process: trialcell table lookup": lambda: process(*LOOKUP),
        "process: import numpy": lambda: process("-c", "import numpy"),
        "first answer: index made anew from Parquet": made_anew,
        "numpy.loadtxt of the CSV": lambda: np.loadtxt(csv, delimiter=",", skiprows=1),
    }
    took: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for _ in range(rounds):
        opened()
        process(*LOOKUP)  # notes the settings, as any lookup does after the index was made anew
        for name, call in ways.items():
            took[name].append(seconds(call))
    return took


if __name__ == "__main__":
    sys.exit(main())
