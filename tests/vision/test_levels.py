"""Counted levels say what NumPy's sorting says, to the last bit."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from vision.levels import percentile, strongest


@given(
    arrays(np.uint8, st.integers(1, 300)),
    st.one_of(st.sampled_from([0.0, 50.0, 99.5, 99.9, 100.0]), st.floats(0, 100)),
)
def test_a_percentile_of_counted_levels_is_numpys(levels, percent):
    assert percentile(levels, percent) == float(np.percentile(levels, percent))


def test_a_pictures_percentile_is_numpys_whatever_its_strides():
    picture = np.random.default_rng(1).integers(0, 256, (90, 120, 3)).astype(np.uint8)
    for part in (picture, picture[::2, ::3], picture[..., 1], picture[:, :1]):
        assert percentile(part, 99.5) == float(np.percentile(part, 99.5))


def test_the_strongest_channel_is_the_largest_of_the_three():
    picture = np.random.default_rng(2).integers(0, 256, (40, 50, 3)).astype(np.uint8)
    assert np.array_equal(strongest(picture[::2]), picture[::2].max(axis=2))
