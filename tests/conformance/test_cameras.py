"""What every camera must do. A new camera joins by adding its maker to `MAKERS`; the bench's are marked `hardware`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import cv2
import numpy as np
import pytest

from runner.config import Config
from runner.twin.setup import build_twin
from vision.cameras.folder import FolderCamera


def make_twin_camera(tmp_path):
    twin = build_twin(Config(), seed=3)
    return twin.camera, twin.close


def make_folder_camera(tmp_path):
    for number in range(3):
        picture = np.random.default_rng(number).integers(0, 255, (120, 160, 3), dtype=np.uint8)
        cv2.imwrite(str(tmp_path / f"{number}.png"), picture)
    return FolderCamera(tmp_path), lambda: None


def make_picture_camera(tmp_path):
    cv2.imwrite(str(tmp_path / "one.jpg"), np.random.default_rng(0).integers(0, 255, (120, 160, 3), dtype=np.uint8))
    return FolderCamera(tmp_path / "one.jpg"), lambda: None


def make_video_camera(tmp_path):
    video = cv2.VideoWriter(str(tmp_path / "film.avi"), cv2.VideoWriter.fourcc(*"MJPG"), 10.0, (160, 120))
    if not video.isOpened():
        pytest.skip("skipped: this OpenCV writes no video")
    for number in range(5):
        video.write(np.random.default_rng(number).integers(0, 255, (120, 160, 3), dtype=np.uint8))
    video.release()
    return FolderCamera(tmp_path / "film.avi"), lambda: None


MAKERS = {
    "twin": make_twin_camera,
    "folder": make_folder_camera,
    "picture": make_picture_camera,
    "video": make_video_camera,
}
LIVE = {"twin"}
"""Cameras that look at something that goes on: two of their pictures are never equal."""


@pytest.fixture(params=sorted(MAKERS))
def camera(request, tmp_path):
    made, close = MAKERS[request.param](tmp_path)
    yield made
    made.close()
    close()


def test_a_frame_is_a_colour_picture_of_the_size_that_the_camera_says(camera):
    frame = camera.read()
    assert frame.image_bgr.dtype == np.uint8
    assert frame.image_bgr.ndim == 3
    assert frame.image_bgr.shape[2] == 3
    assert frame.size_px == camera.size_px
    assert frame.size_px == (frame.image_bgr.shape[1], frame.image_bgr.shape[0])


def test_it_has_a_name_and_says_its_index_or_none(camera):
    assert camera.name
    assert camera.index is None or isinstance(camera.index, (int, str))


def test_frames_are_counted_from_0_and_say_when_they_were_taken(camera):
    before = datetime.now(UTC) - timedelta(seconds=1)
    frames = [camera.read() for _ in range(3)]
    assert [frame.seq for frame in frames] == [0, 1, 2]
    times = [datetime.fromisoformat(frame.taken_at) for frame in frames]
    assert times == sorted(times)
    assert before <= times[0] <= times[-1] <= datetime.now(UTC) + timedelta(seconds=1)
    assert all(frame.source for frame in frames)


def test_a_picture_that_was_put_back_comes_again_from_a_camera_that_replays_and_from_no_other(camera):
    assert camera.replays == (camera.name not in LIVE)
    first = camera.read().image_bgr
    camera.put_back()
    assert np.array_equal(camera.read().image_bgr, first) == camera.replays


def test_a_live_camera_never_gives_the_same_picture_twice(camera):
    if camera.replays:
        pytest.skip(f"skipped: {camera.name} replays pictures")
    assert not np.array_equal(camera.read().image_bgr, camera.read().image_bgr)


def test_what_is_done_to_a_picture_does_not_come_back_in_the_next(camera):
    first = camera.read().image_bgr
    kept = first.copy()
    first[:] = 0
    assert camera.read().image_bgr.mean() > 0.2 * kept.mean()


def test_asking_for_the_size_takes_no_picture_away(camera):
    assert camera.size_px == camera.size_px
    assert camera.read().seq == 0


def test_closing_twice_is_safe(camera):
    camera.read()
    camera.close()
    camera.close()
