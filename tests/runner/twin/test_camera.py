"""The twin's camera: what is kept equals what is cast anew, a seed fixes the picture, vision can calibrate on it."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from runner.config import Config, with_overrides
from runner.kinematics.frames import BaseInCell
from runner.twin.lens import pixel_directions
from runner.twin.setup import MARKERS, BoardPlace, Twin, build_twin
from runner.twin.world import Resting
from vision.calibration.board import BoardSpec, find_board
from vision.markers import find_markers

SMALL = with_overrides(Config(), ["camera.size_px=[640, 360]"])


@pytest.fixture(scope="module")
def small_twin():
    twin = build_twin(SMALL, seed=1)
    yield twin
    twin.close()


def pose(twin: Twin, *angles_deg: float) -> None:
    twin.arm.send_path(np.array([angles_deg]), speed_percent=100)
    twin.clock.sleep(3.0)


@pytest.mark.parametrize("seed", [1, *(pytest.param(n, marks=pytest.mark.slow) for n in (2, 5))])
def test_a_kept_background_gives_the_same_picture_as_casting_everything(small_twin, seed):
    twin = small_twin
    twin.reset(seed)
    for angles in (
        (0, 0, 0, 0, 0, -30),
        (45, 35, -10, 20, 40, -30),
        (-70, 20, 10, -30, 20, 60),
        (100, -40, 30, 0, 60, 0),
    ):
        pose(twin, *angles)
        assert np.array_equal(twin.camera.noiseless(), twin.camera.noiseless(full=True))
    twin.world.put_block(Resting(twin.start.box.xz_m, 20.0), 0.01)
    twin.show_board(BoardPlace((0.05, 0.45, 0.2), (1.0, 0.0, 0.0), (0.0, 0.5, 3**0.5 / 2)))
    assert np.array_equal(twin.camera.noiseless(), twin.camera.noiseless(full=True))


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(small_twin):
    pictures = {}
    for seed in (3, 4, 3):
        small_twin.reset(seed)
        small_twin.clock.sleep(0.2)
        found = [small_twin.camera.read().image_bgr for _ in range(2)]
        if seed in pictures:
            assert all(np.array_equal(a, b) for a, b in zip(found, pictures[seed], strict=True))
        pictures[seed] = found
    assert not np.array_equal(pictures[3][0], pictures[4][0])


def test_a_fresh_twin_gives_the_same_picture_as_one_that_was_reset(small_twin):
    small_twin.reset(9)
    fresh = build_twin(SMALL, seed=9)
    assert np.array_equal(small_twin.camera.read().image_bgr, fresh.camera.read().image_bgr)
    fresh.close()


def test_captures_of_a_still_scene_differ_in_noise_alone(small_twin):
    small_twin.reset(2)
    first, second = (small_twin.camera.read() for _ in range(2))
    gap = first.image_bgr.astype(float) - second.image_bgr
    assert second.seq == first.seq + 1
    assert 2.0 < gap.std() < 3.6, "two times the noise's variance"
    assert abs(gap.mean()) < 0.1
    assert np.abs(cv2.blur(gap, (15, 15))).max() < 2.5, "nothing but noise"


def test_noise_has_the_sigma_of_the_settings_sheet(perfect_twin):
    perfect_twin.reset(2)
    clean = perfect_twin.camera.noiseless()
    middle = (clean > 30) & (clean < 225)
    gap = perfect_twin.camera.read().image_bgr.astype(float) - clean
    assert gap[middle].std() == pytest.approx(2.0, abs=0.1)


def test_what_moves_is_seen_at_once(small_twin):
    small_twin.reset(6)
    before = small_twin.camera.read().image_bgr.astype(int)
    small_twin.world.put_block(Resting((0.30, 0.30), 0.0))
    after = small_twin.camera.read().image_bgr.astype(int)
    assert np.abs(before - after).max() > 60


def test_pixels_look_where_vision_s_camera_model_says(perfect_twin):
    view, base = perfect_twin.view, BaseInCell.at((0.01, 0.02, -0.03), 12.0)
    rows = np.random.default_rng(0).integers(0, 1280 * 720, 400)
    pixels = np.stack([rows % 1280, rows // 1280], axis=1).astype(float)
    assert np.abs(base.turn_to_base(view.pixel_rays(pixels)) - pixel_directions(view, base)[rows]).max() < 5e-7


def test_the_table_s_markers_stand_where_they_are_said_to(perfect_twin):
    perfect_twin.reset(3)
    pose(perfect_twin, 0, 0, 0, 0, 0, -30)
    found = {m.id: np.array(m.centre_px) for m in find_markers(perfect_twin.camera.read().image_bgr)}
    assert set(MARKERS) <= set(found)
    for marker, xz_m in MARKERS.items():
        assert np.linalg.norm(found[marker] - perfect_twin.view.table_to_pixel(np.array(xz_m))) < 0.6


def test_the_board_is_found_flat_and_tilted_where_it_is_shown(perfect_twin):
    twin, spec = perfect_twin, BoardSpec()
    twin.reset(1, block_xz_m=(0.36, 0.30), box_xz_m=(-0.33, 0.10))
    pose(twin, 85, 0, 0, 0, 0, -30)
    tilted = BoardPlace((0.02, 0.45, 0.18), (0.94, 0.342, 0.0), (0.0, 0.0, 1.0))
    for place in (twin.board_flat(), tilted):
        twin.show_board(place)
        seen = find_board(twin.camera.read().image_bgr, spec)
        along, up = np.array(place.along), np.array(place.up)
        w, h = spec.size_m
        at = (seen.points_m[:, :1] - w / 2) * along + (h / 2 - seen.points_m[:, 1:]) * up + np.array(place.centre_m)
        off_px = np.linalg.norm(twin.view.point_to_pixel(at) - seen.corners_px, axis=1)
        assert len(seen.ids) == 24
        assert np.sqrt((off_px**2).mean()) < 0.3
    twin.hide_board()


def test_the_light_differs_from_seed_to_seed(small_twin):
    whites = []
    for seed in range(8):
        small_twin.reset(seed)
        picture = small_twin.camera.noiseless()
        column, row = np.rint(small_twin.view.table_to_pixel(np.array([0.43 + 0.0235, 0.41]))).astype(int)
        whites.append(picture[row - 1 : row + 2, column - 1 : column + 2].reshape(-1, 3).mean(axis=0))
    blue_to_red = [w[0] / w[2] for w in whites]
    assert max(blue_to_red) - min(blue_to_red) > 0.05
    assert max(w.mean() for w in whites) - min(w.mean() for w in whites) > 15
