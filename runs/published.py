"""The JSON Schema of the run log, for programs that don't speak Python. `docs/run-log.schema.json` is a copy of it."""

from __future__ import annotations

from typing import Any

from runs.schema.run import RunLog


def log_schema() -> dict[str, Any]:
    """The schema of `run.json` as it is written today, JSON Schema 2020-12."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **RunLog.model_json_schema()}
