"""Moves the arm and says when it has arrived: within tolerance on every joint and still for three readings.

A residual gets one corrective move; a stall and a deadline are faults. What an arm answers to a motion command proves
nothing, so only readings over time count. Sends nothing but through the guard.
"""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from runner.arms.errors import ArmError, MoveStalled, MoveTimedOut, Refused
from runner.arms.guard import GuardedArm
from runner.arms.protocol import Clock
from runner.arms.readings import Readings
from runner.kinematics.fk import tool_points_m
from runner.kinematics.frames import BaseInCell
from runner.kinematics.model import FloatArray
from runner.settings.arm import ArmSettings
from runs.schema.geometry import Joints, Point
from runs.schema.motion import MoveRecord

_STILL_READINGS = 3


@dataclass(frozen=True, slots=True, eq=False)
class Arrival:
    """How a move ended: its record, and what the arm stands off the goal (read back minus goal), degrees."""

    record: MoveRecord
    residual_deg: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class _Rest:
    """The arm where it stopped, and how long that took."""

    read_deg: FloatArray
    seconds: float


@dataclass(frozen=True, slots=True, eq=False)
class _Standing:
    """The arm at rest after a move: its last command, what was read there, which way each joint came, degrees."""

    commanded_deg: FloatArray
    read_deg: FloatArray
    came_deg: FloatArray

    def sag_deg(
        self, read_deg: FloatArray, goal_deg: FloatArray, *, small_deg: float, rounding_deg: float
    ) -> FloatArray:
        """What the arm, read now, stands beside its command, as far as that lasts on the way to a goal.

        A joint that goes on the way it came keeps its sag. One that turns round first goes through its dead band and
        ends on the other side of it; there only up to `small_deg` counts, which is a load and not friction. Up to
        `rounding_deg` is no sag but half a step of the encoders.
        """
        sag = read_deg - self.commanded_deg
        sag = np.where(np.abs(sag) <= rounding_deg, 0.0, sag)
        goes_on = (goal_deg - read_deg) * self.came_deg >= 0
        return np.where(goes_on, sag, np.clip(sag, -small_deg, small_deg))


@dataclass(slots=True, eq=False)
class _Move:
    """One move under way. Angles in degrees; `path_deg` is where it is meant to get to, (k, n_joints)."""

    label: str
    path_deg: FloatArray
    offset_deg: FloatArray
    before_deg: FloatArray
    started_s: float
    tolerance_deg: float
    rejected_before: int
    clearance_mm: float | None = None
    rest: _Rest | None = None
    corrective_deg: FloatArray | None = None  # what the corrective move commanded

    @property
    def goal_deg(self) -> FloatArray:
        """Where it is meant to end, (n_joints,)."""
        return np.asarray(self.path_deg[-1])

    @property
    def commanded_deg(self) -> FloatArray:
        """What was commanded last, (n_joints,)."""
        return self.goal_deg - self.offset_deg if self.corrective_deg is None else self.corrective_deg

    @property
    def off_deg(self) -> float:
        """How far the arm rests from its goal, on its worst joint."""
        assert self.rest is not None
        return float(np.abs(self.rest.read_deg - self.goal_deg).max())


class MoveControl:
    """Moves a guarded arm, one goal at a time. `failed` is the record of the last move where it did not arrive."""

    def __init__(self, arm: GuardedArm, clock: Clock, base: BaseInCell, settings: ArmSettings) -> None:
        self._arm, self._clock, self._base, self._settings = arm, clock, base, settings
        self._standing: _Standing | None = None
        self.failed: MoveRecord | None = None
        servo = arm.model.data.servo
        self._rounding_deg = 0.0 if servo is None else 180.0 / servo.encoder_steps + 1e-6
        self.readings = Readings(arm, clock, margin_deg=settings.reading_margin_deg)

    def move(
        self,
        label: str,
        path_deg: FloatArray,
        *,
        tolerance_deg: float,
        correct: bool = False,
        take_off_sag: bool = False,
        touching: bool = False,
        attempt: int | None = None,
        line_off_mm: float | None = None,
    ) -> Arrival:
        """Go through the waypoints, shape (k, n_joints), and settle at the last.

        Args:
            correct: make one corrective move by the residual even inside the tolerance.
            take_off_sag: take off every waypoint what the arm now stands beside its last command. So it goes on from
                where it is, and a straight way stays straight; without it, it first lets that go.
            touching: something presses on the arm now: its sag is what was read on arrival, not what is read now.
            line_off_mm: for the log: how far the waypoints' joint moves leave the straight line that they follow.

        Raises:
            Refused: the guard's no, before anything was sent.
            MoveStalled, MoveTimedOut, NoReading, and whatever the clock raises to be stopped: the arm has been told
                to hold still.
        """
        goal = path_deg[-1]
        rejected_before, self.failed = self.readings.rejected, None
        before = self.readings.read_deg()
        standing, self._standing = self._standing, None  # not known again until this move has arrived
        offset = self._sag_deg(standing if take_off_sag else None, before, goal, touching=touching)
        move = _Move(label, path_deg, offset, before, self._clock.now_s(), tolerance_deg, rejected_before)
        try:
            self._carry_out(move, correct=correct)
        except Refused:
            raise  # nothing was sent
        except BaseException:
            with suppress(ArmError):
                self._arm.stop()
            self.failed = self._record(move, rejected_before, attempt, line_off_mm, arrived=False)
            raise
        came = goal - before if move.corrective_deg is None else move.corrective_deg - (goal - offset)
        assert move.rest is not None
        self._standing = _Standing(move.commanded_deg, move.rest.read_deg, came)
        return Arrival(
            self._record(move, rejected_before, attempt, line_off_mm, arrived=True), move.rest.read_deg - goal
        )

    def _carry_out(self, move: _Move, *, correct: bool) -> None:
        """Send it, wait until it rests, correct it once; what came of it stands in the move."""
        settings = self._settings
        move.clearance_mm = self._arm.send_compensated(
            move.label,
            move.path_deg,
            move.offset_deg,
            speed_percent=settings.speed_percent,
            start_deg=move.before_deg,
        )
        self._clock.sleep(settings.send_wait_s)
        move.rest = self._rest(move)
        if move.off_deg > (settings.corrective_min_deg if correct else move.tolerance_deg):
            move.corrective_deg = self._corrected(move)
            if move.corrective_deg is not None:
                move.rest = self._rest(move)
        if move.off_deg > move.tolerance_deg:
            self._await_progress(move)
            move.rest = self._rest(move)
            if not move.off_deg <= move.tolerance_deg:
                raise MoveStalled(move.label, move.off_deg, move.tolerance_deg, settings.stall_s)

    def _record(
        self, move: _Move, rejected_before: int, attempt: int | None, line_off_mm: float | None, *, arrived: bool
    ) -> MoveRecord:
        goal, offset, rest = move.goal_deg, move.offset_deg, move.rest
        corrective = move.corrective_deg
        return MoveRecord(
            label=move.label,
            target_angles=_joints(goal),
            reach_tol_deg=move.tolerance_deg,
            pre_actual=_joints(move.before_deg),
            pre_max_delta_deg=float(np.abs(move.before_deg - goal).max()),
            dry_run=False,
            arrived=arrived,
            retried=corrective is not None,
            post_actual=None if rest is None else _joints(rest.read_deg),
            post_max_delta_deg=None if rest is None else move.off_deg,
            attempt=attempt,
            commanded=_joints(move.commanded_deg),
            via=tuple(_joints(pose) for pose in move.path_deg[:-1] - offset),
            line_off_mm=line_off_mm,
            waypoints=len(move.path_deg),
            speed_percent=self._settings.speed_percent,
            duration_s=self._clock.now_s() - move.started_s,
            settle_s=None if rest is None else rest.seconds,
            corrective_deg=None if corrective is None else _joints(corrective - (goal - offset)),
            rejected_readings=self.readings.rejected - rejected_before,
            path_clearance_mm=move.clearance_mm,
            tcp_commanded_m=self._point(goal),
            tcp_read_back_m=None if rest is None else self._point(rest.read_deg),
        )

    def _sag_deg(
        self, standing: _Standing | None, read_deg: FloatArray, goal: FloatArray, *, touching: bool
    ) -> FloatArray:
        """What to take off every waypoint, (n_joints,); nothing where nobody knows how the arm stands."""
        if standing is None:
            return np.zeros_like(goal)
        return standing.sag_deg(
            standing.read_deg if touching else read_deg,
            goal,
            small_deg=self._settings.corrective_min_deg,
            rounding_deg=self._rounding_deg,
        )

    def _rest(self, move: _Move) -> _Rest:
        """Wait until three readings in a row agree."""
        begun_s = self._clock.now_s()
        last: deque[FloatArray] = deque(maxlen=_STILL_READINGS)
        while True:
            last.append(self.readings.read_deg())
            if len(last) == _STILL_READINGS and np.ptp(np.stack(last), axis=0).max() <= self._settings.still_deg:
                return _Rest(last[-1], self._clock.now_s() - begun_s)
            self._check_deadline(move)
            self._clock.sleep(self._settings.reading_interval_s)

    def _corrected(self, move: _Move) -> FloatArray | None:
        """Send the one corrective move; None where the guard does not allow it (a limit is near)."""
        assert move.rest is not None
        offset = move.offset_deg + (move.rest.read_deg - move.goal_deg)
        try:
            self._arm.send_compensated(
                f"{move.label}_corrective",
                move.goal_deg[None, :],
                offset,
                speed_percent=self._settings.speed_percent,
                start_deg=move.rest.read_deg,
            )
        except Refused:
            return None
        self._clock.sleep(self._settings.reading_interval_s * _STILL_READINGS)
        return move.goal_deg - offset

    def _await_progress(self, move: _Move) -> None:
        """Give a still arm that is outside the tolerance its last chance, then call it stalled."""
        begun_s, best = self._clock.now_s(), move.off_deg
        while self._clock.now_s() - begun_s < self._settings.stall_s:
            self._clock.sleep(self._settings.reading_interval_s)
            short = float(np.abs(self.readings.read_deg() - move.goal_deg).max())
            if short <= move.tolerance_deg:
                return
            if short < best - self._settings.still_deg:
                begun_s, best = self._clock.now_s(), short
            self._check_deadline(move)
        raise MoveStalled(move.label, best, move.tolerance_deg, self._settings.stall_s)

    def _check_deadline(self, move: _Move) -> None:
        if self._clock.now_s() - move.started_s > self._settings.deadline_s:
            raise MoveTimedOut(move.label, self._settings.deadline_s, self.readings.rejected - move.rejected_before)

    def _point(self, angles_deg: FloatArray) -> Point:
        x, y, z = self._base.to_cell(tool_points_m(angles_deg, self._arm.model)).tolist()
        return (x, y, z)


def _joints(angles_deg: FloatArray) -> Joints:
    return tuple(float(round(a, 6)) for a in angles_deg)
