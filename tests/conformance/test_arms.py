"""What every arm must do. A new driver joins by adding its maker to `MAKERS`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from runner.arms.protocol import Arm, Clock
from runner.cell import Cell
from runner.config import Config, with_overrides
from runner.station import open_arm
from runner.table.postures import arm_of
from runner.twin.firmware.commands import Kind
from runner.twin.serve import Doors, ServedTwin
from runner.twin.setup import build_twin

SPEEDUP = 8.0


@contextmanager
def twin_arm(folder: Path) -> Iterator[tuple[Arm, Clock]]:
    twin = build_twin(Config(), seed=3)
    yield twin.arm, twin.clock
    twin.close()


def served(kind: Kind, *, pty: bool) -> Callable[[Path], Iterator[tuple[Arm, Clock]]]:
    """The driver of a real arm, on the real client, against the firmware of the served twin."""

    @contextmanager
    def make(folder: Path) -> Iterator[tuple[Arm, Clock]]:
        twin = ServedTwin(Config(), kind, Doors(None if pty else 0, pty), speedup=SPEEDUP)
        try:
            there = twin.start(folder)
            way = [f"arm.kind=mycobot-{'serial' if pty else 'tcp'}", f"arm.address={there.pty or there.tcp}"]
            cell = Cell(folder, with_overrides(Config(), way))
            with open_arm(cell, arm_of(cell.config)[0]) as arm_and_clock:
                yield arm_and_clock
        finally:
            twin.close()

    return make


MAKERS = {
    "twin": twin_arm,
    "tcp, new firmware": served("new", pty=False),
    "tcp, old firmware": served("old", pty=False),
    "serial, new firmware": served("new", pty=True),
    "serial, old firmware": served("old", pty=True),
}
QUICK = ("twin", "tcp, new firmware")
SLACK_S = {"twin": 0.0}
"""How much more of the arm's time may pass than was asked for: on a wire it runs by itself, and here eight times as
fast as ours, on a machine that does other things too."""


@pytest.fixture(params=[name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in MAKERS])
def kind(request) -> str:
    return request.param


@pytest.fixture
def slack_s(kind) -> float:
    return SLACK_S.get(kind, 6.0)


@pytest.fixture
def arm_and_clock(kind, tmp_path):
    with MAKERS[kind](tmp_path) as (arm, clock):
        yield arm, clock
        arm.close()


def settle(arm: Arm, clock: Clock, limit_s: float = 25.0) -> np.ndarray:
    began = clock.now_s()
    last = arm.read_angles_deg()
    while clock.now_s() - began < limit_s:
        clock.sleep(0.4)
        now = arm.read_angles_deg()
        if np.abs(now - last).max() < 0.1:
            return now
        last = now
    raise AssertionError("the arm never came to rest")


def test_it_is_an_arm_and_it_has_a_clock(arm_and_clock):
    arm, clock = arm_and_clock
    assert isinstance(arm, Arm)
    assert isinstance(clock, Clock)


def test_a_reading_is_one_finite_number_a_joint(arm_and_clock):
    arm, _ = arm_and_clock
    reading = arm.read_angles_deg()
    assert reading.shape == (arm.model.n_joints,)
    assert np.isfinite(reading).all()


def test_time_only_runs_forward_and_by_as_much_as_was_slept(arm_and_clock, slack_s):
    _, clock = arm_and_clock
    before = clock.now_s()
    clock.sleep(0.5)
    assert 0.45 <= clock.now_s() - before <= 0.55 + slack_s
    clock.sleep(0.0)
    assert clock.now_s() >= before + 0.45


def test_sending_returns_at_once_and_the_arm_gets_there(arm_and_clock, slack_s):
    arm, clock = arm_and_clock
    goal = np.array([20.0, 10.0, -15.0, 5.0, 25.0, -30.0])
    before = clock.now_s()
    arm.send_path(goal[None], speed_percent=40)
    assert clock.now_s() - before < 0.2 + slack_s / 2
    assert np.abs(settle(arm, clock) - goal).max() < 3.0


def test_waypoints_are_passed_in_order_and_the_last_is_the_goal(arm_and_clock):
    arm, clock = arm_and_clock
    first, last = np.array([30.0, 0, 0, 0, 0, -30.0]), np.array([30.0, 20.0, 0, 0, 0, -30.0])
    arm.send_path(np.stack((first, last)), speed_percent=40)
    lifted_early = 0.0
    for _ in range(100):
        clock.sleep(0.1)
        now = arm.read_angles_deg()
        if now[0] < 20.0:
            lifted_early = max(lifted_early, now[1])
    assert lifted_early < 6.0
    assert np.abs(settle(arm, clock) - last).max() < 3.0


def test_a_newer_goal_replaces_the_one_under_way(arm_and_clock):
    arm, clock = arm_and_clock
    arm.send_path(np.array([[80.0, 0, 0, 0, 0, -30.0]]), speed_percent=20)
    clock.sleep(0.5)
    arm.send_path(np.array([[0.0, 0, 0, 0, 0, -30.0]]), speed_percent=40)
    assert abs(settle(arm, clock)[0]) < 3.0


def test_stop_holds_the_arm_where_it_is_and_may_be_said_twice(arm_and_clock):
    arm, clock = arm_and_clock
    arm.send_path(np.array([[80.0, 0, 0, 0, 0, -30.0]]), speed_percent=20)
    clock.sleep(1.5)
    arm.stop()
    arm.stop()
    held = settle(arm, clock)
    assert 3.0 < held[0] < 60.0
    clock.sleep(2.0)
    assert np.abs(arm.read_angles_deg() - held).max() < 1.0


def test_the_gripper_closes_by_value_and_opens_by_state(arm_and_clock):
    arm, clock = arm_and_clock
    arm.send_gripper_value(20)
    clock.sleep(2.5)
    closed = arm.read_gripper_value()
    arm.send_gripper_open()
    clock.sleep(2.5)
    opened = arm.read_gripper_value()
    assert closed == pytest.approx(20, abs=4)
    assert opened == pytest.approx(100, abs=4)


def test_health_says_powered_and_no_error_on_a_good_arm(arm_and_clock):
    arm, _ = arm_and_clock
    health = arm.health()
    assert health.powered
    assert health.error_code == 0


def test_closing_twice_is_safe(arm_and_clock):
    arm, _ = arm_and_clock
    arm.close()
    arm.close()
