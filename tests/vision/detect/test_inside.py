"""How far inside a polygon a point lies."""

from __future__ import annotations

import pytest

from vision.detect.inside import inside_by


def test_inside_is_positive_and_outside_negative():
    square = ((0.0, 0.0), (0.1, 0.0), (0.1, 0.1), (0.0, 0.1))
    assert inside_by(square, (0.05, 0.03)) == pytest.approx(0.03, abs=1e-5)
    assert inside_by(square, (0.05, -0.02)) == pytest.approx(-0.02, abs=1e-5)
