"""HTML and SVG put together so that text can't become markup: whatever is no `Markup` is escaped.

It knows no page; tags and attributes are ours, never a log's.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any

from runs.figures import clean

_EMPTY = frozenset(
    {"br", "img", "meta", "hr", "line", "rect", "circle", "polygon", "polyline", "image", "path", "link"}
)


class Markup(str):
    """Text that is markup already. Only this module's functions make it."""

    __slots__ = ()


Child = str | int | float | None | Iterable[Any]


def tag(name: str, /, *children: Child, **attributes: Any) -> Markup:
    """An element. `class_` loses its underscore, `stroke_width` becomes `stroke-width`; None is left out."""
    told = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_figure(value), quote=True)}"'
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    inside = joined(children)
    if not inside and name in _EMPTY:
        return Markup(f"<{name}{told}/>")
    return Markup(f"<{name}{told}>{inside}</{name}>")


def joined(children: Iterable[Child]) -> Markup:
    """Children one after the other, flattened; text is escaped."""
    parts: list[str] = []
    for child in children:
        if child is None:
            continue
        if isinstance(child, Markup):
            parts.append(child)
        elif isinstance(child, str | int | float):
            parts.append(escape(clean(_figure(child)), quote=False))
        else:
            parts.append(joined(child))
    return Markup("".join(parts))


def raw_css(text: str) -> Markup:
    """Our own style sheet, which must not be escaped. Never for anything from a log."""
    return Markup(text)


def _figure(value: Any) -> str:
    if value is True:
        return ""
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".") if abs(value) >= 0.005 else "0"
    return str(value)
