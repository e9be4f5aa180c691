"""One lookup in the reach table: ours against the field's masks over all rows and a KD-tree, in one run, taking turns.

    python benchmarks/lookup.py [--rows 1000000] [--queries 100] [--times-ten] [--json]

The table is like the field's: 7⁵ offsets round two base poses swept by j0, and spread poses, rounded as its CSV was.
Half of the queries ask for a pick, half for a place; each once without and once with reference joints (15°). The scan
before each of our answers empties the caches; "again" is the same question at once. Every way must give the same row
each time, else the run fails. With --times-ten a table of ten times the rows is asked in turn with the first.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable

import numpy as np
from scipy.spatial import cKDTree

from runner.compiled import SWITCH
from runner.config import Config
from runner.kinematics.ik.protocol import JointLimits
from runner.kinematics.model import FloatArray
from runner.table.lookup import Lookup
from runner.table.postures import arm_of, hard_limits
from runner.table.query import Query
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


def filters_of(rows: FloatArray, limits: JointLimits, q: Query) -> np.ndarray:
    """Every filter over some rows of the (N, 9) array."""
    mask = (rows[:, 1] >= q.ee_y_band_m[0]) & (rows[:, 1] < q.ee_y_band_m[1])
    mask &= ((rows[:, 3:] >= limits.min_deg) & (rows[:, 3:] <= limits.max_deg)).all(axis=1) & (rows[:, 4] <= 88.0)
    if q.ref_joints is not None and q.joint_tol_deg is not None:
        mask &= (np.abs(rows[:, 3:] - np.array(q.ref_joints)) <= q.joint_tol_deg).all(axis=1)
    return mask


def nearest_of(rows: FloatArray, left: np.ndarray, q: Query) -> int | None:
    """The nearest of some row numbers within reach, the lowest on a tie."""
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


def seconds(call: Callable[[], object]) -> float:
    """How long a call takes."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


class Ways:
    """Every way to ask one table."""

    def __init__(self, table: ReachTable, limits: JointLimits) -> None:
        self.limits = limits
        self.rows = np.ascontiguousarray(table.columns.T)
        self.build_s = {"ours": seconds(lambda: setattr(self, "ours", Lookup(table, limits, j1_safe_max_deg=88.0)))}
        self.plain = Lookup.over(self.ours.index, compiled=False)
        self.build_s["kd-tree"] = seconds(lambda: setattr(self, "tree", cKDTree(self.rows[:, [0, 2]])))
        self.ours.find(queries(1, Config())[0])

    ours: Lookup
    tree: cKDTree

    def field(self, q: Query) -> int | None:
        """Masks over all rows, then the nearest of what is left."""
        return nearest_of(self.rows, np.flatnonzero(filters_of(self.rows, self.limits, q)), q)

    def kd_tree(self, q: Query) -> int | None:
        """All rows within reach by the tree, then the filters."""
        near = np.sort(np.array(self.tree.query_ball_point(q.target_xz_m, q.dist_max_m), dtype=int))
        return nearest_of(self.rows, near[filters_of(self.rows[near], self.limits, q)], q)

    def each(self) -> dict[str, Callable[[Query], int | None]]:
        """The ways by name, in the order in which they take turns."""
        return {
            "field": self.field,
            "ours": lambda q: row_of(self.ours, q),
            "again": lambda q: row_of(self.ours, q),
            "kd-tree": self.kd_tree,
            "ours, NumPy": lambda q: row_of(self.plain, q),
        }


def row_of(lookup: Lookup, q: Query) -> int | None:
    """Our answer's row, None where it refuses."""
    found = lookup.find(q)
    return found.selected_idx if found.ok else None


def main() -> int:
    """Run, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--times-ten", action="store_true", help="also ask a table of ten times the rows")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    os.environ[SWITCH] = "wait"
    plain = Config()
    config = plain.model_copy(update={"arm": plain.arm.model_copy(update={"base_shift_m": BASE_SHIFT_M})})
    arm, _ = arm_of(config)
    limits = hard_limits(arm, config)
    ways = Ways(field_like_table(args.rows, config), limits)
    calls = ways.each()
    ten: Lookup | None = None
    if args.times_ten:
        ten = Lookup(field_like_table(10 * args.rows, config), limits, j1_safe_max_deg=88.0)
    took: dict[str, dict[str, list[float]]] = {}
    different = 0
    for q in queries(args.queries, config):
        told = {name: timed(lambda call=call, q=q: call(q)) for name, call in calls.items()}
        ours = told["ours"][0]
        kind = "refused" if ours is None else "with reference" if q.ref_joints else "without reference"
        different += any(row != ours for row, _ in told.values())
        if ten is not None:
            ways.field(q)
            row, us = timed(lambda q=q, ten=ten: row_of(ten, q))
            if (row is None) == (ours is None):
                told["ours, 10 × the rows"] = row, us
        for name, (_, us) in told.items():
            took.setdefault(kind, {}).setdefault(name, []).append(us)
    report(args, ways, took, different)
    return 1 if different else 0


def report(args: argparse.Namespace, ways: Ways, took: dict[str, dict[str, list[float]]], different: int) -> None:
    """Print the medians."""
    medians = {kind: {name: float(np.median(us)) for name, us in by.items()} for kind, by in took.items()}
    p95 = {kind: {name: float(np.percentile(us, 95)) for name, us in by.items()} for kind, by in took.items()}
    if args.json:
        head = {"rows": len(ways.rows), "queries": args.queries, "different_rows": different}
        build = {name: round(s, 3) for name, s in ways.build_s.items()}
        rounded = {
            word: {kind: {name: round(us, 1) for name, us in by.items()} for kind, by in figures.items()}
            for word, figures in (("median_us", medians), ("p95_us", p95))
        }
        times = {
            kind: {name: round(by["field"] / us, 1) for name, us in by.items() if name != "field"}
            for kind, by in medians.items()
        }
        print(json.dumps({**head, "build_s": build, **rounded, "times_faster_than_field": times}))
        return
    built = ", ".join(f"{name} {s:.2f} s" for name, s in ways.build_s.items())
    print(f"{len(ways.rows):,} rows, {args.queries} queries; built in: {built}; medians (95th percentile), µs")
    for kind, by in medians.items():
        print(f"{kind} ({len(took[kind]['ours'])})")
        for name, us in by.items():
            print(f"  {name:20} {us:>11,.1f} ({p95[kind][name]:>11,.1f})   {by['field'] / us:>8,.1f} ×")
    print(f"queries in which the ways gave different rows: {different}")


if __name__ == "__main__":
    sys.exit(main())
