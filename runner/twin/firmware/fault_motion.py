"""Faults of motion: goals that are not gone to, or not as they were told."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from runner.arms.wire import Cmd, WireFrame, angles_from_wire, angles_to_wire
from runner.twin.firmware.controller import NO_SOLUTION
from runner.twin.firmware.fault import Fault


class _NextGoal(Fault, ABC):
    """Something befalls the next goal only."""

    _done = False

    def hears(self, request: WireFrame, now_s: float) -> WireFrame | None:
        """Waits for a goal."""
        if self._done or request.command != Cmd.SEND_ANGLES or len(request.payload) != 13:
            return request
        self._done = True
        return self._befalls(request, np.array(angles_from_wire(request.payload[:12])))

    @abstractmethod
    def _befalls(self, request: WireFrame, goal_deg: np.ndarray) -> WireFrame | None:
        """What becomes of it."""


class DeafToGoal(_NextGoal):
    """One goal is acknowledged and not gone to."""

    name, row, what = "deaf", 5, "one motion is acknowledged and not made"

    def _befalls(self, request: WireFrame, goal_deg: np.ndarray) -> WireFrame | None:
        return None


class DrivesToStop(_NextGoal):
    """One joint drives to its stop instead and stays there."""

    name, row, what = "drives-to-stop", 6, "in one motion j4 drives to its stop, and its error latches"

    def _befalls(self, request: WireFrame, goal_deg: np.ndarray) -> WireFrame | None:
        goal_deg[4] = self.controller.max_deg[4]
        self.controller.error = 5
        return WireFrame(request.command, angles_to_wire(goal_deg.tolist()) + request.payload[12:])


class Detour(_NextGoal):
    """One motion goes by way of a place that nobody asked for."""

    name, row, what = "detour", 7, "one motion makes a detour of 20° on j1"

    def _befalls(self, request: WireFrame, goal_deg: np.ndarray) -> WireFrame | None:
        by_way_of = (goal_deg + self.controller.angles_deg()) / 2.0
        by_way_of[1] = np.clip(by_way_of[1] - 20.0, self.controller.min_deg[1], self.controller.max_deg[1])
        self.controller.send(by_way_of, request.payload[12])
        return request


class DeadBand(Fault):
    """Goals near to where the arm is are ignored."""

    name, row, what = "dead-band", 8, "goals within 2° of where the arm is are ignored"

    def hears(self, request: WireFrame, now_s: float) -> WireFrame | None:
        """Small moves are not made."""
        if request.command == Cmd.SEND_ANGLES and len(request.payload) == 13:
            away = np.abs(np.array(angles_from_wire(request.payload[:12])) - self.controller.angles_deg())
            if away.max() < 2.0:
                return None
        return request


class Sag(Fault):
    """The arm rests lower than it is told."""

    name, row, what = "sag", 9, "j1 rests 2° beyond its command, and the encoders say so"

    def hears(self, request: WireFrame, now_s: float) -> WireFrame | None:
        """Every goal is gone to a little too far."""
        if request.command != Cmd.SEND_ANGLES or len(request.payload) != 13:
            return request
        goal = list(angles_from_wire(request.payload[:12]))
        goal[1] += 2.0
        return WireFrame(request.command, angles_to_wire(goal) + request.payload[12:])


class LatchedError(Fault):
    """Error 32 is latched: goals stop half-way."""

    name, row, what = "error-latched", 10, "error 32 latches, later goals stop half-way"

    def begins(self, now_s: float) -> None:
        """It latches."""
        super().begins(now_s)
        self.controller.error = NO_SOLUTION


class CutsShort(Fault):
    """Goals are not waited for, whatever the mode says."""

    name, row, what = "cuts-short", 22, "a new goal is gone to at once, and the one under way is forgotten"

    def hears(self, request: WireFrame, now_s: float) -> WireFrame | None:
        """As if the newest always won; asked for its mode, it says what it was told."""
        if request.command == Cmd.SEND_ANGLES:
            self.controller.clear_queue()
            self.controller.drop_goal()
        return request
