"""How a set of runs came out at one step, told without deciding anything for the judge.

An unsure and a missing verdict are neither success nor failure: the share of successes is then an interval, beside the
rate over what was decided. It corrects nothing; `statistics.corrected_rate` does, from the judge's own words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from runs.rulings import came_to
from runs.schema.run import RunLog
from runs.schema.verdict import JudgedStage, Word
from runs.statistics import Rate, exact_rate
from runs.verdicts import standing_in


@dataclass(frozen=True, slots=True)
class Tally:
    """Words that stand. `none` is no verdict; `by_person` of all were ruled by people."""

    yes: int
    no: int
    unsure: int
    none: int
    by_person: int

    @property
    def n(self) -> int:
        """How many came to that step."""
        return self.yes + self.no + self.unsure + self.none

    @property
    def decided(self) -> Rate:
        """Successes of those with a yes or no, exact interval."""
        return exact_rate(self.yes, self.yes + self.no)

    @property
    def bounds(self) -> tuple[float, float] | None:
        """Share of successes if all the undecided were failures, and if all were successes; None without runs."""
        if self.n == 0:
            return None
        return self.yes / self.n, (self.yes + self.unsure + self.none) / self.n


def tally(logs: Iterable[RunLog], stage: JudgedStage) -> Tally:
    """Count what stands. Dry runs, agents' sittings and runs that never came to that step are left out."""
    words: Counter[Word | None] = Counter()
    by_person = 0
    for log in logs:
        if log.dry_run or log.agent is not None or not came_to(log, stage):
            continue
        standing = standing_in(log, stage)
        words[None if standing is None else standing.word] += 1
        by_person += standing is not None and standing.source == "person"
    return Tally(words["yes"], words["no"], words["unsure"], words[None], by_person)
