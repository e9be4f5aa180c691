"""An arc as the field taught it: one base pose, j0 swept in steps, the tool point noted at each.

In the model here, so it is as exact as the twin; on an arm the tip is watched by the camera instead.
"""

from __future__ import annotations

import numpy as np

from runner.kinematics.fk import checked_joints
from runner.kinematics.frames import BaseInCell, tool_points_cell_m
from runner.kinematics.model import ArmModel
from runner.table.approach import ApproachPhase, ArcApproach, TaughtPair
from runner.table.rows import CellOfTable, now_utc

FIELD_PLACE_DEG = (38.4, 57.39, 17.49, 0.08, -89.2, -29.44)
"""The base pose of the field log's place arc; j0 is the taught one and is swept."""
PAIRS = 20
SWEEP_DEG = (-85.0, 85.0)


def sweep_arc(
    base_deg: tuple[float, ...],
    arm: ArmModel,
    base: BaseInCell,
    cell: CellOfTable,
    phase: ApproachPhase,
    *,
    pairs: int = PAIRS,
    sweep_deg: tuple[float, float] = SWEEP_DEG,
) -> ArcApproach:
    """The arc of a base pose: `pairs` places of the tool point, j0 from one end of the sweep to the other.

    Raises:
        WrongJoints: a base pose that is not one finite angle a joint.
    """
    poses = np.tile(checked_joints(np.array(base_deg, dtype=float), arm), (pairs, 1))
    poses[:, 0] = np.linspace(*sweep_deg, pairs)
    at = tool_points_cell_m(poses, arm, base)
    return ArcApproach(
        phase=phase,
        pose_id=f"{phase}_swept",
        cell=cell,
        taught_at=now_utc(),
        base_angles_deg=tuple(float(j) for j in base_deg),
        pairs=tuple(
            TaughtPair(detect_xz_m=(float(x), float(z)), j0_cmd=float(j0))
            for (x, _, z), j0 in zip(at, poses[:, 0], strict=True)
        ),
    )
