"""Stored pictures as cameras, live cameras that aren't there, and the preflight's verdict on a picture."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from vision.cameras.folder import FolderCamera
from vision.cameras.opencv import OpenCvCamera, list_cameras, resolve_source
from vision.cameras.protocol import Camera, Frame, checked_picture, read_picture
from vision.cameras.quality import assess, frozen
from vision.errors import CameraUnavailable, NotAPicture, WrongPictureSize


@pytest.fixture
def folder(tmp_path):
    for i, name in enumerate(("b.png", "a.jpg", "c.png")):
        cv2.imwrite(str(tmp_path / name), np.full((48, 64, 3), 60 * (i + 1), np.uint8))
    (tmp_path / "notes.txt").write_text("not a picture")
    return tmp_path


def level(frame: Frame) -> int:
    return round(float(frame.image_bgr.mean()))


def test_a_folder_gives_its_pictures_by_name_and_then_the_last_again(folder):
    camera: Camera = FolderCamera(folder)
    assert camera.size_px == (64, 48)
    frames = [camera.read() for _ in range(5)]
    assert [level(f) for f in frames] == [120, 60, 180, 180, 180]
    assert [f.seq for f in frames] == [0, 1, 2, 3, 4]
    assert frames[0].source.endswith("a.jpg")
    assert frames[0].size_px == (64, 48)
    assert frames[0].taken_at.endswith("+00:00")
    camera.close()
    camera.close()


def test_a_folder_can_start_again_or_say_that_it_is_at_its_end(folder):
    again = FolderCamera(folder, at_end="from_start")
    assert [level(again.read()) for _ in range(4)] == [120, 60, 180, 120]
    stops = FolderCamera(folder, at_end="stop")
    for _ in range(3):
        stops.read()
    with pytest.raises(CameraUnavailable, match="all 3 pictures have been given"):
        stops.read()


def test_a_single_picture_is_a_camera_too(folder):
    camera = FolderCamera(folder / "b.png")
    assert level(camera.read()) == level(camera.read()) == 60


def test_a_frame_is_its_own_copy(folder):
    camera = FolderCamera(folder / "b.png")
    camera.read().image_bgr[:] = 0
    assert level(camera.read()) == 60


def test_a_video_gives_its_pictures(tmp_path):
    path = tmp_path / "clip.avi"
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"MJPG"), 10, (64, 48))
    for i in range(3):
        writer.write(np.full((48, 64, 3), 50 * (i + 1), np.uint8))
    writer.release()
    camera = FolderCamera(path)
    assert camera.size_px == (64, 48)
    assert [round(level(camera.read()) / 50) for _ in range(4)] == [1, 2, 3, 3]
    camera.close()


def test_what_is_no_picture_is_refused_with_the_reason(tmp_path):
    (tmp_path / "text.jpg").write_text("hello")
    (tmp_path / "empty.png").touch()
    good = cv2.imencode(".png", np.zeros((48, 64, 3), np.uint8))[1].tobytes()
    (tmp_path / "cut.png").write_bytes(good[:40])
    for name, why in (
        ("text.jpg", "no known picture format"),
        ("empty.png", "it is empty"),
        ("cut.png", "no known picture format"),
        ("none.png", "there is no such file"),
        (".", "it is a folder"),
    ):
        with pytest.raises(NotAPicture, match=why):
            read_picture(tmp_path / name)
    with pytest.raises(NotAPicture, match="float64"):
        checked_picture(np.zeros((48, 64, 3)), "an array")
    with pytest.raises(NotAPicture, match="holds no pixels"):
        checked_picture("a string", "this")
    assert checked_picture(np.zeros((48, 64), np.uint8), "grey").shape == (48, 64, 3)


def test_an_empty_or_missing_folder_is_said(tmp_path):
    with pytest.raises(CameraUnavailable, match="holds no pictures"):
        FolderCamera(tmp_path).read()
    with pytest.raises(CameraUnavailable, match="no such file or folder"):
        _ = FolderCamera(tmp_path / "gone").size_px


def test_a_live_camera_is_read_like_any_other_through_its_address(tmp_path):
    path = tmp_path / "stream.avi"
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"MJPG"), 10, (64, 48))
    for i in range(12):
        writer.write(np.full((48, 64, 3), 20 * i, np.uint8))
    writer.release()
    camera = OpenCvCamera(str(path), size_px=(64, 48))
    first = camera.read()
    assert round(level(first) / 20) == 3  # three pictures were drained
    assert camera.size_px == (64, 48)
    assert camera.index == str(path)
    camera.close()
    with pytest.raises(WrongPictureSize, match="64×48 px where 640×480"):
        OpenCvCamera(str(path), size_px=(640, 480)).read()


def test_a_camera_that_is_not_there_is_said():
    with pytest.raises(CameraUnavailable, match="no camera is called so"):
        resolve_source("No Such Camera 9000")
    assert resolve_source("2") == 2
    assert resolve_source("http://127.0.0.1:1/stream") == "http://127.0.0.1:1/stream"
    assert all(entry.source.startswith("/dev/video") for entry in list_cameras())


def test_the_preflight_tells_dark_blurred_capped_and_overexposed_from_good(overhead, paint, make_cube):
    image = paint(overhead, cubes=[make_cube((0.2, 0.2))], noise=2.0)
    assert assess(image).good
    assert assess(image).problem is None
    problems = {
        "dark": (image * 0.05).astype(np.uint8),
        "overexposed": np.full_like(image, 252),
        "contrast": np.full_like(image, 120),
        "blurred": cv2.GaussianBlur(image, (0, 0), 25),
    }
    for word, bad in problems.items():
        assert word in (assess(bad).problem or ""), word


def test_a_frozen_camera_repeats_itself_to_the_bit(overhead, paint):
    one, other = (paint(overhead, seed=s) for s in (0, 1))
    assert frozen([one, one])
    assert not frozen([one, other])
    assert not frozen([one])


def test_a_picture_that_was_only_glanced_at_is_given_again(folder):
    camera = FolderCamera(folder)
    camera.put_back()
    assert level(camera.read()) == 120
    assert camera.size_px == (64, 48)
    camera.put_back()
    camera.put_back()
    assert [level(camera.read()) for _ in range(3)] == [120, 60, 180]
    assert camera.replays
    assert not OpenCvCamera(99).replays
