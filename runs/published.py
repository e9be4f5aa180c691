"""The JSON Schema of every file of the record, for programs that don't speak Python.

`docs/run-log.schema.json` is a copy of that of the log.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from runs.corrections.file import CorrectionStates
from runs.corrections.history import HistoryLine
from runs.events import EVENTS_FILE, KINDS
from runs.index.shape import COLUMNS, NESTED
from runs.schema.agent import ProposalDecision
from runs.schema.run import RunLog
from runs.schema.verdict import Rejudged, Ruling

_DIALECT = {"$schema": "https://json-schema.org/draft/2020-12/schema"}

FILES: dict[str, type[BaseModel]] = {
    "run.json": RunLog,
    "rulings.jsonl": Ruling,
    "rejudged.jsonl": Rejudged,
    "decisions.jsonl": ProposalDecision,
    "corrections.json": CorrectionStates,
    "corrections_history.jsonl": HistoryLine,
}
"""Files and what they hold; of a `.jsonl` each line."""

EXPORTED = "runs.jsonl"
"""What `runs export jsonl` writes, a row a run."""

_JSON_TYPES = {"VARCHAR": "string", "BOOLEAN": "boolean", "INTEGER": "integer", "BIGINT": "integer", "DOUBLE": "number"}


PUBLISHED = (*FILES, EVENTS_FILE, EXPORTED)
"""Every file that has a schema."""


def log_schema() -> dict[str, Any]:
    """The schema of `run.json` as it is written today, JSON Schema 2020-12."""
    return {**_DIALECT, **RunLog.model_json_schema()}


def schema_of(name: str) -> dict[str, Any]:
    """The schema of a file of `PUBLISHED`.

    Raises:
        KeyError: no such file.
    """
    if name == EVENTS_FILE:
        return _event_schema()
    return _row_schema() if name == EXPORTED else {**_DIALECT, **FILES[name].model_json_schema()}


def _event_schema() -> dict[str, Any]:
    """Of a line of the events: its number, its time, its kind, and the record of that kind."""
    refs, defs = models_json_schema([(model, "serialization") for model in KINDS.values()])
    kinds = [
        {"properties": {"kind": {"const": kind}, "data": refs[model, "serialization"]}} for kind, model in KINDS.items()
    ]
    return {
        **_DIALECT,
        **defs,
        "title": "Event",
        "type": "object",
        "properties": {
            "seq": {"type": "integer", "minimum": 0},
            "at": {"type": "string"},
            "kind": {"type": "string"},
            "data": {"type": "object"},
        },
        "required": ["seq", "at", "kind", "data"],
        "additionalProperties": False,
        "oneOf": kinds,
    }


def _row_schema() -> dict[str, Any]:
    properties: dict[str, Any] = {"cell": {"type": "string"}}
    for name, kind in COLUMNS.items():
        if name in NESTED or name == "started":
            continue
        if kind.endswith("[]"):
            properties[name] = {"type": ["array", "null"], "items": {"type": _JSON_TYPES[kind[:-2]]}}
        else:
            properties[name] = {"type": [_JSON_TYPES[kind], "null"]}
    return {
        **_DIALECT,
        "title": "ExportedRun",
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
