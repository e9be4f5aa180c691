"""Moves the arm and says when it has arrived: within tolerance on every joint and still for three readings.

A residual gets one corrective move; a stall and a deadline are faults. What an arm answers to a motion command proves
nothing, so only readings over time count. Sends nothing but through the guard.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from runner.arms.errors import MoveStalled, MoveTimedOut, Refused
from runner.arms.guard import GuardedArm
from runner.arms.protocol import Clock
from runner.arms.readings import Readings
from runner.config import ArmSettings
from runner.kinematics.fk import tool_points_m
from runner.kinematics.frames import BaseInCell
from runner.kinematics.model import FloatArray
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


class MoveControl:
    """Moves a guarded arm, one goal at a time."""

    def __init__(self, arm: GuardedArm, clock: Clock, base: BaseInCell, settings: ArmSettings) -> None:
        self._arm, self._clock, self._base, self._settings = arm, clock, base, settings
        self._standing: _Standing | None = None
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
            MoveStalled, MoveTimedOut, NoReading: faults; the arm has been told to hold still.
        """
        settings, goal = self._settings, path_deg[-1]
        rejected_before = self.readings.rejected
        before = self.readings.read_deg()
        standing, self._standing = self._standing, None  # not known again until this move has arrived
        offset = self._sag_deg(standing if take_off_sag else None, before, goal, touching=touching)
        started_s = self._clock.now_s()
        clearance_mm = self._arm.send_compensated(
            label, path_deg, offset, speed_percent=settings.speed_percent, start_deg=before
        )
        self._clock.sleep(settings.send_wait_s)
        rest = self._rest(label, started_s)
        residual = rest.read_deg - goal
        corrective = None
        if np.abs(residual).max() > (settings.corrective_min_deg if correct else tolerance_deg):
            corrective = self._corrected(label, goal, offset + residual, rest.read_deg)
            if corrective is not None:
                rest = self._rest(label, started_s)
                residual = rest.read_deg - goal
        worst = float(np.abs(residual).max())
        if worst > tolerance_deg:
            self._await_progress(label, goal, tolerance_deg, worst)
            rest = self._rest(label, started_s)
            residual = rest.read_deg - goal
            if not np.abs(residual).max() <= tolerance_deg:
                self._arm.stop()
                raise MoveStalled(label, float(np.abs(residual).max()), tolerance_deg, settings.stall_s)
        commanded = goal - offset if corrective is None else corrective
        record = MoveRecord(
            label=label,
            target_angles=_joints(goal),
            reach_tol_deg=tolerance_deg,
            pre_actual=_joints(before),
            pre_max_delta_deg=float(np.abs(before - goal).max()),
            dry_run=False,
            arrived=True,
            retried=corrective is not None,
            post_actual=_joints(rest.read_deg),
            post_max_delta_deg=float(np.abs(residual).max()),
            attempt=attempt,
            commanded=_joints(commanded),
            via=tuple(_joints(pose) for pose in path_deg[:-1] - offset),
            line_off_mm=line_off_mm,
            waypoints=len(path_deg),
            speed_percent=settings.speed_percent,
            duration_s=self._clock.now_s() - started_s,
            settle_s=rest.seconds,
            corrective_deg=None if corrective is None else _joints(corrective - (goal - offset)),
            rejected_readings=self.readings.rejected - rejected_before,
            path_clearance_mm=clearance_mm,
            tcp_commanded_m=self._point(goal),
            tcp_read_back_m=self._point(rest.read_deg),
        )
        came = goal - before if corrective is None else commanded - (goal - offset)
        self._standing = _Standing(commanded, rest.read_deg, came)
        return Arrival(record, residual)

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

    def _rest(self, label: str, started_s: float) -> _Rest:
        """Wait until three readings in a row agree."""
        begun_s = self._clock.now_s()
        last: deque[FloatArray] = deque(maxlen=_STILL_READINGS)
        while True:
            last.append(self.readings.read_deg())
            if len(last) == _STILL_READINGS and np.ptp(np.stack(last), axis=0).max() <= self._settings.still_deg:
                return _Rest(last[-1], self._clock.now_s() - begun_s)
            if self._clock.now_s() - started_s > self._settings.deadline_s:
                self._arm.stop()
                raise MoveTimedOut(label, self._settings.deadline_s)
            self._clock.sleep(self._settings.reading_interval_s)

    def _corrected(
        self, label: str, goal: FloatArray, offset_deg: FloatArray, start_deg: FloatArray
    ) -> FloatArray | None:
        """Send the one corrective move; None where the guard does not allow it (a limit is near)."""
        try:
            self._arm.send_compensated(
                f"{label}_corrective",
                goal[None, :],
                offset_deg,
                speed_percent=self._settings.speed_percent,
                start_deg=start_deg,
            )
        except Refused:
            return None
        self._clock.sleep(self._settings.reading_interval_s * _STILL_READINGS)
        return goal - offset_deg

    def _await_progress(self, label: str, goal: FloatArray, tolerance_deg: float, worst_deg: float) -> None:
        """Give a still arm that is outside the tolerance its last chance, then call it stalled."""
        begun_s, best = self._clock.now_s(), worst_deg
        while self._clock.now_s() - begun_s < self._settings.stall_s:
            self._clock.sleep(self._settings.reading_interval_s)
            short = float(np.abs(self.readings.read_deg() - goal).max())
            if short <= tolerance_deg:
                return
            if short < best - self._settings.still_deg:
                begun_s, best = self._clock.now_s(), short
        self._arm.stop()
        raise MoveStalled(label, best, tolerance_deg, self._settings.stall_s)

    def _point(self, angles_deg: FloatArray) -> Point:
        x, y, z = self._base.to_cell(tool_points_m(angles_deg, self._arm.model)).tolist()
        return (x, y, z)


def _joints(angles_deg: FloatArray) -> Joints:
    return tuple(float(round(a, 6)) for a in angles_deg)
