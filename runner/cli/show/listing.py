"""The runs of a cell, one a line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from runner.cli.show.figures import NOTHING, clean
from runner.cli.show.head import STATE_STYLE, seconds_between
from runner.cli.show.parts import QUIET, RESULT_STYLE, columns, verdict_word
from runs.errors import RecordError
from runs.schema.run import RunLog
from runs.schema.verdict import JudgedStage
from runs.store import RunEntry, RunStore
from runs.verdicts import standing_in, standing_result


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

    def as_object(self) -> dict[str, Any]:
        """For programs."""
        return asdict(self)


def lines(store: RunStore) -> Iterator[Line]:
    """A line for every run, the newest first."""
    for entry in reversed(store.list()):
        yield _line(entry, store)


def _line(entry: RunEntry, store: RunStore) -> Line:
    try:
        log = store.open(entry.run_id).log
    except RecordError as error:
        return Line(entry.run_id, "unreadable", problem=error.message)
    lasted_s = log.duration_s if log.duration_s is not None else seconds_between(log.started_at, log.ended_at)
    return Line(
        run_id=entry.run_id,
        result=standing_result(log) or entry.state,
        started_at=log.started_at,
        duration_s=lasted_s,
        pick=_word(log, "pick"),
        place=_word(log, "place"),
        attempts=len(log.pick_attempts),
        stage=log.ending.stage if log.ending is not None else None,
        dry_run=log.dry_run,
        recovered=log.recovered,
        ruled=bool(log.rulings),
        result_then=log.result,
    )


def _word(log: RunLog, stage: JudgedStage) -> str | None:
    standing = standing_in(log, stage)
    return standing.word if standing is not None else None


def listing(rows: Sequence[Line], runs_dir: Path) -> Iterator[RenderableType]:
    """The lines as a table, and how many ended how."""
    if not rows:
        yield Text(f"no runs in {runs_dir}", style=QUIET)
        return
    table = columns("run", "started", "result", "pick", "tries", "place", "took", "", right=("tries", "took"), wide="")
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
    counts = Counter(row.result for row in rows)
    yield Text("\n" + ", ".join(f"{count} {result}" for result, count in counts.most_common()), style=QUIET)
    if counts["interrupted"]:
        yield Text("what was interrupted can be made whole: trialcell runs recover", style=QUIET)


def _day_and_minute(text: str | None) -> str:
    """A time of the log as `2026-07-03 13:23`, on the log's own clock."""
    return NOTHING if text is None else clean(text).replace("T", " ")[:16]


def _shown(word: str | None) -> Text:
    return Text(NOTHING, style=QUIET) if word is None else verdict_word(word)
