"""Whole trials with each of the twin's faults at a random moment, against the same seeds without: what still completes.

In process and in virtual time, through the real client, the driver and the firmware; with --wire one trial a fault
through the real client on a TCP line to `trialcell twin serve`. For each fault: how trials ended, whether any claimed
a success that was none, whether a goal outside the arm's limits was sent, whether the arm came to rest, whether an
error of ours got out, whether the log says what happened. Prints a table; --markdown the same for the docs, --json one
object. With --into FILE every trial is kept there as a line, and trials that stand there already are not run again.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from wire import served

from runner.cell import open_cell
from runner.rig import Request, Rig, build_rig
from runner.trial.sequence import run_trial
from runner.trial.stop import StopSwitch
from runner.twin.firmware.faults import FAULTS
from runner.twin.streams import stream
from runs.check import check_log
from runs.errors import TrialcellError
from runs.schema.run import RunLog
from runs.store import RunStore

QUICK = ("arm.speed_percent=60", "camera.captures=1", "trial.learn=false", "trial.corrections=false")
STILL_DEG = 0.2
Row = dict[str, Any]
NOT_BEGUN: Row = {"result": "not begun", "stage": None, "notes": [], "begun": True, "in_box": False, "beyond_limits": 0}
NOT_BEGUN |= {"at_rest": True, "moved_deg": 0.0, "valid": True, "error": None, "arm_s": 0.0, "rejected": 0}
WIRE_FROM_S, WIRE_TO_S = 10.0, 80.0  # over a wire connecting takes of the twin's time, and a trial takes longer

TOLD = {
    "no-angles": "reading",
    "nonsense-angles": "outside its limit",
    "ghost-motion": "does not show that the arm has moved|stopped|not picked|lost|still hold",
    "deaf": "stopped .* short",
    "drives-to-stop": "error 5|limit",
    "error-latched": "error 32",
    "gripper-ignores": "hold|jaws|not picked",
    "gripper-lets-go": "lost|hold|jaws|not picked|empty",
    "silent-after-grip": "no answer|reading",
    "calibration-fails": "jaws|hold",
    "dead": "no answer",
    "servo-off": "servo",
    "restart": "restarted",
    "hot-servo": "°C|temperature",
    "line-drops": "connection|no arm can be reached",
    "unpowered": "power",
    "cut-frames": "answer",
    "camera-buffered": "camera",
    "camera-unplugged": "camera",
    "camera-black": "camera|dark",
    "camera-frozen": "camera",
    "camera-moved": "camera",
    "camera-other-index": "camera",
}
"""What the log of a trial that did not complete has to say, by fault; any of these words."""


def one(folder: Path, seed: int, fault: str | None, kind: str, wire: Sequence[str] = ()) -> Row:
    """One trial and what may never happen in it.

    Args:
        wire: settings by which the arm of a served twin is found, which has the fault already; else in process.
    """
    faults = [f"twin.firmware={kind}", f"twin.faults={[fault] if fault else []}"]
    cell = open_cell(folder, [*QUICK, *(wire or faults)])
    switch, store, error = StopSwitch(), RunStore(cell.runs_dir), None
    about = {"fault": fault, "seed": seed, "firmware": kind, "way": "wire" if wire else "in process"}
    try:
        built = build_rig(cell, Request(seed=seed), switch=switch, progress=lambda _: None)
    except TrialcellError as refused:  # it came before the trial
        return {**NOT_BEGUN, **about, "reason": str(refused)}
    with built as rig:
        try:
            run_trial(rig.bench, store, switch=switch)
        except Exception as raised:  # noqa: BLE001 - an error that gets out is a finding
            error = f"{type(raised).__name__}: {raised}"
        log = store.open("latest").log
        truth, moved_deg = _truth_and_rest(rig)
    begun = fault is None or rig.station.firmware is None or _begun(rig, fault)
    return {
        **about,
        "result": log.result,
        "stage": log.ending.stage if log.ending else None,
        "reason": log.ending.reason if log.ending else None,
        "notes": [note.text for note in log.notes],
        "begun": begun,
        "in_box": truth["block_in_box"],
        "beyond_limits": truth["beyond_limits"],
        "at_rest": log.ending.at_rest if log.ending else None,
        "moved_deg": moved_deg,
        "valid": check_log(log.run_id, store).valid,
        "error": error,
        "arm_s": log.duration_s,
        "rejected": _rejected(log),
    }


def _truth_and_rest(rig: Rig) -> tuple[Row, float]:
    """How things are after the trial, and how far the arm moved in the seconds after it, largest joint."""
    if rig.station.control is not None:
        control, stood = rig.station.control, []
        for _ in range(2):
            rig.station.clock.sleep(2.0)
            stood.append(np.array(control.truth()["angles_deg"]))
        return control.truth(), float(np.abs(stood[1] - stood[0]).max())
    assert rig.station.firmware is not None
    twin, stood = rig.twin, []
    for _ in range(2):
        for _ in range(100):
            rig.station.firmware.advance(twin.world, 0.02)
        stood.append(twin.arm.read_angles_deg())
    truth = {"block_in_box": twin.truth().block_in_box, "beyond_limits": rig.station.firmware.beyond_limits}
    return truth, float(np.abs(stood[1] - stood[0]).max())


def _begun(rig: Rig, fault: str) -> bool:
    assert rig.station.firmware is not None
    return fault in (*rig.station.firmware.begun, *rig.twin.camera.befallen)


def _rejected(log: RunLog) -> int:
    return sum(move.rejected_readings or 0 for move in log.moves)


def over_the_wire(folder: Path, seed: int, fault: str | None, kind: str, speedup: float) -> Row:
    """The same with a served twin that has the fault."""
    at_s = stream(seed, f"fault {fault}").uniform(WIRE_FROM_S, WIRE_TO_S)
    doors = ("--tcp", "0", "--firmware", kind, *(("--fault", f"{fault}@{at_s:.1f}") if fault else ()))
    process, settings = served(folder, doors, speedup)
    try:
        return one(folder, seed, fault, kind, settings)
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()


def told(row: Row) -> bool:
    """Whether the log of a trial that did not complete says what happened."""
    words = TOLD.get(row["fault"])
    return words is None or re.search(words, " ".join((row["reason"] or "", *row["notes"]))) is not None


def summed_up(rows: list[Row]) -> dict[str, Any]:
    """The figures of one fault's trials."""
    early = [r for r in rows if r["result"] != "completed"]
    return {
        "trials": len(rows),
        "begun": sum(r["begun"] for r in rows),
        "completed": len(rows) - len(early),
        "results": Counter(r["result"] for r in early),
        "false_success": sum(r["result"] == "completed" and not r["in_box"] for r in rows),
        "beyond_limits": sum(r["beyond_limits"] for r in rows),
        "not_at_rest": sum(r["moved_deg"] > STILL_DEG for r in rows),
        "errors_out": sum(r["error"] is not None or not r["valid"] for r in rows),
        "not_told": sum(r["begun"] and not told(r) for r in early),
    }


def print_table(by_fault: dict[str | None, list[Row]]) -> None:
    heads = ("begun", "completed", "false yes", "beyond", "moving", "errors", "untold")
    print(f"{'fault':20}" + "".join(f"{head:>11}" for head in heads) + "  otherwise")
    for fault, rows in by_fault.items():
        s = summed_up(rows)
        cells = (s["begun"], f"{s['completed']}/{s['trials']}", s["false_success"], s["beyond_limits"])
        cells = (*cells, s["not_at_rest"], s["errors_out"], s["not_told"])
        others = ", ".join(f"{n} {result}" for result, n in s["results"].items())
        print(f"{fault or 'none':20}" + "".join(f"{cell:>11}" for cell in cells) + f"  {others}")


def print_markdown(by_fault: dict[str | None, list[Row]]) -> None:
    print("| row | fault | what happens | completed | otherwise | most often with |")
    print("| ---: | --- | --- | ---: | --- | --- |")
    for fault, rows in by_fault.items():
        s = summed_up(rows)
        kind = FAULTS.get(fault or "")
        reasons = Counter(_short(r["reason"]) for r in rows if r["result"] != "completed")
        why = reasons.most_common(1)[0][0] if reasons else ""
        others = ", ".join(f"{n} {result}" for result, n in s["results"].most_common())
        row, what = (kind.row or "", kind.what) if kind else ("", "nothing")
        name = f"`{fault}`" if fault else "none"
        print(f"| {row} | {name} | {what} | {s['completed']}/{s['trials']} | {others} | {why} |")


def _short(reason: str | None) -> str:
    """A reason without its next step and figures, so that like ones are counted as one."""
    return re.sub(r"-?\d+(\.\d+)?", "…", (reason or "").partition(";")[0].partition(" (")[0]).replace("|", "/")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--firmware", choices=["new", "old"], default="new")
    parser.add_argument("--fault", action="append", choices=["none", *sorted(FAULTS)])
    parser.add_argument("--cell", type=Path, help="a cell to use; a new one by default")
    parser.add_argument("--into", type=Path, help="keep each trial in this file, and go on from what is there")
    parser.add_argument("--wire", action="store_true", help="over TCP, against a served twin")
    parser.add_argument("--speedup", type=float, default=5.0, help="of the served twin")
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    way = "wire" if args.wire else "in process"
    kept = [json.loads(line) for line in args.into.read_text().splitlines()] if args.into and args.into.exists() else []
    there = {(r["fault"], r["seed"], r["firmware"], r["way"]): r for r in kept}
    wanted = [None if name == "none" else name for name in args.fault or ("none", *FAULTS)]
    by_fault: dict[str | None, list[Row]] = {fault: [] for fault in wanted}
    with ExitStack() as stack:
        folder = args.cell or Path(stack.enter_context(tempfile.TemporaryDirectory())) / "cell"
        for seed in range(args.first, args.first + args.trials):
            for fault, rows in by_fault.items():
                row = there.get((fault, seed, args.firmware, way))
                if row is None:
                    if args.wire:
                        row = over_the_wire(folder, seed, fault, args.firmware, args.speedup)
                    else:
                        row = one(folder, seed, fault, args.firmware)
                    if args.into:
                        with args.into.open("a") as file:
                            file.write(json.dumps(row) + "\n")
                    line = "{fault!s:18} {seed:3} {result:10} box {in_box!s:5} {stage}: {reason} {error}".format(**row)
                    print(line, file=sys.stderr, flush=True)
                rows.append(row)
    if args.json:
        each = [row for rows in by_fault.values() for row in rows]
        sums = {str(fault): summed_up(rows) for fault, rows in by_fault.items()}
        print(json.dumps({"trials": args.trials, "firmware": args.firmware, "way": way, "sums": sums, "each": each}))
    elif args.markdown:
        print_markdown(by_fault)
    else:
        print_table(by_fault)


if __name__ == "__main__":
    main()
