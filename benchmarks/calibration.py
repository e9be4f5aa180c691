"""What calibrating is worth in the twin whose camera, gripper and zeros nobody knows, and whether its loss is found.

For every desk: how far the tip lands from places that no fit has seen, by the twin's truth and as the camera says it,
(a) as the desk was set up, camera and arm where they were meant to be; (b) the plain way, lens and plane only; (c)
after `calibrate all`. With --trials whole trials (b) and (c); with --drift a camera pushed by 5 mm, a joint slipped
by 3°, another camera, and nothing at all, each before a trial. Results in the twin, not on an arm. Prints tables; with
--json one object.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from runner.calibrate.bench import ArmBench
from runner.calibrate.person import Nobody
from runner.cell import make_cell, open_cell
from runner.config import Config, with_overrides
from runner.rig import Request, build_rig
from runner.station import Station
from runner.trial.drift import what_moved
from runner.trial.sequence import run_trial
from runner.trial.stop import StopSwitch
from runner.twin.profiles import PROFILES, Desk
from runner.wizard.steps import calibrate_everything
from runs.statistics import exact_rate
from runs.store import RunStore
from vision.calibration.view import View

OTHER_CAMERAS = (  # place, point looked at
    ([0.0, 0.60, -0.45], [0.0, 0.0, 0.15]),
    ([0.55, 0.55, 0.20], [0.0, 0.05, 0.20]),
    ([-0.50, 0.70, 0.55], [0.0, 0.0, 0.20]),
    ([0.05, 0.90, 0.28], [0.05, 0.0, 0.28]),
)


def seeds_of(text: str) -> list[int]:
    first, _, last = text.partition("-")
    return list(range(int(first), int(last or first) + 1))


class Score:
    """Where the tool truly was at each place, before and after, and how a camera where it was meant to be sees them."""

    def __init__(self) -> None:
        self.checks: list[list[tuple[np.ndarray, np.ndarray, np.ndarray]]] = []

    def __call__(self, bench: ArmBench, station: Station) -> Callable[[np.ndarray], None]:
        twin = station.twin
        assert twin is not None
        config = twin.config
        meant = View.looking_at(
            config.twin.camera_position_m,
            config.twin.camera_look_at_m,
            size_px=config.camera.size_px,
            width_deg=config.twin.camera_fov_deg,
            distortion=(config.twin.lens_k1, config.twin.lens_k2, 0.0, 0.0, 0.0),
        )
        self.checks.append([])

        def at_place(wanted_m: np.ndarray) -> None:
            mark_px = twin.view.table_to_pixel(wanted_m[[0, 2]])
            taken_for = meant.pixel_to_table_xz_m(mark_px)
            self.checks[-1].append((wanted_m, np.array(twin.truth().tool_m), taken_for - wanted_m[[0, 2]]))

        return at_place

    def off_mm(self, check: int, *, camera_as_meant: bool = False) -> np.ndarray:
        """On the table's plane, one a place."""
        rows = self.checks[check]
        off = np.array([(tool - wanted)[[0, 2]] + (seen if camera_as_meant else 0.0) for wanted, tool, seen in rows])
        return np.asarray(np.linalg.norm(off, axis=1) * 1000.0)

    def height_mm(self, check: int) -> np.ndarray:
        return np.array([abs(tool - wanted)[1] for wanted, tool, _ in self.checks[check]]) * 1000.0


def new_cell(folder: Path, desk: int, overrides: list[str]) -> Path:
    make_cell(folder, with_overrides(Config(), ['twin.profile="uncalibrated"', f"twin.desk_seed={desk}", *overrides]))
    return folder


def one_desk(folder: Path, desk: int, overrides: list[str]) -> dict[str, Any]:
    score = Score()
    done = calibrate_everything(open_cell(new_cell(folder, desk, overrides)), Nobody(), lambda _: None, scorer=score)
    after, seen = score.off_mm(1), np.array([place.off_mm for place in done.check.places])
    return {
        "desk": desk,
        "as_set_up_mm": figures(score.off_mm(0, camera_as_meant=True)),
        "lens_and_plane_mm": figures(score.off_mm(0)),
        "calibrated_mm": figures(after),
        "printed_mm": {"median": done.check.held_out.median_mm, "worst": done.check.held_out.worst_mm},
        "printed_off_by_mm": {
            "median": abs(float(np.median(seen) - np.median(after))),
            "worst": abs(float(seen.max() - after.max())),
        },
        "height_mm": figures(score.height_mm(1)),
        "zero_off_deg": float(np.abs(np.array(done.arm.joint_zero_deg)[:5] - true_zero(desk)[:5]).max()),
        "places": len(after),
    }


def true_zero(desk: int) -> np.ndarray:
    return Desk.of(PROFILES["uncalibrated"], 6, desk).zero_deg


def figures(values: np.ndarray) -> dict[str, float]:
    return {"median": float(np.median(values)), "worst": float(values.max())}


def one_trial(folder: Path, seed: int, overrides: list[str]) -> dict[str, Any]:
    cell, switch = open_cell(folder, overrides), StopSwitch()
    with build_rig(cell, Request(seed=seed), switch=switch, progress=lambda _: None) as rig:
        log = run_trial(rig.bench, RunStore(cell.runs_dir), switch=switch)
        truth = rig.truth()
    tips = [t.diff.dist_mm for t in log.tip_measurements if t.diff is not None]
    return {
        "seed": seed,
        "result": log.result,
        "reason": log.ending.reason if log.ending else None,
        "in_box": bool(truth and truth["block_in_box"]),
        "attempts": len(log.pick_attempts),
        "tip_mm": tips[0] if tips else None,
    }


def drift_of(folder: Path, number: int) -> dict[str, Any]:
    """The four cases of one number, each as a batch looks before a trial."""
    rng = np.random.default_rng([number, 5])
    angle = rng.uniform(0, 2 * np.pi)
    dx, dz = 0.005 * np.cos(angle), 0.005 * np.sin(angle)
    joint, sign = number % 6, 1 if rng.uniform() < 0.5 else -1
    slip = [0.0] * 6
    slip[joint] = 3.0 * sign
    place, point = OTHER_CAMERAS[number % len(OTHER_CAMERAS)]
    cases = {
        "nothing": [],
        "camera pushed 5 mm": [
            f"twin.camera_position_m=[{dx}, 0.9, {0.2 + dz}]",
            f"twin.camera_look_at_m=[{dx}, 0.0, {0.2 + dz}]",
        ],
        "joint slipped 3°": [f"twin.slip_deg={slip}"],
        "another camera": [f"twin.camera_position_m={place}", f"twin.camera_look_at_m={point}"],
    }
    told: dict[str, Any] = {"number": number, "joint": f"j{joint}"}
    for name, overrides in cases.items():
        cell = open_cell(folder, overrides)
        request = Request(seed=100 + number)
        with build_rig(cell, request, switch=StopSwitch(), progress=lambda _: None) as rig:
            rig.bench.arm.send_gripper_open()
            found = what_moved(rig.bench)
        told[name] = found.model_dump(include={"moved", "problem", "slipped_joint", "slip_deg", "tip_off_mm"})
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--desks", default="1-3", help="for example 1-10")
    parser.add_argument("--trials", default="", help="seeds of whole trials on the first desk, for example 1-20")
    parser.add_argument("--drift", type=int, default=0, metavar="N", help="look for drift N times in each case")
    parser.add_argument("--cell", type=Path, help="where cells are made; a scratch folder by default")
    parser.add_argument("--set", dest="overrides", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        answer = measured(args, args.cell or Path(scratch))
    if args.json:
        print(json.dumps(answer))
        return
    tell(answer)


def measured(args: argparse.Namespace, root: Path) -> dict[str, Any]:
    desks, trials, drifts = [], {}, []
    seeds = seeds_of(args.desks)
    for desk in seeds:
        folder = root / f"desk{desk}"
        shutil.rmtree(folder, ignore_errors=True)
        desks.append(one_desk(folder, desk, args.overrides))
        print(desk_line(desks[-1]), file=sys.stderr, flush=True)
    first = root / f"desk{seeds[0]}"
    if args.trials:
        plain = root / "plain"
        shutil.rmtree(plain, ignore_errors=True)
        new_cell(plain, seeds[0], args.overrides)
        for name, folder in (("lens and plane only", plain), ("calibrate all", first)):
            trials[name] = []
            for seed in seeds_of(args.trials):
                trials[name].append(one_trial(folder, seed, ["trial.learn=false"]))
                print(name, trials[name][-1], file=sys.stderr, flush=True)
    for number in range(args.drift):
        drifts.append(drift_of(first, number))
        print(drifts[-1], file=sys.stderr, flush=True)
    return {"desks": desks, "trials": trials, "drift": drifts}


def desk_line(row: dict[str, Any]) -> str:
    a, b, c, d = (row[name] for name in ("as_set_up_mm", "lens_and_plane_mm", "calibrated_mm", "printed_mm"))
    return (
        f"{row['desk']:4}  {a['median']:6.1f} {a['worst']:6.1f}   {b['median']:6.1f} {b['worst']:6.1f}   "
        f"{c['median']:6.2f} {c['worst']:6.2f}   {d['median']:6.2f} {d['worst']:6.2f}"
    )


def tell(answer: dict[str, Any]) -> None:
    print("tip off its place on the table, mm, median and worst, by the twin's truth; last as the camera prints it")
    print("desk      as set up    lens and plane  calibrate all        printed")
    for row in answer["desks"]:
        print(desk_line(row))
    for name, rows in answer["trials"].items():
        good = sum(row["result"] == "completed" and row["in_box"] for row in rows)
        first = sum(row["result"] == "completed" and row["attempts"] == 1 for row in rows)
        rate = exact_rate(good, len(rows))
        print(f"trials, {name}: {good} of {len(rows)} ({rate.low:.2f} … {rate.high:.2f}), {first} at the first try")
    wanted = {"nothing": None, "camera pushed 5 mm": "camera", "joint slipped 3°": "joint", "another camera": "any"}
    for name, what in wanted.items():
        rows = [row[name]["moved"] for row in answer["drift"]]
        if rows:
            found = sum(row is not None if what == "any" else row == what for row in rows)
            print(f"drift, {name}: {found} of {len(rows)} told right")


if __name__ == "__main__":
    main()
