"""`trialcell doctor`: is everything there that a trial needs?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from runner.cli.options import DEFAULT_CELL, CellOption, JsonOption, SetOption
from runner.cli.output import Output

if TYPE_CHECKING:
    from runner.cell import Cell
    from runner.cli.checks.light import Check

app = typer.Typer()


@app.command(
    epilog="Example: trialcell doctor   or   trialcell doctor --cameras   or   trialcell doctor --jaws --judge"
)
def doctor(
    quick: Annotated[bool, typer.Option("--quick", help="Only the files: leave camera, arm and judge alone.")] = False,
    jaws: Annotated[
        bool, typer.Option("--jaws", help="Also let the gripper show that it moves; keep your fingers out.")
    ] = False,
    judge: Annotated[
        bool, typer.Option("--judge", help="Also ask the judge's server two small questions; may cost a little.")
    ] = False,
    cameras: Annotated[
        bool, typer.Option("--cameras", help="A picture of every camera on one sheet, to see which is which; no more.")
    ] = False,
    sheet: Annotated[Path, typer.Option(help="Where that sheet goes.")] = Path("cameras.png"),
    set_: SetOption = None,
    cell: CellOption = DEFAULT_CELL,
    json: JsonOption = False,
) -> int:
    """Look at everything a trial needs; green, yellow or red for each, and what to do next.

    Yellow works and should be seen to; red keeps a trial from beginning. The arm is not moved.
    """
    from runner.cell import Cell, open_cell
    from runner.cli.checks.light import carried_out
    from runner.config import CELL_FILE, Config, with_overrides

    out = Output(as_json=json)
    made = (cell / CELL_FILE).exists()
    opened = open_cell(cell, set_ or ()) if made else Cell(cell, with_overrides(Config(), set_ or ()))
    if cameras:
        return _contact_sheet(out, opened, sheet)
    findings = []
    for name, check in _checks(opened, made=made, quick=quick, jaws=jaws, judge=judge):
        if not json and out.aside.is_terminal:
            with out.aside.status(f"{name} …"):
                found = carried_out(name, check)
        else:
            found = carried_out(name, check)
        findings += found
    worst = max(finding.exit_code for finding in findings)
    lights = [finding.light for finding in findings]
    counted = ", ".join(f"{lights.count(light)} {light}" for light in ("green", "yellow", "red"))
    out.answer(
        {"well": worst == 0, "checks": [finding.as_row() for finding in findings]},
        *(finding.as_line() for finding in findings),
        counted,
    )
    return worst


def _checks(opened: Cell, *, made: bool, quick: bool, jaws: bool, judge: bool) -> list[tuple[str, Check]]:
    """What is looked at, in order. A cell that is not made yet is not made by looking at it."""
    from runner.cli.checks import of_arm, of_camera, of_cell, of_judge

    checks: list[tuple[str, Check]] = [
        ("libraries", of_cell.machine),
        ("cell", lambda: of_cell.settings(opened, made=made)),
        ("stop", lambda: of_cell.latched(opened.folder)),
    ]
    if made:
        checks += [
            ("last run", lambda: of_cell.last_run(opened)),
            ("storage", lambda: of_cell.storage(opened)),
            ("reach table", lambda: of_cell.tables(opened)),
            ("calibration", lambda: of_cell.calibration(opened)),
        ]
    if not quick:
        checks += [
            ("camera", lambda: of_camera.camera(opened)),
            ("arm", lambda: of_arm.arm(opened, jaws=jaws)),
        ]
    if judge or not quick:
        checks.append(("judge", lambda: of_judge.judge(opened, ask=judge)))
    return checks


def _contact_sheet(out: Output, opened: Cell, path: Path) -> int:
    from rich.text import Text

    from runner.cli.checks.contact_sheet import drawn, photographed
    from runner.pictures.ik_picture import write_png

    shots = photographed(opened)
    write_png(path, drawn(shots))
    rows: list[dict[str, Any]] = [shot.as_row() for shot in shots]
    lines: list[Any] = [shot.as_line() for shot in shots]
    told = Text(f"sheet  {path}", no_wrap=True)
    out.answer({"sheet": str(path), "cameras": rows}, *lines, told)
    return 0 if any(shot.image_bgr is not None for shot in shots) else 4
