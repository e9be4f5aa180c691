"""A planner over the prepared cell's tables, a place to pick from, and one rehearsal there."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

import pytest

from runner.config import Config, with_overrides
from runner.geometry import Obstacles, obstacles_of
from runner.rehearse.rehearsal import Rehearsal, Rehearsed
from runner.table.cell_tables import open_tables
from runner.table.plan import PickPlan, Planner
from runner.twin.profiles import FIELD


@dataclass(frozen=True)
class Place:
    """A block seen on the table, and ways to it."""

    obstacles: Obstacles
    plans: list[PickPlan]


@pytest.fixture(scope="session")
def settings() -> Config:
    return with_overrides(Config(), ["rehearse.tries=24", "rehearse.choices=3", "rehearse.block_sd_mm=5"])


@pytest.fixture(scope="session")
def planner(prepared_cell, settings) -> Planner:
    return open_tables(prepared_cell, settings).planner(settings)


@pytest.fixture(scope="session")
def place(planner, settings) -> Place:
    """An ordinary place with a block that has two headings."""
    at, yaw_deg = (0.12, 0.12), 0.0
    obstacles = obstacles_of(settings, box_xz_m=(-0.15, 0.2), block_xz_m=at, block_yaw_deg=yaw_deg)
    first = planner.plan_pick(at, yaw_deg, obstacles)
    return Place(obstacles, [first, *islice(planner.pick_choices(first, at, yaw_deg, obstacles), 4)])


@pytest.fixture(scope="session")
def rehearse(planner, settings, place):
    def make(config: Config = settings, **how) -> Rehearsed:
        told = {"attempt": 1, "policy": "asked", "because": "a test", **how}
        return Rehearsal(planner.arm, config, lambda: FIELD).pick(place.plans[:3], place.obstacles, **told)

    return make


@pytest.fixture(scope="session")
def rehearsed(rehearse) -> Rehearsed:
    """One rehearsal, for tests that only read."""
    return rehearse()
