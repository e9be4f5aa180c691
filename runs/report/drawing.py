"""A drawing as a list of shapes, in tones of the palette; as SVG here, as pixels in `raster.py`.

Coordinates are pixels of the drawing, x to the right, y down. It knows nothing of runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from runs.report.markup import Markup, joined, raw_css, tag
from runs.report.palette import css_variables

Anchor = Literal["start", "middle", "end"]
XY = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Rect:
    """A rectangle by its upper left corner."""

    x: float
    y: float
    width: float
    height: float
    fill: str | None = None
    stroke: str | None = None
    stroke_width: float = 1.0
    radius: float = 0.0
    dashed: bool = False
    told: str | None = None


@dataclass(frozen=True, slots=True)
class Path:
    """A line through points, closed or not."""

    points: Sequence[XY]
    stroke: str | None = "ink"
    width: float = 1.0
    fill: str | None = None
    closed: bool = False
    dashed: bool = False
    told: str | None = None


@dataclass(frozen=True, slots=True)
class Disc:
    """A circle."""

    centre: XY
    radius: float
    fill: str | None = None
    stroke: str | None = None
    stroke_width: float = 1.0
    dashed: bool = False
    told: str | None = None


@dataclass(frozen=True, slots=True)
class Label:
    """A line of text; `at` is its baseline."""

    at: XY
    text: str
    size: float = 11.0
    tone: str = "ink"
    anchor: Anchor = "start"
    bold: bool = False
    turned: bool = False


Shape = Rect | Path | Disc | Label


@dataclass(slots=True)
class Drawing:
    """Shapes on a ground of this size. `title` is read to those who can't see it."""

    width: float
    height: float
    title: str
    shapes: list[Shape] = field(default_factory=list)

    def add(self, *shapes: Shape) -> None:
        """Put shapes on top."""
        self.shapes += shapes

    def line(self, a: XY, b: XY, stroke: str = "line", width: float = 1.0, *, dashed: bool = False) -> None:
        """A straight line."""
        self.add(Path((a, b), stroke, width, dashed=dashed))

    def arrow(self, a: XY, b: XY, stroke: str, width: float = 1.6, told: str | None = None) -> None:
        """A line with a head at `b`."""
        dx, dy = b[0] - a[0], b[1] - a[1]
        length = (dx * dx + dy * dy) ** 0.5
        self.add(Path((a, b), stroke, width, told=told))
        if length > 1:
            ux, uy = dx / length, dy / length
            size = min(6.0, 2.5 + length / 4)
            left = (b[0] - size * ux - size * 0.5 * uy, b[1] - size * uy + size * 0.5 * ux)
            right = (b[0] - size * ux + size * 0.5 * uy, b[1] - size * uy - size * 0.5 * ux)
            self.add(Path((b, left, right), None, 0, stroke, closed=True))

    def alone(self) -> Drawing:
        """The drawing as it is to stand by itself: with its title above it and a margin round it."""
        margin, head = 14.0, 30.0
        made = Drawing(self.width + 2 * margin, self.height + head + margin, self.title)
        made.add(Label((margin, 20), self.title, 12.5, "ink", bold=True))
        made.shapes += [_moved(shape, margin, head) for shape in self.shapes]
        return made

    def svg(self, *, alone: bool = False) -> Markup:
        """As SVG for a page; `alone` as a file of its own with its colours in it."""
        own = [tag("style", raw_css(css_variables() + "svg{background:var(--ground)}"))] if alone else []
        if alone:
            own.append(tag("rect", width="100%", height="100%", fill="var(--ground)"))
        return tag(
            "svg",
            tag("title", self.title),
            own,
            (_svg(shape) for shape in self.shapes),
            xmlns="http://www.w3.org/2000/svg" if alone else None,
            viewBox=f"0 0 {self.width:g} {self.height:g}",
            width=self.width if alone else None,
            height=self.height if alone else None,
            role="img",
            font_family="system-ui, sans-serif",
            style=None if alone else f"max-width:{self.width:g}px",
        )


def _moved(shape: Shape, dx: float, dy: float) -> Shape:
    match shape:
        case Rect():
            return replace(shape, x=shape.x + dx, y=shape.y + dy)
        case Path():
            return replace(shape, points=[(x + dx, y + dy) for x, y in shape.points])
        case Disc():
            return replace(shape, centre=(shape.centre[0] + dx, shape.centre[1] + dy))
        case Label():
            return replace(shape, at=(shape.at[0] + dx, shape.at[1] + dy))


def _svg(shape: Shape) -> Markup:
    told = getattr(shape, "told", None)
    title = [tag("title", told)] if told else []
    match shape:
        case Rect():
            return tag(
                "rect", title, x=shape.x, y=shape.y, width=shape.width, height=shape.height, rx=shape.radius or None,
                **_paint(shape.fill, shape.stroke, shape.stroke_width, shape.dashed),
            )  # fmt: skip
        case Path():
            points = " ".join(f"{x:.1f},{y:.1f}" for x, y in shape.points)
            name = "polygon" if shape.closed else "polyline"
            return tag(name, title, points=points, **_paint(shape.fill, shape.stroke, shape.width, shape.dashed))
        case Disc():
            x, y = shape.centre
            paint = _paint(shape.fill, shape.stroke, shape.stroke_width, shape.dashed)
            return tag("circle", title, cx=x, cy=y, r=shape.radius, **paint)
        case Label():
            x, y = shape.at
            return tag(
                "text", joined([shape.text]), x=x, y=y, font_size=shape.size, fill=f"var(--{shape.tone})",
                text_anchor=None if shape.anchor == "start" else shape.anchor,
                font_weight="600" if shape.bold else None,
                transform=f"rotate(-90 {x:g} {y:g})" if shape.turned else None,
            )  # fmt: skip


def _paint(fill: str | None, stroke: str | None, width: float, dashed: bool) -> dict[str, str | float | None]:
    return {
        "fill": "none" if fill is None else f"var(--{fill})",
        "stroke": None if stroke is None else f"var(--{stroke})",
        "stroke_width": None if stroke is None else width,
        "stroke_dasharray": "4 3" if dashed else None,
        "stroke_linejoin": "round" if stroke is not None else None,
    }
