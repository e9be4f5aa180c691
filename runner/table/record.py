"""A lookup's answer as a record of the run log, before refining."""

from __future__ import annotations

from runner.table.query import Found, as_logged
from runs.schema.geometry import TablePoint
from runs.schema.motion import LookupRecord
from runs.schema.phase import Phase


def to_record(
    found: Found,
    *,
    label: str,
    phase: Phase,
    source_file: str,
    requested_xz_m: TablePoint | None = None,
    attempt: int | None = None,
) -> LookupRecord:
    """The answer as it stands in the run log."""
    values = as_logged(
        found,
        label=label,
        phase=phase,
        source_file=source_file,
        requested_xz_m=requested_xz_m,
        attempt=attempt,
    )
    return LookupRecord.model_validate(values)
