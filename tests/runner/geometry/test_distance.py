"""Distances of points and boxes against what sampling of surfaces finds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from runner.geometry.distance import axes_of, box_to_box, components, point_to_box

ORIGIN = np.zeros(3)


def surface(half: np.ndarray, rng: np.random.Generator, count: int = 3000) -> np.ndarray:
    points = rng.uniform(-1, 1, (count, 3))
    face = rng.integers(0, 3, count)
    points[np.arange(count), face] = np.sign(points[np.arange(count), face])
    return points * half


def gap(half_a: np.ndarray, R_a: np.ndarray, centre: np.ndarray, half_b: np.ndarray, R_b: np.ndarray) -> float:
    return float(
        np.squeeze(
            box_to_box(
                components(ORIGIN),
                axes_of(R_a),
                components(half_a),
                components(centre),
                axes_of(R_b),
                components(half_b),
            )
        )
    )


@pytest.mark.parametrize(
    ("point", "distance"),
    [((0.03, 0, 0), 0.02), ((0, 0.06, 0), 0.04), ((0.04, 0.06, 0), 0.05), ((0, 0, 0), -0.01), ((0.008, 0, 0), -0.002)],
)
def test_a_point_is_as_far_from_a_box_as_a_ruler_says(point: tuple[float, float, float], distance: float) -> None:
    half = np.array([0.01, 0.02, 0.03])
    found = point_to_box(components(np.array(point)), components(ORIGIN), axes_of(np.eye(3)), components(half))
    assert found.item() == pytest.approx(distance)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10_000))
def test_boxes_are_never_farther_apart_than_their_surfaces_and_touch_when_they_do(seed: int) -> None:
    rng = np.random.default_rng(seed)
    R_a, R_b = Rotation.random(2, rng=rng).as_matrix()
    half_a, half_b, centre = rng.uniform(0.01, 0.05, 3), rng.uniform(0.01, 0.05, 3), rng.uniform(-0.1, 0.1, 3)
    found = gap(half_a, R_a, centre, half_b, R_b)
    b_points, a_points = surface(half_b, rng) @ R_b.T + centre, surface(half_a, rng) @ R_a.T
    sampled = min(
        point_to_box(components(b_points), components(ORIGIN), axes_of(R_a), components(half_a)).min(),
        point_to_box(components(a_points), components(centre), axes_of(R_b), components(half_b)).min(),
    )
    if sampled > 0:
        assert found <= sampled + 1e-9
    if sampled > 0.006:
        assert found > 0
    if sampled < -0.003:
        assert found < 0


def test_boxes_face_to_face_have_the_exact_distance() -> None:
    half = np.array([0.01, 0.01, 0.01])
    assert gap(half, np.eye(3), np.array([0.05, 0.0, 0.0]), half, np.eye(3)) == pytest.approx(0.03)
    turned = Rotation.from_euler("z", 45, degrees=True).as_matrix()
    assert gap(half, np.eye(3), np.array([0.05, 0.0, 0.0]), half, turned) == pytest.approx(0.04 - 0.01 * np.sqrt(2))
