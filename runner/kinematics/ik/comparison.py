"""Solvers side by side on the same targets: how often each is there, how near, how fast, and with which code.

Judges by its own forward kinematics, not by what a solver says. Times are of this machine, now; only their ratios mean
something.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from runner.kinematics.errors import NoClosedForm
from runner.kinematics.fk import tool_pose
from runner.kinematics.ik.protocol import IkSolver, IkTarget, JointLimits
from runner.kinematics.ik.solvers import SolverKind, solvers
from runner.kinematics.ik.sweeps import left_over
from runner.kinematics.model import ArmModel

THERE_MM, THERE_DEG = 0.1, 0.1


@dataclass(frozen=True, slots=True)
class SolverFigures:
    """How one solver did."""

    solver: str
    code: str  # what ran: compiled or numpy
    why: str
    reached_percent: float
    median_mm: float
    median_deg: float
    median_steps: float
    median_ms: float
    p95_ms: float

    def as_dict(self) -> dict[str, Any]:
        """For programs."""
        return asdict(self)


def compared(
    arm: ArmModel,
    limits: JointLimits,
    kinds: Sequence[SolverKind] | None,
    *,
    count: int,
    turned: bool,
    seed: int,
    wait: bool = False,
    told: Callable[[str], None] = lambda _: None,
) -> tuple[list[SolverFigures], dict[str, str]]:
    """Every solver on `count` random poses inside the limits, from home, target by target in turn.

    Args:
        arm: with its tool.
        limits: where joints may be.
        kinds: which solvers; all that serve this arm and these targets if None.
        count: how many targets.
        turned: whether the rotation is asked for too.
        seed: of the targets.
        wait: until machine code is there.
        told: is told what goes on.

    Returns:
        The figures, and what was left out and why, by name.

    Raises:
        NoClosedForm: the closed form is asked for by name, for an arm that has none.
    """
    chosen: list[tuple[SolverKind, IkSolver]] = []
    left_out: dict[str, str] = {}
    for kind in solvers().values() if kinds is None else kinds:
        if turned and not kind.takes_rotation:
            left_out[kind.name] = "knows no rotation; ask for places"
        elif kind.needs_rotation and not turned:
            left_out[kind.name] = "needs the rotation too"
        else:
            try:
                chosen.append((kind, kind.make(arm, limits)))
            except NoClosedForm as error:
                if kinds is not None:
                    raise
                left_out[kind.name] = error.why
    for kind, _ in chosen:
        if wait:
            told(f"{kind.name}: making machine code")
            kind.compile()
    poses = np.random.default_rng(seed).uniform(limits.min_deg, limits.max_deg, (count, arm.n_joints))
    start = np.clip(arm.home_deg, limits.min_deg, limits.max_deg)
    rows: dict[str, list[tuple[bool, float, float, int, float]]] = {kind.name: [] for kind, _ in chosen}
    code = {kind.name: (kind.code(), kind.why()) for kind, _ in chosen}
    for _, solver in chosen:
        solver.solve(_target(arm, start, turned), start)  # loads what has to be loaded
    for i, pose in enumerate(poses):
        told(f"target {i + 1} of {count}")
        target = _target(arm, pose, turned)
        for kind, solver in chosen:
            began = time.perf_counter()
            found = solver.solve(target, start)
            took_ms = (time.perf_counter() - began) * 1000.0
            off_mm, off_deg = left_over(found.angles_deg, target, arm)
            there = off_mm <= THERE_MM and off_deg <= THERE_DEG and limits.hold(found.angles_deg)
            rows[kind.name].append((there, off_mm, off_deg, found.steps, took_ms))
    return [_figures(name, code[name], taken) for name, taken in rows.items() if taken], left_out


def _target(arm: ArmModel, pose_deg: Any, turned: bool) -> IkTarget:
    T = tool_pose(pose_deg, arm)
    return IkTarget(T[:3, 3], T[:3, :3] if turned else None)


def _figures(name: str, code: tuple[str, str], rows: list[tuple[bool, float, float, int, float]]) -> SolverFigures:
    there, off_mm, off_deg, steps, took_ms = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    return SolverFigures(
        name,
        *code,
        float(there.mean() * 100.0),
        float(np.median(off_mm)),
        float(np.median(off_deg)),
        float(np.median(steps)),
        float(np.median(took_ms)),
        float(np.percentile(took_ms, 95)),
    )
