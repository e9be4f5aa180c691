"""The bricks of a page: sections, tables, cards, marks for verdicts and results, pictures with outlines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from runs.figures import Figures
from runs.report.drawing import Drawing
from runs.report.markup import Child, Markup, tag
from runs.report.pictures import Outline, Shown
from runs.statistics import Rate

FIGURES = Figures()

_KIND = {
    "completed": "good",
    "yes": "good",
    "failed": "bad",
    "no": "bad",
    "crashed": "bad",
    "unreadable": "bad",
    "running": "calm",
}
_SIGN = {"good": "✓", "bad": "✗", "doubt": "?", "calm": "…"}


def badge(word: str | None) -> Markup:
    """A result or a verdict: its sign, its word, its colour."""
    said = word if word is not None else "no verdict"
    kind = _KIND.get(said, "doubt")
    return tag("span", tag("span", _SIGN[kind], aria_hidden="true"), " ", said, class_=f"badge {kind}")


def section(title: str, *children: Child, name: str | None = None, lead: str | None = None) -> Markup:
    """A part of the page under its heading."""
    return tag("section", tag("h2", title), tag("p", lead, class_="lead") if lead else None, children, id=name)


def part(title: str, *children: Child, remark: str | None = None) -> Markup:
    """A smaller part inside a section."""
    return tag("div", tag("h3", title, tag("small", " ", remark) if remark else None), children, class_="part")


def figure(drawing: Drawing, caption: Child = None) -> Markup:
    """A drawing with what it says in words below."""
    return tag("figure", drawing.svg(), tag("figcaption", caption) if caption else None)


def table(
    names: Sequence[str], rows: Iterable[Sequence[Child]], *, right: Sequence[str] = (), small: bool = False
) -> Markup:
    """A table; `right` names the columns of figures. It scrolls by itself where it is wider than the page."""
    numeric = [name in right for name in names]
    head = tag("tr", (_head(n, num) for n, num in zip(names, numeric, strict=True)))
    body = [
        tag("tr", (tag("td", cell, class_="n" if num else None) for cell, num in zip(row, numeric, strict=True)))
        for row in rows
    ]
    inner = tag("table", tag("thead", head), tag("tbody", body), class_="small" if small else None)
    return tag("div", inner, class_="scroll", tabindex="0", role="group", aria_label="table")


def _head(name: str, numeric: bool) -> Markup:
    """The head of a column; one without a name heads nothing."""
    return tag("th", name, scope="col", class_="n" if numeric else None) if name.strip() else tag("td")


def pairs(rows: Iterable[tuple[Child, Child]]) -> Markup:
    """Names and what they are."""
    return tag("dl", ([tag("dt", name), tag("dd", value)] for name, value in rows))


def tile(name: str, value: Child, remark: Child = None, kind: str = "") -> Markup:
    """A figure that matters, large, with its name above and what it means below."""
    return tag(
        "div", tag("div", name, class_="name"), tag("div", value, class_="value"),
        tag("div", remark, class_="remark") if remark else None, class_=f"tile {kind}".strip(),
    )  # fmt: skip


def rate_text(rate: Rate) -> str:
    """A rate with its exact interval."""
    if rate.rate is None:
        return "none decided"
    return f"{rate.rate:.1%} ({rate.low:.1%} to {rate.high:.1%})"


def rate_tile(name: str, rate: Rate, kind: str = "") -> Markup:
    """A rate as a tile: large, its counts and interval below, and the interval as a bar."""
    if rate.rate is None:
        return tile(name, "—", "none decided", kind)
    value = f"{rate.rate:.1%}"
    bar = Drawing(200, 10, f"{rate.low:.1%} to {rate.high:.1%}")
    bar.line((0, 5), (200, 5), "line", 3)
    bar.line((200 * rate.low, 5), (200 * rate.high, 5), "good", 5)
    bar.line((200 * rate.rate, 0), (200 * rate.rate, 10), "ink", 2)
    told = f"{rate.successes} of {rate.n}, {rate.low:.1%} to {rate.high:.1%}"
    return tile(name, value, [bar.svg(), told], kind)


_OUTLINES = {"block": "#f0e442", "box": "#56b4e9", "inside": "#e69f00", "tip": "#00e0a4"}
"""Over pictures, the same in light and dark; as in `vision/overlay.py`, after Okabe and Ito (2008)."""


def picture(shown: Shown, *, name: str | None = None) -> Markup:
    """A picture with its outlines, or why there is none."""
    caption = [tag("b", name or shown.label.replace("_", " ")), f" — {shown.note}" if shown.note else None]
    if shown.data_uri is None:
        return tag("figure", tag("div", shown.problem, class_="nopic"), tag("figcaption", caption), class_="pic")
    wide, high = shown.size_px
    over = tag(
        "svg", (_outline(each, wide) for each in shown.outlines), viewBox=f"0 0 {wide} {high}",
        preserveAspectRatio="none", aria_hidden="true",
    )  # fmt: skip
    image = tag("img", src=shown.data_uri, alt=f"picture {shown.label}", width=wide, height=high)
    return tag("figure", tag("div", image, over, class_="frame"), tag("figcaption", caption), class_="pic")


def _outline(outline: Outline, wide: int) -> list[Markup]:
    """Twice, dark below, so that it shows on any ground."""
    unit = wide / 640
    if len(outline.points_px) == 1:
        (u, v) = outline.points_px[0]
        return [
            tag("circle", cx=u, cy=v, r=7 * unit, fill="none", stroke=colour, stroke_width=width * unit)
            for colour, width in (("#111", 4.0), (_OUTLINES[outline.what], 2.0))
        ]
    points = " ".join(f"{u:.1f},{v:.1f}" for u, v in outline.points_px)
    return [
        tag("polygon", points=points, fill="none", stroke=colour, stroke_width=width * unit, stroke_linejoin="round")
        for colour, width in (("#111", 3.6), (_OUTLINES[outline.what], 1.6))
    ]


def angles(values: Sequence[float] | None) -> str:
    """A set of joints, degrees."""
    if values is None:
        return "—"
    return ", ".join(FIGURES.number(float(value), 2) for value in values)


def everything(value: Any) -> Markup:
    """A record with every figure as it stands in the file, nothing rounded, nested as it is."""
    if isinstance(value, dict):
        if not value:
            return tag("span", "{}", class_="quiet")
        return pairs((key, everything(each)) for key, each in value.items())
    if isinstance(value, list | tuple):
        if all(not isinstance(each, dict | list | tuple) for each in value):
            return tag("span", ", ".join(_as_stands(each) for each in value) or "[]", class_="num")
        return tag("ol", (tag("li", everything(each)) for each in value))
    kind = "num" if isinstance(value, int | float) and not isinstance(value, bool) else None
    return tag("span", _as_stands(value), class_=kind)


def _as_stands(value: Any) -> str:
    if value is None:
        return "—"
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else repr(value)
