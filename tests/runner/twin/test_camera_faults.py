"""What befalls the twin's camera: each fault as a trial would see it, in process and in the served stream."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from runner.config import Config, with_overrides
from runner.twin.camera_faults import EVERY_CAMERA_FAULT, MOVED_MM
from runner.twin.firmware.faults import EARLIEST_S, FAULTS, LATEST_S, parsed, trouble_camera
from runner.twin.serve import Doors, ServedTwin
from runner.twin.setup import Twin, build_twin
from vision.calibration.drift import check_drift, marks_in
from vision.cameras.opencv import OpenCvCamera
from vision.cameras.protocol import Picture
from vision.cameras.quality import assess
from vision.errors import CameraFrozen, CameraUnavailable

SEED = 3
SMALL = with_overrides(Config(), ["camera.size_px=[960, 540]"])


@pytest.fixture(scope="module")
def small_twin() -> Iterator[Twin]:
    twin = build_twin(SMALL, seed=SEED)
    yield twin
    twin.close()


@pytest.fixture
def seen_with(small_twin) -> Callable[..., tuple[Twin, Picture, Picture]]:
    """The twin with a fault, a picture from before it began, and one from after."""

    def see(fault: str) -> tuple[Twin, Picture, Picture]:
        small_twin.reset(SEED)
        trouble_camera(small_twin, [f"{fault}@0.1"], SEED)
        before = small_twin.camera.read().image_bgr
        assert small_twin.camera.befallen == []
        small_twin.clock.sleep(0.2)
        after = small_twin.camera.read().image_bgr
        assert small_twin.camera.befallen == [fault]
        return small_twin, before, after

    return see


def apart(one: Picture, other: Picture) -> float:
    return float(np.abs(one.astype(int) - other.astype(int)).mean())


def test_unplugged_it_gives_nothing_until_the_next_reset(seen_with):
    with pytest.raises(CameraUnavailable, match="no picture"):
        seen_with("camera-unplugged")


def test_black_pictures_are_dark_and_still_no_two_alike(seen_with):
    twin, _, after = seen_with("camera-black")
    assert "dark" in assess(after).problem
    assert not np.array_equal(after, twin.camera.read().image_bgr)


def test_frozen_it_repeats_one_picture_to_the_last_bit(seen_with):
    twin, before, after = seen_with("camera-frozen")
    assert not np.array_equal(before, after)
    assert np.array_equal(after, twin.camera.read().image_bgr)


def test_out_of_the_buffer_comes_the_scene_of_the_picture_before(seen_with):
    twin, _, after = seen_with("camera-buffered")
    twin.arm.send_path(np.array([[85.0, 0, 0, 0, 0, -30]]), speed_percent=100)
    twin.clock.sleep(3.0)
    late, now = twin.camera.read().image_bgr, twin.camera.noiseless()
    assert apart(late, after) < 4 < apart(late, now)
    assert apart(twin.camera.read().image_bgr, now) < 4


def test_moved_all_marks_are_seen_five_millimetres_off(seen_with):
    twin, before, after = seen_with("camera-moved")
    drift = check_drift(after, marks_in(before))
    px_per_mm = float(twin.camera.view.K[0, 0]) / (twin.camera.view.camera_m[1] * 1000.0)
    assert drift.camera_moved
    assert np.array(list(drift.moved_px.values())) == pytest.approx(MOVED_MM * px_per_mm, rel=0.15)
    twin.reset(SEED)
    assert check_drift(twin.camera.read().image_bgr, marks_in(before)).problem is None


def test_in_another_light_the_marks_stay_where_they_were(seen_with):
    _, before, after = seen_with("camera-other-light")
    assert apart(before, after) > 2
    assert check_drift(after, marks_in(before)).problem is None


def test_another_cameras_picture_is_no_picture_of_the_calibrated_one(seen_with):
    _, before, after = seen_with("camera-other-index")
    assert after.shape == before.shape
    assert check_drift(after, marks_in(before)).problem is not None
    assert assess(after).good


def test_a_random_moment_is_the_seeds_and_each_faults_own():
    wanted = parsed([*FAULTS, *(f"{name}@random" for name in FAULTS)])
    moments = [fault.moment_s(7) for fault in wanted]
    half = len(FAULTS)
    assert moments[:half] == moments[half:] == [fault.moment_s(7) for fault in wanted][:half]
    assert len(set(moments[:half])) == half
    assert all(EARLIEST_S <= moment <= LATEST_S for moment in moments)
    assert moments != [fault.moment_s(8) for fault in wanted]


def test_every_row_of_the_collection_has_its_fault():
    rows = sorted(fault.row for fault in FAULTS.values() if fault.row is not None)
    assert rows == list(range(1, 26))
    assert len([fault for fault in EVERY_CAMERA_FAULT if fault.row is None]) == 6


def test_what_befalls_the_camera_is_seen_in_the_served_stream(tmp_path):
    twin = ServedTwin(SMALL, "new", Doors(0, False), speedup=4.0, faults=("camera-frozen@4",))
    camera = OpenCvCamera(twin.start(tmp_path).camera, size_px=SMALL.camera.size_px)
    try:
        wait_until(lambda: twin.twin.world.now_s > 4.0)
        with pytest.raises(CameraFrozen, match="4 pictures in a row"):
            read_on(camera)
        with twin._looking:
            trouble_camera(twin.twin, ["camera-unplugged@0"], SEED)
        with pytest.raises(CameraUnavailable):
            read_on(camera)
    finally:
        camera.close()
        twin.close()


def read_on(camera: OpenCvCamera) -> None:
    for _ in range(5):  # what was sent before may still be on its way
        camera.read()


def wait_until(come: Callable[[], bool]) -> None:
    while not come():
        time.sleep(0.02)
