"""Lessons that no longer count: of trials that a person has since ruled were no success.

A lesson stays in the table, as the record only grows; it is left out when a candidate is made.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from runs.appended import RULINGS_FILE
from runs.corrections.table import Lesson
from runs.errors import RecordError
from runs.store import RunStore
from runs.verdicts import standing_in, standing_result


def overruled(runs_dir: Path, lessons: Iterable[Lesson]) -> frozenset[str]:
    """The runs among those that taught whose success no longer stands; also one whose log can't be read any more.

    Only runs with rulings are looked at. One that lies in another cell is believed.
    """
    store, found = RunStore(runs_dir), set()
    for run_id in sorted({lesson.run_id for lesson in lessons}):
        if not (runs_dir / run_id / RULINGS_FILE).exists():
            continue
        try:
            log = store.open(run_id).log
            pick = standing_in(log, "pick")
            if standing_result(log) != "completed" or pick is None or pick.word != "yes":
                found.add(run_id)
        except RecordError:
            found.add(run_id)
    return frozenset(found)
