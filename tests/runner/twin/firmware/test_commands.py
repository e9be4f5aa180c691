"""The command table: who answers what, and what a command does to the arm."""

from __future__ import annotations

import numpy as np
import pytest

from runner.arms.wire import Cmd, angles_from_wire, angles_to_wire, from_int16s, int16s

HOME = [0.0, 0.0, 0.0, 0.0, 0.0, -30.0]
ORDERS = (Cmd.STOP, Cmd.PAUSE, Cmd.RESUME, Cmd.POWER_ON, Cmd.CLEAR_ERROR)


def test_new_firmware_acknowledges_orders_and_old_firmware_does_not(bench):
    for kind, answer in (("new", b"\x01"), ("old", None)):
        b = bench(kind)
        assert [b.ask(order) for order in ORDERS] == [answer] * len(ORDERS)
        assert b.send(HOME) == answer
        assert b.ask(Cmd.SET_GRIPPER_VALUE, bytes([40, 50, 1])) == answer


def test_old_firmware_carries_out_what_it_does_not_acknowledge(bench):
    b = bench("old")
    b.send([15, 0, 0, 0, 0, -30])
    b.run(2.0)
    assert b.angles[0] == pytest.approx(15, abs=1)


def test_old_firmware_calls_the_arm_always_moving_and_knows_no_temperatures(bench):
    b = bench("old")
    assert b.ask(Cmd.IS_MOVING) == b"\x01"
    assert b.ask(Cmd.GET_SERVO_TEMPS) is None
    assert bench("new").ask(Cmd.IS_MOVING) == b"\x00"


@pytest.mark.parametrize("payload", [b"", b"\x01", bytes(12), bytes(14), bytes(28)])
def test_a_command_of_the_wrong_length_is_not_answered_and_moves_nothing(bench, payload):
    b = bench()
    assert b.ask(Cmd.SEND_ANGLES, payload) is None
    assert not b.controller.moving


def test_no_request_of_any_kind_upsets_the_firmware(bench):
    rng = np.random.default_rng(4)
    b = bench()
    for command in range(256):
        for size in (0, 1, 2, 3, 4, 12, 13, 14, 24, 28):
            b.ask(command, rng.bytes(size))
    b.run(0.1)
    assert np.isfinite(b.angles).all()


def test_fresh_mode_0_goes_through_the_goals_in_turn(bench):
    b = bench()
    assert b.ask(Cmd.GET_FRESH_MODE) == b"\x00"
    b.send([20, 0, 0, 0, 0, -30])
    b.send([20, 15, 0, 0, 0, -30])
    lifted_early = 0.0
    for _ in range(40):
        b.run(0.1)
        if b.angles[0] < 18:
            lifted_early = max(lifted_early, b.angles[1])
    assert lifted_early < 1.0
    assert b.angles == pytest.approx([20, 15, 0, 0, 0, -30], abs=1)
    assert b.ask(Cmd.IS_IN_POSITION, angles_to_wire([20, 15, 0, 0, 0, -30]) + b"\x00") == b"\x01"


def test_fresh_mode_1_goes_to_the_newest_goal_only(bench):
    b = bench()
    b.ask(Cmd.SET_FRESH_MODE, b"\x01")
    b.send([80, 0, 0, 0, 0, -30])
    b.run(0.5)
    b.send([0, 0, 0, 0, 0, -30])
    b.run(3.0)
    assert b.angles[0] == pytest.approx(0, abs=1)


def test_speed_is_in_per_cent(bench):
    gone = []
    for speed in (20, 40):
        b = bench()
        b.send([80, 0, 0, 0, 0, -30], speed)
        b.run(1.5)
        gone.append(b.angles[0])
    assert gone[1] / gone[0] == pytest.approx(2.0, abs=0.25)
    b = bench()
    b.send([80, 0, 0, 0, 0, -30], 0)
    b.run(0.5)
    assert b.angles[0] == pytest.approx(0, abs=0.2)


def test_stop_forgets_every_goal_and_pause_keeps_them(bench):
    b = bench()
    b.send([60, 0, 0, 0, 0, -30])
    b.send([0, 0, 0, 0, 0, -30])
    b.run(0.6)
    b.ask(Cmd.PAUSE)
    b.run(0.5)
    held = b.angles[0]
    b.run(0.5)
    assert b.angles[0] == pytest.approx(held, abs=0.2)
    assert b.ask(Cmd.IS_PAUSED) == b"\x01"
    b.ask(Cmd.RESUME)
    b.run(0.6)
    assert b.angles[0] > held + 3
    b.ask(Cmd.STOP)
    b.run(0.5)
    held = b.angles[0]
    b.run(1.0)
    assert b.angles[0] == pytest.approx(held, abs=0.2)
    assert b.ask(Cmd.IS_MOVING) == b"\x00"


def test_a_goal_past_a_limit_is_not_gone_to_and_latches_the_joints_error(bench):
    b = bench()
    assert b.send([0, 0, 70, 0, 0, -30]) == b"\x01"  # accepted, as real firmware does
    assert b.ask(Cmd.GET_ERROR) == b"\x03"
    b.run(0.5)
    assert b.angles[2] == pytest.approx(0, abs=0.2)
    b.ask(Cmd.CLEAR_ERROR)
    assert b.ask(Cmd.GET_ERROR) == b"\x00"
    b.ask(Cmd.SET_JOINT_MAX, bytes([1]) + int16s([100]))
    assert b.ask(Cmd.GET_JOINT_MAX, b"\x01") == b"\x01" + int16s([100])
    b.send([12, 0, 0, 0, 0, -30])
    assert b.ask(Cmd.GET_ERROR) == b"\x01"


def test_an_unreachable_place_latches_32_and_later_goals_stop_half_way(bench):
    b = bench()
    b.ask(Cmd.SEND_COORDS, int16s([9000, 0, 0, 0, 0, 0]) + bytes([50]))
    assert b.ask(Cmd.GET_ERROR) == bytes([32])
    b.send([20, 0, 0, 0, 0, -30])
    b.run(2.0)
    assert b.angles[0] == pytest.approx(10, abs=1)


def test_coordinates_and_angles_belong_together(bench):
    b = bench()
    angles = [10.0, 20.0, -15.0, 5.0, 30.0, -20.0]
    coords = b.ask(Cmd.GET_COORDS, angles_to_wire(angles))
    zero = from_int16s(b.ask(Cmd.GET_COORDS, angles_to_wire([0] * 6)))
    assert zero[:3] == (1730, 0, 2430)  # the flange of the published geometry
    found = b.ask(Cmd.SOLVE_INVERSE, coords + angles_to_wire(angles))
    assert angles_from_wire(found) == pytest.approx(angles, abs=1.0)
    b.ask(Cmd.SEND_COORDS, coords + bytes([60]))
    b.run(3.0)
    assert b.ask(Cmd.IS_IN_POSITION, coords + b"\x01") == b"\x01"


def test_without_power_or_with_a_servo_off_it_is_accepted_and_does_not_move(bench):
    b = bench()
    b.ask(Cmd.POWER_OFF)
    assert b.ask(Cmd.IS_POWER_ON) == b"\x00"
    assert b.send([20, 0, 0, 0, 0, -30]) == b"\x01"
    b.run(1.0)
    assert b.angles[0] == pytest.approx(0, abs=0.2)
    b.ask(Cmd.POWER_ON)
    b.ask(Cmd.RELEASE_SERVO, b"\x01")
    assert b.ask(Cmd.IS_SERVO_ENABLE, b"\x01") == b"\x01\x00"
    assert b.ask(Cmd.IS_ALL_SERVO_ENABLE) == b"\x00"
    b.send([20, 10, 0, 0, 0, -30])
    b.run(2.0)
    assert b.angles[:2] == pytest.approx([0, 10], abs=1)
    b.ask(Cmd.FOCUS_SERVO, b"\x00")
    assert b.ask(Cmd.IS_ALL_SERVO_ENABLE) == b"\x01"


def test_the_gripper_goes_by_value_and_by_state_and_says_where_it_is(bench):
    b = bench()
    assert b.ask(Cmd.GET_GRIPPER_VALUE) == bytes([100])
    b.ask(Cmd.SET_GRIPPER_VALUE, bytes([20, 50, 1]))
    assert b.ask(Cmd.IS_GRIPPER_MOVING) == b"\x01"
    b.run(2.0)
    assert b.ask(Cmd.GET_GRIPPER_VALUE, b"\x01")[0] == pytest.approx(20, abs=3)
    steps = from_int16s(b.ask(Cmd.GET_ENCODER, b"\x07"))[0]
    assert 1500 < steps < 1700
    b.ask(Cmd.SET_GRIPPER_STATE, bytes([0, 50, 1]))
    b.run(2.0)
    assert b.ask(Cmd.GET_GRIPPER_VALUE)[0] == pytest.approx(100, abs=3)
    assert b.ask(Cmd.SET_GRIPPER_VALUE, bytes([20, 50, 2])) is None  # no such type
    assert b.ask(Cmd.SET_GRIPPER_VALUE, bytes([101, 50, 1])) is None


def test_what_is_only_kept_is_given_back(bench):
    b = bench()
    frame = int16s([10, 20, 30, 0, 0, 0])
    assert b.ask(Cmd.GET_TOOL_REFERENCE) == bytes(12)
    b.ask(Cmd.SET_TOOL_REFERENCE, frame)
    assert b.ask(Cmd.GET_TOOL_REFERENCE) == frame
    b.ask(Cmd.SET_SERVO_DATA, bytes([3, 21, 9]))
    assert b.ask(Cmd.GET_SERVO_DATA, bytes([3, 21])) == bytes([9])


def test_a_restart_counts_and_forgets(bench):
    b = bench()
    before = from_int16s(b.ask(Cmd.GET_REBOOT_COUNT))[0]
    b.send([60, 0, 0, 0, 0, -30])
    b.run(0.5)
    b.controller.restart()
    b.run(0.5)
    held = b.angles[0]
    b.run(1.0)
    assert b.angles[0] == pytest.approx(held, abs=0.2)
    assert from_int16s(b.ask(Cmd.GET_REBOOT_COUNT))[0] == before + 1
