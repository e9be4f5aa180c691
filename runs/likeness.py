"""What has to be alike when the same trial was run twice: all but when, how long by the wall, and names made of times.

Pictures are compared by their hashes, which stand in the log. Nothing is rounded.
"""

from __future__ import annotations

import re
from typing import Any

from runs.schema.run import RunLog

_OF_THE_CLOCK = frozenset({"at", "started_at", "ended_at", "wall_s", "seconds"})
_NAMED_BY_TIME = re.compile(r"\d{8}_\d{6}")


def timeless(log: RunLog) -> dict[str, Any]:
    """A log as plain values without the wall's clock; two trials from one start have equal ones.

    What is called by the time of its making (runs, batches, pictures) keeps its number alone.
    """
    found = _timeless(log.model_dump(mode="json"))
    assert isinstance(found, dict)
    return found


def differing(one: RunLog, other: RunLog) -> list[str]:
    """The dotted names of what differs, a name once; none if the two are alike."""
    return sorted(set(_differing(timeless(one), timeless(other), "")))


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _timeless(item) for key, item in value.items() if key not in _OF_THE_CLOCK}
    if isinstance(value, list):
        return [_timeless(item) for item in value]
    return _NAMED_BY_TIME.sub("…", value) if isinstance(value, str) else value


def _differing(one: Any, other: Any, name: str) -> list[str]:
    if isinstance(one, dict) and isinstance(other, dict):
        keys = {**one, **other}
        missing = object()
        return [
            found
            for key in keys
            for found in _differing(one.get(key, missing), other.get(key, missing), f"{name}.{key}" if name else key)
        ]
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return [found for a, b in zip(one, other, strict=True) for found in _differing(a, b, name)]
    return [] if one == other or (one != one and other != other) else [name]  # noqa: PLR0124 (NaN)
