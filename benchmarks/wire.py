"""Whole trials over the arm's own protocol against the same trials in process, the ways taking turns on each seed.

Wire: `trialcell twin serve` as a process of its own, the real pymycobot client, the camera by its stream; new firmware
over TCP, old firmware over a pseudo-terminal. The plain way drives the twin directly. Results in the twin, profile
perfect. Prints a table; with --json one object.
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
from statistics import median
from typing import Any

from runner.cell import open_cell
from runner.rig import Request, build_rig
from runner.trial.sequence import run_trial
from runner.trial.stop import StopSwitch
from runs.store import RunStore

ROOT = Path(__file__).resolve().parents[1]
MAIN = "from runner.cli.main import main; main()"
DOORS = {"tcp, new": ("--tcp", "0", "--firmware", "new"), "serial, old": ("--pty", "--firmware", "old")}


def served(cell: Path, options: tuple[str, ...], speedup: float) -> tuple[subprocess.Popen[str], list[str]]:
    """A served twin, and the settings by which a run finds it."""
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            MAIN,
            "twin",
            "serve",
            *options,
            "--speedup",
            str(speedup),
            "--cell",
            str(cell),
            "--json",
        ],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    there = json.loads(process.stdout.readline())
    kind = "tcp" if there["tcp"] else "serial"
    return process, [f"arm.kind=mycobot-{kind}", f"arm.address={there['tcp'] or there['pty']}"]


def one(cell: Path, seed: int, settings: list[str]) -> dict[str, Any]:
    """One trial and how it went."""
    opened, switch = open_cell(cell, [*settings, "trial.learn=false"]), StopSwitch()
    began = time.perf_counter()
    with build_rig(opened, Request(seed=seed), switch=switch, progress=lambda _: None) as rig:
        log = run_trial(rig.bench, RunStore(opened.runs_dir), switch=switch)
        truth = rig.truth()
    moves = [m for m in log.moves if m.post_max_delta_deg is not None]
    return {
        "seed": seed,
        "result": log.result,
        "reason": log.ending.reason if log.ending else None,
        "verdicts": {stage: judgment.verdict for stage, judgment in log.judgments.items()},
        "in_box": truth is not None and truth["block_in_box"],
        "attempts": len(log.pick_attempts),
        "arm_s": log.duration_s,
        "wall_s": time.perf_counter() - began,
        "off_deg": max((m.post_max_delta_deg or 0.0 for m in moves), default=0.0),
        "rejected": sum(m.rejected_readings or 0 for m in moves),
    }


def measured(cell: Path, trials: int, speedup: float, first: int) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {"in process": [], **{way: [] for way in DOORS}}
    one(cell, first, [])  # makes tables and calibration
    servers = {way: served(cell, options, speedup) for way, options in DOORS.items()}
    try:
        for seed in range(first, first + trials):
            for way, results in found.items():
                results.append(one(cell, seed, servers[way][1] if way in servers else []))
                print(f"seed {seed:3} {way:12} {results[-1]['result']:10} {results[-1]['reason']}", file=sys.stderr)
    finally:
        for process, _ in servers.values():
            process.terminate()
            process.wait(10)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--speedup", type=float, default=5.0)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = measured(Path(folder) / "cell", args.trials, args.speedup, args.first)
    plain = found["in process"]
    ways = {}
    for way, results in found.items():
        ways[way] = {
            "completed": sum(r["result"] == "completed" for r in results),
            "in_box": sum(r["in_box"] for r in results),
            "false_success": sum(r["result"] == "completed" and not r["in_box"] for r in results),
            "same_verdicts": sum(r["verdicts"] == p["verdicts"] for r, p in zip(results, plain, strict=True)),
            "arm_s": median(r["arm_s"] for r in results),
            "wall_s": median(r["wall_s"] for r in results),
            "off_deg": max(r["off_deg"] for r in results),
            "rejected": sum(r["rejected"] for r in results),
        }
    if args.json:
        print(json.dumps({"trials": args.trials, "speedup": args.speedup, "ways": ways, "each": found}))
        return
    print(f"{args.trials} trials, served twins at {args.speedup:g} times real time")
    print(
        f"{'way':14}{'completed':>10}{'in box':>8}{'verdicts as in process':>24}{'arm s':>8}{'wall s':>8}{'off °':>7}"
    )
    for way, w in ways.items():
        print(
            f"{way:14}{w['completed']:10}{w['in_box']:8}{w['same_verdicts']:24}{w['arm_s']:8.0f}{w['wall_s']:8.1f}"
            f"{w['off_deg']:7.2f}"
        )


if __name__ == "__main__":
    main()
