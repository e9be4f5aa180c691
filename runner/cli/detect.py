"""`trialcell detect`: block and box in any picture, with reasons for what was not taken."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from runner.cli.options import DEFAULT_CELL, CellOption, JsonOption
from runner.cli.output import Output

app = typer.Typer()


@app.command(epilog="Example: trialcell detect desk.jpg --overlay seen/   or   trialcell detect *.jpg --colour blue")
def detect(
    images: Annotated[list[Path], typer.Argument(metavar="IMAGE...", help="Pictures, any size.")],
    colour: Annotated[str | None, typer.Option(help="The block's colour; the cell's by default.")] = None,
    learn: Annotated[
        str | None, typer.Option(metavar="U,V", help="Learn the block's colour from this pixel of the first picture.")
    ] = None,
    overlay: Annotated[Path | None, typer.Option(metavar="DIR", help="Write each picture with what was found.")] = None,
    pixels: Annotated[bool, typer.Option("--pixels", help="Use no calibration, even where it would fit.")] = False,
    cell: CellOption = DEFAULT_CELL,
    json: JsonOption = False,
) -> int:
    """Find the block and the box in pictures.

    Where the cell is calibrated and a picture has its camera's size, places are given in millimetres on the table;
    otherwise in pixels only.
    """
    from runner.cell import Cell, open_cell
    from runner.config import CELL_FILE, Config
    from runner.rig import detect_settings, saved_view
    from vision.cameras.protocol import read_picture
    from vision.detect.block import find_block
    from vision.detect.box import find_box
    from vision.detect.colour import learn_colour
    from vision.errors import CalibrationUnreadable

    out = Output(as_json=json)
    opened = open_cell(cell) if (cell / CELL_FILE).exists() else Cell(cell, Config())
    try:
        view = None if pixels else saved_view(opened)
    except CalibrationUnreadable as error:
        out.aside.print(f"pixels only: {error}", markup=False)
        view = None
    settings = detect_settings(opened.config)
    if colour is not None:
        settings = settings.model_copy(update={"colour": colour})
    rows: list[dict[str, Any]] = []
    for number, path in enumerate(images):
        picture = read_picture(path)
        if learn is not None and number == 0:
            settings = settings.model_copy(update={"learned": learn_colour(picture, _pixel(learn))})
        fitting = view if view is not None and view.matches(picture) else None
        blocks, boxes = find_block(picture, fitting, settings), find_box(picture, fitting, settings)
        row: dict[str, Any] = {
            "image": str(path),
            "calibrated": fitting is not None,
            "block": None if blocks.best is None else blocks.best.model_dump(mode="json"),
            "box": None if boxes.best is None else boxes.best.model_dump(mode="json"),
            "more_blocks": [block.model_dump(mode="json") for block in blocks.accepted[1:]],
            "dropped": [dropped.model_dump(mode="json") for dropped in (*blocks.dropped, *boxes.dropped)],
        }
        if overlay is not None:
            row["overlay"] = str(_write_overlay(overlay, path, picture, blocks, boxes))
        rows.append(row)
    out.answer({"pictures": rows}, *[_lines(row) for row in rows])
    return 0 if any(row["block"] or row["box"] for row in rows) else 1


def _pixel(text: str) -> tuple[int, int]:
    try:
        u, v = (int(part) for part in text.split(","))
    except ValueError:
        raise typer.BadParameter(f"--learn wants a pixel, U,V, for example 640,360; got {text!r}") from None
    return (u, v)


def _write_overlay(folder: Path, path: Path, picture: Any, blocks: Any, boxes: Any) -> Path:
    import cv2

    from runs.files import write_atomic
    from vision.overlay import draw_overlay

    drawn = draw_overlay(picture, blocks=blocks.accepted, box=boxes.best, dropped=(*blocks.dropped, *boxes.dropped))
    done, data = cv2.imencode(".jpg", drawn, [cv2.IMWRITE_JPEG_QUALITY, 92])
    assert done
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"{path.stem}_seen.jpg"
    write_atomic(target, data.tobytes())
    return target


def _lines(row: dict[str, Any]) -> Any:
    from rich.text import Text

    text = Text.assemble((row["image"], "bold"), "" if row["calibrated"] else ("  pixels only", "dim"))
    for name in ("block", "box"):
        found = row[name]
        text.append(f"\n  {name:6}")
        if found is None:
            reasons = [d["reason"] for d in row["dropped"] if d["what"] == name]
            text.append("not found", style="yellow")
            text.append(f": {reasons[0]}" if reasons else "", style="dim")
            continue
        u, v = found["centre_px"]
        text.append(f"({u:.1f}, {v:.1f}) px")
        if found["xz_m"] is not None:
            x, z = found["xz_m"]
            text.append(f"   x {x * 1000:.1f}, z {z * 1000:.1f} mm, yaw {found['yaw_deg']:.1f}°")
        text.append(f"   score {found['score']:.2f}")
    if row["more_blocks"]:
        text.append(f"\n  {len(row['more_blocks'])} more blocks", style="dim")
    if "overlay" in row:
        text.append(f"\n  drawn  {row['overlay']}", style="dim")
    return text
