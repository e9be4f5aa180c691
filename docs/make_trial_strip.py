"""Makes `docs/trial.jpg`, the README's picture: one trial in the twin, with what the detectors saw drawn over it.

Run it with the venv's Python from the checkout; it does a trial in a scratch cell and overwrites the picture.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import cv2
import numpy as np

from runner.cell import open_cell
from runner.rig import Request, build_rig
from runner.trial.sequence import run_trial
from runner.trial.stop import StopSwitch
from runs.store import RunStore
from vision.cameras.protocol import read_picture
from vision.detect.block import find_block
from vision.detect.box import find_box
from vision.overlay import draw_overlay, strip

SEED = 4
TILES = {
    "detect_1": "1  block and box found",
    "stage4_pick_tip": "2  straight down, heading turned to the block",
    "place_pre": "3  gripped, lifted, carried",
    "place": "4  let go, stepped aside, judged: yes",
}


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        cell, switch = open_cell(Path(scratch) / "cell"), StopSwitch()
        with build_rig(cell, Request(seed=SEED), switch=switch, progress=print) as rig:
            log = run_trial(rig.bench, RunStore(cell.runs_dir), switch=switch)
            view, settings = rig.bench.view, rig.bench.detect
        assert log.result == "completed", log.ending
        tiles = []
        for label, title in TILES.items():
            picture = read_picture(cell.runs_dir / log.run_id / f"{log.run_id}_{label}.jpg")
            if label in ("detect_1", "place"):
                blocks, box = find_block(picture, view, settings), find_box(picture, view, settings)
                picture = draw_overlay(picture, blocks=blocks.accepted[:1], box=box.best)
            tiles.append((title, picture))
        rows = [strip(tiles[at : at + 2], height_px=400) for at in (0, 2)]
    sheet = np.concatenate([rows[0], np.zeros((6, rows[0].shape[1], 3), np.uint8) + 30, rows[1]])
    cv2.imwrite(str(Path(__file__).with_name("trial.jpg")), sheet, [cv2.IMWRITE_JPEG_QUALITY, 85])


if __name__ == "__main__":
    main()
