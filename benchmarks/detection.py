"""Where block and box are seen in the twin against where they are, over random scenes with the arm out of the way.

Light, desk, places and yaws are those of each seed. The plain way puts the colour patch's middle on the table's plane,
without heights. Results in the twin, not on a desk. Prints a table; with --json one object.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

import numpy as np

from runner.calibrate.first_use import calibrate_twin
from runner.config import Config
from runner.rig import detect_settings
from runner.twin.setup import build_twin
from vision.calibration.file import load_view
from vision.detect.block import find_block
from vision.detect.box import find_box

ASIDE_J0_DEG = {"block": 85.0, "box": -85.0}  # the side from which nothing of it is hidden


def scene(twin, seed: int, what: str):
    """A start of that seed with the arm swung aside, and the picture of it."""
    twin.reset(seed)
    aside = np.asarray(twin.config.arm.home_deg)
    aside[0] = ASIDE_J0_DEG[what]
    twin.arm.send_path(aside[None], speed_percent=100)
    twin.clock.sleep(4.0)
    return twin.camera.read().image_bgr, twin.truth()


def measured(scenes: int) -> dict[str, dict[str, list[float]]]:
    config = Config()
    settings = detect_settings(config)
    found: dict[str, dict[str, list[float]]] = {w: {"ours": [], "plain": [], "ms": []} for w in ASIDE_J0_DEG}
    with tempfile.TemporaryDirectory() as folder:
        calibrate_twin(config, Path(folder), lambda _: None)
        view = load_view(Path(folder))
    twin = build_twin(config, seed=0)
    for seed in range(1, scenes + 1):
        for what, find in (("block", find_block), ("box", find_box)):
            picture, truth = scene(twin, seed, what)
            begun = time.perf_counter()
            best = find(picture, view, settings).best
            found[what]["ms"].append((time.perf_counter() - begun) * 1000)
            x, _, z = truth.block_m if what == "block" else truth.box_m
            if best is None:
                continue
            plain = view.pixel_to_table_xz_m(np.asarray(best.centre_px), 0.0)
            found[what]["ours"].append(float(np.hypot(best.xz_m[0] - x, best.xz_m[1] - z)) * 1000)
            found[what]["plain"].append(float(np.hypot(plain[0] - x, plain[1] - z)) * 1000)
    twin.close()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scenes", type=int, default=200)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    result = {"scenes": args.scenes}
    for what, errors in measured(args.scenes).items():
        result[what] = {
            "missed": args.scenes - len(errors["ours"]),
            "ms_median": float(np.median(errors["ms"])),
            **{
                f"{way}_mm": {"median": float(np.median(e)), "p95": float(np.percentile(e, 95)), "worst": max(e)}
                for way, e in errors.items()
                if way != "ms"
            },
        }
    if args.json:
        print(json.dumps(result))
        return
    print(f"{args.scenes} random scenes in the twin; error on the table, mm")
    print(f"{'':7}{'missed':>7}{'median':>9}{'95 %':>8}{'worst':>8}   {'on y = 0: median, 95 %, worst':32}{'ms':>6}")
    for what in ASIDE_J0_DEG:
        r, o, p = result[what], result[what]["ours_mm"], result[what]["plain_mm"]
        plain = f"{p['median']:.1f}, {p['p95']:.1f}, {p['worst']:.1f}"
        ours = f"{o['median']:9.2f}{o['p95']:8.2f}{o['worst']:8.2f}"
        print(f"{what:7}{r['missed']:7}{ours}   {plain:32}{r['ms_median']:6.0f}")


if __name__ == "__main__":
    main()
