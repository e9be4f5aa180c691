"""Brings the arm to rest, whatever happened: a held block is set down where it came from, then the arm goes home.

Where a step of that is refused or the arm does not answer, the arm holds still where it is, and the log says so. It
never opens the jaws in the air.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from runner.arms.errors import ArmError
from runner.kinematics.model import FloatArray
from runner.kinematics.motion import StraightLine
from runner.trial.grip import check_grip, let_go
from runner.trial.trial import Trial
from runs.errors import StorageUnwritable, TrialcellError


@dataclass(frozen=True, slots=True)
class Rest:
    """How the arm stands at the end; `block_held` None where the gripper did not say."""

    at_rest: bool
    block_held: bool | None


def bring_to_rest(trial: Trial) -> Rest:
    """Set down, open, go home; or hold still.

    Raises:
        StorageUnwritable: the log can't be written; no other error of ours comes out.
    """
    if trial.dry_run:
        return Rest(at_rest=True, block_held=None)
    if trial.switch.now:
        return hold_still(trial, "a person asked to stop at once")
    trial.switch.heard()
    if trial.may_hold and trial.set_down_line is None:
        return hold_still(trial, "where it would have to be set down is not known")
    try:
        if not trial.may_hold and _is_home(trial):
            return Rest(at_rest=True, block_held=False)
        with trial.stage("rest"):
            if trial.may_hold:
                _bring_back(trial)
            if not _is_home(trial):
                trial.travel("rest_to_home", _home(trial), trial.bench.config.arm.tol_home_deg)
    except StorageUnwritable:
        raise
    except TrialcellError as error:
        return hold_still(trial, str(error))
    return Rest(at_rest=True, block_held=_held(trial))


def hold_still(trial: Trial, why: str) -> Rest:
    """Stay where the arm is, with whatever it holds, and write down why."""
    try:
        trial.bench.arm.stop()
    except ArmError as error:
        trial.book.note(f"the arm could not be told to hold still: {error}")
        return Rest(at_rest=False, block_held=_held(trial))
    held = _held(trial)
    holding = {True: ", with the block in its gripper", None: ", perhaps with the block in its gripper"}.get(held, "")
    trial.book.note(f"the arm holds still where it is{holding}: {why}")
    return Rest(at_rest=True, block_held=held)


def set_down(trial: Trial, name: str) -> None:
    """Above the place where the block was taken, down with it, open, up again; from there at once open."""
    line, arm = _way_down(trial), trial.bench.arm
    tolerance_deg = trial.bench.config.arm.tol_pick_place_deg
    if not np.array_equal(trial.here_deg(), line.waypoints_deg[-1]):
        if not np.array_equal(trial.here_deg(), line.waypoints_deg[0]):
            trial.travel(f"{name}_above_start", line.waypoints_deg[0], tolerance_deg)
        if arm.obstacles.held is not None:
            arm.obstacles = arm.obstacles.holding(arm.obstacles.held, may_rest=True)
        trial.move_straight(f"{name}_set_down", line, tolerance_deg, correct=True)
    let_go(trial, f"{name}_open")
    trial.move_straight(f"{name}_back_up", line.reversed(), tolerance_deg)


def _bring_back(trial: Trial) -> None:
    """A held block back to where it was taken; when the gripper turns out to be empty on the way, nothing more."""
    line, arm = _way_down(trial), trial.bench.arm
    if not np.array_equal(trial.here_deg(), line.waypoints_deg[-1]):
        trial.travel("rest_above_start", line.waypoints_deg[0], trial.bench.config.arm.tol_pick_place_deg)
        if check_grip(trial, "rest_grip_check").holding is False:
            arm.obstacles = arm.obstacles.released()
            return
    set_down(trial, "rest")


def _way_down(trial: Trial) -> StraightLine:
    assert trial.set_down_line is not None, "a block is only held after a pick"
    return trial.set_down_line


def _held(trial: Trial) -> bool | None:
    if not trial.may_hold:
        return False
    return True if trial.grip is not None and trial.grip.holding else None


def _home(trial: Trial) -> FloatArray:
    return np.asarray(trial.bench.config.arm.home_deg, dtype=np.float64)


def _is_home(trial: Trial) -> bool:
    away_deg = np.abs(trial.bench.mover.readings.read_deg() - _home(trial)).max()
    return bool(away_deg <= trial.bench.config.arm.tol_home_deg)
