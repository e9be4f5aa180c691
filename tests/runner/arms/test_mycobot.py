"""The driver, on the real client, against the twin's firmware in virtual time: faults, gripper, health, waypoints."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest

from runner.arms.arrival import MoveControl
from runner.arms.errors import ArmError, ArmLost, ArmRestarted, NoReading, ReadingRejected
from runner.arms.guard import GuardedArm, GuardRules
from runner.arms.mycobot import MyCobotArm, thinned
from runner.arms.protocol import Clock
from runner.arms.readings import Readings
from runner.config import Config
from runner.kinematics.fk import tool_points_m
from runner.twin.firmware.direct import direct_arm
from runner.twin.firmware.faults import FaultyFirmware
from runner.twin.setup import Twin, build_twin

HOME = np.array([0.0, 0.0, 0.0, 0.0, 0.0, -30.0])
THERE = np.array([25.0, 10.0, -15.0, 5.0, 25.0, -30.0])


@dataclass
class Wired:
    arm: MyCobotArm
    clock: Clock
    firmware: FaultyFirmware
    twin: Twin

    def true_deg(self) -> np.ndarray:
        return self.twin.arm.read_angles_deg()

    def go(self, goal: np.ndarray, speed: int = 50) -> np.ndarray:
        self.arm.send_path(goal[None], speed_percent=speed)
        self.clock.sleep(4.0)
        return Readings(self.arm, self.clock).read_deg()


@pytest.fixture(scope="module")
def _twin() -> Iterator[Twin]:
    twin = build_twin(Config(), seed=3)
    yield twin
    twin.close()


@pytest.fixture
def wired(_twin) -> Callable[..., Wired]:
    def make(*faults: str, kind: str = "new") -> Wired:
        _twin.reset(3)
        arm, clock, firmware = direct_arm(_twin, _twin.arm.model, Config(), kind=kind, faults=faults, seed=1)
        return Wired(arm, clock, firmware, _twin)

    return make


@pytest.mark.parametrize("kind", ["new", "old"])
def test_it_moves_reads_and_says_how_it_is(wired, kind):
    w = wired(kind=kind)
    assert np.abs(w.go(THERE) - THERE).max() < 0.5
    health = w.arm.health()
    assert (health.powered, health.error_code, health.servos_enabled) == (True, 0, True)
    if kind == "new":
        assert health.temperatures_c == (35.0,) * 6
        assert health.voltages_v == (12.0,) * 6
        assert health.reboot_count == 3
    else:
        assert (health.temperatures_c, health.voltages_v, health.reboot_count) == (None, None, None)


def test_waypoints_go_out_one_by_one_so_that_a_dead_program_leaves_the_arm_at_the_next(wired):
    w = wired()
    path = np.array([[20.0, 0, 0, 0, 0, -30], [20.0, 20, 0, 0, 0, -30], [60.0, 20, 0, 0, 0, -30]])
    w.arm.send_path(path, speed_percent=40)
    for _ in range(600):  # time passes and the program does nothing
        w.firmware.advance(w.twin.world, 0.02)
    assert w.true_deg() == pytest.approx(path[0], abs=1)
    w.clock.sleep(8.0)  # it lives on and waits, as it always does after sending
    assert w.true_deg() == pytest.approx(path[-1], abs=1)
    assert not w.arm.wants_tending


def test_a_new_path_stops_one_that_is_under_way(wired):
    w = wired()
    w.arm.send_path(np.array([[60.0, 0, 0, 0, 0, -30], [60.0, 30, 0, 0, 0, -30]]), speed_percent=30)
    w.clock.sleep(1.0)
    assert np.abs(w.go(HOME) - HOME).max() < 0.5
    w.clock.sleep(4.0)
    assert w.true_deg() == pytest.approx(HOME, abs=1)


def test_a_program_that_starts_while_the_arm_still_moves_notices(wired):
    w = wired()
    w.arm.send_path(np.array([[80.0, 0, 0, 0, 0, -30]]), speed_percent=20)
    w.clock.sleep(1.0)
    w.firmware.begin(1)  # another program connects to the same arm
    w.twin.arm.send_path(np.array([[80.0, 0, 0, 0, 0, -30]]), speed_percent=20)
    w.arm.connect()
    assert w.arm._under_way
    assert np.abs(w.go(HOME) - HOME).max() < 0.5


def test_stop_forgets_what_was_still_to_come(wired):
    w = wired()
    w.arm.send_path(np.array([[30.0, 0, 0, 0, 0, -30], [30.0, 20, 0, 0, 0, -30]]), speed_percent=40)
    w.clock.sleep(0.6)
    w.arm.stop()
    w.clock.sleep(0.5)
    held = w.true_deg()
    w.clock.sleep(5.0)
    assert w.true_deg() == pytest.approx(held, abs=0.3)


@pytest.mark.parametrize("fault", ["no-angles", "stray-header", "cut-frames", "moving-always", "detour"])
def test_trouble_with_answers_is_outlived(wired, fault):
    w = wired(f"{fault}@0")
    assert np.abs(w.go(THERE) - THERE).max() < 1.0


def test_a_goal_that_was_not_heard_is_told_once_more_and_one_that_was_is_not(wired):
    w = wired("deaf@0")
    w.clock.sleep(0.1)
    w.arm.send_path(THERE[None], speed_percent=50)
    w.clock.sleep(1.0)
    assert w.true_deg() == pytest.approx(HOME, abs=0.2)
    for _ in range(30):
        w.clock.sleep(0.2)
        w.arm.read_angles_deg()
    assert w.true_deg() == pytest.approx(THERE, abs=0.5)
    w = wired("unpowered@0")
    told = []
    w.arm._tell = told.append
    w.clock.sleep(0.1)
    w.arm.send_path(THERE[None], speed_percent=50)
    for _ in range(50):
        w.clock.sleep(0.2)
        w.arm.read_angles_deg()
    assert len(told) == 2  # and then it is a stall, which is not the driver's to judge
    w.arm.stop()


def test_a_goal_that_was_not_heard_on_the_way_is_told_again_once_the_arm_stands(wired):
    """The one before was still being gone to when it was handed over: the arm moved on after it."""
    w = wired("deaf@0.7")
    path = np.array([[20.0, 0, 0, 0, 0, -30], [20.0, 25, 0, 0, 0, -30]])
    w.arm.send_path(path, speed_percent=40)
    for _ in range(40):
        w.clock.sleep(0.2)
        w.arm.read_angles_deg()
    assert w.firmware.begun == ["deaf"]
    assert w.true_deg() == pytest.approx(path[-1], abs=0.5)


def test_an_arm_that_went_elsewhere_is_not_told_again(wired):
    w = wired("drives-to-stop@0")
    w.clock.sleep(0.1)
    w.arm.send_path(THERE[None], speed_percent=80)
    for _ in range(40):
        w.clock.sleep(0.2)
        w.arm.read_angles_deg()
    assert w.true_deg()[4] == pytest.approx(w.arm.model.max_deg[4], abs=1)


def test_a_line_that_comes_back_is_waited_for_and_the_motion_goes_on(wired):
    w = wired("line-drops@0.5")
    path = np.array([[20.0, 0, 0, 0, 0, -30], [20.0, 25, 0, 0, 0, -30]])
    w.arm.send_path(path, speed_percent=40)
    w.clock.sleep(1.0)
    assert w.arm.read_angles_deg() == pytest.approx(w.true_deg(), abs=1)
    assert w.clock.now_s() > 3.5
    w.clock.sleep(4.0)
    assert w.arm.read_angles_deg() == pytest.approx(path[-1], abs=0.5)
    assert w.firmware.beyond_limits == 0


def test_a_line_that_stays_away_is_a_fault(wired, monkeypatch):
    w = wired("line-drops@0.5")
    monkeypatch.setattr("runner.twin.firmware.fault_kinds.LineDrops.line_is_down", lambda *_: True)
    w.clock.sleep(1.0)
    with pytest.raises(ArmLost, match="no route to host"):
        w.arm.read_angles_deg()
    with pytest.raises(ArmLost):
        w.arm.stop()


def test_goals_that_cut_each_other_short_still_end_at_the_last(wired):
    w = wired("cuts-short@0")
    path = np.array([[20.0, 0, 0, 0, 0, -30], [20.0, 25, 0, 0, 0, -30], [0.0, 25, 0, 0, 0, -30]])
    w.arm.send_path(path, speed_percent=40)
    w.clock.sleep(6.0)
    assert w.true_deg() == pytest.approx(path[-1], abs=0.5)


@pytest.mark.parametrize("kind", ["new", "old"])
def test_an_arm_that_reports_its_sag_is_brought_to_a_millimetre_by_one_corrective_move(wired, kind, base):
    w, settings = wired("sag@0", kind=kind), Config()
    guard = GuardedArm(w.arm, base, GuardRules.of(w.arm.model, settings.arm, settings.table, settings.guard))
    mover = MoveControl(guard, w.clock, base, settings.arm)

    def off_mm(correct: bool) -> float:
        label = "corrected" if correct else "as it sags"
        record = mover.move(label, THERE[None], tolerance_deg=3.0, correct=correct).record
        assert record.retried == correct
        meant = tool_points_m(THERE, w.arm.model)
        return float(np.linalg.norm(base.to_base(np.array(w.twin.truth().tool_m)) - meant)) * 1000.0

    assert off_mm(correct=False) > 5.0
    mover.move("away", HOME[None], tolerance_deg=3.0)
    assert off_mm(correct=True) <= 1.0


def test_nonsense_is_no_reading(wired):
    w = wired("nonsense-angles@0")
    w.clock.sleep(0.1)
    with pytest.raises(ReadingRejected, match="180"):
        w.arm.read_angles_deg()
    with pytest.raises(NoReading):  # and nothing is sent from a place that is not known
        w.arm.send_path(THERE[None], speed_percent=30)
    w.clock.sleep(2.0)
    assert w.true_deg() == pytest.approx(HOME, abs=0.2)


def test_a_dead_controller_is_a_fault_and_not_zeros(wired):
    w = wired("dead@2")
    w.clock.sleep(3.0)
    with pytest.raises(ArmError):
        w.arm.read_angles_deg()
    with pytest.raises(ArmError):
        w.arm.health()
    w.arm.stop()  # says so all the same


@pytest.mark.parametrize("kind", ["new", "old"])
def test_readings_are_never_those_of_an_earlier_moment(wired, kind):
    w = wired("late-after-grip@0", kind=kind)
    w.arm.send_gripper_value(40)
    w.arm.send_path(np.array([[60.0, 0, 0, 0, 0, -30]]), speed_percent=20)
    off = []
    for _ in range(40):
        w.clock.sleep(0.2)
        try:
            off.append(abs(w.arm.read_angles_deg()[0] - w.true_deg()[0]))
        except ReadingRejected:
            continue
    assert len(off) > 10
    assert max(off) < 1.0  # at 10° a second, a reading of the call before would be 2° off and more


def test_a_spell_of_silence_after_closing_is_waited_for(wired):
    w = wired("silent-after-grip@0")
    w.arm.send_gripper_value(20)
    began = w.clock.now_s()
    assert w.arm.read_angles_deg() == pytest.approx(HOME, abs=0.5)
    assert 30 < w.clock.now_s() - began < 60


@pytest.mark.parametrize("by", ["value", "state"])
def test_a_gripper_that_ignored_a_command_is_told_by_the_other_kind(wired, by):
    w = wired("gripper-ignores@0.1")
    w.clock.sleep(0.2)
    if by == "value":
        w.arm.send_gripper_value(20)
        expected = 0  # closed by state
    else:
        w.twin.arm.send_gripper_value(30)
        w.clock.sleep(2.0)
        w.arm.send_gripper_open()
        expected = 100
    w.clock.sleep(2.0)
    assert w.arm.read_gripper_value() == pytest.approx(expected, abs=4)
    assert w.arm.read_gripper_value() == pytest.approx(expected, abs=4)


def test_jaws_stopped_by_a_block_have_not_ignored_anything(wired):
    w = wired()
    w.arm.send_gripper_value(20)
    w.clock.sleep(0.6)  # as if something held them apart half-way
    w.twin.arm.send_gripper_value(60)
    w.clock.sleep(2.0)
    assert w.arm.read_gripper_value() == pytest.approx(60, abs=4)


def test_a_restart_of_the_controller_is_noticed(wired):
    w = wired("restart@0")
    w.arm.health()
    w.arm.send_gripper_open()
    w.clock.sleep(3.0)
    with pytest.raises(ArmRestarted, match="3 before, 4 now"):
        w.arm.health()


def test_power_errors_and_servos_show_in_health(wired):
    w = wired("unpowered@1", "servo-off@1", "error-latched@1", "hot-servo@1")
    w.clock.sleep(1.5)
    health = w.arm.health()
    assert (health.powered, health.error_code, health.servos_enabled) == (False, 32, False)
    assert health.temperatures_c is not None
    assert max(health.temperatures_c) == 75


def test_thinning_keeps_the_way():
    rng = np.random.default_rng(3)
    for _ in range(50):
        corners = rng.uniform(-60, 60, (4, 6))
        path = np.vstack([np.linspace(a, b, 9) for a, b in pairwise(corners)])
        path += rng.normal(0, 0.02, path.shape)
        kept = thinned(path, 0.15)
        assert len(kept) < len(path) / 2
        assert np.array_equal(kept[[0, -1]], path[[0, -1]])
        for point in path:
            gaps = []
            for a, b in pairwise(kept):
                share = np.clip((point - a) @ (b - a) / ((b - a) @ (b - a)), 0, 1)
                gaps.append(np.abs(point - a - share * (b - a)).max())
            assert min(gaps) <= 0.151
    one = np.zeros((1, 6))
    assert len(thinned(np.vstack((one, one)), 0.15)) == 2
