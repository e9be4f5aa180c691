"""`trialcell ik compare`: every solver on the same targets, side by side. Moves nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from runner.cli.options import DEFAULT_CELL, CellOption, JsonOption
from runner.cli.output import Output

if TYPE_CHECKING:
    from runner.kinematics.ik.comparison import SolverFigures


def compare(
    targets: Annotated[int, typer.Option(min=1, max=100_000, help="Random poses inside the limits.")] = 30,
    solver: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only these; repeatable. All that serve the arm by default."),
    ] = None,
    places: Annotated[bool, typer.Option("--places", help="Ask for the tool point only, in any stance.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="Of the targets.")] = 0,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until machine code is there, up to a minute.")] = False,
    cell: CellOption = DEFAULT_CELL,
    json: JsonOption = False,
) -> int:
    """Success, error and time of each solver from home, on the same targets, taking turns.

    A target counts as reached within 0.1 mm and 0.1°, inside the limits, by our own forward kinematics.
    """
    from runner.cell import open_cell
    from runner.kinematics.ik.comparison import compared
    from runner.kinematics.ik.solvers import solver_kind
    from runner.table.postures import arm_of, hard_limits

    out, config = Output(as_json=json), open_cell(cell).config
    arm, _ = arm_of(config)
    limits = hard_limits(arm, config)
    kinds = [solver_kind(name) for name in solver] if solver else None
    with out.aside.status("solving") as status:
        figures, left_out = compared(
            arm, limits, kinds, count=targets, turned=not places, seed=seed, wait=wait, told=status.update
        )
    answer = {
        "arm": arm.name,
        "targets": targets,
        "asked_for": "place" if places else "place and rotation",
        "seed": seed,
        "solvers": [one.as_dict() for one in figures],
        "left_out": left_out,
    }
    head = f"{arm.name}, {targets} targets, {answer['asked_for']}, from home; reached: within 0.1 mm and 0.1°"
    notes = [f"{name}: {why}" for name, why in left_out.items()]
    slow = {one.why for one in figures if one.code == "numpy" and one.why}
    out.answer(answer, head, _table(figures), *notes, *(f"numpy: {why}" for why in sorted(slow)))
    return 0


def _table(figures: list[SolverFigures]) -> Any:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for name in ("solver", "code", "reached", "mm", "deg", "steps", "median ms", "p95 ms"):
        table.add_column(name, justify="left" if name in {"solver", "code"} else "right")
    for one in figures:
        table.add_row(
            one.solver,
            one.code,
            f"{one.reached_percent:.1f} %",
            f"{one.median_mm:.2g}",
            f"{one.median_deg:.2g}",
            f"{one.median_steps:.0f}",
            f"{one.median_ms:.3f}",
            f"{one.p95_ms:.3f}",
        )
    return table
