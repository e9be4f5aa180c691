"""Our inverse kinematics against everybody's, on the same targets in one run, taking turns by blocks.

    python benchmarks/ik.py [--targets 200] [--branches 100] [--bulk 20000] [--peers rtb,ssik,…|none] [--json]

Targets are random poses inside the limits. Cold starts from home, warm 5° off in each joint at most. A target counts
as reached when we find it so: within 0.1 mm and 0.1°, inside the limits once whole turns are taken off. Solvers without
restarts of their own get up to ten random ones, the same for all. Peers come with: pip install 'trialcell[bench-ik]'.
Only ratios mean something.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from typing import Any

os.environ.setdefault("TRIALCELL_COMPILED", "wait")

import numpy as np
from ik_peers import PEERS, RESTARTS, Peer, version_of

from runner.kinematics.fk import tool_pose
from runner.kinematics.ik.closed import ClosedForm
from runner.kinematics.ik.dls import FOR_SURE, DampedLeastSquares
from runner.kinematics.ik.protocol import IkSolver, IkTarget, JointLimits
from runner.kinematics.model import ArmModel, FloatArray, load_arm

YARDSTICK = "roboticstoolbox ik_LM"
SAME_BRANCH_DEG = 0.05
BLOCK = 25  # targets that a solver gets before the next has its turn


def ours(name: str, solver: IkSolver) -> Peer:
    """One of our solvers, asked as the others are: a target object and a result object in every call."""

    def solve(T: FloatArray, q0: FloatArray) -> FloatArray | None:
        return solver.solve(IkTarget.of_frame(T), q0).angles_deg

    every = None
    if isinstance(solver, ClosedForm):
        closed = solver

        def every(T: FloatArray) -> FloatArray:
            return np.radians(closed.solve_all_batch(T[None]).angles_deg)

    return Peer(name, solve, speaks_degrees=True, all_branches=every)


def inside(q: FloatArray, limits: JointLimits) -> FloatArray | None:
    """The angles in degrees with whole turns taken off, if they are inside then."""
    deg = np.degrees(np.arctan2(np.sin(q), np.cos(q)))
    deg = np.where(deg < limits.min_deg - 1e-6, deg + 360.0, np.where(deg > limits.max_deg + 1e-6, deg - 360.0, deg))
    return deg if limits.hold(deg, slack_deg=1e-4) else None


def reached(q: FloatArray | None, T: FloatArray, arm: ArmModel, limits: JointLimits) -> bool:
    """Whether that is a solution."""
    deg = None if q is None or not np.isfinite(q).all() else inside(q, limits)
    if deg is None:
        return False
    found = tool_pose(deg, arm)
    turn = np.clip((np.trace(found[:3, :3].T @ T[:3, :3]) - 1.0) / 2.0, -1.0, 1.0)
    return bool(np.linalg.norm(found[:3, 3] - T[:3, 3]) < 1e-4 and np.degrees(np.arccos(turn)) < 0.1)


def timed(peer: Peer, T: FloatArray, start_deg: FloatArray) -> tuple[FloatArray | None, float]:
    """The angles, radians, and the seconds they took; changing units is nobody's time."""
    start = start_deg.copy() if peer.speaks_degrees else np.radians(start_deg)
    began = time.perf_counter()
    q = peer.solve(T, start)
    took = time.perf_counter() - began
    return (np.radians(q) if peer.speaks_degrees and q is not None else q), took


def raced(
    peers: list[Peer], arm: ArmModel, limits: JointLimits, poses: FloatArray, starts: FloatArray
) -> dict[str, dict[str, float]]:
    """Every solver on every target, in turn by blocks of targets."""
    frames = tool_pose(poses, arm)
    rows: dict[str, list[tuple[bool, bool, bool, float]]] = {peer.name: [] for peer in peers}
    again = np.random.default_rng(99).uniform(limits.min_deg, limits.max_deg, (len(poses), RESTARTS, 6))
    for block in range(0, len(poses), BLOCK):
        some = range(block, min(block + BLOCK, len(poses)))
        for peer in peers if block // BLOCK % 2 else reversed(peers):
            firsts = [timed(peer, frames[i], starts[i]) for i in some]
            for i, (q, took_s) in zip(some, firsts, strict=True):
                total_s = took_s
                first = there = reached(q, frames[i], arm, limits)
                for other in () if peer.own_restarts else again[i]:
                    if there:
                        break
                    last, more_s = timed(peer, frames[i], other)
                    total_s += more_s
                    there = reached(last, frames[i], arm, limits)
                near = first and q is not None and float(np.abs(np.degrees(q) - poses[i]).max()) < SAME_BRANCH_DEG
                rows[peer.name].append((first, there, near, total_s * 1000.0))
    figures = {}
    for name, taken in rows.items():
        first, there, near, ms = np.array(taken, dtype=float).T
        figures[name] = {
            "first_percent": float(first.mean() * 100),
            "reached_percent": float(there.mean() * 100),
            "same_branch_percent": float(near.mean() * 100),
            "median_ms": float(np.median(ms)),
            "p95_ms": float(np.percentile(ms, 95)),
        }
    return figures


def branches(peers: list[Peer], arm: ArmModel, limits: JointLimits, poses: FloatArray) -> dict[str, dict[str, float]]:
    """Who finds how many of all branches that anybody finds."""
    every = [peer for peer in peers if peer.all_branches is not None]
    found: dict[str, float] = dict.fromkeys((peer.name for peer in every), 0.0)
    took: dict[str, list[float]] = {peer.name: [] for peer in every}
    total = 0
    for T in tool_pose(poses, arm):
        sets: dict[str, list[FloatArray]] = {}
        for peer in every:
            assert peer.all_branches is not None
            began = time.perf_counter()
            rows = peer.all_branches(T)
            took[peer.name].append((time.perf_counter() - began) * 1000.0)
            sets[peer.name] = [
                deg for q in rows if reached(q, T, arm, limits) and (deg := inside(q, limits)) is not None
            ]
        union: list[FloatArray] = []
        for rows_deg in sets.values():
            union += [deg for deg in rows_deg if not any(_same(deg, known) for known in union)]
        total += len(union)
        for name, rows_deg in sets.items():
            found[name] += sum(any(_same(deg, known) for deg in rows_deg) for known in union)
    return {
        name: {"percent": 100.0 * found[name] / total, "branches": total, "median_ms": float(np.median(took[name]))}
        for name in found
    }


def _same(a: FloatArray, b: FloatArray) -> bool:
    apart = np.abs(a - b)
    return bool(np.minimum(apart, 360.0 - apart).max() < SAME_BRANCH_DEG)


def in_bulk(arm: ArmModel, limits: JointLimits, count: int) -> dict[str, float]:
    """Poses a second, all branches, on all cores; and of processor time, which other work does not blur."""
    frames = tool_pose(np.random.default_rng(4).uniform(limits.min_deg, limits.max_deg, (count, 6)), arm)
    solver = ClosedForm(arm, limits=limits)
    best_s = best_cpu_s = np.inf
    for _ in range(5):
        began, cpu = time.perf_counter(), time.process_time()
        found = solver.solve_all_batch(frames)
        best_s = min(best_s, time.perf_counter() - began)
        best_cpu_s = min(best_cpu_s, time.process_time() - cpu)
    return {
        "poses": count,
        "branches_a_pose": float(found.counts.mean()),
        "poses_a_second": count / best_s,
        "processor_us_a_pose": best_cpu_s / count * 1e6,
    }


def main() -> int:
    """Run, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--targets", type=int, default=200)
    parser.add_argument("--branches", type=int, default=100, help="targets for which every branch is asked")
    parser.add_argument("--bulk", type=int, default=20_000)
    parser.add_argument("--peers", default=",".join(PEERS), help="short names, or none")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    arm = load_arm("mecharm270").with_tool(tcp_mm=(0.0, 0.0, 100.3))
    limits = JointLimits.of(arm)
    began = time.perf_counter()
    peers = [
        ours("closed form", ClosedForm(arm, limits=limits)),
        ours("least squares", DampedLeastSquares(arm, limits=limits, restarts=FOR_SURE)),
        ours("least squares, one attempt", DampedLeastSquares(arm, limits=limits)),
    ]
    for peer in peers:
        peer.solve(tool_pose(arm.home_deg, arm), arm.home_deg)
    ready_s = time.perf_counter() - began
    there: dict[str, str] = {}
    for short in args.peers.split(","):
        if short in PEERS:
            distribution, make = PEERS[short]
            there[distribution] = version_of(distribution) or "not installed"
            if there[distribution] != "not installed":
                peers.append(make(arm))
    rng = np.random.default_rng(1)
    poses = rng.uniform(limits.min_deg, limits.max_deg, (args.targets, 6))
    near = np.clip(poses + rng.uniform(-5, 5, poses.shape), limits.min_deg, limits.max_deg)
    answer: dict[str, Any] = {
        "targets": args.targets,
        "peers": there,
        "our_code_ready_s": round(ready_s, 2),
        "cold": raced(peers, arm, limits, poses, np.tile(arm.home_deg, (args.targets, 1))),
        "warm": raced(peers, arm, limits, poses, near),
        "branches": branches(peers, arm, limits, rng.uniform(limits.min_deg, limits.max_deg, (args.branches, 6))),
        "bulk": in_bulk(arm, limits, args.bulk),
    }
    if args.json:
        print(json.dumps(answer))
    else:
        told(answer)
    sure = (answer["cold"][name]["reached_percent"] for name in ("closed form", "least squares"))
    return 0 if all(share == 100.0 for share in sure) else 1


def told(answer: dict[str, Any]) -> None:
    """The tables for people."""
    for kind in ("cold", "warm"):
        rows = answer[kind]
        yard = rows.get(YARDSTICK, {}).get("median_ms")
        print(f"\n{kind}, {answer['targets']} targets   1st %    all %   same %   median ms   p95 ms   × ik_LM")
        for name, row in sorted(rows.items(), key=lambda item: float(item[1]["median_ms"])):
            times = f"{row['median_ms'] / yard:8.2f}" if yard else "       –"
            print(
                f"{name:27}{row['first_percent']:8.1f} {row['reached_percent']:8.1f} {row['same_branch_percent']:8.1f}"
                f"  {row['median_ms']:10.4f} {row['p95_ms']:8.3f} {times}"
            )
    for name, row in answer["branches"].items():
        print(
            f"\n{name}: {row['percent']:.2f} % of all {row['branches']} branches, median {row['median_ms']:.3f} ms",
            end="",
        )
    bulk = answer["bulk"]
    print(
        f"\n\nin bulk: {bulk['poses_a_second']:,.0f} poses/s, {bulk['processor_us_a_pose']:.1f} µs of processor a pose"
    )
    for distribution, which in answer["peers"].items():
        print(f"{distribution} {which}")


if __name__ == "__main__":
    sys.exit(main())
