"""What can go wrong when something is to be shown."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from runs.errors import Family, TrialcellError


class PicturesError(TrialcellError):
    """Root of this package's errors."""

    family: ClassVar[Family] = "usage"


class NoViewer(PicturesError):
    """The 3-D viewer's library is not installed."""

    def __init__(
        self, why: str, *, next_step: str = 'pip install "trialcell[view]", or leave --rerun and --view out'
    ) -> None:
        super().__init__(why, next_step=next_step)


class ViewerFailed(PicturesError):
    """The viewer ended at once: most often there is no screen."""

    family: ClassVar[Family] = "device"

    def __init__(self, path: Path, why: str) -> None:
        self.path, self.why = path, why
        super().__init__(
            f"the viewer could not open {path}: {why}",
            next_step=f"copy the file to a machine with a screen, or see it in a browser: rerun --web-viewer {path}",
        )
