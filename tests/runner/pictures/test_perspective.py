"""How a scene is looked at: it fills the frame, near things are larger, steps are round."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.pictures.perspective import Perspective, round_step


@given(st.integers(0, 2**16), st.floats(-180, 180), st.floats(5, 60))
def test_all_points_lie_in_the_frame_and_touch_it(seed, azimuth_deg, elevation_deg):
    points = np.random.default_rng(seed).normal(size=(20, 3)) * 0.2
    eye = Perspective.looking(points, (100, 50, 600, 400), azimuth_deg=azimuth_deg, elevation_deg=elevation_deg)
    flat = eye.to_px(points)
    assert flat[:, 0].min() >= 100 - 1e-6
    assert flat[:, 0].max() <= 700 + 1e-6
    assert flat[:, 1].min() >= 50 - 1e-6
    assert flat[:, 1].max() <= 450 + 1e-6
    spare = np.array([600, 400]) - np.ptp(flat, axis=0)
    assert min(abs(spare)) < 1e-6


def test_up_is_up_right_is_right_and_near_is_large():
    cube = np.array([[x, y, z] for x in (-1.0, 1) for y in (-1.0, 1) for z in (-1.0, 1)])
    eye = Perspective.looking(cube, (0, 0, 500, 500), azimuth_deg=-90.0, elevation_deg=20.0)
    middle, right, above, far = eye.to_px(np.array([[0, 0, 0], [0.5, 0, 0], [0, 0, 0.5], [0, 0.5, 0.0]]))
    assert right[0] > middle[0]
    assert above[1] < middle[1]
    assert far[1] < middle[1]
    assert eye.px_per_m(np.array([0.0, -1, 0])) > eye.px_per_m(np.array([0.0, 1, 0]))


@pytest.mark.parametrize(("length", "parts", "step"), [(0.43, 10, 0.05), (8.0, 10, 1.0), (3.0, 6, 0.5), (40, 6, 10)])
def test_steps_are_one_two_or_five(length, parts, step):
    assert round_step(length, parts) == pytest.approx(step)
