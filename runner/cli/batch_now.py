"""What a batch is at this moment: which start, its reset or its trial, in which stage and for how long.

Read from the end of the logs that grow, so it shows the same whoever runs the trials. A guess for people's eyes;
nothing decides by it.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

from runner.cli.live import TITLES
from runs.batch_state import BatchState
from runs.events import seconds_between, utc_text

_TAIL_BYTES = 65_536
_STALE_S = 900.0  # a log that has not grown for so long is nobody's any more
_RESET_TITLES = {
    "reset_start": "home, gripper open",
    "reset_look": "find the block",
    "reset_approach": "over the block",
    "reset_pick": "down, take it, up",
    "reset_place": "to the next start",
    "rest": TITLES["rest"],
}


def under_way(state: BatchState, runs_dir: Path, resets_dir: Path) -> list[str]:
    """A line for each trial or reset that is under way: `start 7: carry over the box, 12 s`."""
    lines = []
    for start, begun in sorted(state.open.items()):
        stage = _stage_of(runs_dir / begun.run_id / "events.jsonl")
        if stage is not None:
            lines.append(f"start {start}: {_words(stage[0], TITLES)}, {stage[1]:.0f} s")
    if lines:
        return lines
    told = {reset.log for reset in state.resets}
    for log in sorted(resets_dir.glob("run_*"))[-2:]:
        stage = _stage_of(log / "events.jsonl") if log.name not in told else None
        if stage is not None:
            lines.append(f"putting the block to its start: {_words(stage[0], _RESET_TITLES)}, {stage[1]:.0f} s")
    return lines


def _words(name: str, titles: dict[str, str]) -> str:
    return titles.get(name, name.replace("_", " "))


def _stage_of(path: Path) -> tuple[str, float] | None:
    """The last stage that has begun in a log, and how long ago it did by our clock; None for a log that is over."""
    try:
        with path.open("rb") as log:
            log.seek(0, 2)
            log.seek(max(0, log.tell() - _TAIL_BYTES))
            lines = log.read().decode(errors="replace").splitlines()
        grown_s = time.time() - path.stat().st_mtime
    except OSError:
        return None
    if grown_s > _STALE_S:
        return None
    for line in reversed(lines):
        if '"stage_started"' not in line:
            continue
        try:
            event = json.loads(line)
            return str(event["data"]["name"]), seconds_between(event["at"], utc_text()) or 0.0
        except (ValueError, KeyError, TypeError):
            continue  # torn while it was written
    return None
