"""Charts: rates with their intervals, the timeline of a trial, joint traces, tip error against samples, reliability.

Every figure that a chart shows stands in a table beside it or in its own labels; axes say their units.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, log10

from runs.agreement import Bin
from runs.report.drawing import Disc, Drawing, Label, Path, Rect
from runs.statistics import Rate


def nice_step(span: float, n: int = 5) -> float:
    """A step of 1, 2 or 5 times a power of ten that cuts a span into about `n` parts."""
    if span <= 0:
        return 1.0
    rough = span / n
    power = 10.0 ** int(log10(rough) // 1)
    return next(step * power for step in (1, 2, 5, 10) if step * power >= rough * 0.999)


def short(text: str, most: int) -> str:
    """A text cut where it is too long for its place."""
    return text if len(text) <= most else text[: most - 1] + "…"


def rate_chart(rows: Sequence[tuple[str, Rate]], title: str, *, width: float = 620.0) -> Drawing:
    """A dot a row for the rate, a line for its exact interval, the counts on the right."""
    names = 150.0
    right = 128.0
    high = 22.0
    drawing = Drawing(width, high * len(rows) + 30, title)
    left, span = names + 8, width - names - right - 16
    for percent in (0, 25, 50, 75, 100):
        x = left + span * percent / 100
        drawing.line((x, 4), (x, high * len(rows) + 6), "line")
        drawing.add(Label((x, high * len(rows) + 20), f"{percent} %", 10, "quiet", "middle"))
    for number, (name, rate) in enumerate(rows):
        y = high * number + high / 2 + 4
        drawing.add(Label((names, y + 4), short(name, 24), 11.5, "ink", "end"))
        if rate.rate is None:
            drawing.add(Label((width - right + 2, y + 4), "none decided", 11, "quiet"))
            continue
        told = f"{name}: {rate.successes} of {rate.n}, {rate.rate:.1%} ({rate.low:.1%} to {rate.high:.1%})"
        drawing.add(Path(((left + span * rate.low, y), (left + span * rate.high, y)), "good", 2.2, told=told))
        for end in (rate.low, rate.high):
            drawing.line((left + span * end, y - 4), (left + span * end, y + 4), "good", 1.4)
        drawing.add(Disc((left + span * rate.rate, y), 4.6, "good", "panel", 1.2, told=told))
        text = f"{rate.rate:.1%}  {rate.successes} of {rate.n}"
        drawing.add(Label((width - right + 2, y + 4), text, 11, "ink"))
    return drawing


@dataclass(frozen=True, slots=True)
class Span:
    """A stage on the timeline: seconds from the start; `tone` says how it came out."""

    name: str
    start_s: float
    end_s: float
    outcome: str
    attempt: int | None = None


@dataclass(frozen=True, slots=True)
class Mark:
    """A moment on the timeline."""

    at_s: float
    kind: str
    told: str


_OUTCOME_TONES = {"done": "heat2", "skipped": "faint", "cut_off": "doubt_soft"}
_MARK_NAMES = {"move": "moves", "gripper": "gripper", "picture": "pictures", "verdict": "verdicts"}


def timeline(spans: Sequence[Span], marks: Sequence[Mark], title: str, *, width: float = 900.0) -> Drawing:
    """Stages as bars over seconds, one a row, with what happened in them below."""
    names, high, top = 168.0, 19.0, 8.0
    rows = len(spans)
    kinds = [kind for kind in _MARK_NAMES if any(mark.kind == kind for mark in marks)]
    drawing = Drawing(width, top + high * rows + 18 * len(kinds) + 34, title)
    end_s = max([*(span.end_s for span in spans), *(mark.at_s for mark in marks), 1.0])
    left, across = names + 8, width - names - 64

    def at(seconds: float) -> float:
        return left + across * seconds / end_s

    floor = top + high * rows + 18 * len(kinds) + 6
    step = nice_step(end_s, 8)
    for number in range(int(end_s / step) + 1):
        x = at(number * step)
        drawing.line((x, top), (x, floor), "line")
        drawing.add(Label((x, floor + 14), f"{number * step:g}", 10, "quiet", "middle"))
    drawing.add(Label((width - 8, floor + 14), "s", 10, "quiet", "end"))
    for number, span in enumerate(spans):
        y = top + high * number
        tone = _OUTCOME_TONES.get(span.outcome, "bad_soft")
        wide = max(1.5, at(span.end_s) - at(span.start_s))
        told = f"{span.name}: {span.outcome}, {span.start_s:.1f} to {span.end_s:.1f} s"
        odd = span.outcome != "done"
        drawing.add(Rect(at(span.start_s), y + 3, wide, high - 6, tone, "bad" if odd else None, radius=2, told=told))
        name = span.name if span.attempt in (None, 1) else f"{span.name} · try {span.attempt}"
        drawing.add(Label((names, y + high - 6), short(name, 28), 11, "ink", "end"))
        text = f"{span.end_s - span.start_s:.1f} s" + (f" {span.outcome}" if odd else "")
        if at(span.end_s) + 60 < width:
            drawing.add(Label((at(span.end_s) + 5, y + high - 6), text, 10, "quiet"))
        else:
            drawing.add(Label((at(span.start_s) - 5, y + high - 6), text, 10, "quiet", "end"))
    _marks(drawing, marks, kinds, at, top + high * rows + 8, names)
    return drawing


def _marks(drawing: Drawing, marks: Sequence[Mark], kinds: Sequence[str], at: object, top: float, names: float) -> None:
    tones = {"move": "quiet", "gripper": "violet", "picture": "accent", "verdict": "ink"}
    assert callable(at)
    for row, kind in enumerate(kinds):
        y = top + 18 * row + 7
        drawing.add(
            Label(
                (names, y + 4),
                _MARK_NAMES[kind],
                11,
                "quiet",
                "end",
            )
        )
        for mark in marks:
            if mark.kind != kind:
                continue
            x = at(mark.at_s)
            if kind == "picture":
                drawing.add(Rect(x - 3.5, y - 3.5, 7, 7, "panel", tones[kind], 1.4, told=mark.told))
            elif kind == "verdict":
                diamond = ((x, y - 5), (x + 5, y), (x, y + 5), (x - 5, y))
                drawing.add(Path(diamond, tones[kind], 1.4, "panel", closed=True, told=mark.told))
            elif kind == "gripper":
                drawing.add(
                    Path(((x - 4, y + 4), (x + 4, y + 4), (x, y - 4)), tones[kind], 1.2, "panel", True, told=mark.told)
                )
            else:
                drawing.add(Disc((x, y), 3, tones[kind], None, told=mark.told))


@dataclass(frozen=True, slots=True)
class JointMove:
    """One move for the traces: commanded and read back, degrees; None where nothing was read."""

    label: str
    commanded_deg: Sequence[float]
    before_deg: Sequence[float] | None
    after_deg: Sequence[float] | None


def joint_traces(moves: Sequence[JointMove], title: str, *, width: float = 900.0) -> Drawing:
    """A panel a joint: commanded as steps, read back as dots, and how far off it was below, move after move."""
    n_joints = max((len(move.commanded_deg) for move in moves), default=0)
    columns = 3
    wide, high = (width - 12) / columns, 176.0
    rows = ceil(n_joints / columns)
    drawing = Drawing(width, rows * high + 22, title)
    for joint in range(n_joints):
        x, y = (joint % columns) * wide, (joint // columns) * high
        _joint_panel(drawing, moves, joint, (x, y, wide - 14, high - 16))
    _trace_key(drawing, rows * high + 12)
    return drawing


def _joint_panel(
    drawing: Drawing, moves: Sequence[JointMove], joint: int, box: tuple[float, float, float, float]
) -> None:
    x0, y0, wide, high = box
    left, across, main = x0 + 34, wide - 38, high - 58

    def value(angles: Sequence[float] | None) -> float | None:
        return angles[joint] if angles is not None and joint < len(angles) else None

    told = [value(move.commanded_deg) for move in moves]
    read = [(value(move.before_deg), value(move.after_deg)) for move in moves]
    known = [angle for angle in [*told, *(each for pair in read for each in pair)] if angle is not None] or [0.0]
    low, top = min(known), max(known)
    pad = max(2.0, (top - low) * 0.08)
    low, top = low - pad, top + pad
    step_x = across / max(1, len(moves))

    def y_of(angle: float) -> float:
        return y0 + 18 + main * (top - angle) / (top - low)

    drawing.add(Label((x0 + 34, y0 + 11), f"j{joint}", 11.5, "ink", bold=True))
    step = nice_step(top - low, 3)
    tick = ceil(low / step) * step
    while tick <= top:
        drawing.line((left, y_of(tick)), (left + across, y_of(tick)), "line")
        drawing.add(Label((left - 5, y_of(tick) + 3.5), f"{tick:g}°".replace("-", "−"), 9.5, "quiet", "end"))
        tick += step
    steps = []
    for number, angle in enumerate(told):
        if angle is not None:
            steps += [(left + number * step_x, y_of(angle)), (left + (number + 1) * step_x, y_of(angle))]
    drawing.add(Path(steps, "good", 1.6))
    errors = []
    for number, (move, (before, after)) in enumerate(zip(moves, read, strict=True)):
        middle = left + (number + 0.5) * step_x
        if before is not None:
            what = f"{move.label}, before: j{joint} {before:.2f}°"
            drawing.add(Disc((left + number * step_x + 3, y_of(before)), 2.2, "panel", "bad", 1.1, told=what))
        if after is not None:
            commanded = told[number]
            off = after - commanded if commanded is not None else 0.0
            errors.append((middle, off, move.label))
            what = f"{move.label}, after: j{joint} {after:.2f}°, commanded {commanded}°, {off:+.2f}° off"
            drawing.add(Disc((left + (number + 1) * step_x - 3, y_of(after)), 2.6, "bad", None, told=what))
    floor = y0 + 18 + main + 24
    most = max([1.0, *(abs(off) for _, off, _ in errors)])
    drawing.line((left, floor), (left + across, floor), "line")
    drawing.add(Label((left - 5, floor + 3.5), f"±{most:.1f}°", 9.5, "quiet", "end"))
    for middle, off, label in errors:
        tall = off / most * 14
        at = min(floor, floor - tall)
        drawing.add(Rect(middle - 3, at, 6, max(0.6, abs(tall)), "bad", None, told=f"{label}: {off:+.2f}° off"))


def _trace_key(drawing: Drawing, y: float) -> None:
    x = 34.0
    drawing.line((x, y), (x + 18, y), "good", 1.6)
    drawing.add(Label((x + 24, y + 4), "commanded, move after move", 10.5, "quiet"))
    drawing.add(Disc((x + 200, y), 2.2, "panel", "bad", 1.1))
    drawing.add(Label((x + 208, y + 4), "read before", 10.5, "quiet"))
    drawing.add(Disc((x + 290, y), 2.6, "bad"))
    drawing.add(Label((x + 298, y + 4), "read after", 10.5, "quiet"))
    drawing.add(Rect(x + 374, y - 5, 6, 10, "bad"))
    drawing.add(Label((x + 386, y + 4), "read after minus commanded", 10.5, "quiet"))


def tip_against_n(points: Sequence[tuple[int, float]], title: str, *, width: float = 560.0) -> Drawing:
    """Tip error against how many samples the square's correction had then, with the median of each count.

    Args:
        points: samples, and the tip's distance from the block, mm.
    """
    high, left, top, bottom = 290.0, 34.0, 22.0, 42.0
    drawing = Drawing(width, high, title)
    most_n = max((n for n, _ in points), default=1) or 1
    most_mm = max((mm for _, mm in points), default=1.0) * 1.08 or 1.0
    across, tall = width - left - 16, high - top - bottom

    def at(n: float, mm: float) -> tuple[float, float]:
        return left + across * (n + 0.5) / (most_n + 1), top + tall * (1 - mm / most_mm)

    _axis_up(drawing, most_mm, left, top, tall, width - 16)
    drawing.add(Label((0, 9), "tip error, mm", 10, "quiet"))
    step = max(1, round(nice_step(most_n, 8)))
    for n in range(0, most_n + 1, step):
        drawing.add(Label((at(n, 0)[0], high - bottom + 15), str(n), 10, "quiet", "middle"))
    drawing.add(Label((width - 16, high - 8), "samples in the square's correction, n", 10, "quiet", "end"))
    by_n: dict[int, list[float]] = {}
    for n, mm in points:
        by_n.setdefault(n, []).append(mm)
        drawing.add(Disc(at(n, mm), 2.4, "heat3", "panel", 0.6, told=f"n = {n}: {mm:.1f} mm"))
    middles = [at(n, sorted(values)[len(values) // 2]) for n, values in sorted(by_n.items())]
    drawing.add(Path(middles, "bad", 2.0))
    for (n, values), (x, y) in zip(sorted(by_n.items()), middles, strict=True):
        median = sorted(values)[len(values) // 2]
        told = f"n = {n}: median {median:.1f} mm of {len(values)}"
        drawing.add(Rect(x - 3, y - 3, 6, 6, "bad", "panel", told=told))
    return drawing


def _axis_up(drawing: Drawing, most: float, left: float, top: float, tall: float, right: float) -> None:
    step = nice_step(most, 5)
    for number in range(int(most / step) + 1):
        y = top + tall * (1 - number * step / most)
        drawing.line((left, y), (right, y), "line")
        drawing.add(Label((left - 6, y + 3.5), f"{number * step:g}", 10, "quiet", "end"))


def reliability_chart(bins: Sequence[Bin], title: str, *, width: float = 380.0) -> Drawing:
    """How often the judge is right against how sure it said it was; on the line, its confidence means what it says."""
    left, top, bottom = 46.0, 22.0, 40.0
    side = width - left - 16
    drawing = Drawing(width, side + top + bottom, title)
    for number in range(6):
        share = number / 5
        y, x = top + side * (1 - share), left + side * share
        drawing.line((left, y), (left + side, y), "line")
        drawing.line((x, top), (x, top + side), "line")
        drawing.add(Label((left - 6, y + 3.5), f"{share:.0%}".replace("%", " %"), 10, "quiet", "end"))
        drawing.add(Label((x, top + side + 15), f"{share:.0%}".replace("%", " %"), 10, "quiet", "middle"))
    drawing.add(Path(((left, top + side), (left + side, top)), "quiet", 1.2, dashed=True))
    drawing.add(Label((left + side, top + side + 31), "confidence it said", 10, "quiet", "end"))
    drawing.add(Label((0, 9), "right, by people", 10, "quiet"))
    for part in bins:
        if part.right.rate is None:
            continue
        x = left + side * part.mean_confidence
        told = f"said {part.mean_confidence:.0%}: {part.right.successes} of {part.right.n} right"
        drawing.add(
            Path(
                ((x, top + side * (1 - part.right.low)), (x, top + side * (1 - part.right.high))),
                "good",
                2.0,
                told=told,
            )
        )
        drawing.add(Disc((x, top + side * (1 - part.right.rate)), 4.6, "good", "panel", 1.2, told=told))
    return drawing


def bars(rows: Sequence[tuple[str, float, str]], title: str, *, width: float = 560.0, tone: str = "heat3") -> Drawing:
    """A bar a row, with its figure in words behind it."""
    names, high = 232.0, 21.0
    drawing = Drawing(width, high * len(rows) + 8, title)
    most = max((value for _, value, _ in rows), default=1.0) or 1.0
    for number, (name, value, text) in enumerate(rows):
        y = 4 + high * number
        long = (width - names - 80) * value / most
        drawing.add(Label((names, y + high - 7), short(name, 36), 11.5, "ink", "end"))
        drawing.add(Rect(names + 8, y + 3, max(1.0, long), high - 7, tone, radius=2, told=f"{name}: {text}"))
        drawing.add(Label((names + 14 + long, y + high - 7), text, 11, "quiet"))
    return drawing
