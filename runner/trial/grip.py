"""What the gripper's own reading says about holding: the jaws' opening against the block's width.

A reading alone never proves a hold: fingertips that stand on the table keep the jaws apart too, so the opening has to
fit the block. No answer means unknown, not empty.
"""

from __future__ import annotations

from math import isfinite

from runner.arms.errors import JawsStuck
from runner.kinematics.gripper import opening_from_value_mm
from runner.kinematics.model import GripperData
from runner.settings.arm import GripperSettings
from runner.settings.desk import BlockSettings
from runner.trial.trial import Trial
from runs.schema.motion import GripperRecord, GripReading


def judge_reading(
    value: float | None, gripper: GripperData, settings: GripperSettings, block: BlockSettings
) -> GripReading:
    """Held, not held or unknown, with the reason.

    Args:
        value: the gripper's answer, 0 closed … 100 open, None for no answer.
    """
    if value is None:
        return GripReading(value=None, opening_mm=None, holding=None, reason="the gripper gave no answer")
    if not 0 <= value <= 100:
        kept = value if isfinite(value) else None
        return GripReading(value=kept, opening_mm=None, holding=None, reason=f"{value:g} is no gripper value")
    opening = float(opening_from_value_mm(value, gripper))
    block_is = f"(the block is {block.side_mm:g} mm)"
    holding, reason = False, f"the jaws are {opening:.1f} mm apart, which does not fit {block_is}"
    if value <= settings.grip_value + settings.held_margin_value:
        reason = "the jaws have closed on nothing"
    elif abs(opening - block.side_mm) <= settings.held_width_tolerance_mm:
        holding, reason = True, f"the jaws hold something {opening:.1f} mm wide {block_is}"
    return GripReading(value=value, opening_mm=opening, holding=holding, reason=reason)


def let_go(trial: Trial, stage: str, *, times: int = 1, pre_wait_s: float | None = None) -> None:
    """Open the jaws and make sure of it: a gripper that still reads as holding is told once more.

    From now on the guard reckons with open, empty jaws. A gripper that gives no reading is taken to have opened.

    Raises:
        JawsStuck: told twice over, and still holding; the guard goes on reckoning with the block.
    """
    for _ in range(2):
        trial.open_gripper(stage, times=times, pre_wait_s=pre_wait_s)
        reading = check_grip(trial, f"{stage}_check")
        if reading.holding is not True:
            trial.may_hold = False
            trial.bench.arm.obstacles = trial.bench.arm.obstacles.released()
            return
    raise JawsStuck(reading.reason)


def check_grip(trial: Trial, stage: str, *, on_table: bool = False) -> GripReading:
    """Read the gripper and write down what it says. In a dry run nothing is read.

    Args:
        on_table: the fingertips are near the table and may stand on it; an empty reading is no proof there.
    """
    bench = trial.bench
    gripper = bench.arm.model.data.gripper
    if trial.dry_run or gripper is None:
        reading = GripReading(
            value=None, opening_mm=None, holding=None, reason="dry run" if trial.dry_run else "no gripper"
        )
    else:
        reading = judge_reading(bench.arm.read_gripper_value(), gripper, bench.config.gripper, bench.config.block)
    trial.grip = reading
    trial.may_hold = trial.may_hold and (on_table or reading.holding is not False)
    trial.book.add(GripperRecord(stage=stage, action="check", dry_run=trial.dry_run, reading=reading))
    return reading
