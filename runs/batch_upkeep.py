"""What a batch took besides its trials: resets, calls for a person and the time between them, rests, faults, disk.

Folded from the batch's state and from the sizes of its folders. It runs nothing and asks nobody.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from runs.batch_state import BatchState


@dataclass(frozen=True, slots=True)
class Upkeep:
    """Hours are the arm's clock; megabytes are 1,000,000 bytes."""

    resets_done: int
    resets_failed: int
    calls: int
    clock_h: float
    rested_h: float
    waited_h: float  # for a person
    hours_between_calls: float | None  # None: nobody was called
    faults: dict[str, int]  # by name: in so many trials one had begun, in the twin
    trials_mb: float
    resets_mb: float
    mb_per_trial: float | None  # with its reset; None: nothing finished yet


def upkeep_of(state: BatchState, runs_dir: Path, resets_dir: Path) -> Upkeep:
    """The upkeep of a batch so far.

    Args:
        state: the batch's.
        runs_dir: where its runs' folders lie.
        resets_dir: the batch's own folder of resets.
    """
    trials_mb = _mb(runs_dir / event.run_id for event in state.ended)
    resets_mb = _mb(resets_dir / event.log for event in state.resets)
    clock_h, n = state.clock_s / 3600.0, len(state.final)
    return Upkeep(
        resets_done=sum(reset.done for reset in state.resets),
        resets_failed=sum(not reset.done for reset in state.resets),
        calls=len(state.calls),
        clock_h=clock_h,
        rested_h=state.rested_s / 3600.0,
        waited_h=sum(scene.waited_s for scene in state.scenes) / 3600.0,
        hours_between_calls=clock_h / len(state.calls) if state.calls else None,
        faults=dict(Counter(name for event in state.ended for name in event.faults)),
        trials_mb=trials_mb,
        resets_mb=resets_mb,
        mb_per_trial=(trials_mb + resets_mb) / n if n else None,
    )


def _mb(folders: Iterable[Path]) -> float:
    total = 0
    for folder in folders:
        try:
            with os.scandir(folder) as entries:
                total += sum(entry.stat().st_size for entry in entries if entry.is_file())
        except FileNotFoundError:
            continue  # moved away, or never begun
    return total / 1e6
