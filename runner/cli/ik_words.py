"""What `trialcell ik solve` and `ik show` are told in words: a target and a start. Solves nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from runner.kinematics.frames import BaseInCell
    from runner.kinematics.ik.protocol import IkTarget
    from runner.kinematics.model import ArmModel, FloatArray

_FAR = 5.0  # a target this many times farther than the arm is long is in other units


def target_of(
    xyz_m: tuple[float, float, float],
    tilt_deg: float | None,
    heading_deg: float | None,
    arm: ArmModel,
    base: BaseInCell,
) -> IkTarget:
    """The target in the arm's base frame; `xyz_m` is in the cell's. Away from the base if no heading is given.

    Raises:
        BadTarget: not finite, or so far off that it must be millimetres.
        typer.BadParameter: a heading without a tilt.
    """
    import numpy as np

    from runner.kinematics.errors import BadTarget
    from runner.kinematics.frames import stance_rotation
    from runner.kinematics.ik.protocol import IkTarget

    point = np.array(xyz_m)
    if not np.isfinite([*xyz_m, tilt_deg or 0.0, heading_deg or 0.0]).all():
        raise BadTarget("a target is three finite numbers in metres, angles finite degrees")
    far = float(np.linalg.norm(base.to_base(point)))
    if far > _FAR * arm.longest_reach_m:
        raise BadTarget(
            f"the target is {far:.4g} m from the base, and {arm.name} reaches {arm.longest_reach_m:.2f} m at most",
            next_step="give metres, not mm",
        )
    if heading_deg is not None and tilt_deg is None:
        raise typer.BadParameter("--heading-deg says how a tilted tool turns: give --tilt-deg too")
    rotation = None
    if tilt_deg is not None:
        foot = point - base.shift_m
        away = float(np.degrees(np.arctan2(foot[2], foot[0])))
        rotation = stance_rotation(tilt_deg, away if heading_deg is None else heading_deg, base)
    return IkTarget(base.to_base(point), rotation)


def start_of(text: str | None, arm: ArmModel) -> FloatArray:
    """The joints in `J0,J1,…`, degrees; home, inside the limits, where there is no text.

    Raises:
        WrongJoints: not one finite number a joint.
        typer.BadParameter: no numbers.
    """
    import numpy as np

    from runner.kinematics.fk import checked_joints

    if text is None:
        return np.clip(arm.home_deg, arm.min_deg, arm.max_deg)
    try:
        angles = np.array([float(part) for part in text.split(",")])
    except ValueError:
        raise typer.BadParameter(f"--start wants angles in degrees, J0,J1,…; got {text!r}") from None
    return checked_joints(angles, arm)
