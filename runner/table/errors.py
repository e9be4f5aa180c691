"""What can go wrong between a target on the table and a pose: no table, a bad file, a bad question, no plan."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from runs.errors import Family, TrialcellError

if TYPE_CHECKING:  # the record's models take their time to load, and no error needs them
    from runs.schema.geometry import TablePoint
    from runs.schema.motion import LookupRecord, Skipped


class TableError(TrialcellError):
    """Root of errors about reach tables and approach files."""

    family: ClassVar[Family] = "invalid"


class NoTableYet(TableError):
    """The cell has no reach table."""

    family: ClassVar[Family] = "usage"

    def __init__(self, path: Path) -> None:
        self.path = path
        super().__init__(f"there is no reach table yet: {path}", next_step="make one: trialcell table scan")


class NoSuchFile(TableError):
    """A file of rows that is not there."""

    family: ClassVar[Family] = "usage"

    def __init__(self, path: Path) -> None:
        self.path = path
        super().__init__(f"there is no such file: {path}")


class NoApproachYet(TableError):
    """The cell has no approach table for a phase."""

    family: ClassVar[Family] = "usage"

    def __init__(self, path: Path) -> None:
        self.path = path
        super().__init__(f"there is no approach table yet: {path}", next_step="make one: trialcell table scan")


class BadTableFile(TableError):
    """A file that can't be read as what it should be: cut off, another format, keys missing."""

    def __init__(self, path: Path, why: str) -> None:
        self.path, self.why = path, why
        super().__init__(
            f"{path} can't be used: {why}",
            next_step="put a good copy in its place, or move it away and run: trialcell table scan",
        )


class BadIndexFile(TableError):
    """An index that can't be mapped. It is made anew from the table; nobody needs to see this."""

    def __init__(self, path: Path, why: str) -> None:
        self.path, self.why = path, why
        super().__init__(f"{path} can't be used: {why}", next_step="delete it: it is made anew from the table")


class TableBusy(TableError):
    """Another process is changing the table, and took too long about it."""

    family: ClassVar[Family] = "busy"

    def __init__(self, path: Path, waited_s: float) -> None:
        self.path, self.waited_s = path, waited_s
        super().__init__(
            f"{path} is being changed by another process; waited {waited_s:g} s for it",
            next_step="wait until it has ended, then try again",
        )


class BadRows(TableError):
    """Rows that are no poses of this arm."""

    family: ClassVar[Family] = "usage"

    def __init__(self, where: str, why: str, *, row: int | None = None, next_step: str | None = None) -> None:
        self.where, self.why, self.row = where, why, row
        place = where if row is None else f"{where}, row {row}"
        super().__init__(f"{place}: {why}", next_step=next_step)


class WrongTable(TableError):
    """A table that was made for another arm, tool or place of the base."""

    def __init__(self, path: Path | str, what: str, found: object, wanted: object) -> None:
        self.path, self.what, self.found, self.wanted = path, what, found, wanted
        super().__init__(
            f"{path} was made for another cell: its {what} is {found}, the settings say {wanted}",
            next_step="mend the settings, or make the tables again: trialcell table scan",
        )


class BadQuery(TableError):
    """A lookup that was asked wrongly."""

    family: ClassVar[Family] = "usage"

    def __init__(self, argument: str, why: str) -> None:
        self.argument, self.why = argument, why
        super().__init__(f"{argument}: {why}")


class PlanningError(TrialcellError):
    """A target that can't be served: nothing was sent."""

    family: ClassVar[Family] = "refused"


class NoPlan(PlanningError):
    """No posture for a target passes. `lookups` are the last ones tried, `skipped` says why each was dropped."""

    def __init__(
        self,
        phase: str,
        target_xz_m: TablePoint,
        why: str,
        *,
        next_step: str,
        gap_mm: float | None = None,
        lookups: Sequence[LookupRecord] = (),
        skipped: Sequence[Skipped] = (),
    ) -> None:
        self.phase, self.target_xz_m, self.why, self.gap_mm = phase, target_xz_m, why, gap_mm
        self.lookups, self.skipped = tuple(lookups), tuple(skipped)
        x_mm, z_mm = (1000.0 * c for c in target_xz_m)
        super().__init__(f"no way to {phase} at x {x_mm:.0f}, z {z_mm:.0f} mm: {why}", next_step=next_step)


class NoWay(PlanningError):
    """No clear path from one pose to another."""

    def __init__(self, why: str, *, tried: int) -> None:
        self.why, self.tried = why, tried
        super().__init__(
            f"no clear path to the next pose in {tried} tries: {why}",
            next_step="move box or block away from each other, or from the arm's base",
        )
