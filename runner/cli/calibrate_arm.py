"""`trialcell calibrate tip | joints | approach | check | all`: the arm under its camera, and a number at the end."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from runner.cli.options import DEFAULT_CELL, CellOption, JsonOption
from runner.cli.output import Output

if TYPE_CHECKING:
    from runner.calibrate.person import Person
    from runner.cell import Cell

Touched = Annotated[
    Path | None,
    typer.Option(
        "--touched", metavar="FILE", help="Known marks that the tool touched, as CSV (j0…j5 deg, x_mm, y_mm, z_mm)."
    ),
]
Poses = Annotated[int | None, typer.Option(min=8, max=200, help="How many poses to look at the tip from.")]
Yes = Annotated[bool, typer.Option("--yes", help="Ask nobody: the table is cleared, the board lies, the arm may move.")]
_TABLES_LINE = "the reach table was reckoned anew and the approach tables made anew for the calibrated tool"


def tip(
    touched: Touched = None,
    poses: Poses = None,
    yes: Yes = False,
    cell: CellOption = DEFAULT_CELL,
    json: JsonOption = False,
) -> int:
    """Where the gripper sits: the tip is watched at several heights and headings, or known marks are touched."""
    return _arm(joints=False, touched=touched, poses=poses, yes=yes, cell=cell, json=json)


def joints(
    touched: Touched = None,
    poses: Poses = None,
    yes: Yes = False,
    cell: CellOption = DEFAULT_CELL,
    json: JsonOption = False,
) -> int:
    """The joints' zeros and where the gripper sits, in one fit that also says what it can't tell."""
    return _arm(joints=True, touched=touched, poses=poses, yes=yes, cell=cell, json=json)


def check(yes: Yes = False, cell: CellOption = DEFAULT_CELL, json: JsonOption = False) -> int:
    """Send the tip to places that no fit has seen, and say how far from them it is seen to arrive."""
    from runner.cell import open_cell
    from runner.cli.calibrate_words import check_lines
    from runner.wizard.steps import check_now
    from runs.lock import CellLock

    out, opened = Output(as_json=json), open_cell(cell)
    with CellLock(opened.folder):
        file = check_now(opened, person_of(opened, yes), out.aside.print)
    out.answer(_kept(file, opened), *check_lines(file))
    return 0


def approach(
    phase: Annotated[Literal["pick", "place"], typer.Option(help="What it is an approach for.")] = "place",
    pose: Annotated[
        str | None, typer.Option(metavar="J0,…,J5", help="The pose whose j0 is swept; else one with level jaws.")
    ] = None,
    pairs: Annotated[int, typer.Option(min=5, max=200, help="How many steps of the sweep.")] = 20,
    use: Annotated[
        bool, typer.Option("--use", help="Let trials use it in place of the grid of approach poses.")
    ] = False,
    yes: Yes = False,
    cell: CellOption = DEFAULT_CELL,
    json: JsonOption = False,
) -> int:
    """Teach an approach as in the field: sweep j0 and note where the camera sees the tool at each step."""
    from runner.cell import open_cell
    from runner.cli.calibrate_words import table_of
    from runner.cli.table_words import joints_of
    from runner.wizard.steps import teach
    from runs.lock import CellLock

    out, opened = Output(as_json=json), open_cell(cell)
    pose_deg = joints_of(pose, "--pose")
    with CellLock(opened.folder):
        taught, path = teach(
            opened,
            person_of(opened, yes),
            out.aside.print,
            "approach_pick" if phase == "pick" else "approach_place",
            pose_deg=pose_deg,
            pairs=pairs,
            use=use,
        )
    table = table_of("j0", "x mm", "z mm", "off mm")
    for pair, off in zip(taught.arc.pairs, taught.off_mm.tolist(), strict=True):
        x, z = pair.detect_xz_m
        table.add_row(f"{pair.j0_cmd:.1f}°", f"{x * 1000:.1f}", f"{z * 1000:.1f}", f"{off:.2f}")
    answer = {
        "file": str(path),
        "used_by_trials": use,
        "arc": taught.arc.model_dump(mode="json"),
        "off_mm": taught.off_mm.tolist(),
        "missed": list(taught.missed),
    }
    used = "trials use it now" if use else "trials go on with the grid; to use it: --use"
    lines = [f"left out: {why}" for why in taught.missed]
    out.answer(answer, table, *lines, f"{len(taught.arc.pairs)} pairs kept in {path}; {used}")
    return 0


def all_steps(yes: Yes = False, cell: CellOption = DEFAULT_CELL, json: JsonOption = False) -> int:
    """Everything in order: lens, plane, joints and gripper, taught approaches, and the check with one number."""
    from rich.text import Text

    from runner.cell import open_cell
    from runner.cli.calibrate_words import arm_lines, check_lines
    from runner.wizard.steps import calibrate_everything
    from runs.lock import CellLock
    from vision.calibration.kept import content_hash

    out, opened = Output(as_json=json), open_cell(cell)
    with CellLock(opened.folder):
        done = calibrate_everything(opened, person_of(opened, yes), out.aside.print)
    answer = {
        "files": {name: content_hash(file) for name, file in (("lens", done.lens), ("plane", done.plane))}
        | {"arm": content_hash(done.arm), "check": content_hash(done.check)},
        "median_mm": done.check.held_out.median_mm,
        "worst_mm": done.check.held_out.worst_mm,
        "lens_mm": done.lens.held_out_mm,
        "plane_mm": done.plane.held_out_mm,
        "arm": done.arm.model_dump(mode="json"),
        "check": done.check.model_dump(mode="json"),
        "taught": {phase: len(each.arc.pairs) for phase, each in done.taught.items()},
        "tables_made_anew": done.retooled,
    }
    *lines, number = [*arm_lines(done.arm), *check_lines(done.check)]
    out.answer(
        answer,
        f"lens     {done.lens.held_out_px:.2f} px, {done.lens.held_out_mm:.2f} mm on pictures left out of the fit",
        f"plane    {done.plane.held_out_px:.2f} px, {done.plane.held_out_mm:.2f} mm on corners left out of the fit",
        *lines,
        *(f"taught   {phase}: {len(each.arc.pairs)} pairs" for phase, each in done.taught.items()),
        *([_TABLES_LINE] if done.retooled else []),
        Text(str(number), style="bold"),
    )
    return 0


def _arm(*, joints: bool, touched: Path | None, poses: int | None, yes: bool, cell: Path, json: bool) -> int:
    from runner.cell import open_cell
    from runner.cli.calibrate_words import arm_lines
    from runner.wizard.steps import measure_arm, touch_arm
    from runs.lock import CellLock

    out, opened = Output(as_json=json), open_cell(cell)
    with CellLock(opened.folder):
        if touched is None:
            done = measure_arm(opened, person_of(opened, yes), out.aside.print, joints=joints, poses=poses)
        else:
            done = touch_arm(opened, touched, out.aside.print, joints=joints)
    answer = {**_kept(done.file, opened), "missed": list(done.missed), "tables_made_anew": done.retooled}
    out.answer(
        answer,
        *arm_lines(done.file),
        *(f"left out: {why}" for why in done.missed),
        *([_TABLES_LINE] if done.retooled else []),
        "next: how far off the tip is now: trialcell calibrate check",
    )
    return 0


def _kept(file: Any, cell: Cell) -> dict[str, Any]:
    from vision.calibration.kept import content_hash

    path = cell.calibration_dir / f"{file.kind}.json"
    return {**file.model_dump(mode="json"), "id": content_hash(file)[:8], "file": str(path)}


def person_of(cell: Cell, yes: bool) -> Person:
    """Who is asked: nobody in the twin, or where somebody said that all is done already."""
    from runner.calibrate.person import AtTheTerminal, Nobody
    from runner.wizard.station import is_twin

    return Nobody() if yes or is_twin(cell) else AtTheTerminal()
