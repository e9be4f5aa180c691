"""The picture of a search: the same on every run, with what it must show in the colours that it names."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from runner.pictures.canvas import BLUE, PURPLE, SHELL_GREY, Canvas
from runner.pictures.ik_picture import HEIGHT_PX, WIDTH_PX, ik_picture, write_png
from runs.errors import StorageUnwritable
from vision.overlay import GREEN, ORANGE, SKY_BLUE, VERMILLION


def drawn(search) -> np.ndarray:
    found, arm, base = search
    return ik_picture(found, arm, base, solver="a solver", tolerance_mm=0.01, tolerance_deg=0.01)


def pixels(image: np.ndarray, colour) -> int:
    return int((np.abs(image.astype(int) - np.array(colour)).max(axis=2) <= 1).sum())


@pytest.mark.parametrize(
    ("name", "xyz_m", "tilt_deg"),
    [
        ("mecharm270", (0.05, 0.03, 0.22), 45.0),
        ("mycobot_280", (-0.10, 0.10, 0.20), 90.0),
        ("mycobot_280", (0.30, 0.10, 0.40), 0.0),  # out of reach
        ("teaching3", (2.464, 4.298, 4.268), None),
        ("mecharm270", (0.0, 0.40, 0.0), None),  # on the base axis
    ],
)
def test_a_picture_shows_links_axes_tool_target_and_steps(search, name, xyz_m, tilt_deg):
    image = drawn(search(name, xyz_m, tilt_deg))
    assert image.shape == (HEIGHT_PX, WIDTH_PX, 3)
    arm_side, right = image[120:900, :1000], image[:, 1020:]
    for colour, least in ((BLUE, 1500), (ORANGE, 300), (GREEN, 20), (VERMILLION, 80), (SKY_BLUE, 30)):
        assert pixels(arm_side, colour) >= least, colour
    assert (pixels(right, PURPLE) > 50) == (tilt_deg is not None)
    assert (pixels(arm_side, SHELL_GREY) > 5000) == (name != "teaching3")


def test_the_same_search_gives_the_same_picture(search):
    asked = ("mycobot_280", (0.1, 0.05, 0.18), 90.0)
    assert np.array_equal(drawn(search(*asked)), drawn(search(*asked)))


def test_nothing_is_drawn_over_the_margins(search):
    image = drawn(search("mecharm270", (0.12, 0.03, 0.20), 50.0))
    for edge in (image[:20], image[-20:], image[:, :15], image[:, -15:]):
        assert (edge == 255).all()


def test_a_picture_is_written_whole_or_not_at_all(search, tmp_path):
    image = drawn(search("teaching3", (1.0, 3.0, 2.0)))
    write_png(tmp_path / "ik.png", image)
    assert np.array_equal(cv2.imread(str(tmp_path / "ik.png")), image)
    with pytest.raises(StorageUnwritable):
        write_png(tmp_path / "none" / "ik.png", image)


def test_letters_with_a_rim_can_be_read_on_dark_ground():
    canvas = Canvas(200, 60)
    canvas.area([(0, 0), (200, 0), (200, 60), (0, 60)], BLUE)
    canvas.text((20, 40), "j0", size=24, halo=True)
    image = canvas.finished()
    assert pixels(image, (255, 255, 255)) > 20


def test_words_know_where_they_would_be_crowded():
    canvas = Canvas(300, 100)
    canvas.text((100, 50), "taken", size=16)
    assert canvas.crowding((105, 52), 60, 16) > 100
    assert canvas.crowding((100, 90), 60, 16) == 0
    assert canvas.crowding((290, 90), 60, 16) > 100
