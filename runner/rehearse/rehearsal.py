"""A rehearsal: several ways to a block, each tried often in the nominal twin, and the one that works most often.

Every way meets the same disturbances. First all of them meet a few; then the best, and the planner's own, meet the
rest. The highest lower bound of the success rate wins, of equals the one with most room beside the block, then the
quickest. It sends nothing, and what it says is a forecast: the trial is judged by what happens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from math import inf
from time import monotonic
from typing import Literal

import numpy as np

from runner.config import Config
from runner.geometry import Obstacles
from runner.kinematics.model import ArmModel
from runner.rehearse.doubt import Disturbances, doubt_of, draw
from runner.rehearse.nominal import nominal_scene
from runner.rehearse.tries import IntArray, Outcomes, moves_s, try_picks
from runner.table.plan import PickPlan
from runner.twin.many import Many
from runner.twin.profiles import Profile
from runner.twin.scene import Scene
from runs.schema.rehearsal import Choice, RehearsalRecord
from runs.statistics import exact_rate

_AT_ONCE = 128  # copies that are stepped together
_FIRST_ROUND = 0.5  # of all tries
_KEPT = 3  # ways of the second round, beside the planner's own

Policy = Literal["on-doubt", "always", "asked"]


@dataclass(frozen=True, slots=True, eq=False)
class Rehearsed:
    """The plan that was chosen, the record, and what came of the chosen way's tries."""

    plan: PickPlan
    record: RehearsalRecord
    outcomes: Outcomes


class Rehearsal:
    """Tries picks of one cell. Keeps nothing between two rehearsals but the scene."""

    def __init__(self, arm: ArmModel, config: Config, drive: Callable[[], Profile]) -> None:
        """Store what tries are made with.

        Args:
            arm: as the planner has it.
            drive: gives how its joints lag, as fitted or as recorded of such an arm; asked at the first rehearsal only.
        """
        self._arm, self._config, self._drive_of = arm, config, drive

    @cached_property
    def _scene(self) -> Scene:
        return nominal_scene(self._config)

    @cached_property
    def _drive(self) -> Profile:
        return self._drive_of()

    def pick(
        self,
        ways: Iterable[PickPlan],
        obstacles: Obstacles,
        *,
        attempt: int,
        policy: Policy,
        because: str,
        seen_spread_mm: float = 0.0,
        block_sd_mm: float | None = None,
    ) -> Rehearsed:
        """Try these ways and choose one.

        Args:
            ways: at least one; the first is the planner's own. Planning the others counts as time of the rehearsal.
            obstacles: with block and box as they were seen.
            because: what the rehearsal is for, for the log.
            seen_spread_mm: how far apart the captures saw the block.
            block_sd_mm: where the block is known otherwise, how well; then neither settings nor captures say.

        Raises:
            ArmWithoutTwin: the arm's file lacks what physics needs. PhysicsDiverged: the numbers can't be used.
            CalibrationUnreadable: what was fitted to the arm's drive can't be used.
        """
        settings, clock = self._config.rehearse, _Time(self._limit_s(policy))
        plans = list(clock.while_left(ways))
        doubt = doubt_of(settings, self._drive, seen_spread_mm=seen_spread_mm)
        if block_sd_mm is not None:
            doubt = replace(doubt, block_mm=(block_sd_mm, block_sd_mm))
        seed = settings.seed + attempt
        per_way = max(2, round(settings.tries * _FIRST_ROUND / len(plans)))
        rest = max(0, settings.tries - per_way * len(plans))
        finalists = min(len(plans), _KEPT + 1)
        off = draw(doubt, per_way + rest // finalists, self._arm.n_joints, seed)
        order = np.arange(len(off))
        tally = _Tally([[] for _ in plans])
        self._try(plans, range(len(plans)), order[:per_way], off, obstacles, tally, clock)
        if len(order) > per_way and not clock.is_up():
            kept = sorted({0, *tally.best_first()[:_KEPT]})
            self._try(plans, kept, order[per_way:], off, obstacles, tally, clock)
        tried = tally.tried
        choices = tuple(self._choice(plans[way], tally.of(way)) for way in tried)
        chosen = chosen_of(choices)
        record = RehearsalRecord(
            attempt=attempt,
            phase="pick",
            policy=policy,
            because=because,
            seed=seed,
            tries=sum(choice.tries for choice in choices),
            motion_s=max(part.motion_s for parts in tally.parts for part in parts),
            wall_s=round(clock.spent_s, 3),
            cut_short=clock.cut_short,
            doubt=asdict(doubt),
            choices=choices,
            chosen=choices[chosen].name,
            why=why_chosen(choices, chosen),
        )
        return Rehearsed(plans[tried[chosen]], record, tally.of(tried[chosen]))

    def _limit_s(self, policy: Policy) -> float:
        """Only where an arm of metal waits does the wall clock count: else the same seed is the same rehearsal."""
        waits = self._config.arm.kind != "twin" and policy != "asked"
        return self._config.rehearse.limit_s if waits else inf

    def _try(
        self,
        plans: Sequence[PickPlan],
        ways: Sequence[int],
        rows: IntArray,
        off: Disturbances,
        obstacles: Obstacles,
        tally: _Tally,
        clock: _Time,
    ) -> None:
        """These ways meet these disturbances, so many copies at once, until all have or time is up."""
        if len(rows) > _AT_ONCE:
            for at in range(0, len(rows), _AT_ONCE):
                self._try(plans, ways, rows[at : at + _AT_ONCE], off, obstacles, tally, clock)
            return
        together = max(1, _AT_ONCE // len(rows))
        for at in range(0, len(ways), together):
            if tally.tried and clock.is_up():
                return
            part = ways[at : at + together]
            many = Many(self._scene, len(part) * len(rows))
            which = np.repeat(np.arange(len(part)), len(rows))
            paths = [plans[way].path_deg for way in part]
            out = try_picks(many, self._arm, paths, which, off.rows(np.tile(rows, len(part))), obstacles, self._config)
            for place, way in enumerate(part):
                tally.parts[way].append(out.rows(which == place))

    def _choice(self, plan: PickPlan, out: Outcomes) -> Choice:
        tries, picked = len(out.picked), int(out.picked.sum())
        reach = plan.lookups[-1]
        return Choice(
            name=str(plan.lookups[0].pose_id),
            row=reach.pose_id,
            tilt_deg=round(plan.stance.tilt_deg, 2),
            heading_deg=round(plan.stance.heading_deg, 2),
            ahead_mm=plan.ahead_mm,
            askew_deg=plan.askew_deg,
            target_m=plan.target_m,
            tries=tries,
            picked=picked,
            low=round(exact_rate(picked, tries).low, 4),
            margin_mm=round(float(np.median(out.margin_mm)), 2),
            pushed_mm=round(float(np.mean(out.pushed_mm)), 2),
            takes_s=round(moves_s(plan.path_deg, self._arm, self._config), 2),
            clearance_mm=None if plan.clearance is None else round(plan.clearance.mm, 2),
        )


class _Time:
    """What a rehearsal has spent of its time, and whether anything was left out for want of it."""

    def __init__(self, limit_s: float) -> None:
        self._limit_s, self._began_s, self.cut_short = limit_s, monotonic(), False

    @property
    def spent_s(self) -> float:
        return monotonic() - self._began_s

    def is_up(self) -> bool:
        """Asked before more is done, which is then left out."""
        self.cut_short |= self.spent_s > self._limit_s
        return self.cut_short

    def while_left(self, ways: Iterable[PickPlan]) -> Iterator[PickPlan]:
        """These ways, the first in any case."""
        for way in ways:
            yield way
            if self.is_up():
                return


@dataclass(frozen=True, slots=True)
class _Tally:
    """What came of each way so far."""

    parts: list[list[Outcomes]]

    def of(self, way: int) -> Outcomes:
        """Everything that came of it."""
        return Outcomes.joined(self.parts[way])

    @property
    def tried(self) -> list[int]:
        """The ways that were tried at all."""
        return [way for way, parts in enumerate(self.parts) if parts]

    def best_first(self) -> list[int]:
        """The ways, by how often they worked, then by their room."""
        outs = {way: self.of(way) for way in self.tried}
        return sorted(outs, key=lambda way: (-outs[way].picked.mean(), -float(np.median(outs[way].margin_mm))))


def chosen_of(choices: Sequence[Choice]) -> int:
    """The way with the highest lower bound of its rate; then most room; then the quickest; then the first."""
    return min(
        range(len(choices)),
        key=lambda i: (-choices[i].low, -choices[i].margin_mm, choices[i].takes_s, i),
    )


def forecast(picked: int, tries: int) -> float:
    """How often a way is expected to work, from its tries: with half a success and half a failure more.

    What was chosen because it did best in some tries does not do quite as well in others, and 20 of 20 is not always.
    Source: Jeffreys' prior for a proportion.
    """
    return (picked + 0.5) / (tries + 1.0)


def why_chosen(choices: Sequence[Choice], chosen: int) -> str:
    """A sentence for people."""
    best, own = choices[chosen], choices[0]
    said = f"picked {best.picked} of {best.tries} (at least {best.low:.0%} at 95 %)"
    if chosen == 0:
        return f"the planner's own way {said}, and no other has a higher lower bound"
    theirs = f"{own.picked} of {own.tries} (at least {own.low:.0%})"
    if best.low > own.low:
        return f"{said}, the planner's own way {theirs}"
    if best.margin_mm > own.margin_mm:
        room = f"{best.margin_mm:.1f} mm against {own.margin_mm:.1f} mm"
        return f"{said} as the planner's own way does, with more room beside the block: {room}"
    return f"{said} as the planner's own way does, in less time: {best.takes_s:.1f} s against {own.takes_s:.1f} s"
