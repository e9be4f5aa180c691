"""A camera that moved since the plane was calibrated ends a trial before the arm is sent anywhere."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from runner.cell import open_cell
from runner.rig import Request, build_rig
from runner.trial.sequence import run_trial
from runner.trial.stop import StopSwitch
from runner.twin.setup import build_twin
from runs.store import RunStore

SHIFTED = ("twin.camera_position_m=[0.03, 0.90, 0.20]", "twin.camera_look_at_m=[0.03, 0.0, 0.20]")
SMALL_SHIFT = ("twin.camera_position_m=[0.03, 0.90, 0.20]",)


def dry_run(cell, *overrides, source=None):
    """A dry run of the cell; its log."""
    camera = () if source is None else ("camera.kind=folder", f"camera.source={source}")
    opened, switch = open_cell(cell, [*camera, *overrides]), StopSwitch()
    store = RunStore(opened.runs_dir)
    with build_rig(opened, Request(seed=13, dry_run=True), switch=switch, progress=lambda _: None) as rig:
        return run_trial(rig.bench, store, switch=switch, observer=lambda _: None)


@pytest.mark.parametrize(
    "shift", [SHIFTED, pytest.param(SMALL_SHIFT, marks=pytest.mark.slow)], ids=["moved", "moved_and_turned_back"]
)
def test_a_camera_30_mm_from_where_it_was_calibrated_ends_the_trial_invalid(cell_copy, shift):
    log = dry_run(cell_copy, *shift)
    assert (log.ending.result, log.ending.stage) == ("invalid", "stage2")
    assert "the camera or the table moved" in log.ending.reason
    assert log.ending.reason.endswith("calibrate again: trialcell calibrate plane")
    assert log.detect  # what was seen stays in the log
    assert not log.lookups


@pytest.mark.parametrize("profile", [pytest.param("perfect", marks=pytest.mark.slow), "field"])
def test_a_camera_that_stayed_is_no_matter(cell_copy, profile):
    log = dry_run(cell_copy, f"twin.profile={profile}")
    assert log.lookups
    assert not any("mark" in note.text for note in log.notes)


@pytest.fixture
def four_scenes(tmp_path):
    """A folder with pictures of four desks that differ, and where their blocks are."""
    folder = tmp_path / "scenes"
    folder.mkdir()
    blocks = [(0.12, 0.20), (0.18, 0.16), (0.15, 0.24), (0.20, 0.20)]
    opened = open_cell(tmp_path / "unused").config
    for number, xz_m in enumerate(blocks):
        twin = build_twin(opened, seed=13, block_xz_m=xz_m, box_xz_m=(-0.18, 0.18))
        cv2.imwrite(str(folder / f"{number}.png"), twin.camera.read().image_bgr)
        twin.close()
    return folder, blocks


@pytest.mark.slow
def test_of_pictures_that_show_different_scenes_a_look_takes_one_and_the_first_is_not_lost(cell_copy, four_scenes):
    folder, blocks = four_scenes
    log = dry_run(cell_copy, "camera.captures=3", source=folder)
    (seen,) = log.detect
    assert seen.n_captures == 1
    assert len(seen.images) == 1
    assert np.hypot(*np.subtract(seen.block_xz_m, blocks[0])) < 0.005
    assert not any("mark" in note.text for note in log.notes)
    first = cv2.imread(str(folder / "0.png")).astype(int)
    kept = cv2.imread(str(cell_copy / log.vlm_captures[0].image)).astype(int)
    assert np.abs(kept - first).mean() < 3
