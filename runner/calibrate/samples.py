"""What calibrating is made from: poses with the fingertips in sight, marks that the tool touched, points in a picture.

Holds and reads them; fits nothing.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
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

    def __init__(self, path: Path, why: str, wanted: str) -> None:
        self.path, self.why = path, why
        super().__init__(f"{path} can't be used: {why}", next_step=f"{wanted}; the first line names the columns")


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


@dataclass(frozen=True, slots=True, eq=False)
class PointsInPicture:
    """Points of the table and the pixels that show them. Row i belongs to point i.

    Either the places were measured, or the tool point touched them and the encoders are known; the other is None.
    """

    px: FloatArray  # (n, 2)
    xz_m: FloatArray | None  # (n, 2), cell frame
    encoder_deg: FloatArray | None  # (n, n_joints)


_MARKS = (
    "one line a touched mark: j0…j5 as the arm reads them in degrees, then x_mm, y_mm, z_mm of the mark "
    "in the cell frame"
)
_POINTS = (
    "one line a point of the table: u_px, v_px where the picture shows it, and x_mm, z_mm where it is in the cell "
    "frame, or j0…j5 as the arm reads them with the tool point on it"
)


def read_touched(path: Path, n_joints: int) -> TouchedMarks:
    """Touched marks from a CSV file: joints in degrees as the arm reads them, marks in millimetres.

    Raises:
        BadTouchFile: it can't be read, lacks a column, or holds something that is no number.
    """
    rows = _rows(path, _MARKS)
    values = _numbers(path, rows, [*_joints(n_joints), "x_mm", "y_mm", "z_mm"], _MARKS)
    return TouchedMarks(frozen(values[:, :n_joints].copy()), frozen(values[:, n_joints:] / 1000.0))


def read_points(path: Path, n_joints: int) -> PointsInPicture:
    """Points of the table from a CSV file: pixels, and places in mm or joints in degrees as the arm reads them.

    Raises:
        BadTouchFile: see `read_touched`.
    """
    rows = _rows(path, _POINTS)
    by_touch = "j0" in rows[0]
    where = _joints(n_joints) if by_touch else ["x_mm", "z_mm"]
    values = _numbers(path, rows, ["u_px", "v_px", *where], _POINTS)
    px, rest = frozen(values[:, :2].copy()), values[:, 2:]
    return PointsInPicture(px, None, frozen(rest)) if by_touch else PointsInPicture(px, frozen(rest / 1000.0), None)


def _joints(n_joints: int) -> list[str]:
    return [f"j{i}" for i in range(n_joints)]


def _rows(path: Path, wanted: str) -> list[dict[str, str]]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = list(csv.DictReader(file, skipinitialspace=True))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise BadTouchFile(path, str(getattr(error, "strerror", None) or error), wanted) from error
    if not rows:
        raise BadTouchFile(path, "it holds no line of figures", wanted)
    return rows


def _numbers(path: Path, rows: Sequence[Mapping[str, str]], columns: Sequence[str], wanted: str) -> FloatArray:
    """These columns, (n, columns)."""
    missing = [name for name in columns if name not in rows[0]]
    if missing:
        raise BadTouchFile(path, f"there is no column {missing[0]}", wanted)
    values = np.empty((len(rows), len(columns)))
    for number, row in enumerate(rows):
        for at, name in enumerate(columns):
            try:
                values[number, at] = float(row[name])
            except (TypeError, ValueError):
                raise BadTouchFile(path, f"line {number + 2}: {name} is {row[name]!r}, no number", wanted) from None
    if not np.isfinite(values).all():
        line = int(np.flatnonzero(~np.isfinite(values).all(axis=1))[0]) + 2
        raise BadTouchFile(path, f"line {line} holds a number that is not finite", wanted)
    return values
