"""An approach taught as the field taught it: one base pose, j0 swept in steps, the tip watched at each.

What is taught is where the tool was seen, not where a model has it. It refuses a sweep of which too little was seen.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from runner.calibrate.bench import ArmBench, watch
from runner.calibrate.check import tool_seen_xz_m
from runner.calibrate.tip_poses import solved
from runner.kinematics.fk import checked_joints
from runner.kinematics.frames import tool_points_cell_m
from runner.kinematics.model import FloatArray
from runner.table.approach import ApproachPhase, ArcApproach, TaughtPair
from runner.table.rows import CellOfTable, now_utc
from vision.errors import CalibrationTooPoor

MIN_PAIRS = 5
SWEEPS_DEG: dict[ApproachPhase, tuple[float, float]] = {"approach_pick": (-72.0, -6.0), "approach_place": (6.0, 72.0)}
"""Block on the right, box on the left."""
_STANCES = {"approach_pick": (0.23, 0.085, 45.0), "approach_place": (0.24, 0.125, 30.0)}
"""How the tool stands where no pose is given: radius and height (m), tilt (deg)."""


def arc_pose_deg(bench: ArmBench, phase: ApproachPhase) -> FloatArray:
    """The pose that is swept where none is given, (n_joints,): level jaws, over where things of that phase stand.

    Raises:
        CalibrationTooPoor: the arm has no such pose.
    """
    radius_m, height_m, tilt_deg = _STANCES[phase]
    shift = bench.base.shift_m
    point = np.array([[shift[0], height_m, shift[2] + radius_m]])
    poses, _ = solved(bench.guard.model, bench.base, bench.config, point, np.array([tilt_deg]), np.zeros(1))
    if not len(poses):
        why = f"the arm can't stand {radius_m * 1000:.0f} mm out and {height_m * 1000:.0f} mm up with level jaws"
        raise CalibrationTooPoor("approach", why, next_step="give a pose of its own: --pose j0,…,j5")
    return np.asarray(poses[0])


@dataclass(frozen=True, slots=True, eq=False)
class Taught:
    """The arc, how far the seen tool points lie from where the model has them (mm, one a pair), and what was missed."""

    arc: ArcApproach
    off_mm: FloatArray
    missed: tuple[str, ...]


def teach_arc(bench: ArmBench, phase: ApproachPhase, base_deg: FloatArray, *, pairs: int) -> Taught:
    """Sweep j0 over the phase's side in that many steps, and note where the tool is seen at each.

    Args:
        base_deg: the pose whose j0 is swept, (n_joints,).

    Raises:
        CalibrationTooPoor: the tip was seen at fewer than five steps, or at less than half of them.
        WrongJoints: a pose that is not one finite angle a joint. ArmError: the arm could not go on.
    """
    goals = np.tile(checked_joints(base_deg, bench.guard.model), (pairs, 1))
    bench.open_jaws()
    goals[:, 0] = np.linspace(*SWEEPS_DEG[phase], pairs)
    seen, missed = watch(bench, goals, label="approach")
    if len(seen) < max(MIN_PAIRS, pairs / 2):
        raise CalibrationTooPoor(
            "approach",
            f"the tip was seen at {len(seen)} of {pairs} steps of the sweep",
            next_step="choose a pose whose fingertips the camera sees all the way: --pose",
        )
    found, off = [], []
    for goal, encoder, ends in zip(seen.goal_deg, seen.encoder_deg, seen.ends_px, strict=True):
        at = tool_seen_xz_m(bench, encoder, ends)
        meant = tool_points_cell_m(goal, bench.guard.model, bench.base)
        found.append(TaughtPair(detect_xz_m=at, j0_cmd=float(goal[0])))
        off.append(float(np.hypot(at[0] - meant[0], at[1] - meant[2]) * 1000.0))
    arc = ArcApproach(
        phase=phase,
        pose_id=f"{phase}_taught",
        cell=CellOfTable.of(bench.config),
        taught_at=now_utc(),
        base_angles_deg=tuple(float(j) for j in base_deg),
        pairs=tuple(found),
    )
    return Taught(arc, np.array(off), tuple(missed))
