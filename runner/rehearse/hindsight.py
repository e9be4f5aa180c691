"""A run's picks again, in the twin: what other ways would have come to, given what the camera saw of the miss.

Everything comes from the log: where block and box were seen, where the tool was aimed, by how much the tip was then
seen beside the block. With that, little is left to doubt; without it (or on request) the doubt is what it was before.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import ClassVar

from runner.config import Config
from runner.geometry import Obstacles, obstacles_of
from runner.rehearse.rehearsal import Rehearsal
from runner.table.errors import PlanningError
from runner.table.plan import PickPlan, Planner
from runs.errors import Family, TrialcellError
from runs.schema.detection import BlockDetection, BoxDetection
from runs.schema.geometry import TablePoint
from runs.schema.motion import LookupRecord
from runs.schema.rehearsal import RehearsalRecord
from runs.schema.run import RunLog
from runs.schema.verdict import Word

SEEN_SD_MM = 1.5  # of a tip measurement
_TOOLS_LOOKUP = "stage3_approach_pick"


class NothingToRehearse(TrialcellError):
    """A log without a pick that could be tried again."""

    family: ClassVar[Family] = "usage"

    def __init__(self, run_id: str, why: str) -> None:
        super().__init__(f"{run_id} has no pick to rehearse: {why}", next_step="take a log of a whole trial")


@dataclass(frozen=True, slots=True, eq=False)
class PickInLog:
    """One attempt of a log: what was aimed at, among what, which way was gone, and what came of it."""

    attempt: int
    target_xz_m: TablePoint
    yaw_deg: float
    obstacles: Obstacles
    spread_mm: float
    way: str
    missed_mm: tuple[float, float] | None
    verdict: Word | None


@dataclass(frozen=True, slots=True, eq=False)
class Hindsight:
    """An attempt, its rehearsal, and which of the choices is the way that was gone, None where it is not among them."""

    pick: PickInLog
    record: RehearsalRecord
    gone: int | None
    knowing: bool  # what the tip was seen to miss by


def picks_in(log: RunLog, config: Config) -> Iterator[PickInLog]:
    """The attempts of a log that a rehearsal can be made of.

    Raises:
        NothingToRehearse: there is none.
    """
    found = False
    for lookup in log.lookups:
        if lookup.label != _TOOLS_LOOKUP or not lookup.guard_pass or lookup.pose_id is None:
            continue
        block, box = _seen_for(log, lookup)
        if block is None or block.xz_m is None:
            continue
        found = True
        attempt = lookup.attempt or 1
        tip = next((t for t in log.tip_measurements if t.attempt == attempt), None)
        judged = next((a for a in log.pick_attempts if a.attempt == attempt), None)
        yaw_deg = block.yaw_deg or 0.0
        yield PickInLog(
            attempt=attempt,
            target_xz_m=lookup.target_xz_m,
            yaw_deg=yaw_deg,
            obstacles=obstacles_of(
                config,
                box_xz_m=None if box is None else box.xz_m,
                box_yaw_deg=0.0 if box is None else box.yaw_deg or 0.0,
                block_xz_m=lookup.target_xz_m,
                block_yaw_deg=yaw_deg,
            ),
            spread_mm=block.spread_mm or 0.0,
            way=lookup.pose_id,
            missed_mm=None if tip is None else tip.missed_mm,
            verdict=None if judged is None else judged.verdict,
        )
    if not found:
        raise NothingToRehearse(log.run_id, "no way to a block that was seen with its place on the table stands in it")


def rehearse_again(
    pick: PickInLog, planner: Planner, rehearsal: Rehearsal, *, choices: int, knowing: bool = True
) -> Hindsight:
    """Try other ways for one attempt of a log.

    Args:
        knowing: the block lies where the tip was seen to miss it, if it was seen; else as it was thought to before.

    Raises:
        NoPlan: no way leads there with the settings and tables of today.
    """
    own = planner.plan_pick(pick.target_xz_m, pick.yaw_deg, pick.obstacles)
    others = planner.pick_choices(own, pick.target_xz_m, pick.yaw_deg, pick.obstacles)
    plans = [own, *islice(others, choices - 1)]
    obstacles, sd_mm = pick.obstacles, None
    if knowing and pick.missed_mm is not None:
        (x, z), (dx, dz) = pick.target_xz_m, pick.missed_mm
        assert obstacles.block is not None
        there = replace(obstacles.block, xz_m=(x - dx / 1000.0, z - dz / 1000.0))
        obstacles, sd_mm = replace(obstacles, block=there), SEEN_SD_MM
    because = "in hindsight" if sd_mm is not None else "again, as it was known before"
    found = rehearsal.pick(
        plans,
        obstacles,
        attempt=pick.attempt,
        policy="asked",
        because=because,
        seen_spread_mm=pick.spread_mm,
        block_sd_mm=sd_mm,
    )
    names = [choice.name for choice in found.record.choices]
    return Hindsight(
        pick, found.record, names.index(pick.way) if pick.way in names else None, knowing=sd_mm is not None
    )


def judged_ways(log: RunLog, planner: Planner, config: Config) -> Iterator[tuple[PickInLog, PickPlan]]:
    """The judged attempts of a log whose tip was measured, each with the way that was gone, where it is found again."""
    try:
        picks = list(picks_in(log, config))
    except NothingToRehearse:
        return
    for pick in picks:
        if pick.missed_mm is None or pick.verdict not in ("yes", "no"):
            continue
        try:
            own = planner.plan_pick(pick.target_xz_m, pick.yaw_deg, pick.obstacles)
        except PlanningError:
            continue
        others = planner.pick_choices(own, pick.target_xz_m, pick.yaw_deg, pick.obstacles)
        for plan in chain((own,), islice(others, config.rehearse.choices - 1)):
            if plan.lookups[0].pose_id == pick.way:
                yield pick, plan
                break


def _seen_for(log: RunLog, lookup: LookupRecord) -> tuple[BlockDetection | None, BoxDetection | None]:
    """The block that the lookup was made for, and the box as it was seen last before."""
    attempt = lookup.attempt or 1
    wanted = lookup.requested_xz_m or lookup.target_xz_m
    looks = [look for look in log.detect if (look.attempt or 1) <= attempt]
    blocks = [look.block for look in looks if look.block is not None and look.block.xz_m is not None]
    boxes = [look.box for look in looks if look.box is not None and look.box.xz_m is not None]
    same = [block for block in blocks if block.xz_m == wanted]
    chosen = same or blocks
    return chosen[-1] if chosen else None, boxes[-1] if boxes else None
