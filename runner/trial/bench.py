"""What a trial works with: arm, clock, camera, judge, planner. Made by `rig.py`, never by a trial."""

from __future__ import annotations

from dataclasses import dataclass

from judges.protocol import Judge
from runner.arms.arrival import MoveControl
from runner.arms.guard import GuardedArm
from runner.arms.protocol import Clock
from runner.config import Config
from runner.kinematics.frames import BaseInCell
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
    """Everything ready to work. `view` None: no calibration, pixels only; `marks`: where fixed markers were then."""

    config: Config
    arm: GuardedArm
    clock: Clock
    mover: MoveControl
    base: BaseInCell
    camera: Camera
    view: View | None
    view_note: str | None
    marks: tuple[Mark, ...]
    detect: DetectSettings
    judge: Judge
    planner: Planner
    corrections: CorrectionFile
    belongs_to: BelongsTo
    rule: RuleSettings
    latch: StopLatch
    provenance: Provenance
    dry_run: bool = False
