"""What runs inside the arm: power, servos, the queue of goals, limits, the error latch, the gripper.

Works on a `TwinArm` and knows nothing of frames; `commands.py` translates. Two habits of real firmware are kept:
commands are accepted and then not always carried out, and errors latch until somebody clears them. Released servos
keep their place here, they do not fall.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from runner.kinematics.model import FloatArray
from runner.twin.arm import TwinArm
from runner.twin.firmware.coordinates import FlangeCoordinates

NEWEST_WINS, QUEUE = 1, 0  # fresh modes
NO_SOLUTION = 32  # latched by coordinates that can't be reached; later goals stop half-way
IN_POSITION_DEG, IN_POSITION_MM = 2.0, 5.0  # the real tolerance is documented nowhere
_LONGEST_QUEUE = 64
_REST_V = 12.0


@dataclass(frozen=True, slots=True, eq=False)
class Goal:
    """A place to go to: angles in degrees, (n_joints,), and how fast."""

    angles_deg: FloatArray
    speed_percent: int


class Controller:
    """The state of the firmware. Whoever calls it holds the world's lock."""

    def __init__(self, arm: TwinArm, *, reboots: int = 3) -> None:
        self.arm, self.model = arm, arm.model
        self.coordinates = FlangeCoordinates(arm.model)
        self.reboots = reboots
        self.begin()

    def begin(self) -> None:
        """As after switching on, with the arm powered and all servos holding."""
        n = self.model.n_joints
        self.powered = True
        self.servos = [True] * n
        self.error = 0
        self.fresh_mode = QUEUE
        self.paused = False
        self.min_deg, self.max_deg = self.model.min_deg.copy(), self.model.max_deg.copy()
        self.temperatures_c = [0] * n  # at least; the arm's own are read where they are higher
        self.voltages_v = [_REST_V] * n
        self.registers: dict[int, bytes] = {}  # settings that are only kept and given back
        self._queue: deque[Goal] = deque()
        self._current: Goal | None = None

    def restart(self) -> None:
        """The controller goes down and comes up again: what was under way is forgotten, the arm holds still."""
        self.arm.stop()
        self.begin()
        self.reboots += 1

    # Motion.

    @property
    def moving(self) -> bool:
        """Whether a goal is under way."""
        return self._current is not None or bool(self._queue)

    def angles_deg(self) -> FloatArray:
        """What the encoders say, (n_joints,)."""
        return self.arm.read_angles_deg()

    def send(self, angles_deg: Sequence[float] | FloatArray, speed_percent: int) -> None:
        """A new goal: put behind the others, or in their place, by the fresh mode. A bad one latches its error."""
        wanted = np.asarray(angles_deg, dtype=float)
        if not self.powered or not 1 <= speed_percent <= 100:
            return
        beyond = np.flatnonzero((wanted < self.min_deg) | (wanted > self.max_deg))
        if beyond.size:
            self.error = int(beyond[0]) + 1
            return
        here = self.angles_deg()
        if self.error >= NO_SOLUTION:
            wanted = (wanted + here) / 2.0
        wanted = np.where(self.servos, wanted, here)
        goal = Goal(wanted, speed_percent)
        if self.fresh_mode == NEWEST_WINS:
            self._queue.clear()
            self._start(goal)
        elif len(self._queue) < _LONGEST_QUEUE:
            self._queue.append(goal)
            self.tick()

    def send_one(self, joint: int, angle_deg: float, speed_percent: int) -> None:
        """A goal for one joint, counted from 1; the others stay."""
        goal = self._where_to()
        goal[joint - 1] = angle_deg
        self.send(goal, speed_percent)

    def jog(self, joint: int, direction: int, speed_percent: int) -> None:
        """Turn one joint on and on, to its limit or until somebody says stop."""
        self.send_one(joint, float((self.max_deg if direction else self.min_deg)[joint - 1]), speed_percent)

    def send_coords(self, coords: Sequence[float], speed_percent: int) -> None:
        """A goal for the flange, mm and degrees; without a solution error 32 latches."""
        found = self.coordinates.solve(coords, self.angles_deg())
        if found is None:
            self.error = NO_SOLUTION
        else:
            self.send(found, speed_percent)

    def stop(self) -> None:
        """Hold still and forget every goal."""
        self._queue.clear()
        self._current, self.paused = None, False
        self.arm.stop()

    def clear_queue(self) -> None:
        """Forget the goals behind the one under way."""
        self._queue.clear()

    def drop_goal(self) -> None:
        """Forget the goal under way; the arm goes on toward it until it is told of another."""
        self._current = None

    def pause(self) -> None:
        """Hold still and keep the goals."""
        if not self.paused:
            self.paused = True
            self.arm.stop()

    def resume(self) -> None:
        """Go on with the goal under way."""
        if self.paused:
            self.paused = False
            if self._current is not None:
                self._start(self._current)

    def tick(self) -> None:
        """Take the next goal when the one under way is done. Called after each bit of time."""
        if self.paused:
            return
        if self._current is not None and not self.arm.moving:
            self._current = None
        if self._current is None and self._queue:
            self._start(self._queue.popleft())

    def in_position(self, values: Sequence[float], *, coords: bool) -> bool:
        """Whether the arm is at these angles or coordinates."""
        if coords:
            here = self.coordinates.of(self.angles_deg())
            return bool(np.abs(np.subtract(here[:3], values[:3])).max() <= IN_POSITION_MM)
        return bool(np.abs(self.angles_deg() - np.asarray(values)).max() <= IN_POSITION_DEG)

    def _start(self, goal: Goal) -> None:
        self._current = goal
        if not self.paused:
            self.arm.send_path(goal.angles_deg[None, :], speed_percent=goal.speed_percent)

    def _where_to(self) -> FloatArray:
        last = self._queue[-1] if self._queue else self._current
        return self.angles_deg() if last is None else last.angles_deg.copy()

    def clear_error(self) -> None:
        """Unlatch the error."""
        self.error = 0

    # Power and servos; joints count from 1, 0 means all.

    def set_power(self, on: bool) -> None:
        """Servo power; off also stops what is under way."""
        if self.powered and not on:
            self.stop()
        self.powered = on
        self.servos = [on] * len(self.servos)

    def set_servo(self, joint: int, on: bool) -> None:
        """One servo holds or is let go."""
        for i in range(len(self.servos)) if joint == 0 else (joint - 1,):
            self.servos[i] = on and self.powered
        if not on:
            self.stop()

    # The gripper.

    def set_gripper(self, value: int) -> None:
        """0 closed … 100 open; without power it does not move."""
        if self.powered:
            self.arm.send_gripper_value(value)

    def gripper_value(self) -> int:
        """0 closed … 100 open."""
        value = self.arm.read_gripper_value()
        return 0 if value is None else round(value)
