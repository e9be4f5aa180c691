"""Whole trials with each of the twin's faults at a random moment, against the same seeds without: what still completes.

In process and in virtual time, through the real client, the driver and the firmware. For each fault: how trials ended,
whether any claimed a success that was none, whether the arm came to rest, whether an error of ours got out. Prints a
table; with --json one object.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from runner.cell import open_cell
from runner.rig import Request, build_rig
from runner.trial.sequence import run_trial
from runner.trial.stop import StopSwitch
from runner.twin.firmware.faults import FAULTS
from runs.check import check_log
from runs.store import RunStore

QUICK = ("arm.speed_percent=60", "camera.captures=1", "trial.learn=false", "trial.corrections=false")


def one(folder: Path, seed: int, fault: str | None, kind: str) -> dict[str, Any]:
    """One trial and what may never happen in it."""
    faults = [f"twin.faults=['{fault}']"] if fault else []
    cell = open_cell(folder, [*QUICK, f"twin.firmware={kind}", *faults])
    switch, store, error = StopSwitch(), RunStore(cell.runs_dir), None
    with build_rig(cell, Request(seed=seed), switch=switch, progress=lambda _: None) as rig:
        try:
            run_trial(rig.bench, store, switch=switch)
        except Exception as raised:  # noqa: BLE001 - an error that gets out is a finding
            error = f"{type(raised).__name__}: {raised}"
        log = store.open("latest").log
        rig.twin.clock.sleep(2.0)
        stood = rig.twin.arm.read_angles_deg()
        rig.twin.clock.sleep(2.0)
        moved = float(np.abs(rig.twin.arm.read_angles_deg() - stood).max())
        truth = rig.twin.truth()
    return {
        "fault": fault,
        "seed": seed,
        "result": log.result,
        "stage": log.ending.stage if log.ending else None,
        "reason": log.ending.reason if log.ending else None,
        "in_box": truth.block_in_box,
        "moved_deg": moved,
        "valid": check_log(log.run_id, store).valid,
        "error": error,
        "arm_s": log.duration_s,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--firmware", choices=["new", "old"], default="new")
    parser.add_argument("--fault", action="append", choices=sorted(FAULTS))
    parser.add_argument("--cell", type=Path, help="a cell to use; a new one by default")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        for fault in (None, *(args.fault or FAULTS)):
            for seed in range(args.first, args.first + args.trials):
                row = one(args.cell or Path(scratch) / "cell", seed, fault, args.firmware)
                rows.append(row)
                told = "{fault!s:18} {seed:3} {result:10} box {in_box!s:5} {stage}: {reason} {error}".format(**row)
                print(told, file=sys.stderr, flush=True)
    if args.json:
        print(json.dumps({"trials": args.trials, "firmware": args.firmware, "each": rows}))
        return
    print(f"{'fault':20}{'completed':>10}{'false success':>15}{'not at rest':>13}{'errors out':>12}  otherwise")
    for fault in dict.fromkeys(row["fault"] for row in rows):
        of = [row for row in rows if row["fault"] == fault]
        done = sum(r["result"] == "completed" for r in of)
        false = sum(r["result"] == "completed" and not r["in_box"] for r in of)
        restless = sum(r["moved_deg"] > 0.2 for r in of)
        others = Counter(r["result"] for r in of if r["result"] != "completed")
        told = ", ".join(f"{n} {result}" for result, n in others.items())
        wrong = sum(r["error"] is not None or not r["valid"] for r in of)
        print(f"{fault or 'none':20}{done:>7}/{len(of)}{false:>15}{restless:>13}{wrong:>12}  {told}")


if __name__ == "__main__":
    main()
