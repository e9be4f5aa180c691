"""The open box on drawn desks: place, yaw, size and inside against the truth, hidden rims, and what is no box."""

from __future__ import annotations

import numpy as np
import pytest

from vision.detect.box import find_box
from vision.detect.inside import inside_by
from vision.detect.protocol import DetectSettings, Region

SETTINGS = DetectSettings()
TABLES = ((120, 150, 175), (90, 90, 90), (175, 180, 182), (60, 90, 40), (60, 110, 160))
LIGHTS = ((1, 1, 1), (0.7, 0.9, 1.1), (1.15, 1, 0.85), (0.5, 0.5, 0.5))


def place(rng):
    r, around = rng.uniform(0.16, 0.33), rng.uniform(1.7, 2.9)
    return float(min(-0.05, r * np.cos(around))), float(max(0.05, r * np.sin(around)))


def error_mm(found, xz_m):
    return 1000 * float(np.hypot(found.xz_m[0] - xz_m[0], found.xz_m[1] - xz_m[1]))


def test_place_yaw_and_size_are_right_on_any_table(overhead, paint, make_box, make_cube):
    rng = np.random.default_rng(0)
    for i in range(12):
        xz, yaw = place(rng), float(rng.uniform(-45, 45))
        image = paint(
            overhead,
            box=make_box(xz, yaw),
            cubes=[make_cube((0.2, 0.2))],
            table_bgr=TABLES[i % 5],
            light=LIGHTS[i % 4],
            seed=i,
        )
        found = find_box(image, overhead, SETTINGS).best
        assert found is not None
        assert error_mm(found, xz) < 1.0
        assert abs((found.yaw_deg - yaw + 45) % 90 - 45) < 1.0
        assert found.size_mm == pytest.approx((120.0, 120.0), abs=1.5)
        assert found.score > 0.9


def test_a_tilted_camera_places_it_too(tilted, paint, make_box):
    image = paint(tilted, box=make_box((-0.15, 0.25), 25.0))
    found = find_box(image, tilted, SETTINGS).best
    assert found is not None
    assert error_mm(found, (-0.15, 0.25)) < 2.0


def test_the_inside_is_what_lies_between_the_walls(overhead, paint, make_box):
    found = find_box(paint(overhead, box=make_box((-0.2, 0.2), 30.0)), overhead, SETTINGS).best
    assert found is not None
    assert found.inside_xz_m is not None
    assert inside_by(found.inside_xz_m, (-0.2, 0.2)) * 1000 == pytest.approx(57.0, abs=1.0)
    assert inside_by(found.inside_xz_m, (-0.2 + 0.07, 0.2)) < 0
    assert len(found.corners_px) == len(found.inside_px) == 4


@pytest.mark.slow
def test_a_white_arm_over_the_rim_is_left_out_or_the_box_is_refused(overhead, paint, make_box):
    rng = np.random.default_rng(3)
    seen = 0
    for i in range(12):
        xz = place(rng)
        off = rng.uniform(-0.06, 0.06, 2)
        arm = ((0.0, 0.15, 0.0), (xz[0] + off[0], 0.15, xz[1] + off[1]), 0.05)
        image = paint(overhead, box=make_box(xz, float(rng.uniform(-45, 45))), arm_m=[arm], seed=i)
        found = find_box(image, overhead, SETTINGS)
        if found.best is None:
            assert found.dropped[0].reason
            continue
        seen += 1
        assert error_mm(found.best, xz) < 2.0
    assert seen >= 6


def test_oblong_boxes_keep_their_long_side(overhead, paint, make_box):
    box = make_box((-0.18, 0.22), 35.0, outer_m=(0.160, 0.110))
    found = find_box(paint(overhead, box=box), overhead, DetectSettings(box_outer_mm=(160.0, 110.0))).best
    assert found is not None
    assert error_mm(found, (-0.18, 0.22)) < 1.0
    assert abs((found.yaw_deg - 35.0 + 90) % 180 - 90) < 1.0


def test_what_is_no_box_is_not_taken_for_one(overhead, paint, make_cube, make_box):
    nothing = find_box(paint(overhead), overhead, SETTINGS)
    assert nothing.best is None
    assert nothing.dropped[0].reason
    paper = make_cube((-0.2, 0.2), 0.0, 120.0, bgr=(235, 235, 235))
    sheet = paper.__class__(paper.xz_m, 10.0, (0.12, 0.12, 0.0005), paper.bgr)
    assert find_box(paint(overhead, cubes=[sheet]), overhead, SETTINGS).best is None
    red = make_box((-0.2, 0.2), 10.0, bgr=(40, 35, 195))
    assert find_box(paint(overhead, box=red), overhead, SETTINGS).best is None


def test_a_box_outside_the_region_is_dropped_with_its_place(overhead, paint, make_box):
    region = Region(x_min_m=0.0, x_max_m=0.4, z_min_m=0.0, z_max_m=0.44)
    found = find_box(paint(overhead, box=make_box((-0.2, 0.2))), overhead, DetectSettings(region=region))
    assert found.best is None
    assert found.dropped[0].reason.startswith("outside the region: (-0.200, 0.200) m")


def test_without_a_view_a_pale_hollow_square_is_found_in_pixels_and_paper_is_not(overhead, paint, make_box, make_cube):
    found = find_box(paint(overhead, box=make_box((-0.1, 0.2), 20.0), table_bgr=(60, 90, 40)), None, SETTINGS).best
    assert found is not None
    assert found.xz_m is None
    middle = overhead.table_to_pixel((-0.1, 0.2), 0.0215)
    assert np.hypot(*(np.array(found.centre_px) - middle)) < 8
    paper = make_cube((-0.1, 0.2), 20.0, 120.0, bgr=(235, 235, 235))
    sheet = paper.__class__(paper.xz_m, 20.0, (0.12, 0.12, 0.0005), paper.bgr)
    flat = find_box(paint(overhead, cubes=[sheet], table_bgr=(60, 90, 40)), None, SETTINGS)
    assert flat.best is None
    assert "flat" in flat.dropped[0].reason


def test_pictures_that_hold_nothing_give_nothing(overhead):
    for image in (np.zeros((720, 1280, 3), np.uint8), np.full((720, 1280, 3), 255, np.uint8)):
        assert find_box(image, overhead, SETTINGS).best is None
        assert find_box(image, None, SETTINGS).best is None
    noise = np.random.default_rng(0).integers(0, 256, (720, 1280, 3), dtype=np.uint8)
    assert find_box(noise, overhead, SETTINGS).best is None
