"""The script: the standard job by the same tools as everybody's, for where no model is asked.

It goes by what was measured: is something held, does the block lie inside the box's walls. What it can't bring to an
end it gives up, and says so.
"""

from __future__ import annotations

from typing import Any

from runner.agent.calls import Answered, CallBook
from runner.agent.course import Drove
from runner.agent.sitting import Sitting

TASK = "put the block into the box"
PLAN = "look, pick, make sure that it is held, place, look whether it is in the box, have it judged"


def drive_by_script(sitting: Sitting, book: CallBook) -> Drove:
    """Look, pick, place, judge; again from a retreat, as often as tries are left."""
    book.call("note", {"text": f"plan: {PLAN}"})
    seen = book.call("look", {})
    while True:
        if not seen.done:
            return _given_up(seen, "the block can't be looked for")
        if seen.answer["no_pick_because"] is not None:
            return Drove("done", f"given up: {seen.answer['no_pick_because']}")
        picked = book.call("pick", {})
        placed = book.call("place", {}) if sitting.standing == "holding" and _held(picked) else None
        if placed is not None and placed.done and _in_the_box(book):
            judged = book.call("judge", {})
            return Drove("done", "the place was judged") if judged.done else _given_up(judged, "it can't be judged")
        if sitting.meter.picks >= sitting.meter.limits.picks:
            return _given_up(placed if placed is not None and not placed.done else picked, "no try is left")
        seen = book.call("retreat", {})


def _held(picked: Answered) -> bool:
    """Whether to go on: an empty reading says no; in a dry run, and without an answer, the trial's own rules decide."""
    grip: Any = picked.answer.get("grip") if picked.done else None
    return picked.done and (grip is None or grip["holding"] is not False)


def _in_the_box(book: CallBook) -> bool:
    """Whether a look says so; where it can't say, the judge is to decide."""
    seen = book.call("look", {"aside": False})
    inside = seen.answer.get("block_inside_box_mm") if seen.done else None
    return inside is None or inside > 0


def _given_up(last: Answered, why: str) -> Drove:
    """Why the script ends without a judgement; a limit is named as one."""
    reason = last.answer.get("reason")
    told = f"given up: {why}" + (f": {reason}" if reason else "")
    return Drove("limit" if last.outcome == "limit" else "done", told)
