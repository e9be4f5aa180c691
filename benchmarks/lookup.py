"""One lookup in the reach table: ours against the field's masks over all rows, in one run, taking turns.

    python benchmarks/lookup.py [--rows 1000000] [--queries 100] [--json]

The table is like the field's: 7⁵ offsets round two base poses swept by j0, and spread poses, rounded as its CSV was.
Half of the queries ask for a pick, half for a place; each once without and once with reference joints (15°). Every way
must give the same row each time, else the run fails.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable

import numpy as np

from runner.config import Config
from runner.kinematics.model import FloatArray
from runner.table.lookup import Lookup, Query
from runner.table.postures import arm_of, hard_limits
from runner.table.rows import CellOfTable, ReachTable, RowBatch, make_table, now_utc
from runner.table.scan import sample, scan

PICK_DEG = np.array([-34.0, 87.74, -38.33, 3.6, -60.0, -30.0])
PLACE_DEG = np.array([37.0, 60.0, 10.0, 0.0, -80.0, -30.0])
BASE_SHIFT_M = (-0.0021, -0.0086, -0.0017)


def field_like_table(rows: int, config: Config) -> ReachTable:
    """About that many rows: two scans swept by j0, the rest spread over the limits."""
    arm, base = arm_of(config)
    sweeps = max(1, int(rows * 0.67 / (2 * 7**5)))
    bases = [
        pose + np.array([d, 0, 0, 0, 0, 0]) for pose in (PICK_DEG, PLACE_DEG) for d in np.linspace(-25, 25, sweeps)
    ]
    scanned = scan(np.array(bases), arm, base)
    rest = max(1, rows - len(scanned.joints_deg))
    spread = sample(rest, arm, base, limits=hard_limits(arm, config), seed=1, spread=False)
    points = np.round(np.concatenate((scanned.points_m, spread.points_m)), 6)
    joints = np.round(np.concatenate((scanned.joints_deg, spread.joints_deg)), 3)
    batch = RowBatch(rows=len(points), source="benchmark", made_at=now_utc())
    return make_table(points, joints, CellOfTable.of(config), [batch])


def queries(count: int, config: Config) -> list[Query]:
    """Random targets of both regions, every second one with reference joints."""
    rng, t = np.random.default_rng(2), config.table
    out = []
    for i in range(count):
        pick = i % 4 < 2
        r, angle = rng.uniform(0.15, 0.33), rng.uniform(0.2, 1.3)
        target = (float((1 if pick else -1) * r * np.cos(angle)), float(r * np.sin(angle)))
        ref = tuple(float(j) for j in (PICK_DEG if pick else PLACE_DEG) + rng.uniform(-3, 3, 6))
        with_ref = i % 2 == 1
        out.append(
            Query(
                target,
                t.pick_band_y_m if pick else t.place_band_y_m,
                t.dist_max_m,
                ref_joints=ref if with_ref else None,
                joint_tol_deg=15.0 if with_ref else None,
            )
        )
    return out


def masks_over_all(rows: FloatArray, lo: FloatArray, hi: FloatArray, q: Query) -> int | None:
    """The field's way: every filter over every row of the (N, 9) array, then the nearest of what is left."""
    mask = (rows[:, 1] >= q.ee_y_band_m[0]) & (rows[:, 1] < q.ee_y_band_m[1])
    mask &= ((rows[:, 3:] >= lo) & (rows[:, 3:] <= hi)).all(axis=1) & (rows[:, 4] <= 88.0)
    if q.ref_joints is not None and q.joint_tol_deg is not None:
        mask &= (np.abs(rows[:, 3:] - np.array(q.ref_joints)) <= q.joint_tol_deg).all(axis=1)
    left = np.flatnonzero(mask)
    if not len(left):
        return None
    d2 = (rows[left, 0] - q.target_xz_m[0]) ** 2 + (rows[left, 2] - q.target_xz_m[1]) ** 2
    best = int(np.argmin(d2))
    return int(left[best]) if d2[best] ** 0.5 <= q.dist_max_m else None


def timed(call: Callable[[], int | None]) -> tuple[int | None, float]:
    """The answer and how long it took, microseconds."""
    start = time.perf_counter_ns()
    answer = call()
    return answer, (time.perf_counter_ns() - start) / 1000.0


def main() -> int:
    """Run, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    plain = Config()
    config = plain.model_copy(update={"arm": plain.arm.model_copy(update={"base_shift_m": BASE_SHIFT_M})})
    table = field_like_table(args.rows, config)
    arm, _ = arm_of(config)
    limits = hard_limits(arm, config)
    start = time.perf_counter()
    lookup = Lookup(table, limits, j1_safe_max_deg=88.0)
    build_s = time.perf_counter() - start
    rows = np.ascontiguousarray(table.columns.T)
    took: dict[tuple[str, str], list[float]] = {}
    refused = different = 0
    for q in queries(args.queries, config):

        def ours(q: Query = q) -> int | None:
            answer = lookup.find(q)
            return answer.selected_idx if answer.ok else None

        def field(q: Query = q) -> int | None:
            return masks_over_all(rows, limits.min_deg, limits.max_deg, q)

        (their_row, their_us), (our_row, our_us) = timed(field), timed(ours)
        kind = "refused" if our_row is None else "with reference" if q.ref_joints else "without reference"
        took.setdefault((kind, "field"), []).append(their_us)
        took.setdefault((kind, "ours"), []).append(our_us)
        refused += our_row is None
        different += our_row != their_row
    medians = {key: float(np.median(values)) for key, values in took.items()}
    kinds = list(dict.fromkeys(kind for kind, _ in took))
    if args.json:
        figures = {
            kind: {"field": round(medians[kind, "field"], 1), "ours": round(medians[kind, "ours"], 1)} for kind in kinds
        }
        head = {"rows": len(table), "queries": args.queries, "refused": refused, "different_rows": different}
        print(json.dumps({**head, "build_s": round(build_s, 3), "median_us": figures}))
    else:
        print(f"{len(table):,} rows, {args.queries} queries ({refused} refused), sorted in {build_s:.2f} s; medians")
        for kind in kinds:
            theirs, mine = medians[kind, "field"], medians[kind, "ours"]
            print(f"{kind:18} field {theirs:>10,.0f} µs   ours {mine:>8,.0f} µs   {theirs / mine:.0f} ×")
        print(f"another row than the field's way: {different}")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
