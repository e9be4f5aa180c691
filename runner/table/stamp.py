"""What stands for a file without reading it, and the note that says which table, limits and settings an index is for.

The note (`reach.index.json`) lies beside the table and its index. A file whose stamp is the noted one is taken for the
noted content; with any other stamp its bytes are hashed before it is. The note can be lost at any time: it is made
again. It decides nothing about rows.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from runs.files import sha256_hex, write_atomic

CALIBRATED_ARM_FILE = "calibration/arm.json"
_FORMAT = 1
_SETTINGS_SOURCES = ("config.py", "arm_calibration.py", "kinematics/ik/protocol.py", "table/postures.py")


@dataclass(frozen=True, slots=True)
class FileStamp:
    """Size, times and number of a file. Whatever replaces it, or writes to it, changes one of them."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int

    @classmethod
    def of(cls, stat: os.stat_result) -> FileStamp:
        """From what the system says of a file."""
        return cls(stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino)


@dataclass(frozen=True, slots=True)
class KnownSettings:
    """Settings as they were resolved once, so that one lookup needn't resolve them again."""

    sha256: str  # of the settings file and of what gives its settings a meaning
    pick_band_y_m: tuple[float, float]
    place_band_y_m: tuple[float, float]
    dist_max_m: float
    place_floor_y_m: float


@dataclass(frozen=True, slots=True)
class Note:
    """What is known of a table's file and of its index."""

    stamp: FileStamp
    sha256: str  # of the table's file
    index: dict[str, Any]  # what the index is bound to
    settings: KnownSettings | None = None


def index_file(table_file: Path) -> Path:
    """Where a table's index lies."""
    return table_file.with_suffix(".index")


def note_file(table_file: Path) -> Path:
    """Where the note lies."""
    return table_file.with_suffix(".index.json")


def read_note(table_file: Path) -> Note | None:
    """The note beside a table; None where there is none that can be read."""
    try:
        raw = json.loads(note_file(table_file).read_bytes())
        if raw["format"] != _FORMAT:
            return None
        settings = raw["settings"]
        if settings is not None:
            bands = {name: tuple(settings[name]) for name in ("pick_band_y_m", "place_band_y_m")}
            settings = KnownSettings(**settings | bands)
        return Note(FileStamp(**raw["stamp"]), raw["sha256"], dict(raw["index"]), settings)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_note(table_file: Path, note: Note) -> None:
    """Put the note beside a table.

    Raises:
        StorageUnwritable: nothing was changed.
    """
    write_atomic(note_file(table_file), json.dumps({"format": _FORMAT, **asdict(note)}, indent=1).encode() + b"\n")


def settings_sha256(settings_file: Path) -> str | None:
    """A hash over a cell's settings, what is calibrated of its arm, and the sources that give these a meaning.

    None where the settings can't be read.
    """
    here = Path(__file__).parents[1]
    sources = [here / name for name in _SETTINGS_SOURCES] + sorted((here / "kinematics" / "arms").glob("*.toml"))
    calibrated = settings_file.parent / CALIBRATED_ARM_FILE
    parts = [settings_file, *sources, *([calibrated] if calibrated.exists() else [])]
    try:
        return sha256_hex(b"\0".join(path.read_bytes() for path in parts))
    except OSError:
        return None
