"""A report as one HTML file: of one run, or of many. It is made from the record and from nothing else."""

from __future__ import annotations

from collections.abc import Sequence

from runs.errors import RecordError
from runs.events import utc_text
from runs.index.questions import ManyRuns
from runs.index.select import Selection
from runs.report import batch_parts
from runs.report.batch_parts import COLUMNS, Batch, anchor, most_telling
from runs.report.bricks import badge, section
from runs.report.markup import Child, Markup, tag
from runs.report.page import contents, page
from runs.report.pictures import pictures_of
from runs.report.run_parts import RUN_CONTENTS, run_head, run_sections
from runs.report.run_places import where
from runs.report.run_verdicts import LEGEND, before_and_after, verdict_cards
from runs.store import StoredRun, open_folder

DETAILED = 24
"""So many runs of a batch are told in full, with pictures, unless asked otherwise."""

_BATCH_CONTENTS = (
    ("summary", "Summary"), ("table", "Over the table"), ("failures", "What failed"), ("groups", "By day, judge, code"),
    ("times", "Times"), ("judge", "The judge"), ("details", "Trials in full"), ("trials", "All trials"),
    ("settings", "Settings"),
)  # fmt: skip


def run_report(stored: StoredRun, *, version: str) -> str:
    """The page of one run: the whole HTML file."""
    log = stored.log
    body = list(run_sections(stored))
    told = RUN_CONTENTS if log.agent is None else (*RUN_CONTENTS[:1], ("agent", "Agent"), *RUN_CONTENTS[1:])
    head: list[Child] = [*run_head(stored), contents(told)]
    return page(f"{log.run_id}: {log.result or stored.entry.state}", head, body, made=_made(version))


def batch_report(
    many: ManyRuns, selection: Selection, *, version: str, title: str, detailed: int = DETAILED
) -> tuple[str, int]:
    """The page of many runs, and how many they are.

    Args:
        detailed: how many are told in full, with pictures.

    Raises:
        RecordError: there is none.
    """
    rows = list(many.stream(selection, COLUMNS))
    if not rows:
        raise RecordError("there are no such runs", next_step="list what there is: trialcell runs list")
    batch = Batch(rows, many, selection)
    told = most_telling(rows, detailed)
    body: list[Child] = [
        batch_parts.summary(batch),
        *batch_parts.unreadable(batch),
        batch_parts.over_the_table(batch),
        batch_parts.what_failed(batch),
        batch_parts.by_what(batch),
        batch_parts.stage_times(batch),
        batch_parts.judges_figures(batch),
        _in_full(batch, told),
        batch_parts.trials(batch, {anchor(row) for row in told}),
        batch_parts.stood_on(batch),
    ]
    cells = sorted({row["cell"] for row in rows})
    days = sorted({row["started_at"][:10] for row in rows if row["started_at"]})
    span = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}" if days else ""
    facts = [f"{len(rows)} runs", span, ", ".join(cells)]
    head: list[Child] = [
        tag("h1", title),
        tag("div", (tag("span", fact) for fact in facts if fact), class_="sub"),
        contents(_BATCH_CONTENTS),
    ]
    return page(title, head, body, made=_made(version)), len(rows)


def _in_full(batch: Batch, told: Sequence[dict[str, object]]) -> Markup:
    """The most telling runs, each folded: verdicts, pictures, places."""
    parts: list[Child] = []
    for row in told:
        cell, run_id = str(row["cell"]), str(row["run_id"])
        try:
            stored = open_folder(batch.many.runs_dir(cell) / run_id)
        except RecordError as error:
            parts.append(tag("details", tag("summary", run_id), tag("p", error.message), id=anchor(dict(row))))
            continue
        parts.append(_folded(stored, dict(row), open_=len(parts) == 0))
    lead = "What did not succeed first, then the most doubtful, then those with the largest tip errors."
    return section("Trials in full", LEGEND, parts, name="details", lead=lead)


def _folded(stored: StoredRun, row: dict[str, object], *, open_: bool) -> Markup:
    log = stored.log
    labels = [capture.label for capture in log.vlm_captures]
    first = next((label for label in labels if label.startswith("detect")), "detect")  # detect, or the first of several
    shown = pictures_of(log, stored.entry.folder, wide_px=560, only=(first, "pick", "place"))
    seen = [each for each in shown if each.data_uri is not None]
    missing = tag("p", "Its pictures are not there.", class_="quiet") if shown and not seen else None
    reason = log.ending.reason if log.ending is not None else ""
    return tag(
        "details",
        tag("summary", log.run_id, " ", badge(str(row["result"])), " ", tag("small", reason)),
        verdict_cards(log),
        before_and_after(log, seen) if seen else missing,
        where(log),
        id=anchor(row),
        open="open" if open_ else None,
    )


def _made(version: str) -> str:
    at = utc_text()[:16].replace("T", " ")
    return f"Made by trialcell {version} on {at} UTC. This page asks no server for anything."
