"""Other ways to the same block: they pass the same checks, differ, and lead where they say."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

from runner.geometry import first_broken, obstacles_of, swept
from runner.table.cell_tables import open_tables


@pytest.fixture(scope="module")
def planner(prepared_cell, config):
    return open_tables(prepared_cell, config).planner(config)


def test_other_ways_differ_in_heading_tilt_and_aim_and_pass_all_checks(planner, config):
    at, yaw_deg = (0.12, 0.12), 0.0
    obstacles = obstacles_of(config, block_xz_m=at, block_yaw_deg=yaw_deg)
    first = planner.plan_pick(at, yaw_deg, obstacles)
    ways = list(islice(planner.pick_choices(first, at, yaw_deg, obstacles), 6))
    names = [way.lookups[0].pose_id for way in (first, *ways)]
    assert len(set(names)) == len(names)
    assert len({round(way.stance.heading_deg) for way in ways}) == 2
    assert {way.ahead_mm for way in ways} == {6.0, 12.0}
    assert len({round(way.stance.tilt_deg) for way in ways}) > 1
    for way in ways:
        turn = np.radians(way.stance.heading_deg)
        aimed = np.array(at) + way.ahead_mm / 1000.0 * np.array([np.cos(turn), np.sin(turn)])
        assert np.array(way.target_m)[[0, 2]] == pytest.approx(aimed, abs=2e-6)
        assert way.residual_mm <= config.table.refine_mm
        found = swept(way.path_deg, planner.arm, planner.base, obstacles, step_deg=config.guard.sweep_step_deg)
        assert first_broken(found, config.guard) is None


def test_where_only_one_way_passes_there_is_no_other_of_its_name(planner, config):
    at, yaw_deg = (0.06, 0.29), 40.0
    obstacles = obstacles_of(config, block_xz_m=at, block_yaw_deg=yaw_deg)
    first = planner.plan_pick(at, yaw_deg, obstacles)
    assert all(
        way.lookups[0].pose_id != first.lookups[0].pose_id
        for way in islice(planner.pick_choices(first, at, yaw_deg, obstacles), 3)
    )
