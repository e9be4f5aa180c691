"""Whether a log is what it should be: readable, of a known schema, and with the pictures that it names.

It reads only. A picture that is not there is told but makes no log invalid; one whose bytes have changed does.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from runs.errors import NotARunLog, RecordError
from runs.files import sha256_hex
from runs.schema.run import RunLog
from runs.store import RunStore, StoredRun, open_any, picture_path


@dataclass(frozen=True, slots=True)
class CheckedLog:
    """What was found of one log. `problems` say each wrong key or picture; a valid log has none."""

    source: str
    valid: bool
    summary: str
    problems: tuple[str, ...] = ()
    schema_version: int | None = None
    pictures_right: int = 0
    pictures_missing: int = 0
    pictures_unhashed: int = 0

    def as_object(self) -> dict[str, Any]:
        """For programs."""
        return asdict(self)


def check_log(wanted: str, store: RunStore) -> CheckedLog:
    """Check a log named as in `open_any`."""
    try:
        stored = open_any(wanted, store)
    except NotARunLog as error:
        return CheckedLog(wanted, False, "invalid" if error.problems else f"no run log: {error.why}", error.problems)
    except RecordError as error:
        return CheckedLog(wanted, False, str(error))
    if stored.entry.state != "complete":
        return CheckedLog(wanted, False, f"is {stored.entry.state}, without run.json: trialcell runs recover {wanted}")
    return _with_pictures(wanted, stored)


def _with_pictures(source: str, stored: StoredRun) -> CheckedLog:
    log = stored.log
    right = missing = unhashed = 0
    problems = []
    for number, capture in enumerate(log.vlm_captures):
        path = picture_path(capture.image, stored.entry.folder)
        if path is None:
            missing += 1
        elif capture.sha256 is None:
            unhashed += 1
        elif sha256_hex(path.read_bytes()) == capture.sha256:
            right += 1
        else:
            problems.append(f"vlm_captures.{number}.sha256: {path} has other bytes than when it was taken")
    version = log.schema_version if log.migrated_from is None else log.migrated_from
    summary = "invalid" if problems else _summary(log, version, (right, missing, unhashed))
    return CheckedLog(source, not problems, summary, tuple(problems), version, right, missing, unhashed)


def _summary(log: RunLog, version: int, pictures: tuple[int, int, int]) -> str:
    right, missing, unhashed = pictures
    said = [
        f"valid, schema {version}" + ("" if version == log.schema_version else f", read as {log.schema_version}"),
        *([f"{right} pictures as they were taken"] if right else []),
        *([f"{unhashed} without a hash"] if unhashed else []),
        *([f"{missing} pictures not there"] if missing else []),
    ]
    return ", ".join(said)
