"""`trialcell ik solve`: the joint angles for one tool point in the cell. Moves nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from runner.cli.ik_words import start_of, target_of
from runner.cli.options import DEFAULT_CELL, CellOption, JsonOption
from runner.cli.output import Output

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runner.kinematics.ik.protocol import IkResult, IkSolver, IkTarget
    from runner.kinematics.model import ArmModel


def solve(
    x: Annotated[float, typer.Option(help="Right, metres.")],
    y: Annotated[float, typer.Option(help="Up, metres.")],
    z: Annotated[float, typer.Option(help="Forward, metres.")],
    tilt_deg: Annotated[
        float | None, typer.Option(help="Of the tool below the level; 90 points straight down. Any, if not given.")
    ] = None,
    heading_deg: Annotated[
        float | None, typer.Option(help="Of the tool, from +x toward +z; away from the base if not given.")
    ] = None,
    solver: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="closed, dls, dls-once, ccd or fabrik; the best fit if not given."),
    ] = None,
    start: Annotated[
        str | None, typer.Option(metavar="J0,J1,…", help="Nearest to these angles; home if not given.")
    ] = None,
    all_branches: Annotated[bool, typer.Option("--all", help="Every branch that the closed form finds.")] = False,
    cell: CellOption = DEFAULT_CELL,
    json: JsonOption = False,
) -> int:
    """Joint angles that bring the tool point to a place in the cell, inside the joint limits.

    Says so where it can't be reached, and gives the nearest pose; the exit code is 3 then.
    """
    from runner.cell import open_cell
    from runner.cli.failures import EXIT_CODE_OF_FAMILY
    from runner.kinematics.errors import BadTarget
    from runner.kinematics.ik.closed import ClosedForm
    from runner.kinematics.ik.solvers import solver_kind
    from runner.table.postures import arm_of, hard_limits

    out, config = Output(as_json=json), open_cell(cell).config
    arm, base = arm_of(config)
    limits = hard_limits(arm, config)
    target = target_of((x, y, z), tilt_deg, heading_deg, arm, base)
    begin = start_of(start, arm)
    limits.refuse_outside(begin, arm)
    kind = solver_kind(solver) if solver is not None else _fitting(target, arm)
    chosen: IkSolver = kind.make(arm, limits)
    found: Sequence[IkResult] = (chosen.solve(target, begin),)
    if all_branches:
        if not isinstance(chosen, ClosedForm):
            raise BadTarget(f"{kind.name} knows no branches", next_step="give --tilt-deg, and leave --solver out")
        found = chosen.solve_all(target, begin) or found
    best = found[0]
    answer = {
        "arm": arm.name,
        "target_m": [x, y, z],
        "solver": kind.name,
        "code": kind.code(),
        **_facts(best),
        "branches": [_facts(one) for one in found] if all_branches else None,
    }
    out.answer(answer, *_lines(found, f"{kind.name}, {kind.code()}"))
    return 0 if best.converged else EXIT_CODE_OF_FAMILY["refused"]


def _fitting(target: IkTarget, arm: ArmModel) -> Any:
    """The closed form where the target and the arm allow it, else least squares."""
    from runner.kinematics.errors import NoClosedForm
    from runner.kinematics.ik.solvers import solver_kind
    from runner.kinematics.ik.wrist import wrist_of

    if target.rotation is None:
        return solver_kind("dls")
    try:
        wrist_of(arm)
    except NoClosedForm:
        return solver_kind("dls")
    return solver_kind("closed")


def _facts(found: IkResult) -> dict[str, Any]:
    return {
        "status": found.status.value,
        "joints_deg": [round(float(angle), 6) for angle in found.angles_deg],
        "residual_mm": found.residual_mm,
        "residual_deg": found.residual_deg,
        "steps": found.steps,
    }


def _lines(found: Sequence[IkResult], by: str) -> list[str]:
    best = found[0]
    if not best.converged:
        left = f"{best.residual_mm:.1f} mm" + (f" and {best.residual_deg:.1f}°" if best.residual_deg else "")
        lines = [f"not reached ({best.status.value}): the nearest pose found misses by {left}  ({by})"]
    elif len(found) > 1:
        lines = [f"reached in {len(found)} ways, the nearest to the start first  ({by})"]
    else:
        lines = [f"reached to {best.residual_mm:.2g} mm in {best.steps} step{'s'[: best.steps != 1]}  ({by})"]
    return lines + ["  " + "".join(f"{angle:10.3f}" for angle in one.angles_deg) for one in found]
