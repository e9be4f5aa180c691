"""What a trial works with: arm, clock, camera, judge, planner. Made by `rig.py`, never by a trial."""

from __future__ import annotations

from dataclasses import dataclass

from judges.protocol import Judge
from runner.arm_calibration import ArmFile
from runner.arms.arrival import MoveControl
from runner.arms.guard import GuardedArm
from runner.arms.protocol import Clock
from runner.config import Config
from runner.kinematics.frames import BaseInCell
from runner.rehearse.rehearsal import Rehearsal
from runner.table.plan import Planner
from runs.corrections.file import CorrectionFile
from runs.corrections.rule import RuleSettings
from runs.corrections.table import BelongsTo
from runs.latch import StopLatch
from runs.schema.run import Provenance
from vision.calibration.drift import Mark
from vision.calibration.view import View
from vision.cameras.protocol import Camera
from vision.detect.protocol import DetectSettings


@dataclass(frozen=True, slots=True, eq=False)
class Bench:
    """Everything ready to work. `view` None: no calibration, pixels only.

    `marks`: where fixed markers were when the plane was calibrated; `scene`: what the picture looked like then;
    `arm_file`: what was calibrated of the arm, None where nothing was. `look_for_slip`: whether the trial begins with a
    look at the check poses.
    """

    config: Config
    arm: GuardedArm
    clock: Clock
    mover: MoveControl
    base: BaseInCell
    camera: Camera
    view: View | None
    view_note: str | None
    marks: tuple[Mark, ...]
    scene: str | None
    arm_file: ArmFile | None
    detect: DetectSettings
    judge: Judge
    planner: Planner
    rehearsal: Rehearsal
    corrections: CorrectionFile
    belongs_to: BelongsTo
    rule: RuleSettings
    latch: StopLatch
    provenance: Provenance
    dry_run: bool = False
    look_for_slip: bool = True
