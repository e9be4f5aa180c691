"""Real to render: the twin's state from pictures, held against a desk whose state is known."""

from __future__ import annotations

import numpy as np
import pytest

from runner.config import with_overrides
from runner.rehearse.sync import NothingToSync, sync
from runner.rehearse.sync_picture import overlay
from runner.rig import detect_settings
from runner.twin.setup import build_twin

BLOCK, BOX = (0.16, 0.16), (-0.16, 0.21)


@pytest.fixture(scope="module")
def small(config):
    """The default desk seen by a small camera."""
    return with_overrides(config, ["camera.size_px=[640, 360]", "twin.pad_friction=0.2", "twin.seed=4"])


@pytest.fixture(scope="module")
def desk(small):
    """Three pictures of a desk, its view, and how it truly stands."""
    twin = build_twin(small, seed=4, block_xz_m=BLOCK, box_xz_m=BOX)
    pictures = [twin.camera.read().image_bgr for _ in range(3)]
    yield pictures, twin.view, twin.truth(), twin.camera.light
    twin.close()


def synced(desk, config, joints=None):
    pictures, view, _, _ = desk
    stood = np.array(config.arm.home_deg if joints is None else joints)
    return sync(pictures, stood, view, config, detect_settings(config), plane_mm=0.2)


@pytest.fixture(scope="module")
def found(desk, small):
    return synced(desk, small)


def test_block_box_and_lamp_are_where_they_truly_are_within_what_is_said(found, desk):
    _, _, truth, light = desk
    off_mm = np.hypot(*(np.array(found.block.xz_m) - np.array(truth.block_m)[[0, 2]])) * 1000
    assert off_mm < 4 * found.block.sd_mm
    turn = (found.block.yaw_deg - truth.block_yaw_deg + 45) % 90 - 45
    assert abs(turn) < 4 * found.block.sd_deg
    assert np.hypot(*(np.array(found.box.xz_m) - np.array(truth.box_m)[[0, 2]])) * 1000 < 4.0
    assert np.hypot(*(np.array(found.lamp.at_m) - np.array(light.lamp_m))[[0, 2]]) < 3 * found.lamp.sd_m
    assert 0.1 <= found.lamp.sd_m <= 0.4


def test_what_is_rendered_is_where_it_was_seen_and_the_overlay_says_so(found):
    assert found.differences["block"].px < 0.5
    assert found.differences["block"].mm < 1.0
    assert found.differences["box"].px < 1.5
    assert found.differences["arm"].px < 3.0
    assert found.brightness_off < 30
    picture = overlay(found)
    assert picture.shape[0] > 480
    assert picture.shape[1] > 3 * 480


@pytest.mark.slow
def test_an_arm_that_stands_elsewhere_is_seen_by_its_outline(desk, small, found):
    elsewhere = synced(desk, small, joints=(12.0, 0.0, 0.0, 0.0, 0.0, -30.0))
    assert elsewhere.differences["arm"].px > 1.7 * found.differences["arm"].px


def test_pictures_that_show_nothing_or_are_of_another_size_are_refused(desk, small):
    pictures, view, _, _ = desk
    empty = np.full_like(pictures[0], 90)
    home = np.array(small.arm.home_deg)
    with pytest.raises(NothingToSync, match="neither block nor box is seen"):
        sync([empty], home, view, small, detect_settings(small), plane_mm=0.2)
    with pytest.raises(NothingToSync, match="not of the calibration's 640×360 px"):
        sync([pictures[0][:-2]], home, view, small, detect_settings(small), plane_mm=0.2)
