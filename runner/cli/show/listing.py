"""The runs of a cell, one a line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType
from rich.text import Text

from runner.cli.show.head import STATE_STYLE
from runner.cli.show.parts import QUIET, RESULT_STYLE, columns, verdict_word
from runs.figures import NOTHING, clean

if TYPE_CHECKING:
    from runs.index.questions import Page


@dataclass(frozen=True, slots=True)
class Line:
    """What the list says of one run. `result` is its state where it has no end; `problem` where it can't be read."""

    run_id: str
    result: str
    started_at: str | None = None
    duration_s: float | None = None
    pick: str | None = None
    place: str | None = None
    attempts: int = 0
    stage: str | None = None
    dry_run: bool = False
    recovered: bool = False
    ruled: bool = False
    result_then: str | None = None
    problem: str | None = None

    cell: str | None = None

    def as_object(self) -> dict[str, Any]:
        """For programs."""
        return asdict(self)


_RENAMED = {"pick": "pick_word", "place": "place_word", "stage": "ended_stage"}
LINE_COLUMNS = tuple(f"{_RENAMED.get(field.name, field.name)} AS {field.name}" for field in fields(Line))
"""What a line asks of the index."""


def listing(
    rows: Sequence[Line], runs_dirs: Sequence[str], shown: Page, *, page: int, size: int
) -> Iterator[RenderableType]:
    """The lines as a table, and how many of all ended how."""
    if not rows:
        text = f"no runs in {', '.join(runs_dirs)}" if shown.total == 0 else f"there is no page {page}"
        yield Text(text, style=QUIET)
        return
    many = ("cell",) if len(runs_dirs) > 1 else ()
    table = columns(
        *many, "run", "started", "result", "pick", "tries", "place", "took", "", right=("tries", "took"), wide=""
    )
    for row in rows:
        remarks = [
            *([f"in {clean(row.stage)}"] if row.stage and row.result != "completed" else []),
            *(["dry run"] if row.dry_run else []),
            *(["recovered"] if row.recovered else []),
            *(["ruled"] if row.ruled else []),
            *([f"{row.result_then} then"] if row.result_then is not None and row.result_then != row.result else []),
            *([clean(row.problem)] if row.problem else []),
        ]
        table.add_row(
            *((clean(row.cell or ""),) if many else ()),
            row.run_id,
            _day_and_minute(row.started_at),
            Text(row.result, style=RESULT_STYLE.get(row.result) or STATE_STYLE.get(row.result, "red")),
            _shown(row.pick),
            str(row.attempts) if row.attempts else NOTHING,
            _shown(row.place),
            NOTHING if row.duration_s is None else f"{row.duration_s:.1f} s",
            Text(", ".join(remarks), style=QUIET),
        )
    yield table
    counts = shown.results
    yield Text("\n" + ", ".join(f"{count} {result}" for result, count in counts.items()), style=QUIET)
    if shown.total > size:
        yield Text(f"page {page} of {-(-shown.total // size)}: --page shows another", style=QUIET)
    if counts.get("interrupted"):
        yield Text("what was interrupted can be made whole: trialcell runs recover", style=QUIET)


def _day_and_minute(text: str | None) -> str:
    """A time of the log as `2026-07-03 13:23`, on the log's own clock."""
    return NOTHING if text is None else clean(text).replace("T", " ")[:16]


def _shown(word: str | None) -> Text:
    return Text(NOTHING, style=QUIET) if word is None else verdict_word(word)
