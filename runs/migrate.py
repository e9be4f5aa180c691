"""Run logs of any age, read as today's schema. A file's version is looked at before anything else.

Older files go through numbered steps over plain dicts, one a version; a step that was released is never edited. A file
from a later version, or one that is no run log, is refused with its reason. No file is ever rewritten here.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any

from pydantic import ValidationError

from runs.errors import NewerThanUs, NotARunLog
from runs.schema.base import SCHEMA_VERSION
from runs.schema.run import RunLog

Raw = dict[str, Any]
Step = Callable[[Raw], Raw]

STEPS: dict[int, Step] = {}
"""From a version to the one after it."""

FIELD_KEYS = frozenset({"started_at", "frames_dir", "stages", "moves", "lookups", "constants"})
"""What every field log has; it never said its version."""


def step(*, from_version: int) -> Callable[[Step], Step]:
    """Register a function that brings a log of `from_version` to the next."""

    def register(function: Step) -> Step:
        STEPS[from_version] = function
        return function

    return register


@step(from_version=0)
def m000_name_the_run_and_say_what_its_times_are(raw: Raw) -> Raw:
    """The field log names its run only by its folder, and its times are those of a clock on the wall there."""
    run_id = PurePosixPath(str(raw["frames_dir"]).replace("\\", "/")).name
    return {**raw, "schema_version": 1, "run_id": run_id, "times_are_utc": False}


def version_of(raw: object, source: Path | str) -> int:
    """The schema version of a parsed file; 0 for a field log, which doesn't say.

    Raises:
        NotARunLog: no run log of any version.
        NewerThanUs: written by a later program.
    """
    if not isinstance(raw, dict):
        raise NotARunLog(source, f"it holds a JSON {_json_type(raw)}, not an object")
    if "schema_version" not in raw:
        missing = sorted(FIELD_KEYS - raw.keys())
        if missing:
            raise NotARunLog(source, f"it says no schema_version and lacks {', '.join(missing)}")
        return 0
    version = raw["schema_version"]
    if type(version) is not int or version < 0:
        raise NotARunLog(source, f"its schema_version is {json.dumps(version)[:40]}, not a whole number")
    if version > SCHEMA_VERSION:
        raise NewerThanUs(source, version, SCHEMA_VERSION)
    return version


def migrate(raw: object, source: Path | str = "the log") -> Raw:
    """A parsed log of any known version as a dict of today's. A log of today comes back unchanged.

    Raises:
        NotARunLog, NewerThanUs: see `version_of`.
    """
    found = version_of(raw, source)
    assert isinstance(raw, dict)
    for version in range(found, SCHEMA_VERSION):
        raw = STEPS[version](raw)
    return raw if found == SCHEMA_VERSION else {**raw, "migrated_from": found}


def parse_log(text: bytes, source: Path | str = "the log") -> RunLog:
    """A run log from a file's bytes, whatever its version.

    Raises:
        NotARunLog: cut off, not JSON, another kind of JSON, or a key that is missing, unknown or of the wrong type.
        NewerThanUs: written by a later program.
    """
    raw = migrate(_parse_json(text, source), source)
    try:
        return RunLog.model_validate_json(json.dumps(raw), strict=True)
    except RecursionError:
        raise NotARunLog(source, "it is nested too deeply") from None
    except ValidationError as error:
        problems = [_problem(each) for each in error.errors(include_url=False)]
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise NotARunLog(source, problems[0] + more, problems=problems) from None


def load_log(path: Path) -> RunLog:
    """Read a run log from a file, or from the `run.json` of a folder.

    Raises:
        NotARunLog, NewerThanUs: see `parse_log`; also where the file can't be read at all.
    """
    if path.is_dir():
        path = path / "run.json"
    try:
        text = path.read_bytes()
    except OSError as error:
        raise NotARunLog(path, (error.strerror or str(error)).lower()) from None
    return parse_log(text, path)


def _parse_json(text: bytes, source: Path | str) -> Any:
    try:
        decoded = text.decode("utf-8-sig")
        return json.loads(decoded, object_pairs_hook=_no_key_twice, parse_constant=_no_constant)
    except UnicodeDecodeError:
        raise NotARunLog(source, "it is no text") from None
    except json.JSONDecodeError as error:
        if not decoded.strip():
            why = "it is empty"
        elif error.pos >= len(decoded.rstrip()) or error.msg.startswith("Unterminated"):
            why = f"it is cut off in line {error.lineno}"
        else:
            why = f"line {error.lineno}, column {error.colno} is not JSON"
        raise NotARunLog(source, why, next_step=_recover_hint(why)) from None
    except RecursionError:
        raise NotARunLog(source, "it is nested too deeply") from None
    except ValueError as error:
        raise NotARunLog(source, str(error)) from None


def _recover_hint(why: str) -> str | None:
    return "if its events are there: trialcell runs recover RUN" if "cut off" in why or "empty" in why else None


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r} stands in it twice")
    return found


def _no_constant(name: str) -> float:
    raise ValueError(f"it holds {name}, which is no number of JSON's")


def _json_type(value: object) -> str:
    names: dict[type, str] = {list: "list", str: "string", bool: "true or false", type(None): "null"}
    return names.get(type(value), "number")


def _problem(error: Any) -> str:
    """One complaint of the validator as `moves.3.arrived: …`."""
    key = ".".join(str(part) for part in error["loc"])
    kind = error["type"]
    if kind == "extra_forbidden":
        return f"{key}: unknown key"
    if kind == "missing":
        return f"{key}: missing"
    shown = json.dumps(error["input"], default=str)
    shown = shown if len(shown) <= 60 else f"{shown[:57]}…"
    message = error["msg"][0].lower() + error["msg"][1:]
    return f"{key}: {message} (it is {shown})"
