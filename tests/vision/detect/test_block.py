"""Blocks on drawn desks: place, yaw and size against the truth, and what must not pass for a block."""

from __future__ import annotations

import numpy as np
import pytest

from vision.detect.block import find_block
from vision.detect.colour import COLOURS, colour_model, learn_colour
from vision.detect.protocol import DetectSettings, Region
from vision.errors import CannotLearnColour, UnknownColour, WrongPictureSize

SETTINGS = DetectSettings()
TABLES = ((120, 150, 175), (90, 90, 90), (175, 180, 182), (60, 90, 40), (60, 110, 160))
LIGHTS = {"white": (1, 1, 1), "warm": (0.6, 0.85, 1.15), "cold": (1.2, 1.0, 0.8), "dim": (0.3, 0.3, 0.3)}
NAMED = {"red": (40, 35, 195), "orange": (20, 110, 230), "yellow": (30, 200, 225), "green": (60, 140, 50)} | {
    "blue": (170, 90, 30),
    "purple": (140, 50, 90),
}


def place(rng):
    r, around = rng.uniform(0.15, 0.30), rng.uniform(-1.0, 1.4)
    return float(max(0.05, r * np.cos(around))), float(max(0.02, r * np.sin(around) + 0.05))


def error_mm(found, xz_m):
    return 1000 * float(np.hypot(found.xz_m[0] - xz_m[0], found.xz_m[1] - xz_m[1]))


@pytest.mark.parametrize("light", LIGHTS)
@pytest.mark.parametrize("camera", ["overhead", "tilted"])
def test_place_yaw_and_size_are_right_in_any_light(request, paint, make_cube, camera, light):
    view = request.getfixturevalue(camera)
    rng = np.random.default_rng(len(light))
    for i in range(5):
        xz, yaw = place(rng), float(rng.uniform(-45, 45))
        image = paint(view, cubes=[make_cube(xz, yaw)], light=LIGHTS[light], table_bgr=TABLES[i], seed=i)
        found = find_block(image, view, SETTINGS).best
        assert found is not None
        assert error_mm(found, xz) < 2.0
        assert abs((found.yaw_deg - yaw + 45) % 90 - 45) < 3.0
        assert found.size_mm == pytest.approx(30.0, abs=1.5)
        assert found.score > 0.7


@pytest.mark.parametrize("side_mm", [20.0, 45.0])
def test_other_sizes_are_measured(overhead, paint, make_cube, side_mm):
    image = paint(overhead, cubes=[make_cube((0.2, 0.15), 20.0, side_mm)])
    found = find_block(image, overhead, DetectSettings(block_side_mm=side_mm)).best
    assert found is not None
    assert error_mm(found, (0.2, 0.15)) < 2.0
    assert found.size_mm == pytest.approx(side_mm, abs=1.5)


def test_blur_and_glare_cost_millimetres_not_the_block(overhead, paint, make_cube):
    cube = make_cube((0.15, 0.25), 10.0)
    for extra in ({"motion_px": 9}, {"glare_at_xz_m": (0.157, 0.25, 7.0)}, {"noise": 6.0}):
        found = find_block(paint(overhead, cubes=[cube], **extra), overhead, SETTINGS).best
        assert found is not None, extra
        assert error_mm(found, (0.15, 0.25)) < 2.0, extra


def test_a_block_partly_under_the_arm_is_right_or_refused(overhead, paint, make_cube):
    rng = np.random.default_rng(5)
    seen = 0
    for i in range(12):
        xz = place(rng)
        off = rng.uniform(-0.03, 0.03, 2)
        arm = ((0.0, 0.15, 0.0), (0.85 * xz[0] + off[0], 0.15, 0.85 * xz[1] + off[1]), 0.04)
        found = find_block(paint(overhead, cubes=[make_cube(xz, 30.0)], arm_m=[arm], seed=i), overhead, SETTINGS)
        if found.best is None:
            assert found.dropped == () or all(d.reason for d in found.dropped)
            continue
        seen += 1
        assert error_mm(found.best, xz) < 3.0
    assert seen >= 5


def test_a_blob_cut_by_the_pictures_edge_is_dropped_on_the_table_and_flagged_in_pixels(overhead, paint, make_cube):
    image = paint(overhead, cubes=[make_cube((0.515, 0.2))])
    with_view, without = find_block(image, overhead, SETTINGS), find_block(image, None, SETTINGS)
    assert with_view.best is None
    assert [d.reason for d in with_view.dropped] == ["cut by the picture's edge"]
    assert without.best is None or without.best.touches_border


def test_clutter_of_the_same_colour_outside_the_region_or_of_another_size_does_not_count(overhead, paint, make_cube):
    region = Region(x_min_m=-0.4, x_max_m=0.4, z_min_m=0.0, z_max_m=0.44)
    block, outside, mug = make_cube((0.2, 0.2), 15.0), make_cube((0.45, 0.3)), make_cube((-0.2, 0.3), 0.0, 80.0)
    image = paint(overhead, cubes=[block, outside, mug])
    found = find_block(image, overhead, DetectSettings(region=region))
    assert len(found.accepted) == 1
    assert error_mm(found.best, (0.2, 0.2)) < 1.0
    reasons = " ".join(d.reason for d in found.dropped)
    assert "outside the region" in reasons
    assert "wrong size" in reasons


def test_several_blocks_are_all_given_best_first(overhead, paint, make_cube):
    image = paint(overhead, cubes=[make_cube((0.2, 0.1)), make_cube((-0.2, 0.3), 30.0), make_cube((0.1, 0.35), 45.0)])
    found = find_block(image, overhead, SETTINGS)
    assert len(found.accepted) == 3
    assert found.best == found.accepted[0]
    assert [b.score for b in found.accepted] == sorted((b.score for b in found.accepted), reverse=True)


def test_an_empty_table_of_reddish_wood_has_no_block(overhead, paint):
    found = find_block(paint(overhead, table_bgr=(60, 100, 165), light=(0.8, 0.95, 1.1)), overhead, SETTINGS)
    assert found.best is None
    assert found.accepted == ()


def test_round_and_long_things_are_no_blocks(overhead, paint, make_cube):
    import cv2

    image = paint(overhead)
    cv2.circle(image, (400, 300), 40, (45, 40, 200), cv2.FILLED, cv2.LINE_AA)
    cv2.line(image, (700, 200), (1000, 260), (45, 40, 200), 18, cv2.LINE_AA)
    found = find_block(image, None, SETTINGS)
    assert found.best is None
    assert sorted(d.reason.split(":")[0] for d in found.dropped) == ["long and thin", "round, not a block"]


@pytest.mark.parametrize("colour", NAMED)
def test_each_colour_is_found_by_name_and_not_taken_for_another(overhead, paint, make_cube, colour):
    places = {name: (-0.25 + 0.1 * i, 0.25) for i, name in enumerate(NAMED)}
    cubes = [make_cube(places[name], 10.0, bgr=bgr) for name, bgr in NAMED.items()]
    found = find_block(paint(overhead, cubes=cubes, table_bgr=(95, 95, 95)), overhead, DetectSettings(colour=colour))
    assert len(found.accepted) == 1
    assert error_mm(found.best, places[colour]) < 1.0
    assert found.best.colour == colour


def test_a_colour_is_learned_from_a_click(overhead, paint, make_cube):
    teal = make_cube((0.2, 0.2), 20.0, bgr=(150, 140, 30))
    image = paint(overhead, cubes=[teal, make_cube((-0.1, 0.3))])
    pixel = overhead.table_to_pixel((0.2, 0.2), 0.03)
    learned = learn_colour(image, (float(pixel[0]), float(pixel[1])), radius_px=4)
    found = find_block(image, overhead, DetectSettings(learned=learned))
    assert len(found.accepted) == 1
    assert error_mm(found.best, (0.2, 0.2)) < 1.0
    assert found.best.colour == "learned"


def test_a_click_that_shows_no_one_colour_is_refused(overhead, paint):
    image = paint(overhead)
    with pytest.raises(CannotLearnColour, match="the picture is 1280×720"):
        learn_colour(image, (5000.0, 10.0))
    image[300:320, 300:310], image[300:320, 310:320] = (0, 0, 220), (0, 220, 0)
    with pytest.raises(CannotLearnColour, match="several hues"):
        learn_colour(image, (310.0, 310.0))


def test_wrong_settings_and_wrong_pictures_are_refused(overhead, paint):
    with pytest.raises(UnknownColour, match="no colour is called 'mauve'; known: red, orange"):
        find_block(paint(overhead), overhead, DetectSettings(colour="mauve"))
    with pytest.raises(WrongPictureSize, match="640×360 px where 1280×720"):
        find_block(np.zeros((360, 640, 3), np.uint8), overhead, SETTINGS)
    for name in COLOURS:
        assert colour_model(name).core > 0


def test_without_a_view_there_are_pixels_and_no_millimetres(overhead, paint, make_cube):
    found = find_block(paint(overhead, cubes=[make_cube((0.2, 0.2), 20.0)]), None, SETTINGS).best
    assert found is not None
    assert found.xz_m is None
    assert found.size_mm is None
    middle = overhead.table_to_pixel((0.2, 0.2), 0.015)
    assert np.hypot(*(np.array(found.centre_px) - middle)) < 1.5


def test_pictures_that_hold_nothing_give_nothing():
    for level in (0, 128, 255):
        assert find_block(np.full((480, 640, 3), level, np.uint8), None, SETTINGS).best is None
    noise = np.random.default_rng(0).integers(0, 256, (480, 640, 3), dtype=np.uint8)
    assert find_block(noise, None, SETTINGS).best is None
    all_red = np.zeros((480, 640, 3), np.uint8)
    all_red[..., 2] = 200
    assert find_block(all_red, None, SETTINGS).best is None


@pytest.mark.slow
def test_two_hundred_scenes(overhead, paint, make_cube, make_box):
    rng = np.random.default_rng(11)
    errors = []
    for i in range(200):
        xz, yaw = place(rng), float(rng.uniform(-45, 45))
        box = make_box((-0.2, 0.2), float(rng.uniform(-45, 45)))
        light = list(LIGHTS.values())[i % 4]
        image = paint(overhead, cubes=[make_cube(xz, yaw)], box=box, light=light, table_bgr=TABLES[i % 5], seed=i)
        found = find_block(image, overhead, SETTINGS).best
        assert found is not None
        errors.append(error_mm(found, xz))
    assert np.median(errors) < 0.5
    assert np.percentile(errors, 95) < 1.0
