"""The queue's steps as the index holds them: which are drawn, and what a row says of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runs.index.database import Database
from runs.index.shape import STAGES
from runs.queue import draw, drawn_from_the_confident
from runs.schema.verdict import JudgedStage


def as_doubtful(step: dict[str, Any]) -> dict[str, Any]:
    """A row of the queue; why a confident step was drawn is not in the index."""
    drawn = step["lot"] is not None
    reasons, blind = step["reasons"], step["blind_reasons"]
    if drawn:
        reason = drawn_from_the_confident(step["word"], step["confidence"])
        reasons, blind = [reason.text], [reason.blind]
    return {
        "cell": step["cell"],
        "run_id": step["run_id"],
        "stage": step["stage"],
        "doubt": step["doubt"],
        "reasons": reasons,
        "blind_reasons": blind,
        "word": step["word"],
        "confidence": step["confidence"],
        "judge": step["by"],
        "image": step["image"],
        "drawn": drawn,
    }


def is_drawn(stage: JudgedStage, seed: int) -> str:
    """Whether the lot of a confident step is drawn: it is noted for the first seed; for others see `put_drawn`."""
    return f"{stage}_lot < ?" if seed == 0 else f"(cell, run_id, '{stage}') IN (SELECT * FROM drawn)"


def put_drawn(database: Database, query: str, values: Sequence[Any], share: float, seed: int) -> None:
    """Put the steps that a seed other than 0 draws from the runs of a query into the table `drawn`."""
    lots = " UNION ALL ".join(
        f"SELECT cell, run_id, '{stage}' AS stage FROM chosen WHERE {stage}_lot IS NOT NULL" for stage in STAGES
    )
    rows = database.rows(f"WITH chosen AS ({query}) {lots}", values)
    found = [row for row in rows if draw(seed, row["run_id"], row["stage"]) < share]
    database.do("CREATE OR REPLACE TEMP TABLE drawn (cell VARCHAR, run_id VARCHAR, stage VARCHAR)")
    columns = [[row[name] for row in found] for name in ("cell", "run_id", "stage")]
    database.do("INSERT INTO drawn SELECT unnest(?::VARCHAR[]), unnest(?::VARCHAR[]), unnest(?::VARCHAR[])", columns)
