"""Correcting a detected target, once, before any way to it is planned; and how the tool comes to a point.

What the lookup itself misses is gone by then: poses are refined to the millimetre, so what is corrected is what arm and
camera do, not the table's spacing.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from runner.kinematics.fk import tool_pose
from runner.kinematics.frames import BaseInCell, stance_of, tool_points_cell_m
from runner.kinematics.model import ArmModel, FloatArray
from runner.table.errors import PlanningError
from runner.trial.bench import Bench
from runner.trial.trial import Trial
from runs.corrections.file import model_in_use
from runs.corrections.model import CorrectionModel
from runs.corrections.table import CorrectedPhase, Direction, Way
from runs.schema.geometry import TablePoint
from runs.schema.run import CorrectionUse
from vision.calibration.view import View

AHEAD_DEG = 20.0
"""A heading this near to the line from the arm's base counts as straight ahead."""

_TURNS = 4
_SAME_MM = 0.5
"""To a corrected target the tool may come another way, for which another correction holds: so often that is followed,
until it makes no more difference than this."""


def corrected(
    trial: Trial,
    phase: CorrectedPhase,
    detected_xz_m: TablePoint,
    plan_deg: Callable[[TablePoint], FloatArray],
    *,
    after_miss: bool = False,
) -> tuple[TablePoint, CorrectionUse | None]:
    """The target to aim at and what was done to it, written down; the detected one where corrections are off.

    Args:
        plan_deg: the joints that would reach a target, shape (n_joints,); asked for only if the model needs to know
            them. It may raise a `PlanningError`: for the target as it was seen such a model then leaves it as it is.
        after_miss: take off as well what the attempt before was seen to miss by.
    """
    if not trial.bench.config.trial.corrections:
        return detected_xz_m, None
    model = _model(trial)
    missed_mm = _missed_mm(trial) if after_miss else None
    way = _way_planned(trial.bench, model, detected_xz_m, detected_xz_m, plan_deg)
    target, use = model.apply(phase, detected_xz_m, way, missed_mm=missed_mm)
    for _ in range(_TURNS if way is not None and model.asks_for_way else 0):
        there = _way_planned(trial.bench, model, detected_xz_m, target, plan_deg)
        if there is None:
            break
        before, (target, use) = target, model.apply(phase, detected_xz_m, there, missed_mm=missed_mm)
        if np.hypot(*np.subtract(target, before)) * 1000 < _SAME_MM:
            break
    if model.asks_for_way and way is None:
        trial.book.note(f"the {phase} is not corrected: no way to the target as it was seen, so none to correct by")
    if use.capped:
        trial.book.note(f"the {phase} is corrected by the most that is allowed, {model.cap_mm:g} mm, and no more")
    trial.book.add(use)
    return target, use


def way_of(joints_deg: FloatArray, xz_m: TablePoint, arm: ArmModel, base: BaseInCell, view: View | None) -> Way:
    """How the tool comes to a point with these joints, shape (n_joints,), and what would move it there.

    Directions are as seen along the line from the arm's base to the point: left of it the heading is turned from +x
    toward +z by more than `AHEAD_DEG`.
    """
    line = np.subtract(xz_m, base.to_cell(np.zeros(3))[[0, 2]])
    beside = stance_of(joints_deg, arm, base).heading_deg - float(np.degrees(np.arctan2(line[1], line[0])))
    beside = (beside + 180.0) % 360.0 - 180.0
    direction: Direction = "ahead" if abs(beside) <= AHEAD_DEG else "left" if beside > 0 else "right"
    turns = np.vstack((np.eye(arm.n_joints), -np.eye(arm.n_joints)))
    there = tool_points_cell_m(joints_deg + turns, arm, base) * 1000
    T = tool_pose(joints_deg, arm)
    tool = base.to_cell(T[:3, 3] + T[:3, :3].T) - base.to_cell(T[:3, 3])
    joints_xz, joints_up = _apart((there[: arm.n_joints] - there[arm.n_joints :]) / 2)
    tool_xz, tool_up = _apart(tool)
    return Way(
        direction=direction,
        per_joint_mm=joints_xz,
        per_joint_up_mm=joints_up,
        per_tool_mm=tool_xz,
        per_tool_up_mm=tool_up,
        parallax_mm=_parallax_mm(xz_m, view),
    )


def _apart(moved_mm: FloatArray) -> tuple[tuple[tuple[float, float], ...], tuple[float, ...]]:
    """Rows (n, 3) of the cell frame as (x, z) and up, rounded."""
    rows = [(round(dx, 4), round(dy, 4), round(dz, 4)) for dx, dy, dz in moved_mm.tolist()]
    return tuple((dx, dz) for dx, _, dz in rows), tuple(dy for _, dy, _ in rows)


def _parallax_mm(xz_m: TablePoint, view: View | None) -> tuple[float, float] | None:
    """By how much (x, z) what is seen there is displaced for a millimetre of height."""
    if view is None:
        return None
    x, y, z = view.camera_m
    return round((xz_m[0] - x) / y, 5), round((xz_m[1] - z) / y, 5)


def _model(trial: Trial) -> CorrectionModel:
    """What is applied in this trial; a note where something was learned, but with other things than stand here."""
    bench = trial.bench
    state = bench.corrections.load(bench.belongs_to)
    if state.nothing and trial.attempt == 1 and trial.last_stage == "stage3_approach_pick":
        others = [other.table.belongs_to for other in bench.corrections.all_states() if not other.nothing]
        if others:
            unlike = min((bench.belongs_to.unlike(other) for other in others), key=len)
            trial.book.note(f"what was learned with another {' and '.join(unlike)} is not applied here")
    return model_in_use(state, bench.rule, bench.config.corrections.use)


def _missed_mm(trial: Trial) -> tuple[float, float] | None:
    """By how much the attempt before missed, as the camera saw it, where that explains why its pick was judged no."""
    tip, attempts = trial.tip, trial.book.log.pick_attempts
    if not trial.bench.config.corrections.retry or tip is None or tip.missed_dist_mm is None or not attempts:
        return None
    if tip.attempt != trial.attempt - 1 or attempts[-1].verdict != "no":
        return None
    if tip.missed_dist_mm > trial.bench.config.trial.dist_override_mm:
        return None
    return tip.missed_mm


def _way_planned(
    bench: Bench,
    model: CorrectionModel,
    xz_m: TablePoint,
    target_xz_m: TablePoint,
    plan_deg: Callable[[TablePoint], FloatArray],
) -> Way | None:
    """How the tool would come to a point, sent to that target; None where there is no way to it or none is asked."""
    if not model.says_anything:
        return None
    if not model.asks_for_way:
        return Way(parallax_mm=_parallax_mm(xz_m, bench.view))
    try:
        return way_of(plan_deg(target_xz_m), xz_m, bench.arm.model, bench.base, bench.view)
    except PlanningError:
        return None
