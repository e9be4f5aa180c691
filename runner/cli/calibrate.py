"""`trialcell calibrate`: a wizard, step by step or all at once; here the lens and the table's plane."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from runner.cli.calibrate_arm import Yes, all_steps, approach, check, joints, person_of, tip
from runner.cli.calibrate_versions import diff, list_versions, rollback
from runner.cli.options import DEFAULT_CELL, CellOption, JsonOption
from runner.cli.output import Output

if TYPE_CHECKING:
    from vision.cameras.protocol import Picture

_NEXT = "next: the plane has to be measured with this lens: trialcell calibrate plane"

_NEXT_ARM = "next: how the camera is tilted, and slips of joints, are told by the arm's tip: trialcell calibrate joints"

app = typer.Typer(no_args_is_help=True, epilog="Example: trialcell calibrate all")

Pictures = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR", help="Pictures of the board; without it the camera takes them, and the twin shows its own."
    ),
]


@app.callback()
def _calibrate() -> None:
    """Measure camera and arm step by step, or all at once, with a number in millimetres at the end."""


app.command("all", epilog="Example: trialcell calibrate all   or   trialcell calibrate all --json")(all_steps)


@app.command(epilog="Example: trialcell calibrate lens   or   trialcell calibrate lens --pictures board/")
def lens(pictures: Pictures = None, yes: Yes = False, cell: CellOption = DEFAULT_CELL, json: JsonOption = False) -> int:
    """The lens, from at least eight views of the board tilted by 15 to 30°; one that only lies flat can't do it."""
    from runner.calibrate.lens import lens_from
    from runner.cell import open_cell
    from runner.wizard.camera import measure_lens
    from runs.lock import CellLock

    out, opened = Output(as_json=json), open_cell(cell)
    left_out: list[str] = []
    with CellLock(opened.folder):
        if pictures is None:
            file = measure_lens(opened, person_of(opened, yes), out.aside.print)
        else:
            shots = _pictures(pictures)
            file, left_out = lens_from(
                shots, opened.config.calibration, opened.calibration_dir, source=f"{len(shots)} pictures in {pictures}"
            )
    answer = {**file.model_dump(mode="json"), "left_out": left_out, "file": str(opened.calibration_dir / "lens.json")}
    out.answer(answer, *_told("lens", answer), *(f"left out: {why}" for why in left_out), _NEXT)
    return 0


@app.command(epilog="Example: trialcell calibrate plane   or   trialcell calibrate plane --picture flat.jpg")
def plane(
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The board lying flat; without it the camera takes one.")
    ] = None,
    touched: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Points of the table instead of a board, as CSV: u_px, v_px, and x_mm, z_mm or j0…j5 deg of the "
            "tool on them. --picture, if given, is where they were found: its marks are kept.",
        ),
    ] = None,
    yes: Yes = False,
    cell: CellOption = DEFAULT_CELL,
    json: JsonOption = False,
) -> int:
    """The table's plane: from a picture of the board lying flat where calibration.board_xz_m says, or from points."""
    from runner.arm_calibration import has_arm_file
    from runner.calibrate.plane import plane_from, plane_from_touch
    from runner.calibrate.samples import read_points
    from runner.cell import open_cell
    from runner.wizard.camera import measure_plane
    from runs.lock import CellLock
    from vision.calibration.file import load_lens
    from vision.cameras.protocol import read_picture

    out, opened = Output(as_json=json), open_cell(cell)
    with CellLock(opened.folder):
        if touched is not None:
            points = read_points(touched, len(opened.config.arm.home_deg))
            shown = None if picture is None else read_picture(picture)
            source = f"{len(points.px)} points of the table in {touched.name}"
            lens_file, folder = load_lens(opened.calibration_dir), opened.calibration_dir
            file = plane_from_touch(points, lens_file, opened.config, folder, shown, source=source)
        elif picture is None:
            file = measure_plane(opened, person_of(opened, yes), out.aside.print)
        else:
            lens_file = load_lens(opened.calibration_dir)
            file = plane_from(
                read_picture(picture), lens_file, opened.config.calibration, opened.calibration_dir, source=str(picture)
            )
    answer = {**file.model_dump(mode="json"), "file": str(opened.calibration_dir / "plane.json")}
    x, y, z = file.camera_m
    more = [_NEXT_ARM] if has_arm_file(opened.calibration_dir) else []
    out.answer(answer, *_told("plane", answer), f"camera   x {x * 1e3:.0f}, y {y * 1e3:.0f}, z {z * 1e3:.0f} mm", *more)
    return 0


app.command(epilog="Example: trialcell calibrate tip   or   trialcell calibrate tip --touched marks.csv")(tip)
app.command(epilog="Example: trialcell calibrate joints   or   trialcell calibrate joints --touched marks.csv")(joints)
app.command(epilog="Example: trialcell calibrate approach --phase place --pairs 20")(approach)
app.command(epilog="Example: trialcell calibrate check")(check)
app.command("list", epilog="Example: trialcell calibrate list")(list_versions)
app.command(epilog="Example: trialcell calibrate diff 1a2b3c4d 5e6f7a8b")(diff)
app.command(epilog="Example: trialcell calibrate rollback 1a2b3c4d")(rollback)


def _pictures(folder: Path) -> list[tuple[str, Picture]]:
    """All pictures of a folder, through the camera that stands for one."""
    from vision.cameras.folder import FolderCamera
    from vision.errors import CameraUnavailable

    camera = FolderCamera(folder, at_end="stop")
    first = camera.read()
    shots = [(first.source, first.image_bgr)]
    while True:
        try:
            frame = camera.read()
        except CameraUnavailable:
            return shots
        shots.append((frame.source, frame.image_bgr))


def _told(what: str, answer: dict[str, Any]) -> list[str]:
    return [
        f"{what} kept in {answer['file']}",
        f"error    {answer['held_out_px']:.2f} px, {answer['held_out_mm']:.2f} mm on what was left out of the fit",
    ]
