"""Ways from pose to pose: straight where that is clear, round where it is not, refused where nothing is."""

from __future__ import annotations

import numpy as np
import pytest

from runner.config import Config
from runner.geometry import BoxOnTable, Mast, Obstacles, clearances, first_broken, obstacles_of, swept
from runner.kinematics.errors import WrongJoints
from runner.kinematics.frames import BaseInCell
from runner.kinematics.model import ArmModel
from runner.table.errors import NoWay
from runner.table.plan import Planner


@pytest.fixture(scope="module")
def low(planner: Planner) -> np.ndarray:
    """A pose over the right of the table, the tool about 70 mm up."""
    return planner.plan_pick((0.17, 0.14), 0.0, Obstacles()).approach_deg


def mirrored(pose: np.ndarray) -> np.ndarray:
    return np.array([-pose[0], *pose[1:3], -pose[3], pose[4], -60.0 - pose[5]])


def test_a_clear_way_is_the_goal_alone(planner: Planner, config: Config, low: np.ndarray) -> None:
    way = planner.plan_transfer(np.array(config.arm.home_deg), low, obstacles_of(config))
    assert np.array_equal(way, low[None])


def test_a_box_in_the_way_is_gone_over(
    planner: Planner, config: Config, arm: ArmModel, base: BaseInCell, low: np.ndarray
) -> None:
    tall = Obstacles(box=BoxOnTable((0.0, 0.22), 0.0, (80.0, 120.0), 70.0, 3.0))
    start, goal = low, mirrored(low)
    straight = swept(np.stack((start, goal)), arm, base, tall, step_deg=2.0)
    assert first_broken(straight, config.guard) is not None
    way = planner.plan_transfer(start, goal, tall)
    assert len(way) > 1
    assert np.array_equal(way[-1], goal)
    found = swept(np.vstack((start, way)), arm, base, tall, step_deg=1.0)
    assert all(c.mm > 0 for c in found)


def test_a_mast_that_cuts_the_way_is_refused_by_name(planner: Planner, low: np.ndarray) -> None:
    fence = Obstacles(mast=Mast((0.0, 0.16), 0.05))
    with pytest.raises(NoWay, match="of the mast") as caught:
        planner.plan_transfer(low, mirrored(low), fence)
    assert caught.value.family == "refused"
    assert caught.value.next_step


def test_an_arm_that_stands_too_near_may_leave(
    planner: Planner, config: Config, arm: ArmModel, base: BaseInCell, low: np.ndarray
) -> None:
    start = low.copy()
    while first_broken(clearances(start, arm, base, Obstacles()), config.guard) is None:
        start = start + np.array([0, 0.5, 0.5, 0, 0, 0])
    way = planner.plan_transfer(start, np.array(config.arm.home_deg), Obstacles())
    assert np.array_equal(way[-1], config.arm.home_deg)


def test_a_goal_inside_the_table_is_refused(planner: Planner, config: Config) -> None:
    with pytest.raises(NoWay, match="of the table"):
        planner.plan_transfer(np.array(config.arm.home_deg), np.array([40.0, 80, -10, 0, 40, -30]), Obstacles())


def test_poses_that_are_none_are_refused(planner: Planner, low: np.ndarray) -> None:
    with pytest.raises(WrongJoints):
        planner.plan_transfer(low, np.full(6, np.nan), Obstacles())
