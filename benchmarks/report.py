"""The report of a batch: how long its page takes, how big it is, and how much memory, with 100 runs and with 1,000.

`python benchmarks/report.py` drives a few trials on the twin and copies them, pictures and all; `--source DIR` copies
the finished runs of a folder of runs that is there. Each report is a command of its own, as a person gives it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from make_runs import copy_runs

SIZES = (100, 1000)
TRIALCELL = (sys.executable, "-c", "from runner.cli.main import main; main()")

ONE = """
import json, resource, subprocess, sys
done = subprocess.run(sys.argv[1:], check=True, capture_output=True, text=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
told = {"memory_mb": used.ru_maxrss / 1024, "cpu_s": used.ru_utime + used.ru_stime}
print(json.dumps(json.loads(done.stdout) | told))
"""
"""A process of its own for each, because the system keeps only the largest memory of all children."""


def measure(cell: Path, out: Path) -> dict[str, Any]:
    """One report; the first brings the index up to date."""
    command = [*TRIALCELL, "runs", "report", "--cell", str(cell), "--out", str(out), "--json"]
    begun = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", ONE, *command], check=True, capture_output=True, text=True)
    took_s = time.perf_counter() - begun
    told = json.loads(done.stdout)
    return {"wall_s": took_s, "cpu_s": told["cpu_s"], "memory_mb": told["memory_mb"], "mb": out.stat().st_size / 1e6}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", type=Path, help="a folder of finished runs to copy; else a few trials are driven")
    parser.add_argument("--keep", type=Path, help="leave cells and pages in this folder")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        work = args.keep or Path(scratch)
        source = args.source
        if source is None:
            trials = [*TRIALCELL, "batch", "run", "4", "--cell", str(work / "driven"), "--json"]
            subprocess.run(trials, check=False, capture_output=True)
            source = work / "driven" / "runs"
        print(f"load {os.getloadavg()[0]:.1f}")
        print(f"{'runs':>8}{'':>12}{'wall s':>9}{'cpu s':>9}{'page MB':>9}{'memory MB':>11}")
        for n in SIZES:
            cell = work / f"cell_{n}"
            origins = copy_runs(source, cell / "runs", n)
            for index in ("index made", "current"):
                found = measure(cell, work / f"batch_{n}.html")
                figures = f"{found['wall_s']:>9.2f}{found['cpu_s']:>9.2f}{found['mb']:>9.2f}{found['memory_mb']:>11.0f}"
                print(f"{n:>8,}{index:>12}{figures}")
        print(f"copies of {origins} trials")


if __name__ == "__main__":
    main()
