"""The shuttle: the field's first reaching loop, in the twin. The tool point goes to and fro between two points.

Every step one CCD sweep at a small gain moves the joints' targets toward the point whose turn it is; near it, and not
sooner than a set time after the last switch, the other point's turn comes. Each sweep passes the guard before it is
sent. Where the tool truly came is measured to score the visits and decides nothing: the loop switches by what the
encoders say. It writes joint targets only, never a servo's gains, and makes no visit good that was not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from runner.arms.guard import GuardedArm, GuardRules
from runner.arms.readings import Readings
from runner.config import Config
from runner.geometry import obstacles_of
from runner.kinematics.fk import tool_points_m
from runner.kinematics.ik.ccd import ccd_step
from runner.kinematics.ik.dls import DampedLeastSquares
from runner.kinematics.ik.protocol import IkTarget
from runner.kinematics.model import FloatArray
from runner.table.postures import arm_of, planning_limits
from runner.twin.errors import ShuttleNotPossible
from runner.twin.setup import Twin, build_twin
from runs.schema.geometry import Point

STEP_S = 0.02  # the game engine's fixed step, in which the field's loop ran
SWITCH_MM = 50.0
DWELL_S = 1.5  # least time between two switches
GOOD_MM = 5.0
SPEED_PERCENT = 100
_PATIENCE_S = 15.0  # a point that is not even near after this won't be reached
_BLOCK_XZ_M, _BOX_XZ_M = (0.30, 0.33), (-0.27, 0.10)  # out of the way


@dataclass(frozen=True, slots=True)
class Visit:
    """One turn of a point: how near the tool truly came to it."""

    number: int
    point: str  # "a" or "b"
    closest_mm: float
    began_s: float  # the twin's clock
    lasted_s: float


@dataclass(frozen=True, slots=True)
class ShuttleResult:
    """What came of it."""

    visits: tuple[Visit, ...]
    asked: int
    gains_unchanged: bool  # of the servos, from before to after
    gave_up: str | None  # why it ended before its time

    @property
    def good(self) -> bool:
        """Whether every visit that was asked for came near enough, with the servos as they were."""
        near = all(visit.closest_mm <= GOOD_MM for visit in self.visits)
        return len(self.visits) == self.asked and near and self.gains_unchanged


def shuttle(
    config: Config, a_m: Point, b_m: Point, *, visits: int, gain: float, on_visit: Callable[[Visit], None]
) -> ShuttleResult:
    """Go to `a_m` from home, then visit `b_m` and `a_m` in turn.

    Args:
        config: of the cell; `twin.profile` says how imperfect the arm is.
        a_m, b_m: points in the cell frame, metres.
        visits: how many, at least 1.
        gain: of a CCD sweep, above 0 and at most 1.
        on_visit: told each visit when it is over.

    Raises:
        ShuttleNotPossible: points nearer to each other than the switching distance, or out of reach.
        BadTarget: points that are none, or in millimetres.
        Refused: a sweep that the guard does not allow.
    """
    _, base = arm_of(config)
    points = {"a": base.to_base(np.array(a_m)), "b": base.to_base(np.array(b_m))}
    for name, point in points.items():
        _check_reach(point, name, config)
    apart_mm = _apart_mm(points["a"], points["b"])
    if not apart_mm > SWITCH_MM:
        raise ShuttleNotPossible(
            f"the points are {apart_mm:.0f} mm apart and must be more than {SWITCH_MM:.0f} mm apart"
        )
    twin = build_twin(config, seed=config.twin.seed, block_xz_m=_BLOCK_XZ_M, box_xz_m=_BOX_XZ_M)
    try:
        gains = twin.world.servo_gains
        loop = _Loop(twin, config, gain)
        loop.run_in(points["a"])
        done: list[Visit] = []
        while len(done) < visits and loop.gave_up is None:
            name = "a" if len(done) % 2 else "b"
            done.append(loop.visit(len(done) + 1, name, points[name]))
            on_visit(done[-1])
        unchanged = bool(np.array_equal(gains, twin.world.servo_gains))
        return ShuttleResult(tuple(done), visits, unchanged, loop.gave_up)
    finally:
        twin.close()


class _Loop:
    """The arm under way: what it was told last, and whether the loop has given up."""

    def __init__(self, twin: Twin, config: Config, gain: float) -> None:
        self._twin, self._gain = twin, gain
        self._arm, self._base = arm_of(config)
        self._limits = planning_limits(self._arm, config)
        self._readings = Readings(twin.arm, twin.clock, margin_deg=config.arm.reading_margin_deg)
        self._guard = GuardedArm(twin.arm, self._base, GuardRules.of(self._arm, config.arm, config.table, config.guard))
        self._guard.obstacles = obstacles_of(config, box_xz_m=_BOX_XZ_M, block_xz_m=_BLOCK_XZ_M)
        self._told_deg = self._inside(np.asarray(config.arm.home_deg, dtype=float))
        self._most_deg = twin.arm.rates(SPEED_PERCENT).speed_deg_s * STEP_S  # targets don't run away from the arm
        self.gave_up: str | None = None

    def run_in(self, point_m: FloatArray) -> None:
        """From home to where the first visit begins: until the joints' targets are at the first point."""
        began_s = self._twin.clock.now_s()
        while (short_mm := _apart_mm(tool_points_m(self._told_deg, self._arm), point_m)) > GOOD_MM:
            self._step(point_m)
            self._patient(began_s, short_mm, "a")
            if self.gave_up is not None:
                return

    def visit(self, number: int, name: str, point_m: FloatArray) -> Visit:
        """One turn of a point: until the tool is seen near it and the time since the last switch is over."""
        began_s, closest_mm = self._twin.clock.now_s(), np.inf
        while True:
            self._step(point_m)
            true_m = self._base.to_base(np.array(self._twin.truth().tool_m))
            closest_mm = min(closest_mm, _apart_mm(true_m, point_m))
            seen_mm = _apart_mm(tool_points_m(self._readings.read_deg(), self._arm), point_m)
            lasted_s = self._twin.clock.now_s() - began_s
            self._patient(began_s, seen_mm, name)
            if (seen_mm < SWITCH_MM and lasted_s >= DWELL_S) or self.gave_up is not None:
                return Visit(number, name, closest_mm, began_s, lasted_s)

    def _step(self, point_m: FloatArray) -> None:
        swept = ccd_step(self._arm, self._told_deg, point_m, self._gain, self._limits)
        told = self._told_deg + np.clip(swept - self._told_deg, -self._most_deg, self._most_deg)
        read = self._readings.read_deg()
        self._guard.check("shuttle", told[None], np.zeros_like(told), start_deg=read, speed_percent=SPEED_PERCENT)
        self._twin.arm.follow(told, speed_percent=SPEED_PERCENT)
        self._told_deg = told
        self._twin.clock.sleep(STEP_S)

    def _patient(self, began_s: float, short_mm: float, name: str) -> None:
        waited_s = self._twin.clock.now_s() - began_s
        if waited_s > _PATIENCE_S:
            self.gave_up = f"after {waited_s:.0f} s the tool was still {short_mm:.0f} mm from point {name}"

    def _inside(self, angles_deg: FloatArray) -> FloatArray:
        return np.clip(angles_deg, self._limits.min_deg, self._limits.max_deg)


def _apart_mm(one_m: FloatArray, other_m: FloatArray) -> float:
    return float(np.linalg.norm(one_m - other_m)) * 1000.0


def _check_reach(point_m: FloatArray, name: str, config: Config) -> None:
    arm, _ = arm_of(config)
    limits = planning_limits(arm, config)
    start = np.clip(np.asarray(config.arm.home_deg, dtype=float), limits.min_deg, limits.max_deg)
    found = DampedLeastSquares(arm, limits=limits, restarts=4).solve(IkTarget(point_m), start)
    if not found.converged:
        raise ShuttleNotPossible(
            f"point {name} is out of reach: the tool comes within {found.residual_mm:.0f} mm of it"
        )
