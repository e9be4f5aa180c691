"""Whole trials over many seeds: how many complete, how many truly, and how they compare with aiming straight at a row.

Each seed is one `trialcell run` in process, both profiles in turn in one cell. Results in the twin, not on an arm.
Prints a table; with --json one object.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path

from runner.cell import open_cell
from runner.rig import Request, build_rig
from runner.trial.sequence import run_trial
from runner.trial.stop import StopSwitch
from runs.statistics import exact_rate
from runs.store import RunStore


def seeds_of(text: str) -> list[int]:
    first, _, last = text.partition("-")
    return list(range(int(first), int(last or first) + 1))


def one_trial(folder: Path, profile: str, seed: int, overrides: list[str]) -> dict[str, object]:
    cell = open_cell(folder, [f"twin.profile={profile}", *overrides])
    switch = StopSwitch()
    with build_rig(cell, Request(seed=seed), switch=switch, progress=lambda _: None) as rig:
        log = run_trial(rig.bench, RunStore(cell.runs_dir), switch=switch)
        truth = rig.truth()
    place = log.judgments.get("place")
    tips = [t.diff.dist_mm for t in log.tip_measurements if t.diff is not None]
    return {
        "profile": profile,
        "seed": seed,
        "result": log.result,
        "stage": log.ending.stage if log.ending else None,
        "reason": log.ending.reason if log.ending else None,
        "place": None if place is None else place.verdict,
        "in_box": truth["block_in_box"] if truth else None,
        "attempts": len(log.pick_attempts),
        "tip_mm": tips[0] if tips else None,
        "duration_s": log.duration_s,
        "wall_s": log.wall_s,
        "run_id": log.run_id,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="1-10", help="for example 1-50")
    parser.add_argument("--profile", action="append", choices=["perfect", "field"])
    parser.add_argument("--cell", type=Path, help="a cell to use; a new one by default")
    parser.add_argument("--set", dest="overrides", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.cell or Path(scratch) / "cell"
        rows = []
        for profile in args.profile or ["perfect", "field"]:
            for seed in seeds_of(args.seeds):
                row = one_trial(folder, profile, seed, args.overrides)
                rows.append(row)
                print(line_of(row), file=sys.stderr)
    summary = {p: summed([r for r in rows if r["profile"] == p]) for p in dict.fromkeys(r["profile"] for r in rows)}
    if args.json:
        print(json.dumps({"summary": summary, "trials": rows}))
        return
    print(f"{'profile':9}{'completed and truly in the box':34}{'false yes':11}{'first try':11}{'virtual ÷ wall':>15}")
    for profile, s in summary.items():
        rate = f"{s['good']} of {s['n']} ({s['low']:.2f} … {s['high']:.2f})"
        print(f"{profile:9}{rate:34}{s['false_yes']:<11}{s['first_try']:<11}{s['times_real_median']:>14.1f}×")


def line_of(row: dict[str, object]) -> str:
    tip = "tip not seen" if row["tip_mm"] is None else f"tip {row['tip_mm']:.1f} mm"
    told = "{profile:8} {seed:4} {result:10} place {place} truly {in_box} {attempts}x".format(**row)
    why = "" if row["result"] == "completed" else f" {row['stage']}: {row['reason']}"
    return f"{told}  {tip}  {row['duration_s']:.0f} s in {row['wall_s']:.1f} s{why}"


def summed(rows: list[dict[str, object]]) -> dict[str, object]:
    good = sum(r["result"] == "completed" and r["in_box"] is True for r in rows)
    interval = exact_rate(good, len(rows))
    return {
        "n": len(rows),
        "good": good,
        "low": interval.low,
        "high": interval.high,
        "false_yes": sum(r["place"] == "yes" and r["in_box"] is not True for r in rows),
        "first_try": sum(r["result"] == "completed" and r["attempts"] == 1 for r in rows),
        "times_real_median": statistics.median(r["duration_s"] / r["wall_s"] for r in rows),  # type: ignore[operator]
        "times_real_worst": min(r["duration_s"] / r["wall_s"] for r in rows),  # type: ignore[operator]
    }


if __name__ == "__main__":
    main()
