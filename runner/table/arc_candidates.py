"""The postures for a target that is approached from a taught arc: the approach pose stands, only the end is free.

The arc's pose is not solved for the target, as in the field: j0 between two taught pairs, the other joints as taught.
Tilts near the arc's own come first. Checks no clearance and looks up no row.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from runner.config import Config
from runner.kinematics.frames import BaseInCell, stance_of, tool_points_cell_m
from runner.kinematics.model import ArmModel
from runner.table.approach import GridPose, square_mm
from runner.table.candidates import Candidate, grasp_height_m
from runner.table.postures import radial_heading_deg, wrapped_deg
from runs.schema.geometry import TablePoint
from runs.schema.motion import LookupRecord

_PLACE_TILTS_OFF_DEG = (0.0, 5.0, -5.0, 10.0, -10.0, 15.0, -15.0, 20.0, -20.0)
_PICK_TILTS_OFF_DEG = (0.0, 10.0, -10.0, 20.0, -20.0, 30.0, 40.0, 50.0)
_MOST_TURN_DEG = 60.0  # of the tool off the radial direction
_TILT_SPAN_DEG = (-10.0, 85.0)


def arc_pick_levels(
    target: TablePoint, block_yaw_deg: float, record: LookupRecord, arm: ArmModel, base: BaseInCell, config: Config
) -> Iterator[list[Candidate]]:
    """One level: the two headings of the block that are nearest to the radial, tilts from the arc's own outwards."""
    radial = radial_heading_deg(target, base)
    turns = sorted((wrapped_deg(block_yaw_deg + 90.0 * k - radial) for k in range(4)), key=lambda t: (abs(t), t))
    level = []
    for turn in turns[:2]:
        if abs(turn) > _MOST_TURN_DEG:
            continue
        for tilt in _tilts(record, arm, base, _PICK_TILTS_OFF_DEG):
            height = grasp_height_m(tilt, arm, config)
            level.append(
                _candidate(record, (target[0], height, target[1]), tilt, wrapped_deg(radial + turn), arm, base)
            )
    yield level


def arc_place_levels(
    target: TablePoint, record: LookupRecord, arm: ArmModel, base: BaseInCell, config: Config
) -> Iterator[list[Candidate]]:
    """One level: the tool in the arm's plane, tilts from the arc's own outwards."""
    heading = radial_heading_deg(target, base)
    at = (target[0], config.table.release_y_m, target[1])
    yield [_candidate(record, at, tilt, heading, arm, base) for tilt in _tilts(record, arm, base, _PLACE_TILTS_OFF_DEG)]


def _tilts(record: LookupRecord, arm: ArmModel, base: BaseInCell, off_deg: tuple[float, ...]) -> list[float]:
    own = stance_of(np.array(record.target_angles), arm, base).tilt_deg
    lo, hi = _TILT_SPAN_DEG
    return [own + off for off in off_deg if lo <= own + off <= hi]


def _candidate(
    record: LookupRecord,
    target_m: tuple[float, float, float],
    tilt_deg: float,
    heading_deg: float,
    arm: ArmModel,
    base: BaseInCell,
) -> Candidate:
    joints = tuple(float(j) for j in record.target_angles or ())
    stance = stance_of(np.array(joints), arm, base)
    way = np.array(target_m) - tool_points_cell_m(np.array(joints), arm, base)
    descent = float(np.degrees(np.arctan2(-way[1], np.hypot(way[0], way[2]))))
    start = GridPose(
        tilt_deg=stance.tilt_deg,
        heading_deg=stance.heading_deg,
        lift_m=float(np.linalg.norm(way)),
        joints_deg=joints,
        descent_deg=descent,
    )
    return Candidate(
        name=f"{record.pose_id}_t{tilt_deg:.0f}_h{heading_deg:.0f}",
        start=start,
        square_mm=square_mm((target_m[0], target_m[2])),
        tilt_deg=tilt_deg,
        heading_deg=heading_deg,
        descent_deg=descent,
        lift_m=start.lift_m,
        target_m=target_m,
        begin_deg=np.array(joints),
        taught=record,
    )
