"""Makes the pictures of `docs/rehearsal.md`: a synced twin over a seen picture, and foretold against achieved rates.

Run it with the venv's Python from the checkout; the rates come from lines that `benchmarks/rehearsal.py --rows FILE`
has kept: `python docs/make_rehearsal.py FILE`. Without a file only the first picture is made.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import cv2
import numpy as np

from runner.cell import open_cell
from runner.pictures.canvas import BLUE, INK, LINE_GREY, SOFT_INK, Canvas
from runner.rehearse.sync import sync
from runner.rehearse.sync_picture import overlay
from runner.rig import Request, build_rig
from runner.trial.stop import StopSwitch
from runs.statistics import exact_rate
from vision.calibration.file import load_plane
from vision.overlay import ORANGE

SEED = 19
BINS = ((0.0, 0.85), (0.85, 0.92), (0.92, 0.96), (0.96, 1.01))
PLACES = {"anywhere": "anywhere", "edge": "edge of reach", "beside": "beside the box", "rotated": "rotated block"}


def synced() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        cell, switch = open_cell(Path(scratch) / "cell", ["twin.profile=field"]), StopSwitch()
        with build_rig(cell, Request(seed=SEED), switch=switch, progress=print) as rig:
            pictures = [rig.bench.camera.read().image_bgr for _ in range(3)]
            joints = rig.bench.arm.read_angles_deg()
            view, detect = rig.bench.view, rig.bench.detect
        assert view is not None
        found = sync(pictures, joints, view, cell.config, detect, plane_mm=load_plane(cell.calibration_dir).held_out_mm)
    cv2.imwrite(str(Path(__file__).with_name("rehearsal-sync.jpg")), overlay(found), [cv2.IMWRITE_JPEG_QUALITY, 85])


def rates(rows: list[dict[str, object]]) -> None:
    rows = [r for r in rows if r["result"] not in ("invalid", "refused")]
    canvas = Canvas(980, 430)
    achieved_by_place(canvas, rows, (90.0, 70.0, 400.0, 270.0))
    foretold(canvas, rows, (620.0, 70.0, 300.0, 270.0))
    cv2.imwrite(str(Path(__file__).with_name("rehearsal-rates.png")), canvas.finished())


def achieved_by_place(canvas: Canvas, rows: list[dict[str, object]], frame: tuple[float, ...]) -> None:
    left, top, width, height = frame
    canvas.text((left, 30), "first attempts that put the block into the box", size=17, colour=INK)
    axis(canvas, frame)
    for number, (place, words) in enumerate(PLACES.items()):
        x = left + width * (number + 0.5) / len(PLACES)
        canvas.text((x, top + height + 24), words, size=14, colour=SOFT_INK, align="centre")
        for side, policy, colour in ((-16, "off", ORANGE), (16, "always", BLUE)):
            of = [r for r in rows if (r["kind"], r["policy"]) == (place, policy)]
            if of:
                bar(canvas, frame, x + side, sum(bool(r["success"]) for r in of), len(of), colour)
    for at, words, colour in ((left, "without a rehearsal", ORANGE), (left + 190, "with", BLUE)):
        canvas.disc((at + 6, top + height + 56), 5.0, colour)
        canvas.text((at + 18, top + height + 61), words, size=14, colour=INK)


def foretold(canvas: Canvas, rows: list[dict[str, object]], frame: tuple[float, ...]) -> None:
    left, top, width, height = frame
    canvas.text((left, 30), "picked, against the rehearsed rate", size=17, colour=INK)
    axis(canvas, frame)
    canvas.dashed((left, top + height), (left + width, top), SOFT_INK, 1.2)
    seen = [r for r in rows if r["foretold"] is not None and r["picked"] is not None]
    for lo, hi in BINS:
        inside = [r for r in seen if lo <= float(str(r["foretold"])) < hi]
        if inside:
            mean = float(np.mean([float(str(r["foretold"])) for r in inside]))
            bar(canvas, frame, left + width * share(mean), sum(bool(r["picked"]) for r in inside), len(inside), BLUE)
    for tick in (0.5, 0.75, 1.0):
        canvas.text(
            (left + width * share(tick), top + height + 24), f"{tick:.0%}", size=14, colour=SOFT_INK, align="centre"
        )
    canvas.text((left + width / 2, top + height + 50), "rehearsed rate of the chosen way", size=14, align="centre")


def share(rate: float) -> float:
    """Rates from a half to one fill the axis."""
    return min(max((rate - 0.5) / 0.5, 0.0), 1.0)


def axis(canvas: Canvas, frame: tuple[float, ...]) -> None:
    left, top, width, height = frame
    for tick in (0.5, 0.6, 0.7, 0.8, 0.9, 1.0):
        y = top + height * (1 - share(tick))
        canvas.line([(left, y), (left + width, y)], LINE_GREY, 1.0)
        canvas.text((left - 8, y + 5), f"{tick:.0%}", size=14, colour=SOFT_INK, align="right")


def bar(canvas: Canvas, frame: tuple[float, ...], x: float, wins: int, n: int, colour: tuple[int, int, int]) -> None:
    """A rate with its exact interval."""
    _, top, _, height = frame
    rate = exact_rate(wins, n)
    low, high, at = (top + height * (1 - share(value)) for value in (rate.low, rate.high, wins / n))
    canvas.line([(x, low), (x, high)], colour, 2.4)
    canvas.disc((x, at), 5.0, colour)
    canvas.text((x, min(low + 16, top + height - 4)), f"{wins}/{n}", size=12, colour=SOFT_INK, align="centre")


def main() -> None:
    if len(sys.argv) > 1:
        rates([json.loads(line) for line in Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()])
    synced()


if __name__ == "__main__":
    main()
