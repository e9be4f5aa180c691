"""The top of the page: which run, how it ended, what was judged, its stages."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from runner.cli.show.asked import asked
from runner.cli.show.parts import (
    NAME,
    OUTCOME_STYLE,
    QUIET,
    RESULT_STYLE,
    columns,
    heading,
    indented,
    pairs,
    verdict_word,
    words,
)
from runs.events import seconds_between
from runs.figures import Fields, Figures, clean, sentence
from runs.schema.run import RunLog, StageRecord
from runs.schema.verdict import JudgedStage, Judgment, Rejudged, Ruling, Verdict
from runs.verdicts import standing_in

STATE_STYLE = {"running": "bold cyan", "interrupted": "bold yellow"}


def title(log: RunLog, figures: Figures, state: str) -> RenderableType:
    """Name, result, when, how long, what kind of run."""
    result = log.result or state
    style = RESULT_STYLE.get(result) or STATE_STYLE.get(result, "bold")
    first = Text.assemble((clean(log.run_id), NAME), "   ", (result, style))
    lasted_s = seconds_between(log.started_at, log.ended_at)
    clock = "UTC" if log.times_are_utc else "local time, offset not recorded"
    parts = [
        f"{figures.moment(log.started_at, with_day=True)} to {figures.moment(log.ended_at)} ({clock})",
        *([f"took {figures.number(lasted_s, 1)} s"] if lasted_s is not None and log.duration_s is None else []),
        *([f"{figures.number(log.duration_s, 1)} s of the arm's time"] if log.duration_s is not None else []),
        *([f"{figures.number(log.wall_s, 1)} s on the clock"] if log.wall_s is not None else []),
        "dry run: nothing moved" if log.dry_run else "not a dry run",
    ]
    kind = [f"schema {log.schema_version}"]
    if log.migrated_from is not None:
        kind.append(f"read from a log of schema {log.migrated_from}")
    if log.recovered:
        kind.append("recovered from its events")
    return Group(first, Text(" · ".join(parts), style=QUIET), Text(" · ".join(kind), style=QUIET))


def ending(log: RunLog, figures: Figures) -> Iterator[RenderableType]:
    """Why it ended as it did; nothing where the log doesn't say."""
    if log.ending is None:
        return
    fields = Fields(log.ending)
    fields.drop("result")
    stage, reason = fields.take("stage"), fields.take("reason")
    where = f" in {clean(stage)}" if stage else ""
    rest = sentence(fields.rest(), figures)
    yield Text("")
    style = RESULT_STYLE[log.ending.result]
    yield Text.assemble((f"{log.ending.result}{where}", style), ": ", clean(reason))
    if rest:
        yield Text(rest, style=QUIET)


def verdicts(log: RunLog, figures: Figures) -> Iterator[RenderableType]:
    """What stands for each stage, then every verdict and ruling behind it."""
    yield heading("Verdicts")
    blocks = [_judgment(log, stage, judgment, figures) for stage, judgment in log.judgments.items()]
    for verdict in log.verdicts:
        stood = log.judgments.get(verdict.stage)
        blocks.append(_verdict(verdict, stood.raw if stood is not None else None, figures))
    blocks += [_later(later, figures) for later in log.rejudged]
    blocks += [_ruling(ruling, figures) for ruling in log.rulings]
    for number, block in enumerate(blocks):
        yield from [Text("")] if number else []
        yield indented(block)
    if not blocks:
        yield indented(Text("nothing was judged", style=QUIET))


def _judgment(log: RunLog, stage: JudgedStage, judgment: Judgment, figures: Figures) -> RenderableType:
    fields = Fields(judgment)
    word, model = fields.take("verdict"), fields.take("model")
    judge = clean(model or "an unnamed judge")
    standing = standing_in(log, stage)
    ruled = standing is not None and standing.source == "person"
    by = f"by {clean(standing.by or 'a person')}" if standing is not None and ruled else f"by {judge}"
    confidence = figures.number(fields.take("confidence"), 2)
    shown = verdict_word(standing.word if standing is not None else None)
    rows: list[tuple[RenderableType, RenderableType]] = [
        (Text(stage, style=NAME), Text.assemble(shown, f"  {confidence}  ", (by, QUIET))),
        ("", words(fields.take("reason"))),
    ]
    if ruled:
        rows.append(("stood then", Text(f"{word or 'no verdict'} by {judge}", style=QUIET)))
    told = {"vlm_verdict": "the judge's word", "human_verdict": "a person's word", "dist_override": "distance override"}
    values = {name: (key, fields.take(key)) for key, name in told.items()}
    said = [f"{name}: {figures.any(value, key)}" for name, (key, value) in values.items() if value is not None]
    if said:
        rows.append(("", Text(" · ".join(said), style=QUIET)))
    for key in ("error", "image", "raw"):
        value = fields.take(key)
        if value is not None:
            rows.append(({"image": "picture", "raw": "raw reply"}.get(key, key), words(value, QUIET)))
    return pairs(rows)


def _verdict(verdict: Verdict, shown_raw: str | None, figures: Figures) -> RenderableType:
    fields = Fields(verdict)
    audit = Fields(fields.take("audit"))
    judge, raw, measured = audit.take("judge"), audit.take("raw"), audit.take("measurements")
    first = Text.assemble(
        verdict_word(fields.take("verdict")),
        f"  {figures.number(fields.take('confidence'), 2)}  ",
        (f"said by {clean(judge)}, attempt {fields.take('attempt')}, at {figures.moment(fields.take('at'))}", QUIET),
    )
    rows: list[tuple[RenderableType, RenderableType]] = [
        (Text(fields.take("stage"), style=NAME), first),
        ("", words(fields.take("reason"))),
    ]
    error = fields.take("error")
    if error is not None:
        rows.append(("error", words(error, "yellow")))
    if measured:
        rows.append(("measured", Text(figures.any(measured, "measurements"), style=QUIET)))
    of_model = asked(audit, figures)
    rest = sentence(audit.rest(), figures)
    if rest:
        rows.append(("asked", Text(rest, style=QUIET)))
    rows += of_model
    if raw is not None and raw != shown_raw:
        rows.append(("raw reply", words(raw, QUIET)))
    rows += [("member", _verdict(member, shown_raw, figures)) for member in fields.take("members")]
    rows += [("for the record", _verdict(beside, shown_raw, figures)) for beside in fields.take("alongside")]
    return pairs(rows)


def _later(later: Rejudged, figures: Figures) -> RenderableType:
    """A verdict that was added after the run."""
    fields = Fields(later)
    verdict = fields.take("verdict")
    told = sentence(fields.rest(), figures)
    return pairs([(Text("added later", style=QUIET), Text(told, style=QUIET)), ("", _verdict(verdict, None, figures))])


def _ruling(ruling: Ruling, figures: Figures) -> RenderableType:
    fields = Fields(ruling)
    done = "taken back" if fields.take("takes_back") else "ruled"
    at = figures.moment(fields.take("at"), with_day=True)
    first = Text.assemble(
        verdict_word(fields.take("verdict")),
        f"  {done} by {clean(fields.take('by'))} at {at}",
        ", blind" if fields.take("blind") else "",
    )
    return pairs([(Text(fields.take("stage"), style=NAME), first), ("", words(fields.take("reason")))])


def stages(log: RunLog, figures: Figures) -> Iterator[RenderableType]:
    """Every stage with its outcome, when it began and how long it took on the arm's clock and ours."""
    if not log.stage_records:
        yield heading("Stages", "without times: this log holds only their names" if log.stages else "")
        yield indented(Text("  ".join(re.sub(r"\s", " ", clean(name)) for name in log.stages) or "none"))
        return
    yield heading("Stages")
    if figures.full:
        rows = [(clean(record.name), _stage_in_full(record, figures)) for record in log.stage_records]
        yield indented(pairs(rows, width=22))
        return
    table = columns(
        "stage", "attempt", "outcome", "began", "ended", "arm's clock", "took", "note",
        right=("attempt", "arm's clock", "took"), wide="note",
    )  # fmt: skip
    for record in log.stage_records:
        fields = Fields(record)
        attempt = fields.take("attempt")
        outcome = fields.take("outcome")
        table.add_row(
            words(fields.take("name")),
            "" if attempt is None else str(attempt),
            Text(outcome, style=OUTCOME_STYLE.get(outcome, "yellow")),
            figures.moment(fields.take("started_at")),
            figures.moment(fields.take("ended_at")),
            figures.of(fields.take("started_s"), "started_s"),
            figures.of(fields.take("duration_s"), "duration_s"),
            words(fields.take("note") or "", QUIET),
        )
    yield indented(table)


def _stage_in_full(record: StageRecord, figures: Figures) -> Text:
    """A stage with every digit, which no table has room for."""
    fields = Fields(record)
    fields.drop("name")
    return Text(sentence(fields.rest(), figures))
