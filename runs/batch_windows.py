"""How a batch went at its beginning and at its end, and who brought about each of its starts: from its events alone.

A trial in which one of the twin's faults had begun counts apart. Rates are over judged trials; what ended otherwise is
counted beside them. It decides nothing about the trials.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from runs.batch_records import TrialEnded
from runs.batch_state import JUDGED, BatchState
from runs.statistics import Median, Rate, exact_median, exact_rate

SceneBy = Literal["new desk", "arm", "called", "teleport", "unknown"]
"""Who made a start: the plan's new session in the twin, the arm's own reset, a person who was called, a jump."""


@dataclass(frozen=True, slots=True)
class Window:
    """Finished starts in a row. Rates and tips are of trials without a fault; `apart` is how the others of these ended.

    `tip_mm` is tip minus block at the first attempt as it was measured, `truth_tip_mm` as the twin knows it.
    """

    first: int
    last: int
    trials: int
    with_fault: int
    first_attempt: Rate
    success: Rate
    apart: dict[str, int]
    tip_mm: Median
    truth_tip_mm: Median


def window_of(ends: Sequence[TrialEnded]) -> Window:
    """The figures of these trials; at least one, in the order of their starts."""
    sound = [e for e in ends if not e.faults]
    judged = [e for e in sound if e.result in JUDGED]
    good = [e for e in judged if e.result == "completed"]
    tips = [e.tip_mm for e in sound if e.tip_mm is not None]
    true = [e.truth_tip_mm for e in sound if e.truth_tip_mm is not None]
    return Window(
        first=ends[0].start,
        last=ends[-1].start,
        trials=len(ends),
        with_fault=len(ends) - len(sound),
        first_attempt=exact_rate(sum(e.attempts == 1 for e in good), len(judged)),
        success=exact_rate(len(good), len(judged)),
        apart=dict(Counter(str(e.result) for e in sound if e.result not in JUDGED)),
        tip_mm=exact_median(tips),
        truth_tip_mm=exact_median(true),
    )


def windows(state: BatchState, size: int) -> tuple[Window, Window] | None:
    """The first `size` finished starts and the last `size`, by the plan; None before one is finished."""
    ends = [state.final[index] for index in sorted(state.final)]
    if not ends:
        return None
    return window_of(ends[:size]), window_of(ends[-size:])


def scenes_by(state: BatchState) -> dict[SceneBy, int]:
    """How many finished starts were brought about by whom; a call weighs more than what came with it."""
    called = {call.start for call in state.calls} | {s.start for s in state.scenes if s.by == "twin person"}
    jumped = {scene.start for scene in state.scenes if scene.by == "teleport"}
    reset = {one.start for one in state.resets if one.done}
    new = {scene.start for scene in state.scenes if scene.by == "new world"}
    counts: Counter[SceneBy] = Counter()
    for start in state.final:
        if start in called:
            counts["called"] += 1
        elif start in jumped:
            counts["teleport"] += 1
        elif start in reset:
            counts["arm"] += 1
        elif start in new:
            counts["new desk"] += 1
        else:
            counts["unknown"] += 1
    return dict(counts)
