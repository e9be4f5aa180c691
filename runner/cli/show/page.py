"""The whole page of a run, top to bottom, and the list of runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from runner.cli.show import head, motion, seen
from runner.cli.show.agent import agent
from runner.cli.show.condition import condition
from runner.cli.show.parts import QUIET, heading, indented, pairs, words
from runner.cli.show.rehearsals import rehearsals
from runs.figures import Fields, Figures, clean
from runs.schema.run import RunLog


def page(
    log: RunLog, *, full: bool = False, state: str = "complete", found: Mapping[str, Path | None] | None = None
) -> Iterator[RenderableType]:
    """Everything a log says, in the order in which people ask for it.

    Args:
        full: every digit as it stands in the log, instead of rounded.
        state: `complete`, or `running` or `interrupted` for a run without an end.
        found: where each picture is now, by its name in the log.
    """
    figures = Figures(full)
    yield head.title(log, figures, state)
    yield from head.ending(log, figures)
    yield from head.verdicts(log, figures)
    yield from agent(log, figures)
    yield from head.stages(log, figures)
    yield from seen.drift(log, figures)
    yield from seen.detections(log, figures)
    yield from seen.corrections(log, figures)
    yield from rehearsals(log, figures)
    yield from motion.lookups(log, figures)
    yield from motion.moves(log, figures)
    yield from motion.pose_used(log, figures)
    yield from motion.gripper(log, figures)
    yield from seen.tips(log, figures)
    yield from seen.attempts(log, figures)
    yield from motion.guards(log, figures)
    yield from condition(log, figures)
    yield from notes(log, figures)
    yield from seen.pictures(log, figures, found or {})
    yield from ground(log, figures)


def notes(log: RunLog, figures: Figures) -> Iterator[RenderableType]:
    """Sentences that were worth keeping."""
    if not log.notes:
        return
    yield heading("Notes")
    for note in log.notes:
        where = f"{clean(note.stage)}  " if note.stage else ""
        yield indented(Text.assemble((f"{figures.moment(note.at)}  {where}", QUIET), clean(note.text)))


def ground(log: RunLog, figures: Figures) -> Iterator[RenderableType]:
    """What the run stood on: settings, hashes, seeds."""
    yield heading("Constants")
    rows: list[tuple[str, RenderableType]] = [
        (clean(name), Text(figures.any(value, name))) for name, value in log.constants.items()
    ]
    yield indented(pairs(rows, width=26) if rows else Text("none", style=QUIET))
    yield heading("Provenance")
    if log.provenance is None:
        yield indented(Text("this log doesn't say", style=QUIET))
        return
    fields = Fields(log.provenance)
    settings = fields.take("settings")
    provenance = [(key.replace("_", " "), words(figures.any(value, key))) for key, value in fields.rest()]
    yield indented(pairs(provenance, width=20))
    if settings:
        yield heading("Settings")
        yield indented(pairs([(key, Text(figures.any(value, key))) for key, value in flat(settings)], width=34))


def flat(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Nested settings with dotted names, as they are written with `--set`."""
    for name, value in settings.items():
        if isinstance(value, Mapping) and value:
            yield from flat(value, f"{prefix}{clean(str(name))}.")
        else:
            yield prefix + clean(str(name)), value
