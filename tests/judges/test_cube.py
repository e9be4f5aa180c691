"""A cube laid over an outline: place and height come back, and the uncertainty holds them."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from judges.cube import fit_cube
from judges.sight import HEIGHT_BIAS_MM
from vision.calibration.view import View
from vision.detect.prism import prism_corners_m

SIDE_M = 0.03
VIEW = View.looking_at((0.0, 0.9, 0.2), (0.0, 0.0, 0.2), size_px=(1280, 720), width_deg=60.0, distortion=(-0.12, 0.04))


def outline_px(x, z, yaw_deg, height_m, *, noise_px=0.0, rng=None):
    corners = prism_corners_m(np.array([[x, z, np.deg2rad(yaw_deg), 1.0]]), (SIDE_M,) * 3)
    corners[..., 1] += height_m
    hull = cv2.convexHull(VIEW.point_to_pixel(corners)[0].astype(np.float32)).reshape(-1, 2).astype(np.float64)
    sides = zip(hull, np.roll(hull, -1, axis=0), strict=True)
    points = np.concatenate([np.linspace(a, b, 20, endpoint=False) for a, b in sides])
    return points if rng is None else points + rng.normal(0.0, noise_px, points.shape)


@pytest.mark.parametrize("height_mm", [0.0, 3.0, 33.0, 43.0, 120.0])
@pytest.mark.parametrize("place", [(-0.2, 0.15), (0.0, 0.2), (0.25, 0.35)])
def test_an_exact_outline_gives_place_and_height_back(place, height_mm):
    x, z = place
    start = (x + 0.008, z - 0.006)
    fit = fit_cube(outline_px(x, z, 25.0, height_mm / 1000), VIEW, SIDE_M, start)
    assert fit.xz_m == pytest.approx(place, abs=1e-3)
    assert fit.height_mm == pytest.approx(height_mm, abs=2.0)
    assert fit.inliers == 1.0


def test_over_many_noisy_outlines_the_truth_lies_within_the_uncertainty():
    rng = np.random.default_rng(1)
    misses = []
    for _ in range(40):
        x, z, height_mm = rng.uniform(-0.3, 0.3), rng.uniform(0.05, 0.4), rng.uniform(0, 60)
        points = outline_px(x, z, rng.uniform(-45, 45), height_mm / 1000, noise_px=0.2, rng=rng)
        fit = fit_cube(points, VIEW, SIDE_M, (x + 0.005, z))
        misses.append(abs(fit.height_mm - height_mm) / np.hypot(fit.height_sigma_mm, HEIGHT_BIAS_MM))
    assert np.percentile(misses, 90) < 1.7
    assert np.max(misses) < 3.0


def test_a_known_height_is_kept_and_half_an_outline_is_then_enough():
    points = outline_px(-0.2, 0.15, 10.0, 0.003)
    half = points[points[:, 0] < np.median(points[:, 0])]
    fit = fit_cube(half, VIEW, SIDE_M, (-0.19, 0.15), height_m=0.003)
    assert (fit.height_mm, fit.height_sigma_mm) == (3.0, 0.0)
    assert fit.xz_m == pytest.approx((-0.2, 0.15), abs=2e-3)


def test_what_is_no_cube_has_few_points_on_its_silhouette():
    turn = np.linspace(0, 2 * np.pi, 90)
    centre = VIEW.table_to_pixel((0.1, 0.2), 0.015)
    star = centre + (14 + 9 * np.sin(5 * turn))[:, None] * np.column_stack([np.cos(turn), np.sin(turn)])
    assert fit_cube(star, VIEW, SIDE_M, (0.1, 0.2)).inliers < 0.6
