"""How an inverse kinematics solver got to its answer: the pose after every step, attempt by attempt.

Works with any solver that can be told when to stop: solvers are deterministic, so the pose after k steps is what a
solver gives back that may take k. For pictures and for learning; a program that wants an answer asks the solver.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from runner.kinematics.ik.protocol import IkResult, IkSolver, IkTarget, JointLimits
from runner.kinematics.model import FloatArray, frozen


@dataclass(frozen=True, slots=True, eq=False)
class Attempt:
    """One search from one start. Row 0 is the start, the last row where it ended."""

    angles_deg: FloatArray  # (steps + 1, n_joints)
    residual_mm: FloatArray  # (steps + 1,)
    residual_deg: FloatArray  # (steps + 1,), 0 where no rotation was asked for
    result: IkResult


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """All attempts at one target, in order; the answer is the best of them."""

    target: IkTarget
    limits: JointLimits
    attempts: tuple[Attempt, ...]

    @property
    def best(self) -> Attempt:
        """The attempt that converged, else the one that ended nearest."""
        target = self.target

        def rank(attempt: Attempt) -> tuple[bool, float]:
            found = attempt.result
            turned_mm = target.rotation_weight_m * 1000.0 * np.radians(found.residual_deg)
            return not found.converged, float(np.hypot(target.position_weight * found.residual_mm, turned_mm))

        return min(self.attempts, key=rank)


def trace(
    solver: Callable[[int], IkSolver],
    target: IkTarget,
    start_deg: FloatArray,
    limits: JointLimits,
    *,
    max_steps: int = 80,
    attempts: int = 8,
) -> Trace:
    """Search from a start, then from others spread over the limits, until the target is reached.

    Args:
        solver: makes the solver that may take that many steps in one attempt.
        target: see `IkTarget`.
        start_deg: of the first attempt, shape (n_joints,), inside the limits.
        limits: of the joints, the solver's own.
        max_steps: of an attempt.
        attempts: at most so many.

    Raises:
        WrongJoints, OutsideLimits: the start is no pose of this arm.
    """
    found: list[Attempt] = []
    for number in range(attempts):
        start = np.asarray(start_deg, dtype=float) if number == 0 else limits.spread(number)
        found.append(_attempt(solver, target, start, max_steps))
        if found[-1].result.converged:
            break
    return Trace(target, limits, tuple(found))


def _attempt(solver: Callable[[int], IkSolver], target: IkTarget, start_deg: FloatArray, max_steps: int) -> Attempt:
    last = solver(max_steps).solve(target, start_deg)
    # a search that gives up returns the best pose it met, after which further steps changed nothing
    rows = [solver(steps).solve(target, start_deg) for steps in range(last.steps)] + [last]
    return Attempt(
        frozen(np.stack([row.angles_deg for row in rows])),
        frozen(np.array([row.residual_mm for row in rows])),
        frozen(np.array([row.residual_deg for row in rows])),
        last,
    )
