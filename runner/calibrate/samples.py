"""What the arm's fit is made from: poses at which the fingertips were seen, or at which the tool touched a known mark.

Holds and reads them; fits nothing.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from runner.kinematics.model import FloatArray, frozen
from runs.errors import Family, TrialcellError


class BadTouchFile(TrialcellError):
    """A list of touched marks that can't be used."""

    family: ClassVar[Family] = "usage"

    def __init__(self, path: Path, why: str) -> None:
        self.path, self.why = path, why
        super().__init__(
            f"{path} can't be used: {why}",
            next_step="one line a touched mark: j0…j5 as the arm reads them in degrees, then x_mm, y_mm, z_mm of the "
            "mark in the cell frame; the first line names the columns",
        )


@dataclass(frozen=True, slots=True, eq=False)
class SeenTips:
    """Both fingertips in one still picture a pose. Row i belongs to pose i."""

    goal_deg: FloatArray  # (n, n_joints): where the arm was sent
    encoder_deg: FloatArray  # (n, n_joints): what the encoders said there, nothing taken off
    ends_px: FloatArray  # (n, 2, 2): the finger on the side of the tool's x first

    def __len__(self) -> int:
        """How many poses."""
        return len(self.encoder_deg)

    def at(self, rows: NDArray[np.intp]) -> SeenTips:
        """Some of them."""
        return SeenTips(self.goal_deg[rows], self.encoder_deg[rows], self.ends_px[rows])

    def with_more(self, other: SeenTips) -> SeenTips:
        """These, then the others."""
        pairs = ((getattr(self, name), getattr(other, name)) for name in ("goal_deg", "encoder_deg", "ends_px"))
        return SeenTips(*(np.concatenate(pair) for pair in pairs))


@dataclass(frozen=True, slots=True, eq=False)
class TouchedMarks:
    """The tool point on marks whose place is known. Row i belongs to touch i."""

    encoder_deg: FloatArray  # (n, n_joints)
    point_m: FloatArray  # (n, 3): x, y, z in the cell frame

    def __len__(self) -> int:
        """How many touches."""
        return len(self.encoder_deg)

    def at(self, rows: NDArray[np.intp]) -> TouchedMarks:
        """Some of them."""
        return TouchedMarks(self.encoder_deg[rows], self.point_m[rows])


def read_touched(path: Path, n_joints: int) -> TouchedMarks:
    """Touched marks from a CSV file: joints in degrees as the arm reads them, marks in millimetres.

    Raises:
        BadTouchFile: it can't be read, lacks a column, or holds something that is no number.
    """
    columns = [*(f"j{i}" for i in range(n_joints)), "x_mm", "y_mm", "z_mm"]
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = list(csv.DictReader(file, skipinitialspace=True))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise BadTouchFile(path, str(getattr(error, "strerror", None) or error)) from error
    if not rows:
        raise BadTouchFile(path, "it holds no touched mark")
    missing = [name for name in columns if name not in rows[0]]
    if missing:
        raise BadTouchFile(path, f"there is no column {missing[0]}")
    values = np.empty((len(rows), len(columns)))
    for number, row in enumerate(rows):
        for at, name in enumerate(columns):
            try:
                values[number, at] = float(row[name])
            except (TypeError, ValueError):
                raise BadTouchFile(path, f"line {number + 2}: {name} is {row[name]!r}, no number") from None
    if not np.isfinite(values).all():
        line = int(np.flatnonzero(~np.isfinite(values).all(axis=1))[0]) + 2
        raise BadTouchFile(path, f"line {line} holds a number that is not finite")
    return TouchedMarks(frozen(values[:, :n_joints].copy()), frozen(values[:, n_joints:] / 1000.0))
