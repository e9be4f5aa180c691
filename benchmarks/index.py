"""Many runs: the index against reading every log, in one process, taking turns.

`python benchmarks/index.py` makes 20,000 synthetic runs in a temporary folder and throws them away; `--cell DIR` asks
runs that are there. Beside wall times stand processor times, which say the same on a busy machine.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from make_runs import make_runs

from runner.cli.show.listing import LINE_COLUMNS
from runs.index.questions import ManyRuns
from runs.index.select import Selection
from runs.index.store import RunIndex

TURNS = 5
SAMPLE = 20_000
"""Of more runs than these the plain way reads so many, and its time is scaled up: it is linear."""

COMMANDS = {
    "runs list": ["list"],
    "runs stats --by square": ["stats", "--by", "square"],
    "runs queue": ["queue"],
    "runs compare": ["compare", "profile=field", "profile=perfect"],
}


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Wall and processor seconds, our children's included."""
    begun, cpu = time.perf_counter(), _cpu_s()
    work()
    return time.perf_counter() - begun, _cpu_s() - cpu


def _cpu_s() -> float:
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def read_every_log(runs_dir: Path, most: int) -> dict[str, list[float]]:
    """The plain way: json.load, one after the other. Per day: runs, completed, attempts, sum of tip errors."""
    days: dict[str, list[float]] = {}
    for folder in _names(runs_dir)[:most]:
        with open(f"{runs_dir}/{folder}/run.json", encoding="utf-8") as file:  # noqa: PTH123 - plain and quick
            log = json.load(file)
        day = days.setdefault(log["started_at"][:10], [0, 0, 0, 0.0])
        day[0] += 1
        day[1] += log["result"] == "completed"
        day[2] += len(log["pick_attempts"])
        day[3] += sum(tip["diff"]["dist_mm"] for tip in log["tip_measurements"])
    return days


def stat_every_log(runs_dir: Path) -> int:
    """List the folder and stat every run.json, and nothing else."""
    return sum(os.stat(f"{runs_dir}/{name}/run.json").st_size for name in _names(runs_dir))  # noqa: PTH116 - the same


def _names(runs_dir: Path) -> list[str]:
    return sorted(name for name in os.listdir(runs_dir) if name.startswith("run_"))  # noqa: PTH208 - names alone


def questions(many: ManyRuns) -> dict[str, Callable[[], object]]:
    every = Selection()
    field, perfect = Selection.parse(["profile=field"]), Selection.parse(["profile=perfect"])
    return {
        "list, newest 50": lambda: many.listed(every, columns=LINE_COLUMNS),
        "list, 50 worst by tip error": lambda: many.listed(every, sort="-tip_dist_mm", columns=LINE_COLUMNS),
        "stats by square": lambda: many.stats("square", every),
        "stats by day": lambda: many.stats("day", every),
        "queue, 100 most doubtful": lambda: many.queue(every, limit=100),
        "compare, paired by seed": lambda: many.compare(field, perfect),
    }


def measure(cell: Path) -> dict[str, Any]:
    runs_dir = cell / "runs"
    index = RunIndex(runs_dir)
    n = len(_names(runs_dir))
    part = min(n, SAMPLE)
    wall, cpu = timed(lambda: read_every_log(runs_dir, part))
    plain = (wall * n / part, cpu * n / part)
    rebuild = timed(index.rebuild)
    checks, stats = [], []
    for _ in range(3):
        stats.append(timed(lambda: stat_every_log(runs_dir)))
        checks.append(timed(lambda: index.refresh(full=True)))
    found: dict[str, Any] = {
        "runs": n,
        "load": os.getloadavg()[0],
        "read every log": plain,
        "rebuild": rebuild,
        "list and stat every run.json": min(stats),
        "check in full": min(checks),
        "memory_mb": {
            "ours": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            "largest child": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024,
        },
        "questions": {},
        "commands": {},
    }
    with ManyRuns([cell]) as many:
        asked = questions(many)
        for ask in asked.values():
            ask()
        times: dict[str, list[tuple[float, float]]] = {name: [] for name in asked}
        for _ in range(TURNS):
            for name, ask in asked.items():
                times[name].append(timed(ask))
        found["questions"] = {name: _summary(some) for name, some in times.items()}
    command = [sys.executable, "-c", "from runner.cli.main import main; main()"]
    for name, words in {"python -c pass": None, **COMMANDS}.items():
        line = (
            [sys.executable, "-c", "pass"]
            if words is None
            else [*command, "runs", *words, "--cell", str(cell), "--json"]
        )
        some = [timed(lambda line=line: subprocess.run(line, check=True, capture_output=True)) for _ in range(TURNS)]
        found["commands"][name] = _summary(some)
    return found


def _summary(some: list[tuple[float, float]]) -> dict[str, float]:
    return {
        "wall_s": median(wall for wall, _ in some),
        "least_wall_s": min(wall for wall, _ in some),
        "cpu_s": median(cpu for _, cpu in some),
    }


def told(found: dict[str, Any]) -> None:
    plain_wall, plain_cpu = found["read every log"]
    print(f"{found['runs']:,} runs, load {found['load']:.1f}")
    print(f"{'':<34}{'wall s':>9}{'cpu s':>9}{'x quicker than reading every log':>36}")
    for name in ("read every log", "rebuild", "list and stat every run.json", "check in full"):
        wall, cpu = found[name]
        print(f"{name:<34}{wall:>9.3f}{cpu:>9.3f}{plain_wall / wall:>24.1f} wall{plain_cpu / cpu:>8.1f} cpu")
    print("\nin process, index current: median and least of", TURNS)
    for name, some in found["questions"].items():
        times = plain_cpu / max(some["cpu_s"], 1e-3)
        print(f"{name:<34}{some['wall_s'] * 1000:>7.0f} ms{some['least_wall_s'] * 1000:>7.0f} ms{times:>14,.0f} cpu")
    print("\nas a command: median and least wall, processor")
    for name, some in found["commands"].items():
        print(f"{name:<34}{some['wall_s']:>8.2f} s{some['least_wall_s']:>7.2f} s{some['cpu_s']:>7.2f} s")
    memory = found["memory_mb"]
    print(f"\nlargest memory: ours {memory['ours']:.0f} MB, a child's {memory['largest child']:.0f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cell", type=Path, help="runs that are there; else they are made")
    parser.add_argument("-n", type=int, default=20_000, help="how many to make")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        cell = args.cell
        if cell is None:
            cell = Path(scratch) / "cell"
            make_runs(cell / "runs", args.n)
        found = measure(cell)
    if args.json:
        print(json.dumps(found))
    else:
        told(found)


if __name__ == "__main__":
    main()
