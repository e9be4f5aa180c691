"""`trialcell ik show`: how a solver finds a target, as a picture and for a 3-D viewer. Moves nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from runner.cli.ik_words import start_of, target_of
from runner.cli.options import DEFAULT_CELL, CellOption, JsonOption
from runner.cli.output import Output

if TYPE_CHECKING:
    from runner.kinematics.frames import BaseInCell
    from runner.kinematics.ik.protocol import IkSolver, JointLimits
    from runner.kinematics.ik.trace import Trace
    from runner.kinematics.model import ArmModel

TOLERANCE_MM, TOLERANCE_DEG = 0.01, 0.01


def show(
    x: Annotated[float, typer.Option(help="Right, metres.")],
    y: Annotated[float, typer.Option(help="Up, metres.")],
    z: Annotated[float, typer.Option(help="Forward, metres.")],
    tilt_deg: Annotated[float | None, typer.Option(help="Tool below the level; 90 points straight down.")] = None,
    heading_deg: Annotated[
        float | None, typer.Option(help="Of the tool, from +x toward +z; away from the base by default.")
    ] = None,
    arm: Annotated[
        str | None, typer.Option(metavar="NAME|FILE", help="An arm by itself; the cell's with its tool by default.")
    ] = None,
    start: Annotated[str | None, typer.Option(metavar="J0,J1,…", help="Where to begin; home by default.")] = None,
    solver: Annotated[str, typer.Option(metavar="NAME", help="dls, ccd or fabrik.")] = "dls",
    attempts: Annotated[int, typer.Option(min=1, max=50, help="Starts to try, at most.")] = 8,
    out_file: Annotated[Path, typer.Option("--out", metavar="FILE.png", help="The picture.")] = Path("ik.png"),
    rerun: Annotated[
        Path | None, typer.Option(metavar="FILE.rrd", help="Also a recording for the Rerun viewer.")
    ] = None,
    view: Annotated[bool, typer.Option("--view", help="Open the recording in the viewer.")] = False,
    cell: CellOption = DEFAULT_CELL,
    json: JsonOption = False,
) -> int:
    """Draw an arm at a target in the cell: skeleton, joint axes, error, every step of the search."""
    from rich.text import Text

    from runner.kinematics.ik.protocol import JointLimits
    from runner.kinematics.ik.trace import trace
    from runner.pictures.ik_picture import ik_picture, write_png

    out = Output(as_json=json)
    if out_file.suffix.lower() != ".png":
        raise typer.BadParameter(f"--out: the picture is a .png, got {out_file}")
    if view and rerun is None:
        rerun = out_file.with_suffix(".rrd")
    if rerun is not None and rerun.suffix != ".rrd":
        raise typer.BadParameter(f"--rerun: a recording ends in .rrd, got {rerun}")
    model, base = _arm_and_base(arm, cell)
    target = target_of((x, y, z), tilt_deg, heading_deg, model, base)
    limits = JointLimits.of(model)
    name, stopping = _solver(solver, model, limits)
    begin = start_of(start, model)
    with out.aside.status("searching"):
        found = trace(stopping, target, begin, limits, attempts=attempts)
    picture = ik_picture(found, model, base, solver=name, tolerance_mm=TOLERANCE_MM, tolerance_deg=TOLERANCE_DEG)
    write_png(out_file, picture)
    if rerun is not None:
        _record(rerun, found, model, base, name)
    answer = _answer(found, model, (x, y, z)) | {"picture": str(out_file), "recording": rerun and str(rerun)}
    lines = [Text(_words(found)), Text(str(out_file), no_wrap=True)]
    if rerun is not None:
        lines.append(Text(f"rerun {rerun}", no_wrap=True))
    out.answer(answer, *lines)
    if view and rerun is not None:
        _open(rerun)
    return 0


def _solver(name: str, arm: ArmModel, limits: JointLimits) -> tuple[str, Callable[[int], IkSolver]]:
    """The solver's title, and how to make one that may take so many steps. The closed form takes none."""
    from runner.kinematics.ik.ccd import CyclicCoordinateDescent
    from runner.kinematics.ik.dls import DampedLeastSquares
    from runner.kinematics.ik.fabrik import Fabrik
    from runner.kinematics.ik.solvers import solver_kind

    tolerance_m = TOLERANCE_MM / 1000.0
    stepping: dict[str, Callable[[int], IkSolver]] = {
        "dls": lambda steps: DampedLeastSquares(
            arm, limits=limits, tolerance_m=tolerance_m, tolerance_deg=TOLERANCE_DEG, max_steps=steps
        ),
        "ccd": lambda steps: CyclicCoordinateDescent(
            arm, limits=limits, tolerance_m=tolerance_m, tolerance_deg=TOLERANCE_DEG, max_steps=steps
        ),
        "fabrik": lambda steps: Fabrik(arm, limits=limits, tolerance_m=tolerance_m, max_steps=steps),
    }
    if name not in stepping:
        raise typer.BadParameter(f"--solver is one that takes steps: {', '.join(stepping)}; got {name!r}")
    return solver_kind("dls-once" if name == "dls" else name).title, stepping[name]


def _arm_and_base(arm: str | None, cell: Path) -> tuple[ArmModel, BaseInCell]:
    from runner.kinematics.frames import standing
    from runner.kinematics.model import load_arm

    if arm is not None:
        model = load_arm(arm)
        return model, standing(model)
    from runner.cell import open_cell
    from runner.table.postures import arm_of

    return arm_of(open_cell(cell).config)


def _record(path: Path, found: Trace, arm: ArmModel, base: BaseInCell, solver: str) -> None:
    try:
        from runner.pictures.recording import write_recording
    except ModuleNotFoundError as error:
        from runner.pictures.errors import NoViewer

        raise NoViewer(f"a recording needs {error.name}, which is not installed") from None
    write_recording(path, found, arm, base, solver=solver)


def _open(path: Path) -> None:
    """Start the viewer and leave it alone; one that ends at once says why."""
    import os
    import subprocess
    import sys

    from runner.pictures.errors import ViewerFailed

    if sys.platform == "linux" and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        raise ViewerFailed(path, "there is no screen here")
    command = [sys.executable, "-m", "rerun", str(path)]
    viewer = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        code = viewer.wait(timeout=3.0)
    except subprocess.TimeoutExpired:
        return
    if code != 0:
        raise ViewerFailed(path, f"it ended at once with code {code}")


def _answer(found: Trace, arm: ArmModel, xyz_m: tuple[float, float, float]) -> dict[str, Any]:
    best = found.best.result
    return {
        "arm": arm.name,
        "target_m": list(xyz_m),
        "status": best.status.value,
        "joints_deg": [round(float(angle), 6) for angle in best.angles_deg],
        "residual_mm": best.residual_mm,
        "residual_deg": best.residual_deg,
        "steps": best.steps,
        "attempts": len(found.attempts),
    }


def _words(found: Trace) -> str:
    best = found.best.result
    joints = ", ".join(f"{angle:.2f}" for angle in best.angles_deg)
    left = f"{best.residual_mm:.3g} mm"
    if found.target.rotation is not None:
        left += f" and {best.residual_deg:.3g}°"
    tries = f" in {len(found.attempts)} attempts" if len(found.attempts) > 1 else ""
    return f"{best.status.value} after {best.steps} steps{tries}, {left} left\njoints {joints}°"
