"""How the arm was during the trial: power, errors, servos, temperatures, supply, restarts."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType

from runner.cli.show.parts import heading, indented, pairs, words
from runs.figures import Fields, Figures, sentence
from runs.schema.run import RunLog


def condition(log: RunLog, figures: Figures) -> Iterator[RenderableType]:
    """One line for each time that the arm was asked."""
    if not log.health:
        return
    yield heading("The arm's condition")
    rows: list[tuple[str, RenderableType]] = []
    for record in log.health:
        fields = Fields(record)
        stage = fields.take("stage")
        rows.append((stage, words(sentence(fields.rest(), figures))))
    yield indented(pairs(rows, width=16))
