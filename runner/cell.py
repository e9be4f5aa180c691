"""The cell folder: where everything that is known about one arm, one camera and one table is kept.

Makes the folder with working twin defaults on first use. It never falls back to another folder: what can't be read or
written is an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

from runner.arm_calibration import as_calibrated
from runner.config import CELL_FILE, CellUnreadable, Config, load, to_toml
from runs.errors import StorageUnwritable
from runs.files import storage, write_atomic

MAKING_LOCK = "making.lock"
CALIBRATION_FOLDER = "calibration"


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell's folder and its settings, with what was calibrated of its arm laid over them."""

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
        """Lens, plane and arm, with what they were before."""
        return self.folder / CALIBRATION_FOLDER

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
        CalibrationUnreadable: nor what was calibrated of its arm.
    """
    settings = folder / CELL_FILE
    if not _exists(settings):
        with making(folder):
            if not _exists(settings):  # whoever was before us made it
                make_cell(folder, Config())
    return Cell(folder, as_calibrated(load(settings, overrides), folder / CALIBRATION_FOLDER))


@contextmanager
def making(folder: Path) -> Iterator[None]:
    """While inside, nobody else makes anything of this cell: others wait until it is there.

    Raises:
        StorageUnwritable: the folder can't be made or written.
    """
    with storage(folder):
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / MAKING_LOCK)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def _exists(settings: Path) -> bool:
    try:
        return settings.exists()
    except OSError as error:
        raise CellUnreadable(settings, error.strerror or str(error)) from error


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
