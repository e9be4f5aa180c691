"""What the camera saw: detections, the tip against the block, attempts, and where the pictures are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from rich.console import RenderableType
from rich.text import Text

from runner.cli.show.parts import NAME, QUIET, heading, indented, pairs, verdict_word, words
from runs.figures import NOTHING, Fields, Figures, clean, sentence
from runs.schema.base import Record
from runs.schema.run import RunLog

Rows = list[tuple[str, RenderableType]]


def detections(log: RunLog, figures: Figures) -> Iterator[RenderableType]:
    """Each look at the table."""
    yield heading("Detections")
    if not log.detect:
        yield indented(Text("none", style=QUIET))
    for record in log.detect:
        fields = Fields(record)
        stage = fields.take("stage")
        when = fields.take("at")
        block, box = fields.take("block"), fields.take("box")
        rows: Rows = []
        for what, found in (("block", block), ("box", box)):
            xz_m, score = fields.take(f"{what}_xz_m"), fields.take(f"{what}_score")
            place = Text(figures.point(xz_m, "xz_m")) if xz_m is not None else Text("not found", style="yellow")
            rows.append((what, Text.assemble(place, f"  score {figures.number(score, 2)}")))
            if found is not None:
                rows.append(("", Text(_beyond(found, ("xz_m", "score"), figures), style=QUIET)))
        for dropped in fields.take("dropped"):
            inner = Fields(dropped)
            what, reason = inner.take("what"), inner.take("reason")
            rows.append(("dropped", Text(f"{what}: {clean(reason)} ({sentence(inner.rest(), figures)})", style=QUIET)))
        images = fields.take("images")
        if images:
            rows.append(("pictures", words(", ".join(images), QUIET)))
        note = fields.take("note")
        if note is not None:
            rows.append(("note", words(note)))
        at = f"  at {figures.moment(when)}" if when is not None else ""
        name = f"stage {stage}" if isinstance(stage, int) else clean(stage)
        yield indented(Text.assemble((name, NAME), (f"  {sentence(fields.rest(), figures)}{at}", QUIET)))
        yield indented(pairs(rows))


def _beyond(found: Record, shown: tuple[str, ...], figures: Figures) -> str:
    fields = Fields(found)
    fields.drop(*shown)
    return sentence(fields.rest(), figures)


def attempts(log: RunLog, figures: Figures) -> Iterator[RenderableType]:
    """Each try at the block."""
    if not log.pick_attempts:
        return
    yield heading("Pick attempts")
    for record in log.pick_attempts:
        fields = Fields(record)
        number, verdict, confidence = fields.take("attempt"), fields.take("verdict"), fields.take("confidence")
        first = Text.assemble(verdict_word(verdict), f"  {figures.number(confidence, 2)}")
        rows: Rows = [(str(number), first), ("", words(fields.take("reason")))]
        told = {"vlm_verdict": "the judge's word", "human_verdict": "a person's word", "dist_override": "override"}
        said = [f"{name}: {figures.any(fields.take(key), key)}" for key, name in told.items()]
        block = fields.take("block_xz_m")
        rows.append(("block", Text(figures.point(block, "xz_m"))))
        rows.append(("", Text(" · ".join([*said, sentence(fields.rest(), figures)]).rstrip(" ·"), style=QUIET)))
        yield indented(pairs(rows))


def tips(log: RunLog, figures: Figures) -> Iterator[RenderableType]:
    """The tip against the block."""
    yield heading("Tip", "tip minus block")
    if not log.tip_measurements:
        yield indented(Text("not measured", style=QUIET))
    for record in log.tip_measurements:
        fields = Fields(record)
        diff, tip, image = fields.take("diff"), fields.take("tip"), fields.take("image")
        attempt, reason = fields.take("attempt"), fields.take("reason")
        rows: Rows = []
        if diff is None:
            why = clean(reason or "no reason given")
            rows.append((f"attempt {attempt}", Text(f"not measured: {why}", style="yellow")))
        else:
            along_x, along_z = (figures.of(value, "d_mm", signed=True) for value in (diff.dx_mm, diff.dz_mm))
            total = figures.of(diff.dist_mm, "dist_mm")
            rows.append((f"attempt {attempt}", Text(f"x {along_x}, z {along_z}, {total} in all")))
            rows.append(("tip", Text(figures.point((diff.tip_x, diff.tip_z), "xz_m"))))
            rows.append(("block", Text(figures.point((diff.block_x, diff.block_z), "xz_m"))))
            if reason is not None:
                rows.append(("", words(reason, QUIET)))
        if tip is not None:
            rows.append(("seen", Text(_beyond(tip, (), figures), style=QUIET)))
        rows.append(("picture", words(image, QUIET)))
        rest = sentence(fields.rest(), figures)
        if rest:
            rows.append(("", Text(rest, style=QUIET)))
        yield indented(pairs(rows))


def pictures(log: RunLog, figures: Figures, found: Mapping[str, Path | None]) -> Iterator[RenderableType]:
    """Where each picture is now; `found` says it by the name in the log, None for one that is not there."""
    yield heading("Pictures", f"named in {clean(log.frames_dir)}")
    if not log.vlm_captures:
        yield indented(Text("none", style=QUIET))
        return
    rows: Rows = []
    for record in log.vlm_captures:
        fields = Fields(record)
        label, image = fields.take("label"), fields.take("image")
        dry_run, when = fields.take("dry_run"), fields.take("at")
        path = found.get(image)
        rows.append((label, words(str(path)) if path is not None else words(image)))
        details = [
            *([] if path is not None else ["not there now"]),
            *(["dry run"] if dry_run else []),
            *([f"at {figures.moment(when)}"] if when is not None else []),
            sentence(fields.rest(), figures),
        ]
        rows.append(("", Text(" · ".join(each for each in details if each), style=QUIET)))
    yield indented(pairs(rows, width=18))


def corrections(log: RunLog, figures: Figures) -> Iterator[RenderableType]:
    """What was corrected, and what was learned."""
    yield heading("Corrections", "target − correction → aimed at")
    rows: Rows = []
    for use in (log.correction.last, log.correction.place_last):
        if use is None:
            continue
        known = use.dx_mm is not None and use.dz_mm is not None
        amount = figures.point((use.dx_mm, use.dz_mm), "d_mm") if known else NOTHING  # type: ignore[arg-type]
        before, after = figures.point(use.target_before_mm, "at_mm"), figures.point(use.target_after_mm, "at_mm")
        learned = f", so far {amount}" if known and not use.applied else ""
        rows.append((use.phase, Text(f"{before} − {amount} → {after}" if use.applied else f"{before} → {after}")))
        rows.append(("", Text(f"{use.in_words}{learned}  {use.cell_key}", style=QUIET)))
    for change in log.correction.learned:
        now = f"{figures.point(change.after[:2], 'd_mm')}, n = {change.after[2]}"
        was = "nothing"
        if change.before is not None:
            was = f"{figures.point(change.before[:2], 'd_mm')}, n = {change.before[2]}"
        sample = figures.point(change.sample_mm, "d_mm")
        rows.append(("learned", Text(f"{change.cell_key}: {was} → {now}, from {sample}")))
    if log.correction.not_learned is not None:
        rows.append(("not learned", words(log.correction.not_learned)))
    yield indented(pairs(rows) if rows else Text("none", style=QUIET))
