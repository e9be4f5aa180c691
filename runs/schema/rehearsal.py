"""What was tried in the twin before the arm moved, which way was chosen and why, and how it then came out."""

from __future__ import annotations

from typing import Literal

from runs.schema.base import Record
from runs.schema.geometry import Point
from runs.schema.verdict import Word


class Choice(Record):
    """One way that was tried: how the tool would stand, and how often it picked the block up.

    `ahead_mm` is how far the tool was aimed beyond the block's middle along its heading; `low` the lower bound of the
    rate at 95 %; `margin_mm` the room left beside the block between the open jaws, in the middle of the tries (below 0:
    they met it); `pushed_mm` how far the block was pushed before they closed; `takes_s` the two straight moves.
    """

    name: str
    row: str | None
    tilt_deg: float
    heading_deg: float
    ahead_mm: float
    askew_deg: float
    target_m: Point
    tries: int
    picked: int
    low: float
    margin_mm: float
    pushed_mm: float
    takes_s: float
    clearance_mm: float | None = None


class RehearsalRecord(Record):
    """One rehearsal. `doubt` holds the spreads that were drawn from; the first choice is what the planner would do."""

    attempt: int
    phase: Literal["pick"]
    policy: Literal["on-doubt", "always", "asked"]
    because: str
    seed: int
    tries: int
    motion_s: float
    wall_s: float
    cut_short: bool
    doubt: dict[str, float | tuple[float, ...]]
    choices: tuple[Choice, ...]
    chosen: str
    why: str
    at: str | None = None


class Foretold(Record):
    """What a rehearsal said of the way that was chosen, beside what came of it.

    `rate` is how often the way was expected to pick the block up: (picked + ½) / (tries + 1).
    Tips are seen less block, x and z, mm, with their spread where foretold; `left_deg` is the worst joint beside its
    goal at the grasp, foretold as two standard deviations.
    """

    attempt: int
    rate: float
    tries: int
    verdict: Word | None
    tip_mm: tuple[float, float]
    tip_sd_mm: tuple[float, float]
    seen_tip_mm: tuple[float, float] | None
    opening_mm: float | None
    read_opening_mm: float | None
    left_deg: float
    read_left_deg: float | None
    at: str | None = None
