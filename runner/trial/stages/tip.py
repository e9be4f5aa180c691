"""The tip against the block at the pick pose, as the camera sees it: the lesson that corrections learn from.

What is measured is the tool centre point: the fingertips are seen, and how far they reach past it is known from the
gripper's own geometry. No measurement is better than a wrong one.
"""

from __future__ import annotations

import numpy as np

from runner.kinematics.fk import tool_pose
from runner.kinematics.frames import stance_of_rotation
from runner.kinematics.gripper import seen_tips_m
from runner.kinematics.model import FloatArray
from runner.trial.drift import moved_camera
from runner.trial.stages.rehearse import beside_mm
from runner.trial.trial import Seen, Trial
from runs.schema.geometry import TablePoint
from runs.schema.run import TipDiff, TipMeasurement
from vision.cameras.protocol import Picture
from vision.detect.tip import find_tip


def measure_tip(trial: Trial, seen: Seen, image_bgr: Picture) -> None:
    """Measure tip minus block in one picture and write it down, or why it could not be done."""
    bench = trial.bench
    capture = trial.book.log.vlm_captures[-1]
    trial.tip = TipMeasurement(
        attempt=trial.attempt, image=capture.image, diff=None, reason="dry run" if trial.dry_run else "no calibration"
    )
    if bench.view is not None and not trial.dry_run:
        trial.tip = _measured(trial, seen, image_bgr, capture.image)
    trial.book.add(trial.tip)


def _measured(trial: Trial, seen: Seen, image_bgr: Picture, image: str) -> TipMeasurement:
    bench, view = trial.bench, trial.bench.view
    assert view is not None
    moved = moved_camera(trial, image_bgr, noted=True)
    if moved is not None:
        return TipMeasurement(attempt=trial.attempt, image=image, diff=None, reason=moved.problem)
    T = tool_pose(bench.mover.readings.read_deg(), bench.arm.model)
    tip_cell, tcp_cell = bench.base.to_cell(np.stack((seen_tips_m(T, bench.arm.model).mean(axis=0), T[:3, 3])))
    heading = stance_of_rotation(T[:3, :3], bench.base).heading_deg
    near = (float(tip_cell[0]), float(tip_cell[2]))
    found = find_tip(image_bgr, view, bench.detect, height_y_m=float(tip_cell[1]), near_xz_m=near, heading_deg=heading)
    tip = found.best
    if tip is None or tip.xz_m is None:
        why = found.dropped[0].reason if found.dropped else "the fingertips were not found"
        return TipMeasurement(attempt=trial.attempt, image=image, diff=None, reason=why)
    assert seen.block.xz_m is not None
    tool = np.asarray(tip.xz_m) - (tip_cell - tcp_cell)[[0, 2]]
    off_mm = (tool - np.asarray(seen.block.xz_m)) * 1000.0
    diff = TipDiff(
        tip_x=float(tool[0]),
        tip_z=float(tool[1]),
        block_x=seen.block.xz_m[0],
        block_z=seen.block.xz_m[1],
        dx_mm=float(off_mm[0]),
        dz_mm=float(off_mm[1]),
        dist_mm=float(np.hypot(*off_mm)),
    )
    aimed, reckoned = _aimed_xz_m(trial), (float(tcp_cell[0]), float(tcp_cell[2]))
    return TipMeasurement(
        attempt=trial.attempt,
        image=image,
        diff=diff,
        tip=tip,
        aimed_xz_m=aimed,
        reckoned_xz_m=reckoned,
        residual_mm=None if aimed is None else _between_mm(tool, aimed),
        unexplained_mm=_between_mm(tool, reckoned),
        beside_mm=None if trial.rehearsed is None else beside_mm(trial.rehearsed.plan),
    )


def _aimed_xz_m(trial: Trial) -> TablePoint | None:
    """Where the pick was sent: the target of its refined pose."""
    refined = [look.refined for look in trial.book.log.lookups if look.label == "stage4_pick" and look.refined]
    return (refined[-1].target_m[0], refined[-1].target_m[2]) if refined else None


def _between_mm(seen: FloatArray, meant: TablePoint) -> tuple[float, float]:
    x, z = ((seen - np.asarray(meant)) * 1000.0).tolist()
    return x, z
