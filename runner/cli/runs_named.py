"""Runs as they are named on the command line: ids, numbers, `latest`, and ranges of numbers such as `2-40`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runs.index.questions import ManyRuns

RANGE = re.compile(r"(\d+)-(\d+)")


def named(texts: Sequence[str], many: ManyRuns) -> tuple[str, ...] | None:
    """The ids that names and ranges of numbers mean; None where none is named."""
    from runs.index.select import Selection
    from runs.store import RunStore

    if not texts:
        return None
    ids: list[str] = []
    for text in texts:
        match = RANGE.fullmatch(text)
        if match is None:
            ids += [RunStore(index.runs_dir).find(text).run_id for index in many.indexes[:1]]
            continue
        between: Selection = Selection.parse([f"number>={match[1]}", f"number<={match[2]}"])
        ids += [row["run_id"] for row in many.stream(between, ["run_id"])]
    return tuple(ids)
