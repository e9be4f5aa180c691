"""Many tool points: our forward kinematics against NumPy's ways and Python loops over MuJoCo and Pinocchio, in one run.

    python benchmarks/fk.py [--poses 500000] [--loop 5000] [--rounds 5] [--json]

Random angles of the arm, joint limits aside. Ways take turns; the best of some rounds counts, for other work on the
machine only ever slows. Every way must agree to a nanometre, else the run fails.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable

import numpy as np
from ik_peers import urdf_of, version_of

from runner.compiled import SWITCH, compile_now
from runner.kinematics import fk
from runner.kinematics.model import ArmModel, FloatArray, load_arm


def without_machine_code(q: FloatArray, arm: ArmModel) -> FloatArray:
    """Our way in NumPy: fewer poses at a time than are worth a kernel."""
    few = fk.MANY // 2
    return np.concatenate([fk.tool_points_m(q[i : i + few], arm) for i in range(0, len(q), few)])


def stacks(q: FloatArray, arm: ArmModel) -> FloatArray:
    """The usual way: stacks of 4 × 4 matrices multiplied."""
    return np.ascontiguousarray(fk.link_poses(q, arm)[:, -1, :3, 3])


def mujoco_loop(q: FloatArray, arm: ArmModel) -> Callable[[], FloatArray]:
    """`mj_kinematics` in a Python loop."""
    import mujoco

    model = mujoco.MjModel.from_xml_string(urdf_of(arm))
    data, tool, rad = mujoco.MjData(model), model.body("tool").id, np.radians(q)

    def call() -> FloatArray:
        out = np.empty((len(rad), 3))
        for i, row in enumerate(rad):
            data.qpos[:] = row
            mujoco.mj_kinematics(model, data)
            out[i] = data.xpos[tool]
        return out

    return call


def pinocchio_loop(q: FloatArray, arm: ArmModel) -> Callable[[], FloatArray]:
    """`framesForwardKinematics` in a Python loop."""
    import pinocchio as pin

    model = pin.buildModelFromXML(urdf_of(arm))
    data, tool, rad = model.createData(), model.getFrameId("tool"), np.radians(q)

    def call() -> FloatArray:
        out = np.empty((len(rad), 3))
        for i, row in enumerate(rad):
            pin.framesForwardKinematics(model, data, row)
            out[i] = data.oMf[tool].translation
        return out

    return call


def main() -> int:
    """Run, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--poses", type=int, default=500_000)
    parser.add_argument("--loop", type=int, default=5_000, help="poses for the Python loops")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    arm = load_arm("mecharm270").with_tool(tcp_mm=(0.0, 0.0, 100.3))
    q = np.random.default_rng(0).uniform(-170.0, 170.0, (max(args.poses, args.loop, fk.MANY), 6))
    few = q[: args.loop].copy()
    os.environ[SWITCH] = "wait"
    began = time.perf_counter()
    compile_now(fk.KERNELS)
    compiled_s = time.perf_counter() - began
    ways: dict[str, tuple[Callable[[], FloatArray], int]] = {
        "ours, compiled, on threads": (lambda: fk.tool_points_m(q, arm), len(q)),
        "ours, NumPy, tip backwards": (lambda: without_machine_code(q, arm), len(q)),
        "NumPy, stacks of 4 × 4": (lambda: stacks(q[: 20 * len(few)], arm), min(len(q), 20 * len(few))),
        "MuJoCo, Python loop": (mujoco_loop(few, arm), len(few)),
    }
    pinocchio = version_of("pin")
    if pinocchio is not None:
        ways["pinocchio, Python loop"] = (pinocchio_loop(few, arm), len(few))
    best = dict.fromkeys(ways, np.inf)
    apart_m = 0.0
    for _ in range(args.rounds):
        first: FloatArray | None = None
        for name, (call, count) in ways.items():
            began = time.perf_counter()
            points = call()
            best[name] = min(best[name], (time.perf_counter() - began) / count)
            first = points if first is None else first
            apart_m = max(apart_m, float(np.abs(points - first[: len(points)]).max()))
    ours = best["ours, compiled, on threads"]
    answer = {
        "poses": len(q),
        "million_poses_a_second": {name: 1e-6 / each for name, each in best.items()},
        "ours_is_faster_by": {name: each / ours for name, each in best.items()},
        "largest_difference_m": apart_m,
        "compiled_in_s": round(compiled_s, 2),
        "pinocchio": pinocchio or "not installed",
    }
    if args.json:
        print(json.dumps(answer))
    else:
        print(f"{len(q):,} poses, best of {args.rounds}; compiled in {compiled_s:.1f} s")
        for name, each in best.items():
            print(f"{name:28} {1e-6 / each:8.2f} M poses/s   {each / ours:6.1f} × as long as ours")
        print(f"largest difference {apart_m:.1e} m; pinocchio {pinocchio or 'not installed'}")
    return 1 if apart_m > 1e-9 else 0


if __name__ == "__main__":
    sys.exit(main())
