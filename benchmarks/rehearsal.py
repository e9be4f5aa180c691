"""Does a rehearsal help? First attempts with and without it, on the same desks, at ordinary places and at hard ones.

Every trial is one in the twin's `field` profile whose pads and table rub as nobody told (drawn anew for each trial) and
whose block is nudged after it was seen (so where it is, is not known better than that). Each is run twice, alike in
everything but the rehearsal: without it, as shipped with the camera calibrated and corrections on, and with it.
`--lessons` trials teach the corrections first. The rehearsal knows the spreads (`--nudge-mm`, `--nudge-deg`), not the
draws. Prints a table and how the foretold rates compare with what came; with --json one object. Results in the twin.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import islice
from math import atan2, cos, degrees, exp, log, sin
from pathlib import Path
from typing import Any

import numpy as np

from runner.cell import open_cell
from runner.config import Config
from runner.geometry import obstacles_of
from runner.kinematics.gripper import gripper_of
from runner.rehearse.doubt import doubt_of, draw
from runner.rehearse.nominal import nominal_scene
from runner.rehearse.rehearsal import forecast
from runner.rehearse.tries import try_picks
from runner.rig import Request, Rig, build_rig
from runner.table.cell_tables import open_tables
from runner.trial.sequence import run_trial
from runner.trial.stop import StopSwitch
from runner.twin.errors import StartNotPossible
from runner.twin.many import Many
from runner.twin.profiles import FIELD
from runner.twin.world import Resting
from runs.events import StageEnded
from runs.statistics import exact_rate, mcnemar
from runs.store import RunStore

PLACES = ("anywhere", "edge", "beside", "rotated")
PAD, TABLE = (0.12, 1.0), (0.2, 1.0)  # friction: from, to
Place = tuple[float, float]


def start_of(kind: str, rng: np.random.Generator) -> tuple[Place | None, Place | None, float | None]:
    """Block, box and the block's yaw, where a kind of place fixes them."""
    if kind == "anywhere":
        return None, None, None
    angle = float(rng.uniform(0.2, 1.25))
    if kind == "edge":
        return (0.30 * cos(angle), 0.30 * sin(angle)), None, None
    r = float(rng.uniform(0.17, 0.26))
    block = (r * cos(angle), r * sin(angle))
    if kind == "rotated":  # half-way between two headings along the arm's plane: both have to be turned far
        return block, None, degrees(atan2(block[1], block[0])) + 45.0 + float(rng.uniform(-10, 10))
    block = (float(rng.uniform(0.055, 0.07)), float(rng.uniform(0.17, 0.23)))
    return block, (block[0] - 0.06 - 0.015 - 0.035, block[1]), None  # 35 mm to the box's wall


def trial(folder: Path, kind: str, seed: int, policy: str, args: argparse.Namespace, learn: bool) -> dict[str, Any]:
    """One trial; the same seed and kind give the same desk, whatever the policy."""
    rng = np.random.default_rng([seed, PLACES.index(kind), 77])
    pad, table = (exp(rng.uniform(log(lo), log(hi))) for lo, hi in (PAD, TABLE))
    block, box, yaw_deg = start_of(kind, rng)
    nudge = rng.normal(0.0, 1.0, 3) * (args.nudge_mm / 1000.0, args.nudge_mm / 1000.0, args.nudge_deg)
    settings = [
        "twin.profile=field",
        f"twin.pad_friction={pad}",
        f"twin.table_friction={table}",
        f'rehearse.policy="{policy}"',
        f"rehearse.tries={args.tries}",
        f"rehearse.block_sd_mm={args.nudge_mm}",
        f"rehearse.block_sd_deg={args.nudge_deg}",
        "rehearse.limit_s=300",
        "trial.max_pick_attempts=1",
        f"trial.learn={str(learn).lower()}",
        'corrections.use="candidate"',
        *args.overrides,
    ]
    cell, switch = open_cell(folder, settings), StopSwitch()
    request = Request(seed=seed, block_xz_m=block, box_xz_m=box, look_for_slip=False)
    began_s = time.process_time()
    with build_rig(cell, request, switch=switch, progress=lambda _: None) as rig:
        if yaw_deg is not None and block is not None:
            rig.twin.world.put_block(Resting(block, yaw_deg))
        done = run_trial(rig.bench, RunStore(cell.runs_dir), switch=switch, observer=nudger(rig, nudge, learn))
        in_box = bool(rig.twin.truth().block_in_box)
    picks = [a.verdict for a in done.pick_attempts]
    rehearsal = done.rehearsals[0] if done.rehearsals else None
    chosen = None if rehearsal is None else next(c for c in rehearsal.choices if c.name == rehearsal.chosen)
    own = None if rehearsal is None else rehearsal.choices[0]
    return {
        "kind": kind,
        "seed": seed,
        "policy": policy,
        "result": done.result,
        "picked": picks[0] == "yes" if picks else None,
        "success": done.result == "completed" and in_box,
        "stage": done.ending.stage if done.ending else None,
        "reason": done.ending.reason if done.ending else None,
        "foretold": None if chosen is None else forecast(chosen.picked, chosen.tries),
        "own_way": None if own is None else forecast(own.picked, own.tries),
        "changed": None if rehearsal is None else rehearsal.chosen != rehearsal.choices[0].name,
        "rehearsal_s": None if rehearsal is None else rehearsal.wall_s,
        "cpu_s": round(time.process_time() - began_s, 1),
        "friction": [round(pad, 3), round(table, 3)],
        "nudge": [round(float(v), 4) for v in nudge],
    }


def nudger(rig: Rig, nudge: np.ndarray, learn: bool) -> Any:
    """Moves the block once the trial has seen it."""

    def observe(record: object) -> None:
        if isinstance(record, StageEnded) and record.name == "stage2" and not learn:
            now = rig.twin.truth()
            x, _, z = now.block_m
            rig.twin.world.put_block(Resting((x + nudge[0], z + nudge[1]), now.block_yaw_deg + nudge[2]))

    return observe


def compared(rows: Sequence[dict[str, Any]], kind: str | None) -> dict[str, Any]:
    """Both policies over the pairs of one kind of place, or of all."""
    chosen = [r for r in rows if kind in (None, r["kind"]) and r["result"] not in ("invalid", "refused")]
    by = {(r["kind"], r["seed"], r["policy"]): r["success"] for r in chosen}
    pairs = [(by[k, s, "off"], by[k, s, "always"]) for k, s, p in by if p == "off" and (k, s, "always") in by]
    only_without, only_with = (sum(a > b for a, b in pairs), sum(b > a for a, b in pairs))
    both, neither = sum(a and b for a, b in pairs), sum(not (a or b) for a, b in pairs)
    out: dict[str, Any] = {"place": kind or "all", "pairs": len(pairs)}
    for name, wins in (("without", both + only_without), ("with", both + only_with)):
        interval = exact_rate(wins, len(pairs)) if pairs else None
        out[name] = {"success": wins, "low": interval and interval.low, "high": interval and interval.high}
    if pairs:
        test = mcnemar(both, only_without, only_with, neither)
        out |= {"only_with": only_with, "only_without": only_without, "p": test.p_value}
    return out


def foretold(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rehearsed rate against how often the pick was made, in bins of the rate."""
    seen = [r for r in rows if r["foretold"] is not None and r["picked"] is not None]
    out = []
    for lo, hi in ((0.0, 0.7), (0.7, 0.85), (0.85, 0.92), (0.92, 0.96), (0.96, 1.01)):
        inside = [r for r in seen if lo <= r["foretold"] < hi]
        if inside:
            got = sum(r["picked"] for r in inside)
            interval = exact_rate(got, len(inside))
            mean = float(np.mean([r["foretold"] for r in inside]))
            out.append({"foretold": mean, "n": len(inside), "came": got, "low": interval.low, "high": interval.high})
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="1-10", help="for each kind of place, for example 101-175")
    parser.add_argument("--place", action="append", choices=PLACES)
    parser.add_argument("--tries", type=int, default=128)
    parser.add_argument("--nudge-mm", type=float, default=4.0)
    parser.add_argument("--nudge-deg", type=float, default=6.0)
    parser.add_argument("--lessons", type=int, default=12)
    parser.add_argument("--cell", type=Path, help="a cell to use, taught before; a new one by default")
    parser.add_argument("--rows", type=Path, help="keep each trial as a line here, and go on from what is there")
    parser.add_argument("--set", dest="overrides", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--speed", action="store_true", help="only: how long 64 tries take")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    if args.speed:
        timed = speed()
        print(json.dumps(timed) if args.json else "\n".join(f"{name:32}{value:>10}" for name, value in timed.items()))
        return
    first, _, last = args.seeds.partition("-")
    rows = [json.loads(line) for line in args.rows.read_text().splitlines()] if args.rows and args.rows.exists() else []
    have = {(r["kind"], r["seed"], r["policy"]) for r in rows}
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.cell or Path(scratch) / "cell"
        if not (args.cell and args.cell.exists()):
            for seed in range(900_001, 900_001 + args.lessons):
                trial(folder, "anywhere", seed, "off", args, learn=True)
        for seed in range(int(first), int(last or first) + 1):
            for kind in args.place or PLACES:
                for policy in ("off", "always"):
                    if (kind, seed, policy) in have:
                        continue
                    try:
                        row = trial(folder, kind, seed, policy, args, learn=False)
                    except StartNotPossible:
                        break
                    rows.append(row)
                    print(line_of(row), file=sys.stderr, flush=True)
                    if args.rows:
                        with args.rows.open("a") as kept:
                            kept.write(json.dumps(row) + "\n")
    summary = [compared(rows, kind) for kind in (None, *(args.place or PLACES))]
    if args.json:
        print(json.dumps({"summary": summary, "foretold": foretold(rows), "trials": rows}))
        return
    told(summary, foretold(rows))


def speed(tries: int = 64) -> dict[str, float]:
    """How long tries take, beside bare stepping of the same scene in the same run; seconds of wall and of processor."""
    config = Config()
    place, yaw_deg = (0.12, 0.12), 0.0
    obstacles = obstacles_of(config, box_xz_m=(-0.15, 0.2), block_xz_m=place, block_yaw_deg=yaw_deg)
    with tempfile.TemporaryDirectory() as scratch:
        cell = open_cell(Path(scratch) / "cell")
        planner = open_tables(cell.folder, cell.config).planner(config)
        first = planner.plan_pick(place, yaw_deg, obstacles)
        plans = [first, *islice(planner.pick_choices(first, place, yaw_deg, obstacles), 3)]
    scene = nominal_scene(config)
    off = draw(doubt_of(config.rehearse, FIELD), tries // 4, planner.arm.n_joints, 1)
    which, rows = np.repeat(np.arange(4), tries // 4), np.tile(np.arange(tries // 4), 4)
    walls, cpus, motion_s = [], [], 0.0
    for _ in range(5):
        wall, cpu = time.perf_counter(), time.process_time()
        out = try_picks(
            Many(scene, tries), planner.arm, [p.path_deg for p in plans], which, off.rows(rows), obstacles, config
        )
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
        motion_s = out.motion_s
    bare = Many(scene, tries)
    joints = np.tile(np.radians(first.path_deg[-1]), (tries, 1))
    bare.begin(joints, gripper_of(scene.arm).theta_open_rad)
    bare.stand("block", np.tile(place, (tries, 1)), np.zeros(tries), 0.015)
    bare.stand("box", np.tile((-0.15, 0.2), (tries, 1)), np.zeros(tries), 0.0)
    bare.ready()
    wall, cpu = time.perf_counter(), time.process_time()
    bare.step(joints, bare.jaws_rad, round(motion_s / bare.dt_s))
    bare_wall, bare_cpu = time.perf_counter() - wall, time.process_time() - cpu
    best = int(np.argmin(walls))
    return {
        "tries": tries,
        "motion_s": round(motion_s, 2),
        "wall_s": round(walls[best], 2),
        "processor_s": round(cpus[best], 2),
        "bare_stepping_wall_s": round(bare_wall, 2),
        "bare_stepping_processor_s": round(bare_cpu, 2),
        "share_of_bare_speed": round(bare_cpu / cpus[best], 2),
    }


def line_of(r: dict[str, Any]) -> str:
    said = "" if r["foretold"] is None else f"foretold {r['foretold']:.2f} (own way {r['own_way']:.2f})"
    why = "" if r["success"] else f"{r['stage']}: {r['reason']}"[:90]
    return f"{r['kind']:9}{r['seed']:5} {r['policy']:7}{r['result']:10} {said} {r['cpu_s']} s {why}"


def told(summary: Sequence[dict[str, Any]], bins: Sequence[dict[str, Any]]) -> None:
    print(f"{'place':10}{'pairs':>6}  {'without':24}{'with a rehearsal':24}{'only with':>10}{'only w/o':>10}{'p':>8}")
    for s in summary:
        if s["pairs"]:
            rates = [f"{w['success']} ({w['low']:.2f} … {w['high']:.2f})" for w in (s["without"], s["with"])]
            won = f"{s['only_with']:>10}{s['only_without']:>10}{s['p']:>8.3f}"
            print(f"{s['place']:10}{s['pairs']:>6}  {rates[0]:24}{rates[1]:24}{won}")
    print("\nforetold   picked")
    for b in bins:
        print(f"{b['foretold']:>8.2f}   {b['came']} of {b['n']} ({b['low']:.2f} … {b['high']:.2f})")


if __name__ == "__main__":
    main()
