"""Every camera that this machine knows, each with a picture of now, on one sheet: to see which one looks at the table.

A camera that gives no picture has its place on the sheet too, with the reason. No setting is changed.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np

from runner.cell import Cell
from runner.pictures.canvas import LINE_GREY, SHELL_GREY, SOFT_INK, Canvas
from runner.station import any_camera
from runner.twin.served import served_twins
from runs.errors import TrialcellError
from vision.cameras.opencv import OpenCvCamera, list_cameras
from vision.cameras.protocol import Camera, Picture
from vision.cameras.quality import assess

_TILE_PX = (480, 270)
_GAP_PX, _CAPTION_PX, _HEAD_PX = 24, 64, 56
_TRIED_BLIND = 4  # indices where the system names no cameras


@dataclass(frozen=True, slots=True, eq=False)
class Shot:
    """One camera: what to put into `camera.source`, its names, its picture (h, w, 3) or why there is none."""

    source: str
    names: tuple[str, ...]
    image_bgr: Picture | None
    told: str
    in_use: bool = False

    def as_row(self) -> dict[str, Any]:
        """For programs."""
        size = None if self.image_bgr is None else [int(self.image_bgr.shape[1]), int(self.image_bgr.shape[0])]
        row = {"source": self.source, "names": list(self.names), "size_px": size, "told": self.told}
        return {**row, "in_use": self.in_use}

    def as_line(self) -> Any:
        """For people."""
        from rich.text import Text

        mark, style = ("✓", "green") if self.image_bgr is not None else ("✗", "red")
        used = "  ← this cell's" if self.in_use else ""
        return Text.assemble((mark, style), f" {self.source}{self.other_names}: {self.told}{used}")

    @property
    def other_names(self) -> str:
        """What it is called besides, in brackets."""
        names = "; ".join(name for name in self.names if name != self.source)
        return f" ({names})" if names else ""


def photographed(cell: Cell) -> list[Shot]:
    """A picture of each: the cell's own first, the system's, the served twins' streams."""
    own = _own(cell)
    shots = [own]
    known: list[tuple[str, tuple[str, ...]]] = [(entry.source, entry.names) for entry in list_cameras()]
    if not known and not sys.platform.startswith("linux"):
        known = [(str(index), (f"camera {index}",)) for index in range(_TRIED_BLIND)]
    known += [(twin.camera, (f"served twin at {twin.tcp or twin.pty}",)) for twin in served_twins(cell.folder)]
    for source, names in known:
        if own.image_bgr is None or source != own.source:
            shots.append(_shot(OpenCvCamera(source), source, names))
    return shots


def _own(cell: Cell) -> Shot:
    """The camera of the settings."""
    wanted = cell.config.camera.source or cell.config.camera.kind
    try:
        with any_camera(cell) as camera:
            return _shot(camera, str(camera.index or wanted), (str(camera.name),), in_use=True)
    except TrialcellError as error:
        return Shot(wanted, ("of the settings",), None, error.message, in_use=True)


def _shot(camera: Camera, source: str, names: tuple[str, ...], *, in_use: bool = False) -> Shot:
    try:
        image = camera.read().image_bgr
    except TrialcellError as error:
        return Shot(source, names, None, error.message, in_use)
    finally:
        camera.close()
    quality = assess(image)
    told = quality.problem or f"sharpness {quality.sharpness:.0f}, mean level {quality.mean_level:.0f}"
    return Shot(source, names, image, f"{image.shape[1]}×{image.shape[0]} px, {told}", in_use)


def drawn(shots: list[Shot]) -> Picture:
    """The sheet, (h, w, 3) blue-green-red: tiles in rows, each with its name under it."""
    across = min(max(len(shots), 1), 3)
    rows = -(-len(shots) // across)
    (wide, high), gap = _TILE_PX, _GAP_PX
    sheet = Canvas(across * (wide + gap) + gap, _HEAD_PX + rows * (high + _CAPTION_PX + gap) + gap)
    sheet.text((gap, 36), "Cameras: put a name or path into camera.source", size=20, weight=600)
    places = []
    for number, shot in enumerate(shots):
        x = gap + number % across * (wide + gap)
        y = _HEAD_PX + number // across * (high + _CAPTION_PX + gap)
        places.append((x, y))
        sheet.area([(x, y), (x + wide, y), (x + wide, y + high), (x, y + high)], SHELL_GREY)
        sheet.text((x, y + high + 22), _short(sheet, _title(shot), wide, 16), size=16, weight=600)
        sheet.text((x, y + high + 44), _short(sheet, shot.told, wide, 14), size=14, colour=SOFT_INK)
        if shot.image_bgr is None:
            sheet.text((x + wide / 2, y + high / 2), "no picture", size=18, colour=SOFT_INK, align="centre")
        corners = [(x, y), (x + wide, y), (x + wide, y + high), (x, y + high), (x, y)]
        sheet.line(np.array(corners, dtype=float), LINE_GREY, 2.0)
    finished = sheet.finished()
    for (x, y), shot in zip(places, shots, strict=True):
        if shot.image_bgr is not None:
            _put(finished, shot.image_bgr, x, y)
    return finished


def _title(shot: Shot) -> str:
    return ("this cell's: " if shot.in_use else "") + shot.source + shot.other_names


def _short(sheet: Canvas, text: str, wide: float, size: float) -> str:
    """As much of a text as fits."""
    if sheet.text_width(text, size=size, weight=600) <= wide:
        return text
    while text and sheet.text_width(text + "…", size=size, weight=600) > wide:
        text = text[:-1]
    return text + "…"


def _put(sheet: Picture, image: Picture, x: int, y: int) -> None:
    """A picture into its tile, whole, its sides kept."""
    wide, high = _TILE_PX
    scale = min(wide / image.shape[1], high / image.shape[0])
    size = (max(1, round(image.shape[1] * scale)), max(1, round(image.shape[0] * scale)))
    small = cv2.resize(image, size, interpolation=cv2.INTER_AREA)
    x, y = x + (wide - size[0]) // 2, y + (high - size[1]) // 2
    sheet[y : y + size[1], x : x + size[0]] = small
