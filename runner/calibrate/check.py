"""The number at the end: the tip sent to places that no fit has seen, and how far from them it is seen to arrive.

Judges with the camera, as a trial does; it changes nothing. The height of the tip is not seen from above, so errors are
those on the table's plane.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from runner.arm_calibration import HeldOut
from runner.calibrate.bench import ArmBench, watch
from runner.calibrate.held_out import held_out_of, region_of
from runner.calibrate.tip_poses import clear_and_seen, in_short_order, solved
from runner.kinematics.fk import tool_pose
from runner.kinematics.frames import tool_points_cell_m
from runner.kinematics.gripper import seen_tips_m
from runner.kinematics.model import FloatArray
from runs.schema.base import Record
from runs.schema.geometry import Point, TablePoint
from vision.calibration.kept import FILE_VERSION, Kept
from vision.errors import CalibrationTooPoor

CHECK_KIND = "check"
MIN_SEEN = 0.6  # of the places
_CLEAR_MM = 12.0
# directions on the table (deg), radii (m), height (m), tilt (deg), turn (deg): pick side, before the arm, place side
_PLACES = (
    (33.0, 0.19, 0.045, 47.0, 10.0),
    (47.0, 0.235, 0.045, 40.0, -15.0),
    (58.0, 0.275, 0.050, 33.0, 12.0),
    (38.0, 0.262, 0.050, 37.0, -8.0),
    (66.0, 0.205, 0.045, 52.0, -20.0),
    (84.0, 0.240, 0.055, 42.0, 6.0),
    (97.0, 0.195, 0.050, 50.0, -12.0),
    (112.0, 0.265, 0.085, 30.0, 14.0),
    (124.0, 0.215, 0.085, 35.0, -10.0),
    (136.0, 0.275, 0.085, 25.0, 8.0),
    (141.0, 0.195, 0.085, 40.0, -16.0),
    (152.0, 0.245, 0.085, 28.0, 11.0),
)


class PlaceSeen(Record):
    """A place that the tool was sent to, and where it was seen: x and z on the height it was sent to."""

    region: str
    wanted_m: Point
    seen_xz_m: TablePoint
    off_mm: float


class CheckFile(Kept):
    """A check of everything together: camera and arm. `before` is the same check before they were calibrated."""

    kind: Literal["check"] = "check"
    version: Literal[1] = FILE_VERSION
    held_out: HeldOut
    before: HeldOut | None = None
    places: tuple[PlaceSeen, ...]
    missed: tuple[str, ...] = ()
    calibration_hashes: dict[str, str]


def check_places(
    bench: ArmBench, *, lift_m: float = 0.0, at_place: Callable[[FloatArray], None] = lambda wanted_m: None
) -> tuple[list[PlaceSeen], list[str]]:
    """Send the tool to every place and see where it is; and what was missed.

    Args:
        lift_m: how much higher than the places stand, for an arm that may come down lower than it is meant to.
        at_place: called at each place, before the picture, with where the tool point was sent, (3,), cell frame.

    Raises:
        CalibrationTooPoor: the tip was seen at too few places.
    """
    goals = place_poses(bench, lift_m=lift_m)
    seen, missed = watch(bench, goals, label="check", at_pose=lambda goal: at_place(_tool_m(bench, goal)))
    if len(seen) < MIN_SEEN * len(goals):
        raise CalibrationTooPoor(
            "arm",
            f"the tip was seen at {len(seen)} of {len(goals)} places",
            next_step="clear the view, look at the light on the fingertips, then: trialcell calibrate joints",
        )
    found = []
    for goal, encoder, ends in zip(seen.goal_deg, seen.encoder_deg, seen.ends_px, strict=True):
        wanted, at = _tool_m(bench, goal), tool_seen_xz_m(bench, encoder, ends)
        x, y, z = wanted.tolist()
        off_mm = float(np.hypot(at[0] - x, at[1] - z) * 1000.0)
        found.append(PlaceSeen(region=region_of(x, z), wanted_m=(x, y, z), seen_xz_m=at, off_mm=off_mm))
    return found, missed


def errors_of(places: Sequence[PlaceSeen]) -> HeldOut:
    """Median and worst error, all together and by region."""
    return held_out_of(np.array([p.off_mm for p in places]), np.array([p.wanted_m for p in places]))


def place_poses(bench: ArmBench, *, lift_m: float = 0.0) -> FloatArray:
    """Poses for the held-out places, shape (k, n_joints), as the arm is known now, in a short order.

    Raises:
        CalibrationTooPoor: hardly any is clear and in the camera's sight.
    """
    arm, base = bench.guard.model, bench.base
    direction, radius, height, tilt, turn = np.array(_PLACES).T
    a = np.radians(direction)
    points = np.stack(
        (base.shift_m[0] + radius * np.cos(a), height + lift_m, base.shift_m[2] + radius * np.sin(a)), axis=1
    )
    goals, _ = solved(arm, base, bench.config, points, tilt, turn)
    goals = goals[clear_and_seen(goals, bench.believed(), bench.guard.obstacles, clear_mm=_CLEAR_MM)]
    if len(goals) < MIN_SEEN * len(_PLACES):
        raise CalibrationTooPoor(
            "arm",
            f"{len(goals)} of {len(_PLACES)} places can be gone to and are in the camera's sight",
            next_step="clear the table, and let the camera see all of the arm's reach",
        )
    return in_short_order(goals, np.asarray(bench.config.arm.home_deg, dtype=np.float64))


def tool_seen_xz_m(bench: ArmBench, encoder_deg: FloatArray, ends_px: FloatArray) -> TablePoint:
    """Where the tool point is that belongs to fingertips seen at a pose: x and z at the height it has there."""
    arm, base = bench.guard.model, bench.base
    T = tool_pose(encoder_deg + np.array(bench.config.arm.joint_zero_deg), arm)
    middle, tool = base.to_cell(seen_tips_m(T, arm)).mean(axis=0), base.to_cell(T[:3, 3])
    at = bench.view.pixel_to_table_xz_m(ends_px.mean(axis=0), float(middle[1])) - (middle - tool)[[0, 2]]
    return float(at[0]), float(at[1])


def _tool_m(bench: ArmBench, goal_deg: FloatArray) -> FloatArray:
    return tool_points_cell_m(goal_deg, bench.guard.model, bench.base)
