"""`trialcell twin sync`: the twin put into the state that the camera sees, and how far its picture is off."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from runner.cli.options import DEFAULT_CELL, CellOption, JsonOption, SetOption
from runner.cli.output import Output
from runner.cli.table_words import joints_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runner.cell import Cell
    from runner.rehearse.sync import Synced

EPILOG = "Example: trialcell twin sync --log latest --out sync.png   or   trialcell twin sync desk.jpg --out sync.png"


def sync(
    images: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[IMAGE]...", help="Pictures of one still scene by the cell's camera."),
    ] = None,
    log: Annotated[str | None, typer.Option(metavar="RUN", help="The pictures of a run's last look instead.")] = None,
    joints: Annotated[str | None, typer.Option(metavar="J0,J1,…", help="How the arm stood; home by default.")] = None,
    picture: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write it as a picture.")] = None,
    set_: SetOption = None,
    cell: CellOption = DEFAULT_CELL,
    json: JsonOption = False,
) -> int:
    """Put the twin into the state that pictures show: block, box, arm and light, each with how well it is known.

    The picture that --out writes has three parts: what was seen, what the twin's camera has of that state, and the
    twin's outlines over the seen picture. Nothing moves.
    """
    from runner.cell import open_cell
    from runner.rehearse.sync import sync as put_into
    from runner.rehearse.sync_picture import overlay
    from runner.rig import detect_settings
    from vision.calibration.file import load_plane, load_view

    out = Output(as_json=json)
    if bool(images) == bool(log):
        raise typer.BadParameter("give pictures, or a run with --log: one of the two")
    opened = open_cell(cell, set_ or [])
    pictures, stood = _of_log(opened, log) if log else _of_files(opened, images or [], joints)
    view = load_view(opened.calibration_dir)
    plane_mm = load_plane(opened.calibration_dir).held_out_mm
    with out.aside.status("putting the twin into this state"):
        found = put_into(pictures, stood, view, opened.config, detect_settings(opened.config), plane_mm=plane_mm)
    if picture is not None:
        _write(picture, overlay(found))
    out.answer(_answer(found, picture), *_told(found, picture))
    return 0


def _of_log(opened: Cell, name: str) -> tuple[list[Any], Any]:
    """Pictures of the last look of a run, and the joints at that time."""
    import numpy as np

    from runner.rehearse.sync import NothingToSync
    from runs.store import RunStore, open_any, picture_path
    from vision.cameras.protocol import read_picture

    run = open_any(name, RunStore(opened.runs_dir))
    look = next((look for look in reversed(run.log.detect) if look.images), None)
    if look is None:
        raise NothingToSync(f"{run.log.run_id} has no look at the table with its pictures")
    paths = [picture_path(image, run.entry.folder) for image in look.images]
    there = [path for path in paths if path is not None]
    if not there:
        raise NothingToSync(f"the pictures of {run.log.run_id} are not there any more")
    stood = look.arm_joints_deg or opened.config.arm.home_deg
    return [read_picture(path) for path in there], np.array(stood, dtype=float)


def _of_files(opened: Cell, images: Sequence[Path], joints: str | None) -> tuple[list[Any], Any]:
    import numpy as np

    from vision.cameras.protocol import read_picture

    stood = joints_of(joints, "--joints") or opened.config.arm.home_deg
    if len(stood) != len(opened.config.arm.home_deg) or not np.isfinite(stood).all():
        raise typer.BadParameter(f"--joints wants {len(opened.config.arm.home_deg)} angles in degrees")
    return [read_picture(path) for path in images], np.array(stood, dtype=float)


def _write(path: Path, picture: Any) -> None:
    import cv2

    from runs.files import write_atomic

    done, png = cv2.imencode(".png", picture)
    assert done, "OpenCV encodes any picture of 8 bits"
    write_atomic(path, png.tobytes())


def _answer(found: Synced, picture: Path | None) -> dict[str, Any]:
    from dataclasses import asdict

    return {
        "block": None if found.block is None else asdict(found.block),
        "box": None if found.box is None else asdict(found.box),
        "arm": {"joints_deg": found.joints_deg, "sd_deg": round(found.joints_sd_deg, 3)},
        "light": asdict(found.lamp),
        "differences": {name: asdict(each) for name, each in found.differences.items()},
        "brightness_off": round(found.brightness_off, 2),
        "picture": None if picture is None else str(picture),
    }


def _told(found: Synced, picture: Path | None) -> list[Any]:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("", "state", "known to", "rendered less seen"):
        table.add_column(name)
    for name, placed in (("block", found.block), ("box", found.box)):
        off = found.differences.get(name)
        if placed is None:
            table.add_row(name, Text("not seen", style="yellow"), "", "")
            continue
        x, z = (1000 * each for each in placed.xz_m)
        state = f"x {x:+.1f}, z {z:+.1f} mm, yaw {placed.yaw_deg:+.1f}°"
        said = "not found again" if off is None else f"{off.px:.2f} px, {off.mm:.2f} mm, {off.deg or 0.0:.1f}°"
        table.add_row(name, state, f"± {placed.sd_mm:.1f} mm, {placed.sd_deg:.1f}°", said)
    joints = "(" + ", ".join(f"{j:.1f}" for j in found.joints_deg) + ")°"
    arm = found.differences.get("arm")
    said = "not in the picture" if arm is None else f"{arm.px:.1f} px, {arm.mm:.1f} mm along its outline"
    table.add_row("arm", joints, f"± {found.joints_sd_deg:.1f}° a joint", said)
    lx, ly, lz = found.lamp.at_m
    lamp = f"lamp at x {lx:+.2f}, y {ly:.2f}, z {lz:+.2f} m"
    table.add_row("light", lamp, f"± {found.lamp.sd_m:.2f} m", f"{found.brightness_off:.0f} of 255 (rms)")
    wrote = [Text(f"picture: {picture}", style="dim", no_wrap=True)] if picture is not None else []
    return [table, *wrote]
