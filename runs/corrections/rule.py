"""From lessons to a model, by the rule of the settings: the field's plain mean, or the robust one.

The same lessons give the same model, whatever order they came in. Nothing here applies or stores it.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from runs.corrections.model import CorrectionModel, SquareValue
from runs.corrections.squares import fit_squares
from runs.corrections.table import CorrectionTable
from runs.corrections.wide import alike, fit_wide
from runs.schema.base import Record


class RuleSettings(Record):
    """How lessons are put together. `enough` is the field rule's; the caps bound what is ever subtracted, mm."""

    rule: Literal["field", "robust"] = "robust"
    enough: int = Field(3, ge=1)
    cap_mm: float = Field(40.0, gt=0)
    cap_square_mm: float = Field(8.0, gt=0)
    memory: int = Field(500, ge=10)


def model_of(table: CorrectionTable, settings: RuleSettings) -> CorrectionModel:
    """What the lessons of a table add up to; one that corrects nothing where there are none."""
    if settings.rule == "field":
        return _field(table, settings)
    lessons = alike(table.lessons[-settings.memory :])
    if not lessons:
        return CorrectionModel(rule="robust", cap_mm=settings.cap_mm)
    wide = fit_wide(lessons)
    squares = fit_squares(lessons, wide.residual_mm, wide.weight, wide.noise_mm, settings.cap_square_mm)
    return CorrectionModel(
        rule="robust",
        parameters=wide.parameters,
        covariance=tuple(tuple(row) for row in wide.covariance.tolist()),
        left_alone=wide.left_alone,
        about_xz_mm=wide.about_xz_mm,
        squares=squares,
        cap_mm=settings.cap_mm,
        noise_mm=wide.noise_mm,
        lessons=len(lessons),
        outliers=int((wide.weight == 0).sum()),
    )


def _field(table: CorrectionTable, settings: RuleSettings) -> CorrectionModel:
    """The field's rule: each square by itself, the plain mean of all its lessons, from `enough` of them on."""
    squares = {}
    for key in table.cells:
        mean = table.mean_mm(key)
        assert mean is not None
        squares[key] = SquareValue(dx_mm=mean[0], dz_mm=mean[1], n=mean[2])
    n = sum(len(lessons) for lessons in table.cells.values())
    return CorrectionModel(rule="field", squares=squares, enough=settings.enough, lessons=n)
