"""A search to draw."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from runner.kinematics.frames import BaseInCell, stance_rotation, standing
from runner.kinematics.ik.dls import DampedLeastSquares
from runner.kinematics.ik.protocol import IkTarget, JointLimits
from runner.kinematics.ik.trace import Trace, trace
from runner.kinematics.model import ArmModel, load_arm


@pytest.fixture
def search() -> Callable[..., tuple[Trace, ArmModel, BaseInCell]]:
    """Searches for a point of the cell with an arm that ships, its tool tilted where a tilt is given."""

    def run(name: str, xyz_m: tuple[float, float, float], tilt_deg: float | None = None, attempts: int = 3):
        arm = load_arm(name)
        base, limits = standing(arm), JointLimits.of(arm)
        rotation = None if tilt_deg is None else stance_rotation(tilt_deg, 90.0, base)
        target = IkTarget(base.to_base(np.array(xyz_m)), rotation)
        found = trace(
            lambda steps: DampedLeastSquares(arm, limits=limits, max_steps=steps),
            target,
            arm.home_deg,
            limits,
            attempts=attempts,
        )
        return found, arm, base

    return run
