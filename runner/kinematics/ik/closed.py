"""Inverse kinematics in closed form: every branch of a six-axis arm whose wrist is all but spherical.

Were the wrist spherical, its centre would give the first three joints and its turn the last three. Here the fourth axis
passes the centre by a millimetre, so where the centre has to be depends on the fourth joint alone: a search in one
angle is left, and it is exact. From the centred wrist's answer it takes a few secant steps; near a singularity, where
branches lie close together or the guess is none, it walks all round. Each branch ends with Newton steps on the arm's
own model, which prove it. Source of the subproblems: Paden (1985), Kinematics and Control of Robot Manipulators.

Needs a whole pose (place and rotation) and an arm of that kind; refuses others by name. Moves nothing, never clips.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import degrees
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runner.compiled import kernels
from runner.kinematics.errors import BadTarget
from runner.kinematics.fk import checked_joints
from runner.kinematics.ik import closed_numpy
from runner.kinematics.ik.closed_rows import REFUSED, SLOTS
from runner.kinematics.ik.dls import DampedLeastSquares
from runner.kinematics.ik.protocol import IkResult, IkStatus, IkTarget, JointLimits, checked_poses
from runner.kinematics.ik.wrist import wrist_of
from runner.kinematics.model import ArmModel, FloatArray, frozen
from runner.kinematics.threads import in_blocks

KERNELS = "runner.kinematics.ik.closed_kernels"
_BLOCK = 1024

IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Branches:
    """Every branch of N targets, target by target, each target's nearest to its start first; arrays are read-only."""

    angles_deg: FloatArray  # (M, n_joints), inside the limits
    target: IntArray  # (M,): which target each row belongs to, rising
    first: IntArray  # (N + 1,): target i's rows are first[i] : first[i + 1]; none where it is out of reach

    @property
    def counts(self) -> IntArray:
        """How many branches each target has, shape (N,)."""
        return np.diff(self.first)

    def of(self, i: int) -> FloatArray:
        """The branches of one target, shape (k, n_joints), degrees."""
        return self.angles_deg[self.first[i] : self.first[i + 1]]


class ClosedForm:
    """The solver for one arm inside one set of limits. Thread-safe: it keeps no state between calls."""

    def __init__(self, arm: ArmModel, *, limits: JointLimits | None = None) -> None:
        """Store the settings and the arm's constants.

        Args:
            arm: with the tool that is mounted.
            limits: where the joints may be; the arm file's if not given.

        Raises:
            NoClosedForm: the arm's geometry has none here; the error says why.
        """
        self.arm, self.limits = arm, limits or JointLimits.of(arm)
        self.wrist = wrist_of(arm)
        parts = (self.wrist.constants, self.wrist.frames, self.limits.min_deg, self.limits.max_deg)
        self._constants = np.concatenate([part.ravel() for part in parts])
        self._nearest = DampedLeastSquares(arm, limits=self.limits, restarts=10)

    def solve(self, target: IkTarget, start_deg: FloatArray) -> IkResult:
        """The branch nearest to the start; out of reach, the nearest pose that there is, and it says so.

        Raises:
            WrongJoints, OutsideLimits: a start that is no pose, or breaks a limit.
            BadTarget: the target asks for no rotation.
        """
        row, count = self._of_one(target, start_deg, 1)
        return _result(row[0]) if count else self._nearest.solve(target, start_deg)

    def solve_all(self, target: IkTarget, start_deg: FloatArray) -> tuple[IkResult, ...]:
        """Every branch inside the limits, nearest to the start first; none where the target is out of reach.

        Raises:
            WrongJoints, OutsideLimits, BadTarget: see `solve`.
        """
        rows, count = self._of_one(target, start_deg, SLOTS)
        return tuple(_result(row) for row in rows[:count])

    def solve_batch(self, targets: Sequence[IkTarget], starts_deg: FloatArray) -> list[IkResult]:
        """The nearest branch for each target, each from its own row of `starts_deg`, shape (N, n_joints).

        Raises:
            WrongJoints, OutsideLimits, BadTarget: see `solve`; also not as many starts as targets.
        """
        starts = np.asarray(starts_deg, dtype=np.float64)
        if len(starts) != len(targets):
            raise BadTarget(f"{len(targets)} targets need as many starts, got an array {starts.shape}")
        return [self.solve(target, start) for target, start in zip(targets, starts, strict=True)]

    def solve_all_batch(self, T_base_tool: FloatArray, starts_deg: FloatArray | None = None) -> Branches:
        """Every branch of every target, on all cores.

        Args:
            T_base_tool: (N, 4, 4), tool frames in the base frame, metres.
            starts_deg: (N, n_joints) or (n_joints,), what the order of branches goes by; the arm's home if not given.

        Raises:
            WrongJoints, OutsideLimits, BadTarget: see `solve`.
        """
        goals = checked_poses(T_base_tool)
        n = len(goals)
        starts = self._checked(self.arm.home_deg if starts_deg is None else starts_deg)
        if starts.ndim == 2 and len(starts) != n:
            raise BadTarget(f"{n} targets need as many starts, got an array {starts.shape}")
        q0 = np.empty((n, self.arm.n_joints))
        q0[:] = starts
        counts = np.zeros(n, dtype=np.int64)
        blocks: dict[int, FloatArray] = {}
        code = kernels(KERNELS) or closed_numpy

        def work(rows: slice) -> None:
            out = np.empty(((rows.stop - rows.start) * SLOTS, 8))
            filled = code.branches_of_many(self._constants, q0[rows], goals[rows], SLOTS, out, counts[rows])
            blocks[rows.start] = out[:filled, :6].copy()

        in_blocks(n, _BLOCK, work)
        rows = [blocks[start] for start in sorted(blocks)]
        angles = np.concatenate(rows) if rows else np.empty((0, self.arm.n_joints))
        first = np.concatenate(([0], np.cumsum(counts)))
        return Branches(frozen(angles), frozen_ints(np.repeat(np.arange(n), counts)), frozen_ints(first))

    def _checked(self, starts_deg: FloatArray) -> FloatArray:
        starts = checked_joints(starts_deg, self.arm)
        self.limits.refuse_outside(starts, self.arm)
        return starts

    def _of_one(self, target: IkTarget, start_deg: FloatArray, most: int) -> tuple[FloatArray, int]:
        """The nearest branches of one target, shape (most, 8), read-only, and how many they are."""
        goal, _, _, turn_weight_m = target
        if not turn_weight_m:
            raise BadTarget("the closed form needs to know how the tool must stand", next_step="take the solver dls")
        start = np.array(start_deg, dtype=np.float64)
        out, count = np.empty((most, 8)), REFUSED
        if start.shape == (6,):
            count = (kernels(KERNELS) or closed_numpy).branches(self._constants, start, goal, most, out)
        if count == REFUSED:
            self._checked(start)
            raise BadTarget(f"one target needs one start, got an array {start.shape}")
        return frozen(out), count


def _result(row: FloatArray) -> IkResult:
    return IkResult._make((row[:6], float(row[6]) * 1e3, degrees(row[7]), 1, IkStatus.CONVERGED))


def frozen_ints(array: NDArray[Any]) -> IntArray:
    """The array as integers, no longer writable."""
    out = np.asarray(array, dtype=np.int64)
    out.setflags(write=False)
    return out
