"""Calibration files as they are kept: one a kind, whole or not at all, with the hash of their content as their version.

What a file replaces goes to the folder's `archive/` and can be found, compared and put back by the first digits of its
hash. A file that was edited or cut off is refused, never repaired. What kinds there are is said elsewhere.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TypeVar

from pydantic import ValidationError

from runs.files import storage, write_atomic
from runs.schema.base import Record
from vision.errors import CalibrationMissing, CalibrationUnreadable, NoSuchCalibration

FILE_VERSION: Final = 1
ID_DIGITS: Final = 8
ARCHIVE: Final = "archive"


class Kept(Record):
    """Base of all calibration files: each names its `kind`, after which its file is called, and when it was made."""

    made_at: str
    source: str


F = TypeVar("F", bound=Kept)


@dataclass(frozen=True, slots=True)
class Version:
    """One content that a kind of calibration has or had."""

    kind: str
    hash: str
    made_at: str
    source: str
    path: Path
    current: bool

    @property
    def id(self) -> str:
        """How people call it."""
        return self.hash[:ID_DIGITS]


def now_text() -> str:
    """The time as it stands in calibration files: UTC, ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def content_hash(file: Kept) -> str:
    """SHA-256 (hex) of everything in the file; what is not said in it doesn't count."""
    return _hash(file.model_dump(mode="json", exclude_none=True))


def save(file: Kept, folder: Path) -> Path:
    """Write a file into a calibration folder under its kind's name, whole or not at all; its path.

    What was there is kept in the folder's `archive/`, under the time it was replaced.

    Raises:
        StorageUnwritable: nothing was changed.
    """
    with storage(folder):
        folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{_kind_of(file)}.json"
    content = {**file.model_dump(mode="json", exclude_none=True), "content_hash": content_hash(file)}
    _put(path, (json.dumps(content, indent=1) + "\n").encode())
    return path


def load(folder: Path, model: type[F], *, kind: str) -> F:
    """The file of a kind in a calibration folder.

    Raises:
        CalibrationMissing, CalibrationUnreadable.
    """
    return read(folder / f"{kind}.json", model, kind=kind)


def read(path: Path, model: type[F], *, kind: str) -> F:
    """The calibration file under a path.

    Raises:
        CalibrationMissing, CalibrationUnreadable.
    """
    raw = _raw(path, kind)
    if raw.get("kind") != kind:
        raise CalibrationUnreadable(path, f"it is of kind {raw.get('kind')!r}, not {kind!r}")
    version = raw.get("version")
    if isinstance(version, int) and version > FILE_VERSION:
        raise CalibrationUnreadable(path, f"it has version {version}, this program reads up to {FILE_VERSION}")
    stated = raw.pop("content_hash", None)
    try:
        file = model.model_validate_json(json.dumps(raw))
    except ValidationError as error:
        first = error.errors()[0]
        raise CalibrationUnreadable(path, f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error
    if stated != content_hash(file):
        raise CalibrationUnreadable(path, "its content was changed after it was written")
    return file


def versions(folder: Path, kinds: tuple[str, ...]) -> list[Version]:
    """All that a calibration folder holds of these kinds, now and before: by kind, newest first, each content once.

    Raises:
        CalibrationUnreadable: a file that is none.
    """
    found: list[Version] = []
    for kind in kinds:
        now = [folder / f"{kind}.json"] if (folder / f"{kind}.json").exists() else []
        before = sorted((folder / ARCHIVE).glob(f"{kind}_*.json"), reverse=True)
        for path in (*now, *before):
            raw = _raw(path, kind)
            version = Version(
                kind,
                str(raw.get("content_hash", "")),
                str(raw.get("made_at", "")),
                str(raw.get("source", "")),
                path,
                path in now,
            )
            if all(version.hash != other.hash for other in found):
                found.append(version)
    return found


def version_of(folder: Path, id_text: str, kinds: tuple[str, ...]) -> Version:
    """The version whose hash begins so.

    Raises:
        NoSuchCalibration: none does, or several do.
    """
    all_versions = versions(folder, kinds)
    fitting = [version for version in all_versions if id_text and version.hash.startswith(id_text.lower())]
    if len(fitting) != 1:
        raise NoSuchCalibration(id_text, [version.id for version in all_versions], several=len(fitting) > 1)
    return fitting[0]


def put_back(version: Version, folder: Path) -> Path:
    """Make an earlier content the one that counts again; what counted until now goes to the archive.

    Raises:
        CalibrationUnreadable: it was edited since, or is gone.
        StorageUnwritable: nothing was changed.
    """
    raw = _raw(version.path, version.kind)
    stated = raw.pop("content_hash", None)
    if stated != _hash(raw):
        raise CalibrationUnreadable(version.path, "its content was changed after it was written")
    path = folder / f"{version.kind}.json"
    if not version.current:
        _put(path, version.path.read_bytes())
    return path


def differences(one: Version, other: Version) -> list[tuple[str, Any, Any]]:
    """What differs between two files of a kind: (place in the file, there, here), numbers that stand alone each.

    Raises:
        CalibrationUnreadable: one of them is none.
    """
    a, b = (dict(_leaves(_raw(version.path, version.kind))) for version in (one, other))
    return [(key, a.get(key), b.get(key)) for key in dict.fromkeys((*a, *b)) if a.get(key) != b.get(key)]


def _put(path: Path, data: bytes) -> None:
    with storage(path):
        if path.exists():
            kept = path.parent / ARCHIVE / f"{path.stem}_{datetime.now(UTC):%Y%m%d_%H%M%S_%f}.json"
            kept.parent.mkdir(exist_ok=True)
            write_atomic(kept, path.read_bytes())
    write_atomic(path, data)


def _raw(path: Path, kind: str) -> dict[str, Any]:
    try:
        text = path.read_bytes()
    except FileNotFoundError as error:
        raise CalibrationMissing(path, kind) from error
    except OSError as error:
        raise CalibrationUnreadable(path, error.strerror or str(error)) from error
    try:
        raw = json.loads(text)
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise CalibrationUnreadable(path, "it is cut off or not JSON") from error
    if not isinstance(raw, dict):
        raise CalibrationUnreadable(path, "it holds no settings")
    return raw


def _kind_of(file: Kept) -> str:
    kind = file.model_dump().get("kind")
    assert isinstance(kind, str), "every calibration file names its kind"
    return kind


def _hash(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _leaves(value: Any, at: str = "") -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        items: list[tuple[str, Any]] = [(f"{at}.{key}" if at else str(key), each) for key, each in value.items()]
    elif isinstance(value, list):
        items = [(f"{at}[{number}]", each) for number, each in enumerate(value)]
    else:
        return [(at, value)]
    return [leaf for place, each in items for leaf in _leaves(each, place)]
