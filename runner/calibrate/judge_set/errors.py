"""What can go wrong while a labelled set is made."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from runs.errors import Family, TrialcellError


class SetError(TrialcellError):
    """No labelled set could be made."""

    family: ClassVar[Family] = "usage"


class SetExists(SetError):
    """There is a set, or something else, in the folder already."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        super().__init__(f"{folder} is not empty", next_step="name a new folder; sets are never written over")


class BadScenes(SetError):
    """A number of scenes that no set can have."""

    def __init__(self, scenes: int, least: int) -> None:
        self.scenes, self.least = scenes, least
        super().__init__(
            f"a set of {scenes} scenes can't have every kind and half failures",
            next_step=f"ask for an even number, {least} or more",
        )


class SceneNotPossible(SetError):
    """A kind of scene that this cell's settings never give."""

    family: ClassVar[Family] = "failed"

    def __init__(self, kind: str, tries: int) -> None:
        self.kind, self.tries = kind, tries
        super().__init__(
            f"no scene of the kind {kind!r} came about in {tries} tries",
            next_step="see whether box and block of the cell's settings lie within the arm's reach",
        )


class WorkerLost(SetError):
    """A process that rendered was ended from outside: by the system, or by a person."""

    family: ClassVar[Family] = "failed"

    def __init__(self, folder: Path, workers: int) -> None:
        self.folder, self.workers = folder, workers
        super().__init__(
            f"one of {workers} rendering processes was ended from outside, often for want of memory; no set was made",
            next_step=f"delete {folder} and make it again with fewer --workers: the same seed gives the same scenes",
        )


class BadLabels(SetError):
    """A list of labels of which nothing can be used."""

    family: ClassVar[Family] = "invalid"

    def __init__(self, file: Path, why: str, rows: Sequence[str] = ()) -> None:
        self.file, self.rows = file, tuple(rows)
        shown = "".join(f"; {row}" for row in self.rows[:5])
        super().__init__(
            f"{file}: {why}{shown}",
            next_step="one row a picture, with the columns picture, stage and label (yes or no)",
        )
