"""The correction table: how far the tip lands from the block, square by square of 20 mm.

A table is frozen; learning gives a new one. It belongs to the calibration, reach table and twin profile that it was
learned with and is never used with others. The rule is the field's: the plain mean of at least three samples is
subtracted from the detected target, once. Reading and writing the file is done in `corrections/file.py`.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from runs.schema.base import Record
from runs.schema.geometry import TablePoint
from runs.schema.run import CorrectionChange, CorrectionUse

CorrectedPhase = Literal["pick", "place"]

SQUARE_MM = 20
"""Side of a square of the table, as in the field's cell keys."""

ENOUGH_SAMPLES = 3
"""From this many samples on a square's mean is applied (the field's rule)."""


def _nearest_multiple_mm(value_m: float) -> int:
    squares = round(value_m * 1000, 6) / SQUARE_MM  # a millionth of a mm is noise of the metres
    return int(math.copysign(math.floor(abs(squares) + 0.5), squares)) * SQUARE_MM


def cell_key(phase: CorrectedPhase, xz_m: TablePoint) -> str:
    """The square of a table point: `pick_x220_z260`. Halves go away from zero.

    Raises:
        ValueError: a coordinate is not finite.
    """
    if not all(map(math.isfinite, xz_m)):
        raise ValueError(f"{xz_m} is no point on the table")
    x_mm, z_mm = (_nearest_multiple_mm(value) for value in xz_m)
    return f"{phase}_x{x_mm}_z{z_mm}"


class BelongsTo(Record):
    """What a table was learned with."""

    calibration_hash: str
    table_hash: str
    profile: str | None = None

    @property
    def key(self) -> str:
        """A short name for it, the same on every machine."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()[:16]


class Sample(Record):
    """One lesson: tip minus block at the pick or place pose, mm, and what correction was on then.

    `applied_mm` is what had been subtracted from the target in that trial. Tip minus block plus that is how far the tip
    would have been off without a correction, so samples from before and after a correction can be averaged.
    """

    run_id: str
    at: str
    tip_minus_block_mm: tuple[float, float]
    applied_mm: tuple[float, float] = (0.0, 0.0)

    @property
    def uncorrected_mm(self) -> tuple[float, float]:
        """Tip minus block as it would have been with no correction on."""
        return (
            self.tip_minus_block_mm[0] + self.applied_mm[0],
            self.tip_minus_block_mm[1] + self.applied_mm[1],
        )


class CorrectionTable(Record):
    """Samples by cell key. Empty is a good table: it corrects nothing."""

    belongs_to: BelongsTo
    cells: Mapping[str, tuple[Sample, ...]] = Field(default_factory=dict)

    def mean_mm(self, key: str) -> tuple[float, float, int] | None:
        """Mean (dx, dz) in mm and number of samples of a square, None where it has none."""
        samples = [sample.uncorrected_mm for sample in self.cells.get(key, ())]
        if not samples:
            return None
        n = len(samples)
        return (math.fsum(dx for dx, _ in samples) / n, math.fsum(dz for _, dz in samples) / n, n)

    def apply(self, phase: CorrectedPhase, detected_xz_m: TablePoint) -> tuple[TablePoint, CorrectionUse]:
        """Correct a detected target: `detected - mean` where its square has enough samples, else unchanged.

        Returns the target to aim at, metres, and the record of what was done, millimetres.
        """
        key = cell_key(phase, detected_xz_m)
        mean = self.mean_mm(key)
        x_mm, z_mm = detected_xz_m[0] * 1000, detected_xz_m[1] * 1000
        dx_mm, dz_mm, n = mean if mean is not None else (None, None, 0)
        if dx_mm is None or dz_mm is None or n < ENOUGH_SAMPLES:
            use = CorrectionUse(
                phase=phase,
                target_before_mm=(x_mm, z_mm),
                target_after_mm=(x_mm, z_mm),
                cell_key=key,
                dx_mm=dx_mm,
                dz_mm=dz_mm,
                n=n,
                applied=False,
            )
            return detected_xz_m, use
        after_mm = (x_mm - dx_mm, z_mm - dz_mm)
        use = CorrectionUse(
            phase=phase,
            target_before_mm=(x_mm, z_mm),
            target_after_mm=after_mm,
            cell_key=key,
            dx_mm=dx_mm,
            dz_mm=dz_mm,
            n=n,
            applied=True,
        )
        return (after_mm[0] / 1000, after_mm[1] / 1000), use

    def learn(
        self,
        phase: CorrectedPhase,
        detected_xz_m: TablePoint,
        tip_minus_block_mm: tuple[float, float],
        *,
        run_id: str,
        at: str,
        applied: CorrectionUse | None = None,
    ) -> tuple[CorrectionTable, CorrectionChange]:
        """The table with one more sample at the square of `detected_xz_m`, and the change.

        Args:
            detected_xz_m: the target as it was seen, before any correction.
            applied: the correction of that trial, None or one not applied where the target was not corrected.

        Raises:
            ValueError: a figure is not finite.
        """
        if not all(map(math.isfinite, tip_minus_block_mm)):
            raise ValueError(f"{tip_minus_block_mm} mm is no measurement")
        on = (0.0, 0.0)
        if applied is not None and applied.applied and applied.dx_mm is not None and applied.dz_mm is not None:
            on = (applied.dx_mm, applied.dz_mm)
        key = cell_key(phase, detected_xz_m)
        sample = Sample(run_id=run_id, at=at, tip_minus_block_mm=tip_minus_block_mm, applied_mm=on)
        cells = {**self.cells, key: (*self.cells.get(key, ()), sample)}
        table = self.model_copy(update={"cells": cells})
        after = table.mean_mm(key)
        assert after is not None
        change = CorrectionChange(cell_key=key, before=self.mean_mm(key), after=after, sample_mm=sample.uncorrected_mm)
        return table, change

    @property
    def content_hash(self) -> str:
        """SHA-256 of what the table says, whatever order it was learned in across squares."""
        ordered = self.model_copy(update={"cells": dict(sorted(self.cells.items()))})
        return hashlib.sha256(ordered.model_dump_json().encode()).hexdigest()
