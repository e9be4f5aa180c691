"""When a move has arrived: within tolerance and still. Against a small arm that lags, sags, sticks and never rests."""

from __future__ import annotations

import numpy as np
import pytest

from runner.arms.arrival import MoveControl
from runner.arms.errors import MoveStalled, MoveTimedOut, NoReading, ReadingRejected, Refused
from runner.arms.guard import GuardedArm, GuardRules
from runner.arms.protocol import ArmHealth
from runner.config import Config
from runner.kinematics.frames import BaseInCell
from runner.kinematics.model import load_arm

CONFIG = Config()
ARM = load_arm(CONFIG.arm.model).with_tool(tcp_mm=CONFIG.arm.tcp_mm, roll_deg=CONFIG.arm.tool_roll_deg)
HOME = np.array(CONFIG.arm.home_deg)
GOAL = np.array([40.0, 10.0, -15.0, 5.0, 20.0, -30.0])


class SlowArm:
    """An arm with its own clock: it goes where it was told at `rate` °/s and rests `sag` beside it.

    `late_deg` comes only `late_s` after the rest; `stuck_at` is where j0 stops; `tremble_deg` never ends; `deaf`
    readings are lost after each sending.
    """

    model = ARM

    def __init__(self, *, rate=40.0, sag=0.0, late_deg=0.0, late_s=0.8, stuck_at=None, tremble_deg=0.0, deaf=0):
        self.t, self.rate, self.sag, self.stuck_at, self.tremble_deg = 0.0, rate, np.asarray(sag), stuck_at, tremble_deg
        self.late_deg, self.late_s, self.deaf, self.lost = late_deg, late_s, deaf, 0
        self.at, self.goal, self.rested_at = HOME.astype(float), HOME.astype(float), 0.0
        self.sent, self.stops = [], 0

    def now_s(self):
        return self.t

    def sleep(self, seconds):
        self.t += seconds
        step = self.goal - self.at
        self.at = self.at + np.clip(step, -self.rate * seconds, self.rate * seconds)
        if np.abs(self.goal - self.at).max() > 1e-9:
            self.rested_at = self.t

    def read_angles_deg(self):
        if self.lost > 0:
            self.lost -= 1
            raise ReadingRejected(-1, "the answer is -1, not a list of angles")
        late = self.late_deg if self.t - self.rested_at < self.late_s else 0.0
        seen = self.at + self.sag - late + self.tremble_deg * np.sin(37.0 * self.t)
        if self.stuck_at is not None:
            seen[0] = min(seen[0], self.stuck_at)
        return seen

    def send_path(self, waypoints_deg, *, speed_percent):
        self.sent.append(np.array(waypoints_deg))
        self.goal, self.rested_at, self.lost = np.array(waypoints_deg[-1]), self.t, self.deaf

    def stop(self):
        self.stops += 1
        self.goal = self.at.copy()

    def health(self):
        return ArmHealth(True, 0)


def control_of(inner, **settings):
    config = CONFIG.arm.model_copy(update=settings)
    guard = GuardedArm(inner, BaseInCell.at(), GuardRules.of(ARM, config, CONFIG.table, CONFIG.guard))
    return MoveControl(guard, inner, BaseInCell.at(), config)


def moved(inner, *, tolerance_deg=3.0, settings=None, **how):
    return control_of(inner, **(settings or {})).move("m", GOAL[None], tolerance_deg=tolerance_deg, **how)


def test_a_good_arm_arrives_with_one_sending_and_what_it_did_is_written_down():
    inner = SlowArm()
    record = moved(inner).record
    assert len(inner.sent) == 1
    assert record.arrived
    assert not record.retried
    assert record.corrective_deg is None
    assert record.commanded == record.target_angles == pytest.approx(GOAL)
    assert record.pre_actual == pytest.approx(HOME)
    assert record.post_actual == pytest.approx(GOAL)
    assert record.pre_max_delta_deg == pytest.approx(40.0)
    assert record.post_max_delta_deg == pytest.approx(0.0, abs=1e-6)
    assert record.rejected_readings == 0
    assert record.duration_s >= CONFIG.arm.send_wait_s
    assert record.tcp_commanded_m == pytest.approx(record.tcp_read_back_m, abs=1e-6)


def test_being_within_tolerance_is_not_yet_arrived_while_it_moves():
    inner = SlowArm(rate=4.0)
    arrival = moved(inner, tolerance_deg=6.0)
    assert arrival.record.post_max_delta_deg < 0.1, "it was called arrived while it still came nearer"
    assert inner.t >= 10.0


def test_what_comes_late_after_the_rest_is_waited_for():
    inner = SlowArm(late_deg=2.4, late_s=0.35)
    assert moved(inner, settings={"send_wait_s": 0.2}).record.post_max_delta_deg < 0.1


def test_a_sag_beyond_the_tolerance_gets_one_corrective_move():
    sag = np.array([0.1, 2.4, 0.6, -0.1, -0.5, 0.0])
    inner = SlowArm(sag=sag)
    arrival = moved(inner, tolerance_deg=2.0)
    assert len(inner.sent) == 2
    assert arrival.record.retried
    assert np.allclose(arrival.record.corrective_deg, -sag, atol=1e-6)
    assert np.allclose(arrival.record.commanded, GOAL - sag, atol=1e-6)
    assert np.abs(arrival.residual_deg).max() < 0.1


@pytest.mark.parametrize("seed", range(12))
def test_an_arm_that_reports_its_sag_is_brought_within_a_millimetre_by_one_corrective_move(seed):
    rng = np.random.default_rng(seed)
    sag = rng.uniform(-2.6, 2.6, 6)
    sag[1] = rng.uniform(0.3, 2.6)  # with gravity, as recorded
    inner = SlowArm(sag=sag)
    record = moved(inner, tolerance_deg=3.0, correct=True).record
    assert len(inner.sent) == 2
    assert np.linalg.norm(np.subtract(record.tcp_read_back_m, record.tcp_commanded_m)) <= 0.001


def test_a_sag_inside_the_tolerance_is_corrected_only_when_asked():
    sag = np.array([0.0, 1.5, 0, 0, 0, 0])
    left = moved(SlowArm(sag=sag), tolerance_deg=3.0)
    assert left.residual_deg == pytest.approx(sag, abs=1e-6)
    assert not left.record.retried
    asked = moved(SlowArm(sag=sag), tolerance_deg=3.0, correct=True)
    assert asked.record.retried
    assert np.abs(asked.residual_deg).max() < 0.1


def test_a_sag_that_was_met_is_taken_off_the_next_move_of_joints_that_go_on():
    inner = SlowArm(sag=np.array([0.1, 2.2, 0.6, -0.1, -0.5, 0.0]))
    control = control_of(inner)
    control.move("first", GOAL[None], tolerance_deg=3.0)
    further = GOAL + np.sign(GOAL - HOME) * 5.0
    arrival = control.move("second", further[None], tolerance_deg=2.0, take_off_sag=True)
    assert len(inner.sent) == 2, "no corrective move was needed"
    assert np.allclose(inner.sent[-1][-1], further - inner.sag)
    assert np.abs(arrival.residual_deg).max() < 0.1
    assert arrival.record.target_angles == pytest.approx(further)


def test_a_joint_that_turns_round_takes_only_a_small_sag_with_it():
    inner = SlowArm(sag=np.array([0.1, 2.2, 0.6, -0.1, -0.5, 0.0]))
    control = control_of(inner)
    control.move("first", GOAL[None], tolerance_deg=3.0)
    back = GOAL - np.sign(GOAL - HOME) * 5.0
    control.move("second", back[None], tolerance_deg=3.0, take_off_sag=True)
    assert np.allclose(inner.sent[-1][-1], back - np.clip(inner.sag, -0.25, 0.25))


def test_what_presses_on_the_arm_now_is_no_sag():
    inner = SlowArm(sag=np.array([0.0, 0.2, 0, 0, 0, 0]))
    control = control_of(inner)
    control.move("down", GOAL[None], tolerance_deg=3.0)
    inner.sag = inner.sag + np.array([0.0, 0, 0.2, 0, 0, 0])
    control.move("up", HOME[None], tolerance_deg=3.0, take_off_sag=True, touching=True)
    assert np.allclose(inner.sent[-1][-1], HOME - [0.0, 0.2, 0, 0, 0, 0])


def test_half_a_step_of_the_encoders_is_no_sag():
    inner = SlowArm(sag=np.array([0.04, -0.04, 0.06, 0, 0, 0]))
    control = control_of(inner)
    control.move("down", GOAL[None], tolerance_deg=3.0)
    control.move("up", HOME[None], tolerance_deg=3.0, take_off_sag=True)
    assert np.allclose(inner.sent[-1][-1], HOME - [0.0, 0, 0.06, 0, 0, 0])


def test_after_a_move_that_failed_no_sag_is_known():
    inner = SlowArm(sag=np.array([0.0, 2.2, 0, 0, 0, 0]))
    control = control_of(inner)
    control.move("first", GOAL[None], tolerance_deg=3.0)
    inner.stuck_at = float(inner.at[0])
    with pytest.raises(MoveStalled):
        control.move("second", (GOAL + 10.0)[None], tolerance_deg=3.0)
    inner.stuck_at = None
    control.move("third", GOAL[None], tolerance_deg=3.0, take_off_sag=True)
    assert np.allclose(inner.sent[-1][-1], GOAL)


def test_poses_on_the_way_are_written_down_as_they_were_sent():
    inner = SlowArm()
    path = np.stack([(HOME + GOAL) / 2, GOAL])
    record = control_of(inner).move("m", path, tolerance_deg=3.0, line_off_mm=0.2).record
    assert record.waypoints == 2
    assert record.via == (pytest.approx(path[0]),)
    assert record.line_off_mm == 0.2


def test_an_arm_that_sticks_has_stalled_and_is_told_to_hold_still():
    inner = SlowArm(stuck_at=25.0)
    with pytest.raises(MoveStalled) as stalled:
        moved(inner, settings={"max_step_deg": 180.0})
    assert stalled.value.short_deg == pytest.approx(15.0, abs=0.1)
    assert stalled.value.label == "m"
    assert inner.stops == 1
    assert "15.0° short (allowed 3.0°)" in str(stalled.value)


def test_an_arm_that_never_rests_runs_into_the_deadline_and_is_told_to_hold_still():
    inner = SlowArm(tremble_deg=1.0)
    with pytest.raises(MoveTimedOut) as late:
        moved(inner)
    assert (late.value.deadline_s, late.value.rejected) == (CONFIG.arm.deadline_s, 0)
    told = MoveTimedOut("stage6_lift", 25.0, 7)
    assert told.message.endswith("after 25 s; 7 of its answers were no readings")
    assert inner.stops == 1
    assert inner.t == pytest.approx(CONFIG.arm.deadline_s, abs=1.0)


@pytest.mark.parametrize(
    ("trouble", "read_back"), [({"stuck_at": 25.0}, True), ({"tremble_deg": 1.0}, False), ({"deaf": 1000}, False)]
)
def test_a_move_that_did_not_arrive_is_written_down_too(trouble, read_back):
    inner = SlowArm(**trouble)
    control = control_of(inner, max_step_deg=180.0)
    with pytest.raises((MoveStalled, MoveTimedOut, NoReading)):
        control.move("m", GOAL[None], tolerance_deg=3.0)
    record = control.failed
    assert (record.label, record.arrived) == ("m", False)
    assert record.commanded == pytest.approx(GOAL)
    assert record.duration_s > 3.0
    assert (record.post_actual is not None) == read_back
    assert inner.stops == 1
    if read_back:
        assert record.post_actual[0] == pytest.approx(25.0)
        assert record.post_max_delta_deg == pytest.approx(15.0)
        assert record.settle_s is not None
    inner.stuck_at, inner.tremble_deg, inner.lost, inner.deaf = None, 0.0, 0, 0
    control.move("m", GOAL[None], tolerance_deg=3.0)
    assert control.failed is None


def test_an_arm_that_creeps_on_for_ever_meets_the_deadline_too():
    """It is still between its readings, and always a little nearer: neither rest nor stall ends that."""
    inner = SlowArm(rate=0.2)
    with pytest.raises(MoveTimedOut):
        moved(inner, settings={"still_deg": 0.1, "deadline_s": 30.0})
    assert inner.stops == 1


def test_lost_readings_are_counted_and_never_used():
    record = moved(SlowArm(deaf=3)).record
    assert record.arrived
    assert record.rejected_readings == 3


def test_an_arm_that_gives_no_reading_at_all_is_a_fault():
    with pytest.raises(NoReading, match="8 tries"):
        moved(SlowArm(deaf=1000))


def test_a_refused_move_is_never_sent():
    inner = SlowArm()
    with pytest.raises(Refused):
        control_of(inner).move("m", np.full((1, 6), np.nan), tolerance_deg=2.0)
    assert inner.sent == []


def test_a_corrective_move_that_the_guard_forbids_is_not_made():
    sag = np.array([0.0, 9.0, 0, 0, 0, 0])
    inner = SlowArm(sag=sag)
    with pytest.raises(MoveStalled):
        moved(inner, tolerance_deg=2.0)
    assert len(inner.sent) == 1
    assert inner.stops == 1
