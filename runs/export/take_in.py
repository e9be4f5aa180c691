"""Runs from other folders into a cell: field logs (schema 0) and today's, each with the pictures that it names.

A log goes in as it is, byte for byte; it is migrated when it is read. Nothing there is changed or written over. What
can't be read is listed with the reason, and the rest goes in.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from runs.appended import REJUDGED_FILE, RULINGS_FILE
from runs.errors import RecordError, RunExists
from runs.events import EVENTS_FILE, RUN_FILE
from runs.files import sha256_hex
from runs.migrate import parse_log
from runs.schema.run import RunLog
from runs.store import RUN_ID, RunStore

_BESIDE = (EVENTS_FILE, RULINGS_FILE, REJUDGED_FILE)
_PICTURES = {".jpg", ".jpeg", ".png"}
_UPWARDS = 4
"""So many folders above a log may be the one that the paths in it start from."""


@dataclass(frozen=True, slots=True)
class TakenIn:
    """What became of one file: "taken", "there already" or "left out", and why."""

    source: str
    outcome: str
    run_id: str | None = None
    schema: int | None = None
    pictures: int = 0
    pictures_missing: tuple[str, ...] = ()
    reason: str | None = None

    def as_object(self) -> dict[str, Any]:
        """For programs."""
        return asdict(self)


def logs_below(paths: Sequence[Path]) -> Iterator[Path]:
    """Every file that may be a log: named ones, and all `.json` below named folders but for hidden ones."""
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        for found in sorted(path.rglob("*.json")):
            if not any(part.startswith(".") for part in found.relative_to(path).parts):
                yield found


def take_in(path: Path, store: RunStore, *, dry: bool = False) -> TakenIn:
    """Take one log with its pictures into a store; with `dry` only say what would become of it.

    Raises:
        StorageUnwritable: the store can't be written.
    """
    source = str(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        return TakenIn(source, "left out", reason=(error.strerror or str(error)).lower())
    try:
        log = parse_log(data, path)
    except RecordError as error:
        return TakenIn(source, "left out", reason=getattr(error, "why", error.message))
    schema = log.schema_version if log.migrated_from is None else log.migrated_from
    if RUN_ID.fullmatch(log.run_id) is None:
        why = f"{log.run_id!r} is no name of a run such as run_0001_20260703_132310"
        return TakenIn(source, "left out", schema=schema, reason=why)
    there = store.runs_dir / log.run_id
    if there.exists():
        return _there_already(source, log.run_id, schema, data, there)
    files, missing = _pictures(log, path.parent)
    pictures = len(files)
    files |= {name: path.parent / name for name in _BESIDE if path.name == RUN_FILE and (path.parent / name).is_file()}
    if not dry:
        try:
            store.adopt(log.run_id, data, files)
        except RunExists:
            return _there_already(source, log.run_id, schema, data, there)
    return TakenIn(source, "taken", log.run_id, schema, pictures, tuple(missing))


def _there_already(source: str, run_id: str, schema: int, data: bytes, there: Path) -> TakenIn:
    try:
        same = sha256_hex((there / RUN_FILE).read_bytes()) == sha256_hex(data)
    except OSError:
        same = False
    if same:
        return TakenIn(source, "there already", run_id, schema)
    return TakenIn(source, "left out", run_id, schema, reason="another run of that name is in the cell")


def _pictures(log: RunLog, folder: Path) -> tuple[dict[str, Path], list[str]]:
    """Where each picture of a log is, by the name it is to have, and the names of those that are nowhere.

    Logs name pictures from the folder that their cell is in; they are found beside the log too, and others there that
    bear the run's name go along.
    """
    named = [capture.image for capture in log.vlm_captures]
    named += [image for look in log.detect for image in look.images]
    found: dict[str, Path] = {}
    missing = []
    for image in dict.fromkeys(named):
        parts = PurePosixPath(image.replace("\\", "/"))
        above = [folder, *list(folder.resolve().parents)[:_UPWARDS]]
        places = [folder / parts.name, folder / log.run_id / parts.name, *(place / parts for place in above)]
        path = None if ".." in parts.parts or parts.is_absolute() else next((p for p in places if p.is_file()), None)
        if path is None:
            missing.append(image)
        else:
            found[parts.name] = path
    for path in sorted([*folder.glob(f"{log.run_id}_*"), *(folder / log.run_id).glob(f"{log.run_id}_*")]):
        if path.suffix.lower() in _PICTURES and path.is_file():
            found.setdefault(path.name, path)
    return found, missing


def counted(done: Sequence[TakenIn]) -> dict[str, int]:
    """How many came to which end."""
    return {outcome: sum(one.outcome == outcome for one in done) for outcome in ("taken", "there already", "left out")}
