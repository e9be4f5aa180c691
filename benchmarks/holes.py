"""The map of holes: ours against the field's way, masks over all rows for every square, in one run, taking turns.

    python benchmarks/holes.py [--rounds 3] [--json]

Both must call every square the same, else the run fails. The table is the default cell's own.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np

from runner.config import Config
from runner.table.cell_tables import open_tables
from runner.table.holes import Asked, HoleMap, find_holes
from runner.table.postures import arm_of
from runner.table.region import Ground


def by_masks(asked: Asked, approach_of: HoleMap, ground: Ground) -> list[str]:
    """Every square by masks over the whole table."""
    columns, out = asked.table.columns, []
    for state in approach_of.squares:
        if state.approach_deg is None:
            out.append("hole")
            continue
        y = columns[1]
        mask = (y >= ground.band_y_m[0]) & (y < ground.band_y_m[1]) & (columns[4] <= asked.j1_safe_max_deg)
        for joint, lo, hi in zip(columns[3:], asked.limits.min_deg, asked.limits.max_deg, strict=True):
            mask &= (joint >= lo) & (joint <= hi)
        for joint, reference in zip(columns[3:], state.approach_deg, strict=True):
            mask &= np.abs(joint - reference) <= (ground.joint_tol_deg or 360.0)
        dx, dz = np.abs(columns[0] - state.x_mm / 1000.0), np.abs(columns[2] - state.z_mm / 1000.0)
        off = np.where(mask, np.hypot(dx, dz), np.inf)
        row = int(np.argmin(off))
        if off[row] > ground.dist_max_m:
            out.append("hole")
        else:
            out.append("dense" if max(dx[row], dz[row]) * 1000.0 <= ground.tolerance_mm else "marginal")
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    config = Config()
    arm, _ = arm_of(config)
    with tempfile.TemporaryDirectory() as scratch:
        tables = open_tables(Path(scratch), config)
        asked, ground = Asked.of(tables.reach, arm, config), Ground.of(config)
        found = find_holes(asked, tables.approach_place, ground)
        ours, masks = [], []
        for _ in range(args.rounds):
            began = time.perf_counter()
            find_holes(asked, tables.approach_place, ground)
            ours.append(time.perf_counter() - began)
            began = time.perf_counter()
            plain = by_masks(asked, found, ground)
            masks.append(time.perf_counter() - began)
        rows = len(tables.reach)
    if plain != [str(s.status) for s in found.squares]:
        raise SystemExit("the two ways differ")
    answer = {
        "rows": rows,
        "squares": len(found.squares),
        "ours_s": statistics.median(ours),
        "masks_s": statistics.median(masks),
        "times": statistics.median(masks) / statistics.median(ours),
        "counts": found.counts(),
    }
    if args.json:
        print(json.dumps(answer))
        return
    print(f"{rows:,} rows, {len(found.squares)} squares, same answer: {found.counts()}")
    print(f"masks over all rows  {answer['masks_s']:.2f} s")
    print(f"ours                 {answer['ours_s']:.2f} s   {answer['times']:.1f} times as fast")


if __name__ == "__main__":
    main()
