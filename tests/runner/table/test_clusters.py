"""Clusters: none wider than asked for, every seed in one, medians as base poses, the largest first."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.table.clusters import find_clusters, to_csv
from runner.table.errors import BadQuery
from runner.table.seeds import Seed

ANGLES = st.tuples(*[st.floats(-90, 90, allow_nan=False)] * 6)


def seed_of(number: int, joints: tuple[float, ...]) -> Seed:
    return Seed(-50 - 20 * number, 100, number, (0.0, 0.08, 0.2), joints, 20.0, 5.0)


@settings(max_examples=40, deadline=None)
@given(poses=st.lists(ANGLES, min_size=1, max_size=25), diameter=st.floats(1, 120))
def test_no_cluster_is_wider_than_asked_for(poses, diameter):
    seeds = [seed_of(i, pose) for i, pose in enumerate(poses)]
    found = find_clusters(seeds, diameter_deg=diameter)
    assert sorted(s for c in found for s in c.squares) == sorted(s.square for s in seeds)
    assert [len(c.squares) for c in found] == sorted((len(c.squares) for c in found), reverse=True)
    of_square = {s.square: s.joints_deg for s in seeds}
    for cluster in found:
        joints = np.array([of_square[s] for s in cluster.squares])
        assert cluster.diameter_deg <= diameter + 1e-9
        assert cluster.diameter_deg == pytest.approx(np.ptp(joints[:, 1:], axis=0).max())
        assert np.allclose(cluster.base_deg, np.median(joints, axis=0))


def test_j0_does_not_part_seeds():
    seeds = [seed_of(0, (10.0, 50, 0, 0, -60, -30)), seed_of(1, (80.0, 52, 0, 0, -60, -30))]
    (one,) = find_clusters(seeds)
    assert one.base_deg[0] == 45.0
    assert one.x_mm == (-70, -50)


def test_nothing_to_cluster_gives_none_and_a_bad_diameter_is_refused():
    assert find_clusters([]) == ()
    assert to_csv([]).startswith("cluster,members")
    with pytest.raises(BadQuery, match="diameter"):
        find_clusters([], diameter_deg=float("nan"))
