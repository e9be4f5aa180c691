"""A person at the terminal: pictures drawn in coloured half blocks and kept as one sheet in a file, questions by line.

Everything goes to stderr, so that a program that reads stdout is not disturbed. Without a terminal nobody is asked.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

import cv2
import numpy as np

from judges.errors import NobodyThere
from judges.protocol import Evidence
from vision.cameras.protocol import Picture

SHEET_HEIGHT_PX = 720
GAP_PX = 8
LEAST_COLUMNS, MOST_COLUMNS = 40, 200


class TerminalAsker:
    """Asks on stderr and reads stdin. `sheets_dir` is where sheets of pictures go, a temporary folder by default."""

    def __init__(self, sheets_dir: Path | None = None) -> None:
        self._sheets_dir = sheets_dir

    def show(self, evidence: Evidence) -> None:
        """The pictures side by side, drawn as far as a terminal can, and where the sheet with all of them is."""
        sheet = sheet_of(evidence)
        path = self._kept(sheet, evidence)
        if sys.stderr.isatty() and os.environ.get("NO_COLOR") is None:
            columns = min(MOST_COLUMNS, max(LEAST_COLUMNS, shutil.get_terminal_size().columns - 1))
            self.tell(half_blocks(sheet, columns))
        roles = ", ".join(picture.role for picture in evidence.pictures)
        self.tell(f"{evidence.stage}, from left to right: {roles}\nlarge: {path}")

    def tell(self, text: str) -> None:
        """Say something."""
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()

    def ask(self, question: str) -> str:
        """One line of the person's.

        Raises:
            NobodyThere: stdin is no terminal, or it has ended.
        """
        if not sys.stdin.isatty():
            raise NobodyThere("there is no terminal to ask at")
        sys.stderr.write(question)
        sys.stderr.flush()
        line = sys.stdin.readline()
        if not line:
            raise NobodyThere("the terminal was closed")
        return line.rstrip("\n")

    def _kept(self, sheet: Picture, evidence: Evidence) -> Path:
        if self._sheets_dir is None:
            self._sheets_dir = Path(tempfile.mkdtemp(prefix="trialcell_"))
        name = "_".join((evidence.stage, *(picture.sha256[:8] for picture in evidence.pictures)))
        path = self._sheets_dir / f"{name}.png"
        done, data = cv2.imencode(".png", sheet)
        assert done, "OpenCV encodes any picture of 8 bits"
        path.write_bytes(data.tobytes())
        return path


def sheet_of(evidence: Evidence) -> Picture:
    """The evidence's pictures side by side, equally high, (h, w, 3) blue-green-red; the first ones left."""
    parts: list[Picture] = []
    for picture in evidence.pictures:
        height, width = picture.image_bgr.shape[:2]
        size = (max(1, round(width * SHEET_HEIGHT_PX / height)), SHEET_HEIGHT_PX)
        part = np.asarray(cv2.resize(picture.image_bgr, size, interpolation=cv2.INTER_AREA), dtype=np.uint8)
        gap = np.full((SHEET_HEIGHT_PX, GAP_PX, 3), 255, dtype=np.uint8)
        parts += [gap, part] if parts else [part]
    return np.hstack(parts) if parts else np.zeros((SHEET_HEIGHT_PX, 1, 3), dtype=np.uint8)


def half_blocks(image_bgr: Picture, columns: int) -> str:
    """A picture in text: two pixels a character, the upper as its colour, the lower as its background."""
    height, width = image_bgr.shape[:2]
    rows = max(1, round(columns * height / width / 2))
    small = np.asarray(cv2.resize(image_bgr, (columns, rows * 2), interpolation=cv2.INTER_AREA), dtype=np.uint8)
    lines = []
    for upper, lower in zip(small[0::2], small[1::2], strict=True):
        cells = [
            f"\x1b[38;2;{a[2]};{a[1]};{a[0]}m\x1b[48;2;{b[2]};{b[1]};{b[0]}m▀"
            for a, b in zip(upper, lower, strict=True)
        ]
        lines.append("".join(cells) + "\x1b[0m")
    return "\n".join(lines)
