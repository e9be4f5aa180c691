"""The twin's arm: it arrives, it can be replaced and stopped, and the field profile deviates like the recorded arm."""

from __future__ import annotations

import numpy as np
import pytest

from runner.arms.protocol import Arm, Clock
from runner.kinematics.errors import WrongJoints
from runner.kinematics.frames import tool_points_cell_m
from runner.twin.profiles import FIELD, Imperfection

OUT_OF_THE_WAY = {"block_xz_m": (0.36, 0.03), "box_xz_m": (-0.33, 0.10)}
# The commands of the nine moves of the field log, degrees.
FIELD_MOVES = (
    (0.0, 0.0, 0.0, 0.0, 0.0, -30.0),
    (-34.084, 87.74, -38.33, 3.6, -70.11, -30.0),
    (-31.93, 87.74, -38.33, 18.6, -45.11, -30.0),
    (-34.084, 87.74, -38.33, 3.6, -70.11, -30.0),
    (35.75, 57.39, 17.49, 0.08, -89.2, -29.44),
    (37.059, 66.65, 2.83, -1.4, -78.04, -29.53),
    (85.0, 57.39, 17.49, 0.08, -89.2, -29.44),
    (35.75, 57.39, 17.49, 0.08, -89.2, -29.44),
    (0.0, 0.0, 0.0, 0.0, 0.0, -30.0),
)


def test_it_is_an_arm_with_a_clock(perfect_twin):
    assert isinstance(perfect_twin.arm, Arm)
    assert isinstance(perfect_twin.clock, Clock)
    assert perfect_twin.arm.health().powered


def test_perfect_reaches_what_it_is_told(perfect_twin, wait_still):
    twin = perfect_twin
    twin.reset(1, **OUT_OF_THE_WAY)
    for goal in ([30.0, 40, -20, 10, 30, -50], [-60.0, 50, -35, -20, 45, 10], [0.0, 0, 0, 0, 0, -30]):
        twin.arm.send_path(np.array([goal]), speed_percent=40)
        wait_still(twin)
        twin.clock.sleep(0.5)
        truth = twin.truth()
        assert np.abs(np.array(truth.angles_deg) - goal).max() < 0.05
        wanted_m = tool_points_cell_m(np.array(goal), twin.arm.model, twin.world.scene.base)
        assert np.linalg.norm(wanted_m - truth.tool_m) < 1e-4
        assert np.abs(twin.arm.read_angles_deg() - goal).max() <= 0.05 + 360 / 4096


def test_encoders_read_in_whole_steps(field_twin):
    field_twin.reset(4, **OUT_OF_THE_WAY)
    steps = field_twin.arm.read_angles_deg() / (360 / 4096)
    assert np.abs(steps - np.round(steps)).max() < 1e-9


def test_sending_returns_at_once_and_time_moves_the_arm(perfect_twin):
    twin = perfect_twin
    twin.reset(1, **OUT_OF_THE_WAY)
    before = twin.arm.read_angles_deg()
    twin.arm.send_path(np.array([[40.0, 0, 0, 0, 0, -30]]), speed_percent=20)
    assert np.array_equal(twin.arm.read_angles_deg(), before)
    twin.clock.sleep(1.0)
    per_s = twin.arm.model.data.servo.max_speed_deg_s * 0.2
    assert 0.7 * per_s < twin.arm.read_angles_deg()[0] < per_s


def test_a_new_command_replaces_the_old(perfect_twin, wait_still):
    twin = perfect_twin
    twin.reset(1, **OUT_OF_THE_WAY)
    twin.arm.send_path(np.array([[80.0, 0, 0, 0, 0, -30]]), speed_percent=100)
    twin.clock.sleep(0.7)
    twin.arm.send_path(np.array([[10.0, 0, 0, 0, 0, -30]]), speed_percent=100)
    wait_still(twin)
    assert twin.arm.read_angles_deg()[0] == pytest.approx(10.0, abs=0.1)


def test_stop_holds_where_it_is_and_may_come_twice(perfect_twin, wait_still):
    twin = perfect_twin
    twin.reset(1, **OUT_OF_THE_WAY)
    twin.arm.send_path(np.array([[80.0, 0, 0, 0, 0, -30]]), speed_percent=20)
    twin.clock.sleep(1.0)
    at = twin.arm.read_angles_deg()[0]
    twin.arm.stop()
    twin.arm.stop()
    wait_still(twin)
    assert at <= twin.arm.read_angles_deg()[0] < at + 3.0


def test_a_path_that_is_no_path_is_refused(perfect_twin):
    with pytest.raises(WrongJoints):
        perfect_twin.arm.send_path(np.array([[1.0, 2.0]]), speed_percent=20)
    with pytest.raises(WrongJoints):
        perfect_twin.arm.send_path(np.array([[np.nan] * 6]), speed_percent=20)


def test_the_jaws_go_to_values_and_read_back(perfect_twin):
    twin = perfect_twin
    twin.reset(1, **OUT_OF_THE_WAY)
    assert twin.arm.read_gripper_value() == 100
    for value in (20, 60, 0):
        twin.arm.send_gripper_value(value)
        twin.clock.sleep(2.0)
        assert twin.arm.read_gripper_value() == pytest.approx(value, abs=1)
    twin.arm.send_gripper_open()
    twin.clock.sleep(2.0)
    assert twin.arm.read_gripper_value() == 100


@pytest.fixture(scope="module")
def replayed(field_twin):
    """Read-back minus command after each of the nine moves, two seconds after rest, for several seeds: (s, 9, 6)."""
    seeds = []
    for seed in range(1, 5):
        field_twin.reset(seed, **OUT_OF_THE_WAY)
        gaps = []
        for goal in FIELD_MOVES:
            field_twin.arm.send_path(np.array([goal]), speed_percent=100)
            field_twin.clock.sleep(7.0)
            gaps.append(field_twin.arm.read_angles_deg() - goal)
        seeds.append(gaps)
    return np.array(seeds)


def test_field_j1_sags_as_in_the_log(replayed):
    j1 = replayed[..., 1]
    assert j1.min() >= 1.1
    assert j1.max() <= 2.5
    assert np.ptp(j1) > 0.8, "less after moving down than after moving up"


def test_field_deviations_are_about_those_of_the_log(replayed):
    assert 1.2 < np.abs(replayed[..., 4]).max() < 2.7, "j4 stops short by up to 2.6°"
    assert np.abs(replayed).max() <= 2.7
    assert 0.3 < replayed[..., 2].mean() < 1.0, "j2 rests forward, as in the log (0.63 in the mean)"
    assert np.abs(replayed[..., 5]).max() < 0.6


def test_field_lags_by_more_than_it_rests_away(field_twin):
    field_twin.reset(2, **OUT_OF_THE_WAY)
    goal = np.array([0.0, 0, 0, 0, -60, -30])
    field_twin.arm.send_path(goal[None], speed_percent=100)
    field_twin.clock.sleep(60 / field_twin.arm.model.data.servo.max_speed_deg_s + 0.5)
    early = field_twin.arm.read_angles_deg() - goal
    field_twin.clock.sleep(4.0)
    late = field_twin.arm.read_angles_deg() - goal
    assert 0.8 < early[4] - late[4] < 3.5


def test_corrective_moves_get_there_in_the_field_profile(field_twin, wait_still):
    field_twin.reset(3, **OUT_OF_THE_WAY)
    goal = np.array([20.0, 30, -10, 5, 40, -20])
    sent = goal.copy()
    for _ in range(6):
        field_twin.arm.send_path(sent[None], speed_percent=20)
        field_twin.clock.sleep(1.0)
        wait_still(field_twin)
        sent = sent + goal - field_twin.arm.read_angles_deg()
    assert np.abs(field_twin.arm.read_angles_deg() - goal).max() < 0.3


def test_zero_offsets_are_unseen_by_the_encoders(field_twin):
    gaps = []
    for seed in range(12):
        field_twin.reset(seed, **OUT_OF_THE_WAY)
        gaps.append(np.array(field_twin.truth().angles_deg) - field_twin.arm.read_angles_deg())
    assert 0.15 < np.std(gaps) < 0.5
    assert np.abs(gaps).max() < 1.3


def test_play_means_the_output_follows_inside_a_band():
    play = Imperfection(FIELD, 6, np.random.default_rng(0))
    play.rest_at(np.zeros(6))
    out = [
        play.follow(np.full(6, x), 0.1).copy() for x in np.concatenate([np.linspace(0, 20, 200), np.full(100, 20.0)])
    ]
    rested = out[-1]
    back = [play.follow(np.full(6, 20.0 - 0.001 * k), 0.1).copy() for k in range(50)]
    assert back[-1][1] == pytest.approx(rested[1], abs=1e-6), (
        "j1 does not move while the command turns back inside the band"
    )


def test_a_goal_that_is_followed_may_move_at_any_moment(perfect_twin):
    twin = perfect_twin
    twin.reset(1, **OUT_OF_THE_WAY)
    seen = []
    for k in range(100):  # the goal runs ahead, then turns round
        j0 = 20.0 if k < 40 else -10.0
        twin.arm.follow(np.array([j0, 0, 0, 0, 0, -30]), speed_percent=60)
        twin.clock.sleep(0.024)
        seen.append(twin.arm._set_deg[0])
    twin.clock.sleep(2.0)
    assert twin.arm.read_angles_deg()[0] == pytest.approx(-10.0, abs=0.1)
    speed = np.diff(seen) / 0.024
    assert np.abs(speed).max() <= 30.0 + 1e-6
    assert speed.max() > 20.0, "a goal that is sent again and again does not hold the arm back"
    with pytest.raises(WrongJoints):
        twin.arm.follow(np.array([1.0, 2.0]), speed_percent=20)
