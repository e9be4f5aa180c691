"""Has a joint slipped? The fingertips at a few poses, against where they were seen right after calibrating.

The poses are chosen so that a slip of any joint shows; they keep higher than block and box. What is compared is seen
against seen, so that the fit's own errors cancel. It corrects nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from runner.arm_calibration import CheckPose
from runner.calibrate.arm_fit import information
from runner.calibrate.bench import ArmBench
from runner.calibrate.tip_poses import candidate_poses, in_short_order
from runner.calibrate.unknowns import ZERO_SIGMA_DEG, ArmUnderCamera, tip_parts
from runner.kinematics.frames import BaseInCell
from runner.kinematics.model import ArmModel, FloatArray
from vision.calibration.view import View

SLIP_POSES = 2
SLIP_DEG = 3.0  # that much of any joint has to show
LEAST_DEG = 1.2  # a smaller slip is not believed
AGAIN_PX = 0.8  # how well the same tip is seen again at the same pose: its middle, and its line aside
LIMIT = 3.2  # standard deviations of the pictures together
_ABOVE_MM = 70.0  # over the table: block and box stand below


@dataclass(frozen=True, slots=True)
class Slip:
    """What was found at the check poses: the most that a fingertip was off, px and mm, and the slip that explains it.

    `joint` and `slip_deg` None: nothing is off that a slip would explain; `problem` says what to think of it.
    """

    off_px: float
    off_mm: float
    joint: int | None
    slip_deg: float | None
    strength: float  # standard deviations
    problem: str | None


def slip_poses(bench: ArmBench) -> FloatArray:
    """Poses (SLIP_POSES, n_joints) at which a slip of any joint shows best: of all the weakest shows most."""
    model = bench.believed()
    goals = candidate_poses(model, bench.config, bench.guard.obstacles, clear_mm=_ABOVE_MM)
    n = bench.guard.model.n_joints
    strength = np.stack([np.diag(each)[:n] for each in information(model, goals)]) * (SLIP_DEG / ZERO_SIGMA_DEG) ** 2
    chosen: list[int] = []
    known = np.zeros(n)
    while len(chosen) < SLIP_POSES:
        weakest = [-np.inf if i in chosen else float((known + each).min()) for i, each in enumerate(strength)]
        best = int(np.argmax(weakest))
        chosen.append(best)
        known = known + strength[best]
    return in_short_order(goals[chosen], np.asarray(bench.config.arm.home_deg, dtype=np.float64))


def find_slip(
    then: Sequence[CheckPose],
    encoder_deg: FloatArray,
    ends_px: FloatArray,
    arm: ArmModel,
    base: BaseInCell,
    view: View,
    zero_deg: FloatArray,
) -> Slip:
    """What the fingertips say now against then.

    Args:
        then: the poses as they were seen after calibrating, k of them.
        encoder_deg: what the encoders say there now, (k, n_joints).
        ends_px: where the fingertips are seen now, (k, 2, 2).
        arm: as calibrated; `zero_deg` its zeros, (n_joints,).
    """
    model = ArmUnderCamera(arm, base, view, np.zeros((0, 2)))
    nothing = np.zeros(model.n_unknowns)
    before = np.array([pose.encoder_deg for pose in then]) + zero_deg
    now = encoder_deg + zero_deg
    expected = np.array([pose.ends_px for pose in then]) + model.tips_px(now, nothing) - model.tips_px(before, nothing)
    off = (tip_parts(ends_px, expected) / AGAIN_PX).ravel()
    step = 0.01
    lines = []
    for joint in range(arm.n_joints):
        turned = nothing.copy()
        turned[joint] = step
        moved = expected + model.tips_px(now, turned) - model.tips_px(now, nothing)
        lines.append((tip_parts(moved, expected) / AGAIN_PX).ravel() / step)
    middle_px = np.linalg.norm((ends_px - expected).mean(axis=1), axis=1)
    worst = int(middle_px.argmax())
    tip = model.tips_m(now[worst : worst + 1], nothing).mean(axis=(0, 1))
    off_mm = float(middle_px[worst] * view.mm_per_px(tip[[0, 2]], float(tip[1])))
    strength = float(np.linalg.norm(off))
    angles = [float(line @ off / (line @ line)) for line in lines]
    left = [float(np.linalg.norm(off - angle * line)) for angle, line in zip(angles, lines, strict=True)]
    joint = int(np.argmin(left))
    if strength <= LIMIT or abs(angles[joint]) < LEAST_DEG:
        return Slip(float(middle_px[worst]), off_mm, None, None, strength, None)
    seen = f"the tip is seen {off_mm:.1f} mm from where it was after calibrating"
    problem = f"{seen}: j{joint} has slipped by about {angles[joint]:+.1f}°, or the gripper or the base was pushed"
    return Slip(float(middle_px[worst]), off_mm, joint, angles[joint], strength, problem)
