"""How long a new picture of the twin takes: kept background against casting every pixel at everything, in turn.

    python benchmarks/twin_camera.py [--json] [--rounds N] [--size 1280x720]

Both ways give the same bytes, which is checked. Also: the first picture of a trial, a further capture of a still scene,
rays a second, and physics steps a second at rest and in motion. Times are medians; trust the ratios.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable

import numpy as np

from runner.config import Config, with_overrides
from runner.twin.lens import pixel_directions
from runner.twin.scene import BOARD, MOVING, STILL
from runner.twin.setup import build_twin

POSES = ((0, 0, 0, 0, 0, -30), (-40, 60, -30, 0, 40, -30), (40, 40, -20, 0, 40, -30), (85, 0, 0, 0, 0, -30))


def timed_s(work: Callable[[], object]) -> float:
    """Seconds of one call."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def measure(rounds: int, size_px: tuple[int, int]) -> dict[str, float | bool]:
    """All figures, seconds and rates."""
    config = with_overrides(Config(), [f"camera.size_px=[{size_px[0]}, {size_px[1]}]"])
    started = time.perf_counter()
    twin = build_twin(config, seed=1)
    build_s = time.perf_counter() - started
    first_s = timed_s(twin.camera.read)
    kept, full, capture, next_first, rays, rest, moving = ([] for _ in range(7))
    equal = True
    directions = pixel_directions(twin.view, twin.world.scene.base)
    snapshot = twin.world.new_snapshot()
    eye_m = twin.world.scene.base.to_base(np.array(twin.view.camera_m))
    for number in range(rounds):
        twin.reset(number)
        next_first.append(timed_s(twin.camera.read))
        for pose in POSES:
            twin.arm.send_path(np.array([pose], dtype=float), speed_percent=60)
            moving.append(timed_s(lambda: twin.clock.sleep(0.5)) / 0.5)
            twin.clock.sleep(3.0)
            rest.append(timed_s(lambda: twin.clock.sleep(0.5)) / 0.5)
            kept.append(timed_s(twin.camera.noiseless))
            full.append(timed_s(lambda: twin.camera.noiseless(full=True)))
            equal = equal and np.array_equal(twin.camera.noiseless(), twin.camera.noiseless(full=True))
            twin.camera.read()
            capture.append(timed_s(twin.camera.read))
            twin.world.take(snapshot)
            rays.append(timed_s(lambda: snapshot.cast(eye_m, directions, (STILL, MOVING, BOARD), normals=True)))
    twin.close()
    kept_s, full_s, dt_s = statistics.median(kept), statistics.median(full), config.twin.timestep_s
    return {
        "equal": bool(equal),
        "build_s": build_s,
        "first_picture_s": first_s,
        "first_picture_after_reset_s": statistics.median(next_first),
        "new_picture_full_s": full_s,
        "new_picture_kept_s": kept_s,
        "full_over_kept": full_s / kept_s,
        "further_capture_s": statistics.median(capture),
        "rays_per_s": len(directions) / statistics.median(rays),
        "steps_per_s_rest": 1 / (statistics.median(rest) * dt_s),
        "steps_per_s_moving": 1 / (statistics.median(moving) * dt_s),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--rounds", type=int, default=3, help="seeds, four poses each")
    parser.add_argument("--size", default="1280x720", help="picture size, WIDTHxHEIGHT")
    options = parser.parse_args()
    width, height = (int(n) for n in options.size.split("x"))
    figures = measure(options.rounds, (width, height))
    if options.json:
        print(json.dumps(figures))
        return
    for name, value in figures.items():
        print(f"{name:32} {value if isinstance(value, bool) else format(value, ',.4g')}")


if __name__ == "__main__":
    main()
