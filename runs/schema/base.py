"""What every record in a run log has in common: frozen, closed to unknown keys, finite numbers only."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

SCHEMA_VERSION = 1
"""The schema of run logs written today; 0 is the field system's log, which never said its version."""


class Record(BaseModel):
    """Base of all record models. Unknown keys are refused so that nothing is silently dropped."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, ser_json_inf_nan="null")
