"""What was learned, lesson by lesson, square of 20 mm by square: how far the tip landed from the block.

A table is frozen; a lesson more gives a new one. It belongs to the calibration, reach table, tool and twin profile that
it was learned with and is never used with others. It decides nothing: what lessons add up to is a `CorrectionModel`,
made in `rule.py`; reading and writing is done in `file.py`.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Collection, Iterable, Mapping
from typing import Literal

from pydantic import Field

from runs.schema.base import Record
from runs.schema.geometry import TablePoint
from runs.schema.run import CorrectionChange, CorrectionUse

CorrectedPhase = Literal["pick", "place"]
Direction = Literal["ahead", "left", "right"]

SQUARE_MM = 20
"""Side of a square of the table, as in the field's cell keys."""


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
    """What a table was learned with. `tool` says where the tool point is and how the gripper is turned."""

    calibration_hash: str
    table_hash: str
    profile: str | None = None
    tool: str | None = None

    @property
    def key(self) -> str:
        """A short name for it, the same on every machine."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()[:16]

    def unlike(self, other: BelongsTo) -> list[str]:
        """In words, what the other one was learned with that is not so here."""
        words = {"calibration_hash": "calibration", "table_hash": "reach table", "profile": "profile", "tool": "tool"}
        return [word for name, word in words.items() if getattr(self, name) != getattr(other, name)]


class Way(Record):
    """How the tool comes to a point, and what would move it there.

    `direction` is the tool's heading against the line from the arm's base. `per_joint_mm` says for each joint how far
    (x, z) the tool point goes with a degree of it, `per_joint_up_mm` how far up; `per_tool_mm` and `per_tool_up_mm` the
    same for a millimetre by which the gripper sits beside its place, along each axis of the tool; `parallax_mm` how far
    what the camera sees there is displaced by a millimetre of height. Empty or None where it is not known.
    """

    direction: Direction = "ahead"
    per_joint_mm: tuple[tuple[float, float], ...] = ()
    per_joint_up_mm: tuple[float, ...] = ()
    per_tool_mm: tuple[tuple[float, float], ...] = ()
    per_tool_up_mm: tuple[float, ...] = ()
    parallax_mm: tuple[float, float] | None = None


class Lesson(Record):
    """One trial's lesson: tip minus block at the pick or place pose, mm, and what correction was on then.

    `xz_m` is the target as it was seen, before any correction. `applied_mm` is what had been subtracted from it in that
    trial. Tip minus block plus that is how far the tip would have been off without a correction, so lessons from before
    and after a correction can be put together.
    """

    run_id: str
    at: str
    phase: CorrectedPhase
    xz_m: TablePoint
    tip_minus_block_mm: tuple[float, float]
    applied_mm: tuple[float, float] = (0.0, 0.0)
    way: Way = Way()

    @classmethod
    def of(
        cls,
        phase: CorrectedPhase,
        xz_m: TablePoint,
        tip_minus_block_mm: tuple[float, float],
        *,
        run_id: str,
        at: str,
        applied: CorrectionUse | None = None,
        way: Way | None = None,
    ) -> Lesson:
        """The lesson of a trial; `applied` is its correction, None or one not applied where it had none.

        Raises:
            ValueError: a figure is not finite.
        """
        if not all(map(math.isfinite, tip_minus_block_mm)):
            raise ValueError(f"{tip_minus_block_mm} mm is no measurement")
        cell_key(phase, xz_m)
        on = (0.0, 0.0)
        if applied is not None and applied.applied and applied.dx_mm is not None and applied.dz_mm is not None:
            on = (applied.dx_mm, applied.dz_mm)
        return cls(
            run_id=run_id,
            at=at,
            phase=phase,
            xz_m=xz_m,
            tip_minus_block_mm=tip_minus_block_mm,
            applied_mm=on,
            way=way or Way(),
        )

    @property
    def key(self) -> str:
        """The square that it teaches."""
        return cell_key(self.phase, self.xz_m)

    @property
    def uncorrected_mm(self) -> tuple[float, float]:
        """Tip minus block as it would have been with no correction on."""
        return (
            self.tip_minus_block_mm[0] + self.applied_mm[0],
            self.tip_minus_block_mm[1] + self.applied_mm[1],
        )


class CorrectionTable(Record):
    """Lessons by the key of their square, each square's in the order in which they came."""

    belongs_to: BelongsTo
    cells: Mapping[str, tuple[Lesson, ...]] = Field(default_factory=dict)

    @property
    def lessons(self) -> list[Lesson]:
        """All of them by run: the same whatever order they came in."""
        every = [lesson for lessons in self.cells.values() for lesson in lessons]
        return sorted(every, key=lambda lesson: (lesson.run_id, lesson.at, lesson.phase, lesson.xz_m))

    def mean_mm(self, key: str) -> tuple[float, float, int] | None:
        """Mean (dx, dz) in mm and number of lessons of a square, None where it has none."""
        lessons = [lesson.uncorrected_mm for lesson in self.cells.get(key, ())]
        if not lessons:
            return None
        n = len(lessons)
        return (math.fsum(dx for dx, _ in lessons) / n, math.fsum(dz for _, dz in lessons) / n, n)

    def learned(self, *lessons: Lesson) -> CorrectionTable:
        """The table with these lessons more."""
        cells = dict(self.cells)
        for lesson in lessons:
            cells[lesson.key] = (*cells.get(lesson.key, ()), lesson)
        return self.model_copy(update={"cells": cells})

    def without(self, run_ids: Collection[str]) -> CorrectionTable:
        """The table but for the lessons of these runs."""
        if not run_ids:
            return self
        kept = [lesson for lesson in self.lessons if lesson.run_id not in run_ids]
        return CorrectionTable(belongs_to=self.belongs_to).learned(*kept)

    def change(self, lesson: Lesson) -> CorrectionChange:
        """What the lesson would change, as the run log says it: the square's plain mean before and after."""
        after = self.learned(lesson).mean_mm(lesson.key)
        assert after is not None
        before = self.mean_mm(lesson.key)
        return CorrectionChange(cell_key=lesson.key, before=before, after=after, sample_mm=lesson.uncorrected_mm)

    def missing_from(self, lessons: Iterable[Lesson]) -> list[Lesson]:
        """Those that are not in it yet, by run."""
        known = {(lesson.run_id, lesson.at, lesson.phase, lesson.xz_m) for lesson in self.lessons}
        new = [one for one in lessons if (one.run_id, one.at, one.phase, one.xz_m) not in known]
        return sorted(new, key=lambda lesson: (lesson.run_id, lesson.at, lesson.phase, lesson.xz_m))

    @property
    def content_hash(self) -> str:
        """SHA-256 of what the table says, whatever order it was learned in across squares."""
        ordered = self.model_copy(update={"cells": dict(sorted(self.cells.items()))})
        return hashlib.sha256(ordered.model_dump_json().encode()).hexdigest()
