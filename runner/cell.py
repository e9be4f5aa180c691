"""The cell folder: where everything that is known about one arm, one camera and one table is kept.

Makes the folder with working twin defaults on first use. It never falls back to another folder: what can't be read or
written is an error.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from runner.config import CELL_FILE, CellUnreadable, Config, load, to_toml
from runs.errors import StorageUnwritable
from runs.files import write_atomic


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell's folder and its settings."""

    folder: Path
    config: Config

    @property
    def table_file(self) -> Path:
        """The reach table: one file, one name, for ever."""
        return self.folder / "reach.parquet"

    @property
    def approach_dir(self) -> Path:
        """Approach files, one a phase."""
        return self.folder / "approach"

    @property
    def calibration_dir(self) -> Path:
        """Lens and plane."""
        return self.folder / "calibration"

    @property
    def corrections_file(self) -> Path:
        """What the cell has learned, square by square."""
        return self.folder / "corrections.json"

    @property
    def runs_dir(self) -> Path:
        """One folder a run."""
        return self.folder / "runs"

    @property
    def archive_dir(self) -> Path:
        """What was replaced, under date and content hash."""
        return self.folder / "archive"


def open_cell(folder: Path, overrides: Iterable[str] = ()) -> Cell:
    """The cell in that folder, made with working twin defaults where there is none yet.

    Raises:
        StorageUnwritable: the folder can't be made.
        CellUnreadable, UnknownSetting, BadSetting: its settings can't be used.
    """
    settings = folder / CELL_FILE
    try:
        exists = settings.exists()
    except OSError as error:
        raise CellUnreadable(settings, error.strerror or str(error)) from error
    if not exists:
        make_cell(folder, Config())
    return Cell(folder, load(settings, overrides))


def make_cell(folder: Path, config: Config) -> Cell:
    """A new cell with these settings.

    Raises:
        StorageUnwritable: the folder can't be made or written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("approach", "calibration", "runs", "archive"):
            (folder / name).mkdir(exist_ok=True)
    except OSError as error:
        raise StorageUnwritable(folder, error.strerror or str(error)) from error
    write_atomic(folder / CELL_FILE, to_toml(config).encode())
    return Cell(folder, config)
