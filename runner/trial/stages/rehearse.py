"""Trying a pick in the twin before the arm makes it, where the settings say so; and the forecast beside what came.

A rehearsal chooses among ways that all pass the same checks and to which a clear path leads; it ends no trial. Where
it can't be held, the planner's own way is taken, and the log says why.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from math import cos, radians, sin

import numpy as np

from runner.geometry import Obstacles
from runner.kinematics.frames import BaseInCell
from runner.rehearse.rehearsal import Policy, forecast
from runner.table.errors import NoWay, PlanningError
from runner.table.plan import PickPlan
from runner.table.postures import radius_m
from runner.trial.trial import Seen, Trial
from runner.twin.errors import TwinError
from runs.schema.detection import BlockDetection
from runs.schema.geometry import TablePoint
from runs.schema.rehearsal import Foretold
from runs.schema.verdict import Verdict
from vision.errors import CalibrationUnreadable

FAR_M = 0.27  # from the base axis: beyond it few postures are left
NEAR_BOX_MM = 12.0  # of the way to the box's walls
APART_MM = 2.0  # captures of the block
MANY_SKIPPED = 3  # postures before one passed


def rehearsed(trial: Trial, seen: Seen, plan: PickPlan, target: TablePoint) -> PickPlan:
    """The way to take: the planner's own, or the one that works most often in the twin."""
    settings, trial.rehearsed = trial.bench.config.rehearse, None
    if settings.policy == "off":
        return plan
    policy: Policy = settings.policy
    doubts = list(doubts_about(plan, target, seen.block, trial.bench.base, trial.attempt))
    if policy == "on-doubt" and not doubts:
        return plan
    because = "; ".join(doubts) or "always"
    bench, obstacles = trial.bench, trial.bench.arm.obstacles
    yaw_deg, detected = seen.block.yaw_deg or 0.0, seen.block.xz_m
    try:
        found = bench.rehearsal.pick(
            ways_to(trial, plan, target, yaw_deg, obstacles, requested_xz_m=detected),
            obstacles,
            attempt=trial.attempt,
            policy=policy,
            because=because,
            seen_spread_mm=seen.block.spread_mm or 0.0,
        )
    except (TwinError, PlanningError, CalibrationUnreadable) as error:
        trial.book.note(f"not rehearsed: {error.message}")
        return plan
    trial.book.add(found.record)
    trial.rehearsed = found
    return found.plan


def ways_to(
    trial: Trial,
    plan: PickPlan,
    target: TablePoint,
    yaw_deg: float,
    obstacles: Obstacles,
    *,
    requested_xz_m: TablePoint | None = None,
) -> Iterator[PickPlan]:
    """The planner's own way to a block, and others that pass as well; as many as the settings let be tried."""
    bench = trial.bench
    others = bench.planner.pick_choices(plan, target, yaw_deg, obstacles, requested_xz_m=requested_xz_m)
    return chain((plan,), islice(_in_reach(trial, others, obstacles), bench.config.rehearse.choices - 1))


def _in_reach(trial: Trial, ways: Iterable[PickPlan], obstacles: Obstacles) -> Iterator[PickPlan]:
    """Those to whose beginning a clear path leads from where the arm stands: no other is worth trying."""
    planner, here_deg = trial.bench.planner, trial.here_deg()
    for way in ways:
        try:
            planner.plan_transfer(here_deg, way.path_deg[0], obstacles)
        except NoWay:
            continue
        yield way


def doubts_about(
    plan: PickPlan, target: TablePoint, block: BlockDetection, base: BaseInCell, attempt: int
) -> Iterator[str]:
    """What speaks for a rehearsal."""
    if attempt > 1:
        yield f"attempt {attempt}"
    if plan.askew_deg:
        yield f"the jaws come {abs(plan.askew_deg):.0f}° askew"
    if len(plan.skipped) > MANY_SKIPPED:
        yield f"{len(plan.skipped)} postures were skipped"
    far_m = radius_m(target, base)
    if far_m > FAR_M:
        yield f"{far_m * 1000:.0f} mm from the arm's axis"
    if plan.clearance is not None and plan.clearance.against == "box" and plan.clearance.mm < NEAR_BOX_MM:
        yield f"{plan.clearance.mm:.0f} mm beside the box"
    if (block.spread_mm or 0.0) > APART_MM:
        yield f"the block was seen in places {block.spread_mm:.1f} mm apart"


def beside_mm(plan: PickPlan) -> tuple[float, float] | None:
    """How far beside the block the plan sends the tool on purpose, x and z; None where it does not."""
    if not plan.ahead_mm:
        return None
    turn = radians(plan.stance.heading_deg)
    return plan.ahead_mm * cos(turn), plan.ahead_mm * sin(turn)


def foretold(trial: Trial, verdict: Verdict) -> None:
    """After a rehearsed attempt: what was foretold of it beside what came."""
    if trial.rehearsed is None or trial.dry_run:
        return
    out, tip = trial.rehearsed.outcomes, trial.tip
    move = next((m for m in reversed(trial.book.log.moves) if m.label == "stage4_pick"), None)
    grip = next((g.reading for g in reversed(trial.book.log.gripper) if g.stage == "stage6_grip_check"), None)
    middle, spread = out.tip_mm.mean(axis=0), out.tip_mm.std(axis=0)
    trial.book.add(
        Foretold(
            attempt=trial.attempt,
            rate=round(forecast(int(out.picked.sum()), len(out.picked)), 4),
            tries=len(out.picked),
            verdict=verdict.verdict,
            tip_mm=(round(float(middle[0]), 2), round(float(middle[1]), 2)),
            tip_sd_mm=(round(float(spread[0]), 2), round(float(spread[1]), 2)),
            seen_tip_mm=None if tip is None or tip.diff is None else (tip.diff.dx_mm, tip.diff.dz_mm),
            opening_mm=round(float(np.median(out.opening_mm[out.picked])), 2) if out.picked.any() else None,
            read_opening_mm=None if grip is None else grip.opening_mm,
            left_deg=round(out.left_deg, 2),
            read_left_deg=None if move is None else move.post_max_delta_deg,
        )
    )
