"""The solvers by name: what each is, what it takes, and which code it would run now.

The one list of them; whoever lets a person choose a solver asks here. Solves nothing itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from runner.compiled import CodeState, code_report, compile_now
from runner.kinematics.errors import UnknownSolver
from runner.kinematics.ik import ccd, closed, dls, fabrik
from runner.kinematics.ik.protocol import IkSolver, JointLimits
from runner.kinematics.model import ArmModel


@dataclass(frozen=True, slots=True)
class SolverKind:
    """One way to solve."""

    name: str
    title: str
    takes_rotation: bool
    needs_rotation: bool
    make: Callable[[ArmModel, JointLimits | None], IkSolver]
    kernels: str | None = None  # its module of kernels, if it has one

    def code(self) -> str:
        """Which code a solve runs now: `compiled` or `numpy`."""
        return "compiled" if self.kernels and code_report(self.kernels).state is CodeState.READY else "numpy"

    def why(self) -> str:
        """Why that code, in a few words."""
        return code_report(self.kernels).reason if self.kernels else "has no machine code"

    def compile(self) -> None:
        """Wait until its machine code is there, where it can be had."""
        if self.kernels:
            compile_now(self.kernels)


_KINDS = (
    SolverKind(
        "closed",
        "closed form, every branch",
        takes_rotation=True,
        needs_rotation=True,
        make=lambda arm, limits: closed.ClosedForm(arm, limits=limits),
        kernels=closed.KERNELS,
    ),
    SolverKind(
        "dls",
        "damped least squares with restarts",
        takes_rotation=True,
        needs_rotation=False,
        make=lambda arm, limits: dls.DampedLeastSquares(arm, limits=limits, restarts=dls.FOR_SURE),
        kernels=dls.KERNELS,
    ),
    SolverKind(
        "dls-once",
        "damped least squares, one attempt",
        takes_rotation=True,
        needs_rotation=False,
        make=lambda arm, limits: dls.DampedLeastSquares(arm, limits=limits),
        kernels=dls.KERNELS,
    ),
    SolverKind(
        "ccd",
        "cyclic coordinate descent",
        takes_rotation=True,
        needs_rotation=False,
        make=lambda arm, limits: ccd.CyclicCoordinateDescent(arm, limits=limits),
    ),
    SolverKind(
        "fabrik",
        "forwards and backwards along the chain; places only",
        takes_rotation=False,
        needs_rotation=False,
        make=lambda arm, limits: fabrik.Fabrik(arm, limits=limits),
    ),
)


def solvers() -> dict[str, SolverKind]:
    """Every solver by its name, the first choice first."""
    return {kind.name: kind for kind in _KINDS}


def solver_kind(name: str) -> SolverKind:
    """The solver of that name.

    Raises:
        UnknownSolver: there is none; the error names those that are.
    """
    kinds = solvers()
    if name not in kinds:
        raise UnknownSolver(name, list(kinds))
    return kinds[name]


def make_solver(name: str, arm: ArmModel, limits: JointLimits | None = None) -> IkSolver:
    """The solver of that name for an arm, inside the limits (the arm file's if not given).

    Raises:
        UnknownSolver: there is none.
        NoClosedForm: the closed form, for an arm that has none.
    """
    return solver_kind(name).make(arm, limits)
