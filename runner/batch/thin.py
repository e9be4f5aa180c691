"""Fewer pictures of what went as it should: the settings' policy, applied once a log is complete.

The log goes on naming every picture with its hash; those that are gone are told as missing and make it no less valid.
Whatever did not complete, or is flagged for a person, keeps all that it has.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from runner.settings.batch import BatchSettings
from runs.files import mark_changed
from runs.schema.run import RunLog
from runs.store import picture_path

_TELLING = ("pick", "place", "stage4_pick_tip", "detect_1", "detect")


def thin(log: RunLog, folder: Path, settings: BatchSettings, start: int) -> int:
    """Take away what the policy does not keep of a run's pictures, or a reset's; how many those are."""
    flagged = any(judgment.dist_override for judgment in log.judgments.values())
    if settings.keep_pictures == "all" or start % settings.keep_all_of_every == 0 or flagged:
        return 0
    if log.result != "completed":
        return 0
    last = log.vlm_captures[-1].label if log.vlm_captures else None
    gone = 0
    for capture in log.vlm_captures:
        kept = capture.label in _TELLING or (capture.label == last and not log.judgments)
        path = None if kept else picture_path(capture.image, folder)
        if path is not None:
            with suppress(OSError):
                path.unlink()
                gone += 1
    if gone:
        mark_changed(folder)
    return gone
