"""Filling the place region: the field's way from one arc, then the whole fill, in one run; trials all over it if asked.

    python benchmarks/fill.py [--trials 200] [--first 0] [--check] [--json]

The field's own table and base poses were never published, so its way is run on the table that the default cell makes:
holes for one swept arc, seeds, clusters, 7⁵ rows a base, holes again. --check searches squares that are called
unreachable by brute force. --trials runs whole trials in the twin (profile perfect), the box in each reachable square
in turn, off its centre and turned at random: how often a place lookup was refused, and how far the tool was from what
was asked. Prints tables; with --json one object.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from runner.cell import Cell, open_cell
from runner.config import Config
from runner.kinematics.fk import tool_points_m
from runner.rig import Request, build_rig
from runner.table.approach_arc import FIELD_PLACE_DEG
from runner.table.cell_tables import open_tables
from runner.table.fill.cell_files import fill_cell, swept_approach
from runner.table.fill.proof import row_limits
from runner.table.fill.sequence import Filled, fill
from runner.table.holes import Status
from runner.table.postures import arm_of
from runner.table.region import Ground
from runner.trial.sequence import run_trial
from runner.trial.stop import StopSwitch
from runner.twin.errors import StartNotPossible
from runs.store import RunStore

RIM_M = 0.350


def field_way(folder: Path, config: Config) -> Filled:
    """From one arc, without writing."""
    arm, base = arm_of(config)
    tables = open_tables(folder, config)
    return fill(tables.reach, swept_approach(config, "place", FIELD_PLACE_DEG), arm, base, config, Ground.of(config))


def brute_force(filled: Filled, config: Config, poses: int) -> dict[str, Any]:
    """Random poses in millions: the largest radius in the band against the nearest unreachable square's."""
    arm, _ = arm_of(config)
    limits, rng, farthest = row_limits(arm, config), np.random.default_rng(0), 0.0
    for _ in range(0, poses, 200_000):
        at = tool_points_m(limits.min_deg + rng.random((200_000, 6)) * (limits.max_deg - limits.min_deg), arm)
        inside = (at[:, 2] >= filled.after.ground.band_y_m[0]) & (at[:, 2] < filled.after.ground.band_y_m[1])
        farthest = max(farthest, float(np.hypot(at[inside, 0], at[inside, 1]).max()))
    rim = min(np.hypot(max(abs(p.x_mm) - 10, 0), max(p.z_mm - 10, 0)) for p in filled.proofs.squares)
    return {"poses": poses, "farthest_mm": farthest * 1000.0, "nearest_unreachable_mm": float(rim)}


def trial_in(cell: Cell, seed: int, box_xz_m: tuple[float, float]) -> dict[str, Any]:
    """One trial with the box there; why it could not be set up, or how its place went."""
    switch = StopSwitch()
    try:
        with build_rig(cell, Request(seed=seed, box_xz_m=box_xz_m), switch=switch, progress=lambda _: None) as rig:
            log = run_trial(rig.bench, RunStore(cell.runs_dir), switch=switch)
    except StartNotPossible as error:
        return {"box_xz_m": box_xz_m, "result": "no start", "why": str(error)}
    reach = [look for look in log.lookups if look.phase == "place_withblock"]
    asked = [look.refined for look in reach if look.refined is not None]
    return {
        "box_xz_m": box_xz_m,
        "seed": seed,
        "result": log.result,
        "stage": log.ending.stage if log.ending else None,
        "why": log.ending.reason if log.ending else None,
        "place_lookups": len(reach),
        "refused": sum(look.method == "out_of_range" or not look.guard_pass for look in reach),
        "off_mm": max((refined.residual_mm for refined in asked), default=None),
    }


def trials(folder: Path, filled: Filled, count: int, first: int) -> list[dict[str, Any]]:
    """The box in one reachable square after the other, the rim and the base's neighbourhood included."""
    cell = open_cell(folder, ["twin.profile=perfect"])
    rng, out = np.random.default_rng(first), []
    centred = [s for s in filled.after.of(Status.DENSE) if max(s.x_residual_mm or 0.0, s.z_residual_mm or 0.0) < 0.1]
    while len(out) < count:
        x, z = centred[(first + len(out)) * 37 % len(centred)].square
        box = (x / 1000.0 + float(rng.uniform(-0.01, 0.01)), z / 1000.0 + float(rng.uniform(-0.01, 0.01)))
        if np.hypot(*box) > np.hypot(x, z) / 1000.0 > RIM_M:
            box = (x / 1000.0, z / 1000.0)  # at the rim not even a millimetre farther out
        out.append(trial_in(cell, 1000 + first + len(out), box))
        print(out[-1], file=sys.stderr)
    return out


def summed(rows: list[dict[str, Any]]) -> dict[str, Any]:
    reached = [r for r in rows if r.get("place_lookups")]
    return {
        "trials": len(rows),
        "no_start": sum(r["result"] == "no start" for r in rows),
        "reached_the_place": len(reached),
        "place_lookups_refused": sum(r["refused"] for r in reached),
        "largest_off_mm": max((r["off_mm"] for r in reached if r["off_mm"] is not None), default=None),
        "completed": sum(r["result"] == "completed" for r in rows),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first trial")
    parser.add_argument("--check", action="store_true", help="brute force against squares called unreachable")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    config = Config()
    with tempfile.TemporaryDirectory() as scratch:
        folder = open_cell(Path(scratch) / "cell").folder
        open_tables(folder, config)
        arc = field_way(folder, config)
        wall, cpu = time.perf_counter(), time.process_time()
        filled = fill_cell(folder, config, Ground.of(config))
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        answer: dict[str, Any] = {
            "fill_s": wall,
            "fill_cpu_s": cpu,
            "field_way": {k: v for k, v in arc.as_dict().items() if k not in {"squares", "clusters", "proof"}},
            "fill": {k: v for k, v in filled.as_dict().items() if k not in {"squares", "clusters"}},
        }
        if args.check:
            answer["check"] = brute_force(filled, config, 10_000_000)
        if args.trials:
            rows = trials(folder, filled, args.trials, args.first)
            answer["trials"] = summed(rows) | {"rows": rows}
    if args.json:
        print(json.dumps(answer))
        return
    for name, one in (("from one arc, as the field", arc), ("the cell's own approach grid", filled)):
        print(f"\n{name}\n{'step':18}" + "".join(f"{status:>13}" for status in one.after.counts()) + f"{'s':>8}")
        for stage in one.stages:
            print(f"{stage.name:18}" + "".join(f"{n:13d}" for n in stage.counts.values()) + f"{stage.seconds:8.2f}")
    print(f"\none fill of a cell, tables opened and written: {wall:.1f} s, {cpu:.1f} s of work")
    for name in ("check", "trials"):
        if name in answer:
            print(name, {k: v for k, v in answer[name].items() if k != "rows"})


if __name__ == "__main__":
    main()
