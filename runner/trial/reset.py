"""Puts the scene back by the arm itself: the block out of the box, or from wherever it lies, to the next start.

Sees, plans, guards and moves as a trial does, with a log of its own. It tries a given number of times and then says
why not; it moves nothing that it has not seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import islice, product
from math import cos, hypot, radians, sin

import numpy as np

from runner.arms.health import check_ready
from runner.geometry import HeldBlock, obstacles_of
from runner.kinematics.model import FloatArray
from runner.table.errors import NoPlan
from runner.table.plan import PickPlan, PlacePlan
from runner.table.plan_out import plans_out
from runner.table.plan_reset import plan_set_down
from runner.table.postures import radial_heading_deg
from runner.trial.bench import Bench
from runner.trial.condition import check_health, rest_if_hot
from runner.trial.errors import InvalidStart
from runner.trial.found import UnderWay, what_was_under_way
from runner.trial.grip import check_grip, let_go
from runner.trial.look import look
from runner.trial.notebook import Observer
from runner.trial.sequence import Before, run_course
from runner.trial.settle import settle_first
from runner.trial.stages.correct import corrected
from runner.trial.stages.find import box_xz_m, look_until_clear
from runner.trial.stop import StopSwitch
from runner.trial.trial import Seen, Trial
from runs.schema.geometry import TablePoint
from runs.schema.run import Ending, RunLog
from runs.store import RunStore
from vision.detect.inside import inside_by

_OUT_TRIES = 12  # ways of taking a block in the box that are tried until one also leads down at the goal
_NEARER_SHARES = (0.3, 0.6)  # of the goal's tolerance
_HALFWAY_WAYS = 2  # of them, for setting it down halfway
_HALFWAY_R_M, _HALFWAY_TURNS_DEG = (0.19, 0.22), (0.0, 20.0, -20.0, 40.0, -40.0)  # round the base axis, from the goal


@dataclass(frozen=True, slots=True)
class Goal:
    """Where the block shall lie, and how near is near enough. The yaw is that of one of its edges."""

    xz_m: TablePoint
    yaw_deg: float
    tolerance_mm: float
    tolerance_deg: float

    def off_mm(self, xz_m: TablePoint) -> float:
        """How far a place is from the goal."""
        return hypot(xz_m[0] - self.xz_m[0], xz_m[1] - self.xz_m[1]) * 1000.0

    def off_deg(self, yaw_deg: float | None) -> float:
        """How far a yaw is turned from the goal's, a cube being the same every quarter turn; 0 to 45."""
        return 0.0 if yaw_deg is None else abs((yaw_deg - self.yaw_deg + 45.0) % 90.0 - 45.0)

    def is_met(self, xz_m: TablePoint, yaw_deg: float | None) -> bool:
        """Whether a block there is near enough."""
        return self.off_mm(xz_m) <= self.tolerance_mm and self.off_deg(yaw_deg) <= self.tolerance_deg


@dataclass(slots=True)
class Reset:
    """How it went. `off_mm` and `off_deg`: from the goal, as last seen; `moved`: whether anything had to be moved."""

    log: RunLog
    done: bool
    tries: int
    moved: bool
    off_mm: float | None
    off_deg: float | None


@dataclass(slots=True)
class _Course:
    """The course of one reset; `seen` is what was seen last."""

    goal: Goal
    attempts: int
    tries: int = 0
    off: tuple[float, float] | None = None
    why: list[str] = field(default_factory=list)

    def __call__(self, trial: Trial, under_way: UnderWay | None) -> Ending:
        with trial.stage("reset_start"):
            _begin(trial, under_way)
        while True:
            seen = self._looked(trial)
            if seen is None:
                told = f"the block lies {self.off[0]:.0f} mm and {self.off[1]:.0f}° off the start" if self.off else ""
                return Ending(result="completed", stage="reset_look", reason=told)
            if self.tries >= self.attempts:
                words = "; ".join(dict.fromkeys(self.why)) or "the block did not come to lie there"
                return Ending(result="failed", stage="reset_look", reason=f"not reset in {self.tries} tries: {words}")
            self.tries += 1
            trial.attempt = self.tries
            try:
                _moved(trial, seen, self.goal)
            except _NotHeld as lost:
                self.why.append(lost.message)
                _home(trial)

    def _looked(self, trial: Trial) -> Seen | None:
        """Where block and box are; None when the block is where it shall be."""
        with trial.stage("reset_look", attempt=self.tries or None):
            first = look(trial, "reset_look")
            seen = look_until_clear(trial, [first])
            xz_m, yaw = seen.block.xz_m, seen.block.yaw_deg
            if xz_m is None or seen.box.inside_xz_m is None:
                raise InvalidStart("without a calibration the block has no place on the table")
            self.off = self.goal.off_mm(xz_m), self.goal.off_deg(yaw)
            inside = _in_the_box(seen)
            around = obstacles_of(
                trial.bench.config,
                box_xz_m=box_xz_m(seen),
                box_yaw_deg=seen.box.yaw_deg or 0.0,
                block_xz_m=None if inside else xz_m,
                block_yaw_deg=yaw or 0.0,
            )
            trial.bench.arm.obstacles = replace(around, rests_in_box=inside)
            return None if self.goal.is_met(xz_m, yaw) and not inside else seen


class _NotHeld(NoPlan):
    """The jaws have closed on nothing, or lost the block."""


def run_reset(
    bench: Bench,
    store: RunStore,
    goal: Goal,
    *,
    attempts: int,
    switch: StopSwitch,
    observer: Observer | None = None,
    before: Before = what_was_under_way,
) -> Reset:
    """Bring the block to the goal, in at most so many tries; the arm ends at home, as after a trial.

    Args:
        before: says what an earlier run or reset left, which is put right first.

    Raises:
        StorageUnwritable: the log can't be written.
    """
    course = _Course(goal, attempts)
    log = run_course(course, bench, store, switch=switch, observer=observer, before=before)
    off = course.off or (None, None)
    return Reset(log, log.result == "completed", course.tries, course.tries > 0, *off)


def _begin(trial: Trial, under_way: UnderWay | None) -> None:
    check_ready(check_health(trial, "reset_start"), trial.bench.config.arm)
    settle_first(trial, under_way)
    rest_if_hot(trial)
    _home(trial)


def _home(trial: Trial) -> None:
    home = np.asarray(trial.bench.config.arm.home_deg, dtype=np.float64)
    trial.travel("reset_to_home", home, trial.bench.config.arm.tol_home_deg)
    trial.open_gripper("reset_grip_open")


def _in_the_box(seen: Seen) -> bool:
    assert seen.block.xz_m is not None
    assert seen.box.inside_xz_m is not None
    return inside_by(seen.box.inside_xz_m, seen.block.xz_m) > 0


def _moved(trial: Trial, seen: Seen, goal: Goal) -> None:
    """Take the block and set it down at the goal."""
    arm = trial.bench.config.arm
    with trial.stage("reset_approach", attempt=trial.attempt):
        out, down = _plans(trial, seen, goal)
        trial.travel("reset_approach_pick", out.path_deg[0], arm.tol_approach_deg, correct=True)
    with trial.stage("reset_pick", attempt=trial.attempt):
        trial.move_straight("reset_pick", out.line, arm.tol_pick_place_deg, correct=True)
        trial.set_down_line = out.line
        trial.close_gripper("reset_grip_close")
        check_grip(trial, "reset_grip_check", on_table=True)
        held = HeldBlock(out.T_tcp_block, trial.bench.config.block.side_mm)
        trial.bench.arm.obstacles = trial.bench.arm.obstacles.holding(held, may_rest=True)
        trial.move_straight("reset_lift", out.line.reversed(), arm.tol_approach_deg, touching=True)
        _still_held(trial, "reset_lift_check")
        trial.bench.arm.obstacles = trial.bench.arm.obstacles.holding(held)
    with trial.stage("reset_place", attempt=trial.attempt):
        trial.travel("reset_approach_place", down.path_deg[0], arm.tol_pick_place_deg, correct=True)
        _still_held(trial, "reset_carry_check")
        trial.bench.arm.obstacles = trial.bench.arm.obstacles.holding(held, may_rest=True)
        trial.move_straight("reset_place", down.line, arm.tol_pick_place_deg, correct=True)
        let_go(trial, "reset_release")
        trial.move_straight("reset_back_up", down.line.reversed(), arm.tol_pick_place_deg)
        trial.travel("reset_to_home", np.asarray(arm.home_deg, dtype=np.float64), arm.tol_home_deg)


def _still_held(trial: Trial, stage: str) -> None:
    if check_grip(trial, stage).holding is not False:
        return
    trial.bench.arm.obstacles = trial.bench.arm.obstacles.released()
    assert trial.grip is not None
    raise _NotHeld("pick", (0.0, 0.0), trial.grip.reason, next_step="look at the block")


def _plans(trial: Trial, seen: Seen, goal: Goal) -> tuple[PickPlan, PlacePlan]:
    """Both moves, planned before the first is made, so that the block is not taken up for nothing.

    Where no way of taking it also leads down at the goal, it is set down as near to it as counts for there; where none
    leads there either, halfway, where it can be taken otherwise.
    """
    assert seen.block.xz_m is not None
    found = seen.block.xz_m
    with trial.lookups_kept():
        at, _ = corrected(trial, "pick", found, lambda place: next(_ways_out(trial, seen, place)).target_deg)
        ways: list[PickPlan] = []
        refusal: NoPlan | None = None
        try:
            for out in islice(_ways_out(trial, seen, at), _OUT_TRIES):
                ways.append(out)
                down = _plan_down(trial, goal, out)
                if isinstance(down, PlacePlan):
                    return out, down
                refusal = down
        except NoPlan:
            if refusal is None:
                raise
        assert refusal is not None
        for where, places, some in (
            ("a little nearer", list(_nearer(trial, goal)), ways),
            ("halfway", list(_halfway(trial, seen, goal)), ways[:_HALFWAY_WAYS]),
        ):
            for place, out in product(places, some):
                down = _plan_down(trial, place, out)
                if isinstance(down, PlacePlan):
                    x, z = (round(1000 * v) for v in place.xz_m)
                    trial.book.note(f"{refusal.message}; it is set down {where}, at ({x}, {z}) mm", aloud=True)
                    return out, down
        raise refusal


def _ways_out(trial: Trial, seen: Seen, at: TablePoint) -> Iterator[PickPlan]:
    bench, yaw = trial.bench, seen.block.yaw_deg or 0.0
    if _in_the_box(seen):
        yield from plans_out(bench.planner, at, yaw, bench.arm.obstacles)
    else:
        yield from bench.planner.plans_pick(at, yaw, bench.arm.obstacles, requested_xz_m=seen.block.xz_m)


def _plan_down(trial: Trial, goal: Goal, out: PickPlan) -> PlacePlan | NoPlan:
    """The way down at the goal with a block that was taken so, or why there is none."""
    planner, side_mm = trial.bench.planner, trial.bench.config.block.side_mm
    holding = trial.bench.arm.obstacles.holding(HeldBlock(out.T_tcp_block, side_mm))

    def plan_at(place: TablePoint) -> PlacePlan:
        return plan_set_down(planner, place, goal.yaw_deg, holding)

    try:
        first = plan_at(goal.xz_m)

        def plan_deg(place: TablePoint) -> FloatArray:
            return (first if place == goal.xz_m else plan_at(place)).target_deg

        to, _ = corrected(trial, "pick", goal.xz_m, plan_deg)
        down = first if to == goal.xz_m else plan_at(to)
    except NoPlan as refusal:
        return refusal
    trial.keep_lookups(out.lookups + down.lookups)
    return down


def _nearer(trial: Trial, goal: Goal) -> Iterator[Goal]:
    """Places a little nearer the base than the goal that still count for it."""
    base = trial.bench.planner.base
    ahead = radians(radial_heading_deg(goal.xz_m, base))
    for share in _NEARER_SHARES:
        off_m = share * goal.tolerance_mm / 1000.0
        yield replace(goal, xz_m=(goal.xz_m[0] - off_m * cos(ahead), goal.xz_m[1] - off_m * sin(ahead)))


def _halfway(trial: Trial, seen: Seen, goal: Goal) -> Iterator[Goal]:
    """Places in the middle of the reach where a block can be set down and taken up again, the goal's side first."""
    config, base = trial.bench.config, trial.bench.planner.base
    box = obstacles_of(config, box_xz_m=box_xz_m(seen)).box
    assert box is not None
    room_m = hypot(*box.outside_mm) / 2000.0 + config.block.side_mm / 1000.0 + config.batch.gap_m
    ahead = radial_heading_deg(goal.xz_m, base)
    for turn_deg, r_m in product(_HALFWAY_TURNS_DEG, _HALFWAY_R_M):
        angle = radians(ahead + turn_deg)
        place = r_m * cos(angle) + base.shift_m[0], r_m * sin(angle) + base.shift_m[2]
        x_m, z_m = config.workspace.x_m, config.workspace.z_m
        inside = x_m[0] <= place[0] <= x_m[1] and z_m[0] + config.batch.gap_m <= place[1] <= z_m[1]
        if inside and hypot(place[0] - box.xz_m[0], place[1] - box.xz_m[1]) >= room_m:
            yield replace(goal, xz_m=place)
