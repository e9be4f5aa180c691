"""Figures and words as people read them: rounded, with their unit; or every digit as it stands in the log.

The unit comes from the end of a key's name (`_m`, `_mm`, `_deg`, `_s`, …). Metres are shown as millimetres, except with
every digit, where a figure is shown as it is stored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from runs.schema.base import Record

NOTHING = "—"
MINUS = "−"

_UNITS: tuple[tuple[str, str, int], ...] = (
    ("_xz_m", "m", 1),
    ("_m", "m", 1),
    ("_m_selected", "m", 1),
    ("_mm", "mm", 1),
    ("_deg", "°", 2),
    ("_deg_used", "°", 1),
    ("_px", "px", 1),
    ("_s", "s", 2),
    ("_sec", "s", 1),
    ("_percent", "%", 0),
    ("_usd", "USD", 4),
    ("temperatures_c", "°C", 0),
    ("voltages_v", "V", 1),
    ("_sha256", "", 0),
)
"""End of a key, unit, decimals. The longest that fits decides."""

_ANGLES = re.compile(r"(^|_)(joints|angles|actual|used)(_|$)|joints|^commanded$|^j\d(_cmd)?$|^(pick|place)_used$")
_HASH = re.compile(r"[0-9a-f]{40,}")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def clean(text: str) -> str:
    """Text from a log without what could drive a terminal; a log is data, wherever it came from."""
    return _CONTROL.sub("�", text)


def unit_of(key: str) -> tuple[str, int | None]:
    """Unit and decimals of a key's figure; no decimals where the name says no unit."""
    if _ANGLES.search(key):
        return "°", 2
    fitting = [(len(end), unit, decimals) for end, unit, decimals in _UNITS if key.endswith(end)]
    return max(fitting)[1:] if fitting else ("", None)


_NAMES = {
    "n_captures": "captures",
    "top_camera_index": "camera",
    "sleep_sec": "wait after",
    "pre_sleep_sec": "wait before",
    "grip_method": "asked by",
    "grip_value": "to value",
    "attempt_count": "sent",
    "centre_px": "centre",
    "ee_xz_m": "at",
    "duration_s": "took",
    "tcp_commanded_m": "tool point commanded",
    "tcp_read_back_m": "read back",
    "sha256": "SHA-256",
    "error_code": "error",
    "servos_enabled": "servos on",
    "temperatures_c": "servos at",
    "voltages_v": "supplied with",
    "reboot_count": "restarts",
}


def name_of(key: str) -> str:
    """A key as a name for people: without its unit, with spaces."""
    if key in _NAMES:
        return _NAMES[key]
    ends = sorted((end for end, _, _ in _UNITS if key.endswith(end)), key=len)
    return (key.removesuffix(ends[-1]) if ends else key).replace("_", " ").strip() or key


@dataclass(frozen=True, slots=True)
class Figures:
    """How figures are shown: rounded, or with every digit as stored."""

    full: bool = False

    def number(self, value: float | None, decimals: int | None, *, signed: bool = False) -> str:
        """A figure without its unit: so many decimals, or five digits where that is None."""
        if value is None:
            return NOTHING
        if self.full:
            return f"{value:+}" if signed else repr(value)
        sign = "+" if signed else ""
        if isinstance(value, int):
            return f"{value:{sign}}".replace("-", MINUS)
        text = f"{value:{sign}.5g}" if decimals is None else f"{value:{sign}.{decimals}f}"
        if float(text) == 0:
            text = text.lstrip("+-")
        return text.replace("-", MINUS)

    def of(self, value: float | None, key: str, *, signed: bool = False) -> str:
        """A figure with the unit that its key's name says."""
        unit, decimals = unit_of(key)
        if value is None:
            return NOTHING
        if unit == "m" and not self.full:
            value, unit = value * 1000, "mm"
        if unit == "mm" and abs(value) < 1:
            decimals = 2
        space = "" if unit in {"°", ""} else " "
        return f"{self.number(value, decimals, signed=signed)}{space}{unit}"

    def moment(self, text: str | None, *, with_day: bool = False) -> str:
        """A time of the log: the time of day to a tenth of a second; with every digit as it stands."""
        if text is None:
            return NOTHING
        try:
            parsed = datetime.fromisoformat(text)
        except ValueError:
            return clean(text)
        if self.full:
            return clean(text)
        day = f"{parsed.day} {parsed:%B %Y} " if with_day else ""
        return f"{day}{parsed:%H:%M:%S}.{parsed.microsecond // 100000}"

    def point(self, values: Sequence[float] | None, key: str) -> str:
        """A point or list of figures of one unit, `(216.4, 259.0) mm`."""
        if values is None:
            return NOTHING
        unit, decimals = unit_of(key)
        scale = 1.0
        if unit == "m" and not self.full:
            scale, unit = 1000.0, "mm"
        shown = [self.number(value if scale == 1 else value * scale, decimals) for value in values]
        return f"({', '.join(shown)}){'' if unit in {'°', ''} else ' '}{unit}"

    def any(self, value: Any, key: str) -> str:
        """A value of any kind."""
        if value is None:
            return NOTHING
        if isinstance(value, bool):
            return "yes" if value else "no"
        if isinstance(value, int | float):
            return self.of(value, key)
        return self._text(value, key) if isinstance(value, str) else self._several(value, key)

    def _text(self, value: str, key: str) -> str:
        if key == "at":
            return self.moment(value)
        if not self.full and _HASH.fullmatch(value):
            return f"{value[:12]}…"
        return clean(value)

    def _several(self, value: Any, key: str) -> str:
        if isinstance(value, Record):
            return ", ".join(f"{name_of(name)} {self.any(each, name)}" for name, each in value) or NOTHING
        if isinstance(value, Mapping):
            each_of = (f"{clean(str(name))} {self.any(each, str(name))}" for name, each in value.items())
            return "; ".join(each_of) or NOTHING
        assert isinstance(value, Sequence)
        if value and all(isinstance(each, int | float) and not isinstance(each, bool) for each in value):
            return self.point(value, key)
        return ", ".join(self.any(each, key) for each in value) or NOTHING


class Fields:
    """A record's fields, so that none is forgotten: `take` what has its own place on the page, `rest` is the others."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._left = dict(record)

    def take(self, name: str) -> Any:
        """A field that is shown in a place of its own."""
        return self._left.pop(name)

    def drop(self, *names: str) -> None:
        """Fields that are shown elsewhere."""
        for name in names:
            self._left.pop(name)

    def rest(self) -> Iterator[tuple[str, Any]]:
        """The fields not taken, without those at their default: a log that says nothing there shows nothing."""
        fields = type(self._record).model_fields
        for name, value in self._left.items():
            if fields[name].is_required() or value != fields[name].get_default(call_default_factory=True):
                yield name, value


def sentence(pairs: Iterator[tuple[str, Any]], figures: Figures) -> str:
    """Names and values as one line: `speed 20 % · waypoints 24`."""
    return " · ".join(f"{name_of(key)} {figures.any(value, key)}" for key, value in pairs)
