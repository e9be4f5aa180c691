"""Moving the arm by hand from the terminal: home, park, one joint, the jaws; read how it stands.

Every move is planned clear of table, mast and the arm itself and goes through the guard. It sees nothing: box and
block are for the person at the desk to look out for.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from runner.arms.arrival import MoveControl
from runner.arms.guard import GuardedArm, GuardRules
from runner.arms.health import check_ready
from runner.arms.protocol import ArmHealth, Clock
from runner.cell import Cell
from runner.config import Config
from runner.geometry import interpolated, obstacles_of
from runner.kinematics.frames import BaseInCell, tool_points_cell_m
from runner.kinematics.model import FloatArray
from runner.station import open_arm
from runner.table.postures import arm_of
from runner.table.transfer import plan_transfer
from runner.trial.stop import StoppableClock, StopSwitch
from runs.latch import StopLatch
from runs.schema.geometry import Point
from runs.schema.motion import MoveRecord

_MAX_STEP_DEG = 90.0
_JAWS_S = 2.0  # from open to closed


@dataclass(frozen=True, slots=True, eq=False)
class Standing:
    """How the arm stands: angles (n_joints,), tool point in the cell frame, jaws 0…100 or None, health."""

    angles_deg: FloatArray
    tool_m: Point
    gripper: float | None
    health: ArmHealth


class ArmInHand:
    """The cell's arm, guarded, for work at the desk."""

    def __init__(self, arm: GuardedArm, clock: Clock, base: BaseInCell, config: Config) -> None:
        self._arm, self._clock, self._base, self._config = arm, clock, base, config
        self._mover = MoveControl(arm, clock, base, config.arm)

    def read(self) -> Standing:
        """How the arm stands now.

        Raises:
            ArmError: it does not say.
        """
        angles = self._mover.readings.read_deg()
        x, y, z = tool_points_cell_m(angles, self._arm.model, self._base).tolist()
        return Standing(angles, (x, y, z), self._arm.read_gripper_value(), self._arm.health())

    def move(self, label: str, goal_deg: FloatArray, *, to_rest: bool = False) -> MoveRecord:
        """By a clear way to a pose, shape (n_joints,); `to_rest`: one in which a hot arm cools.

        Raises:
            ArmNotReady: no power, a latched error, a servo off. Refused: too hot, an odd supply, or it would touch
                something. NoWay: it would touch something whatever the way.
            ArmError: a fault on the way; the arm has been told to hold still.
        """
        check_ready(self._arm.health(), self._config.arm, to_rest=to_rest)
        here = self._mover.readings.read_deg()
        path = plan_transfer(here, goal_deg, self._arm.obstacles, self._arm.model, self._base, self._config)
        path = interpolated(np.vstack((here, path)), _MAX_STEP_DEG)[1:]
        return self._mover.move(label, path, tolerance_deg=self._config.arm.tol_pick_place_deg).record

    def jog(self, joint: int, by_deg: float) -> MoveRecord:
        """One joint, counted from 0, by so much from where it is.

        Raises:
            As `move`.
        """
        goal = self._mover.readings.read_deg().copy()
        goal[joint] += by_deg
        return self.move(f"jog_j{joint}", goal)

    def set_jaws(self, value: int | None) -> float | None:
        """Open by state (None), or by value 0…100; returns what is read afterwards.

        Raises:
            ArmNotReady: as in `move`. Refused: the value is none.
        """
        check_ready(self._arm.health(), self._config.arm, to_rest=True)  # what a hot arm holds can be taken out
        if value is None:
            self._arm.send_gripper_open()
        else:
            self._arm.send_gripper_value(value)
        self._clock.sleep(max(self._config.gripper.wait_s, _JAWS_S))
        return self._arm.read_gripper_value()


@contextmanager
def arm_in_hand(cell: Cell, *, moves: bool = True) -> Iterator[ArmInHand]:
    """The cell's arm, connected, and let go of afterwards. A stop latched meanwhile holds what `moves` still.

    Raises:
        WrongRequest, ArmUnreachable, PortBusy, NoAnswer: it can't be had.
    """
    config = cell.config
    model, base = arm_of(config)
    with open_arm(cell, model) as (arm, time_there):
        clock = StoppableClock(time_there, StopSwitch(), StopLatch(cell.folder) if moves else None)
        guard = GuardedArm(arm, base, GuardRules.of(model, config.arm, config.table, config.guard))
        guard.obstacles = obstacles_of(config)
        yield ArmInHand(guard, clock, base, config)
