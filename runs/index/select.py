"""Which runs a question is about, by what they are grouped and in which order, as SQL with its values kept apart.

Names come from a closed list; a value never becomes part of the SQL.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, ClassVar

from runs.errors import Family, RecordError
from runs.index.shape import COLUMNS

GROUPS: dict[str, str] = {
    "square": "pick_key",
    "place_square": "place_key",
    "day": "day",
    "hour": "strftime(started, '%Y-%m-%d %H h')",
    "judge": "judge",
    "model": "model",
    "code": "code",
    "light": "light",
    "profile": "profile",
    "arm": "arm",
    "camera": "camera",
    "cell": "cell",
    "result": "result",
    "stage": "ended_stage",
    "attempts": "attempts",
    "seed": "seed",
    "agent": "agent",
    "table": "substr(table_hash, 1, 12)",
    "corrections": "substr(corrections_hash, 1, 12)",
}
"""What runs can be grouped by, filtered by and sorted by, and the SQL for it."""

_SCALARS = {name: f'"{name}"' for name, kind in COLUMNS.items() if not kind.endswith("[]")} | {"cell": "cell"}
NAMES: dict[str, str] = {**_SCALARS, **GROUPS}

_CONDITION = re.compile(r"\s*([a-z0-9_]+)\s*(!=|<=|>=|=|<|>)\s*(.*?)\s*", re.DOTALL)

_BEYOND_BIGINT = 1 << 63

_NOTHING = "none"
"""The value that stands for not knowing: `seed=none`."""


class BadSelection(RecordError):
    """A condition, a group or an order that can't be understood."""

    family: ClassVar[Family] = "usage"

    def __init__(self, text: str, why: str, *, next_step: str | None = None) -> None:
        self.text, self.why = text, why
        super().__init__(f"{text!r}: {why}", next_step=next_step)


@dataclass(frozen=True, slots=True)
class Condition:
    """`name` compared with `value`, as a person writes it: `profile=field`, `tip_dist_mm>10`, `seed!=none`."""

    name: str
    operator: str
    value: str

    @classmethod
    def parse(cls, text: str) -> Condition:
        """From its text.

        Raises:
            BadSelection: no such name, or not of that form.
        """
        match = _CONDITION.fullmatch(text)
        if match is None:
            raise BadSelection(text, "is no condition", next_step="write it as profile=field or tip_dist_mm>10")
        sql_of(match[1])
        return cls(match[1], match[2], match[3])

    def sql(self) -> tuple[str, list[Any]]:
        """As SQL and its values. A value of none is compared with not knowing."""
        name = sql_of(self.name)
        if self.value.lower() == _NOTHING and self.operator in ("=", "!="):
            return f"{name} IS {'NOT ' if self.operator == '!=' else ''}NULL", []
        kind = COLUMNS.get(self.name) or COLUMNS.get(GROUPS.get(self.name, ""), "VARCHAR")
        value = _as_kind(self, kind)
        if self.operator == "!=":
            return f"{name} IS DISTINCT FROM ?", [value]
        return f"{name} {self.operator} ?", [value]


def _as_kind(condition: Condition, kind: str) -> Any:
    text, whole = condition.value, f"{condition.name}{condition.operator}{condition.value}"
    if kind in ("DOUBLE", "INTEGER", "BIGINT"):
        return _number(whole, text, kind)
    if kind == "TIMESTAMP":
        return _utc(whole, text)
    if kind == "BOOLEAN":
        if text.lower() not in ("true", "false", "yes", "no"):
            raise BadSelection(whole, "is true or false")
        return text.lower() in ("true", "yes")
    return text


def _number(condition: str, text: str, kind: str) -> float | int:
    try:
        value = float(text) if kind == "DOUBLE" else int(text)
    except ValueError:
        raise BadSelection(condition, f"{text!r} is no number") from None
    if math.isnan(value):
        raise BadSelection(condition, f"{text!r} is no number")
    if isinstance(value, int) and not -_BEYOND_BIGINT <= value < _BEYOND_BIGINT:
        raise BadSelection(condition, "the number is larger than any run's can be")
    return value


def _utc(condition: str, text: str) -> datetime:
    """A time as the index keeps it: UTC without saying so."""
    try:
        time = datetime.fromisoformat(text)
        return time if time.tzinfo is None else time.astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):
        raise BadSelection(
            condition,
            f"{text!r} is no time",
            next_step="write it as started>2026-07-03 or started>2026-07-03T13:23 (UTC)",
        ) from None


def sql_of(name: str) -> str:
    """The SQL of a name.

    Raises:
        BadSelection: there is no such name; the error says which is near.
    """
    if name not in NAMES:
        near = difflib.get_close_matches(name, NAMES, n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(GROUPS)}, and every column of runs sql"
        raise BadSelection(name, "is nothing that runs are known by", next_step=hint)
    return NAMES[name]


@dataclass(frozen=True, slots=True)
class Selection:
    """Runs that fulfil every condition; only the newest `last` of those, where given. Empty is all runs."""

    conditions: tuple[Condition, ...] = ()
    since: str | None = None
    until: str | None = None
    run_ids: tuple[str, ...] | None = None
    last: int | None = None

    @classmethod
    def parse(cls, texts: Sequence[str], **more: Any) -> Selection:
        """From conditions as texts.

        Raises:
            BadSelection
        """
        return cls(tuple(Condition.parse(text) for text in texts), **more)

    @property
    def of_trials(self) -> str:
        """SQL that keeps what is no trial of the program's own out of rates: dry runs, and agents unless asked for."""
        asked = any(condition.name == "agent" for condition in self.conditions)
        return "NOT dry_run" if asked else "NOT dry_run AND agent IS NULL"

    def sql(self, of: str = "runs") -> tuple[str, list[Any]]:
        """A query for the selected rows of `of`, and its values."""
        where, values = self._where()
        newest = f" ORDER BY started DESC NULLS LAST, number DESC LIMIT {int(self.last)}" if self.last else ""
        return f"SELECT * FROM {of} WHERE {where}{newest}", values

    def holds(self) -> tuple[str, list[Any]]:
        """Whether a row of `runs` is selected, as an expression, and its values."""
        if not self.last:
            return self._where()
        query, values = self.sql()
        return f"(cell, run_id) IN (SELECT (cell, run_id) FROM ({query}))", values

    def _where(self) -> tuple[str, list[Any]]:
        clauses, values = ["true"], []
        for condition in self.conditions:
            clause, some = condition.sql()
            clauses.append(clause)
            values += some
        for operator, day in ((">=", self.since), ("<=", self.until)):
            if day is not None:
                clauses.append(f"substr(started_at, 1, {len(day)}) {operator} ?")
                values.append(day)
        if self.run_ids is not None:
            clauses.append("run_id IN (SELECT unnest(?::VARCHAR[]))")
            values.append(list(self.run_ids))
        return " AND ".join(clauses), values


def order_of(sort: str) -> str:
    """An order as SQL: a name, with a minus in front for the largest first.

    Raises:
        BadSelection
    """
    falls = sort.startswith("-")
    return f"{sql_of(sort.lstrip('-'))} {'DESC' if falls else 'ASC'} NULLS LAST"
