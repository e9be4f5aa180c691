"""The tools that move: pick, place, retreat, judge, and the rehearsal of a pick. Each is stages of a trial, no more.

Of a step's verdict they say nothing until the trial is final; what was measured they say at once.
"""

from __future__ import annotations

from runner.agent.fence import quoted
from runner.agent.models import (
    FinalVerdict,
    JudgeOut,
    Moved,
    NoArguments,
    PickOut,
    PlaceOut,
    RehearsedWay,
    RehearseIn,
    RehearseOut,
)
from runner.agent.seeing import grip_of, last_picture, seen_out
from runner.agent.sitting import Sitting
from runner.agent.tool import Result
from runner.geometry import obstacles_of
from runner.trial.stages.rehearse import ways_to
from runs.schema.verdict import Verdict


def pick(sitting: Sitting, _: NoArguments) -> Result:
    """Try to take the block."""
    trial, mark = sitting.trial, _Mark(sitting)
    residual = sitting.pick()
    tip = trial.tip
    off = None if tip is None or tip.diff is None else (round(tip.diff.dx_mm, 2), round(tip.diff.dz_mm, 2))
    answer = PickOut(
        attempt=trial.attempt,
        grip=grip_of(trial.grip),
        tip_minus_block_mm=off,
        tip_said=None if tip is None or tip.reason is None else quoted(tip.reason),
        planned_residual_mm=round(residual, 3),
        moved=mark.moved(),
        pictures=mark.pictures(),
    )
    return Result(answer, last_picture(sitting))


def place(sitting: Sitting, _: NoArguments) -> Result:
    """Put what is held into the box."""
    mark = _Mark(sitting)
    residual = sitting.place()
    answer = PlaceOut(
        attempt=sitting.trial.attempt,
        grip=grip_of(sitting.trial.grip),
        planned_residual_mm=round(residual, 3),
        moved=mark.moved(),
        pictures=mark.pictures(),
    )
    return Result(answer, last_picture(sitting))


def retreat(sitting: Sitting, _: NoArguments) -> Result:
    """Back to where another try can begin."""
    before = len(sitting.trial.book.log.vlm_captures)
    view = sitting.retreat()
    return Result(seen_out(sitting, view, before), last_picture(sitting))


def judge(sitting: Sitting, _: NoArguments) -> Result:
    """Have the place judged; the trial is final then."""
    sitting.judge()
    return Result(JudgeOut(verdicts=tuple(_final(verdict) for verdict in sitting.final_verdicts())))


def rehearse(sitting: Sitting, asked: RehearseIn) -> Result:
    """Try a pick at a point in the nominal twin, with the box where it was seen last; it is written down."""
    trial, seen = sitting.trial, None if sitting.view is None else sitting.view.seen
    bench, target = trial.bench, (asked.x_m, asked.z_m)
    obstacles = obstacles_of(
        bench.config,
        box_xz_m=None if seen is None else seen.box.xz_m,
        box_yaw_deg=(None if seen is None else seen.box.yaw_deg) or 0.0,
        block_xz_m=target,
        block_yaw_deg=asked.yaw_deg,
    )
    record = bench.rehearsal.pick(
        ways_to(trial, bench.planner.plan_pick(target, asked.yaw_deg, obstacles), target, asked.yaw_deg, obstacles),
        obstacles,
        attempt=trial.attempt,
        policy="asked",
        because="the agent asked",
        seen_spread_mm=(None if seen is None else seen.block.spread_mm) or 0.0,
    ).record
    trial.book.add(record)
    ways = tuple(
        RehearsedWay(
            name=way.name, tilt_deg=way.tilt_deg, heading_deg=way.heading_deg, picked=way.picked, tries=way.tries,
            low=way.low, margin_mm=way.margin_mm, takes_s=way.takes_s,
        )
        for way in record.choices
    )  # fmt: skip
    return Result(RehearseOut(best=record.chosen, why=record.why, cut_short=record.cut_short, ways=ways))


class _Mark:
    """Where the log stood when a call began."""

    def __init__(self, sitting: Sitting) -> None:
        self._sitting = sitting
        log = sitting.trial.book.log
        self._moves, self._captures = len(log.moves), len(log.vlm_captures)

    def moved(self) -> Moved:
        """The moves since."""
        moves = self._sitting.trial.book.log.moves[self._moves :]
        off = [abs(m.post_max_delta_deg) for m in moves if m.post_max_delta_deg is not None]
        clear = [m.path_clearance_mm for m in moves if m.path_clearance_mm is not None]
        return Moved(
            moves=len(moves),
            worst_arrival_deg=round(max(off), 2) if off else None,
            least_clearance_mm=round(min(clear), 1) if clear else None,
        )

    def pictures(self) -> tuple[str, ...]:
        """The labels of the pictures since."""
        return tuple(shot.label for shot in self._sitting.trial.book.log.vlm_captures[self._captures :])


def _final(verdict: Verdict) -> FinalVerdict:
    return FinalVerdict(
        stage=verdict.stage,
        verdict=verdict.verdict,
        confidence=verdict.confidence,
        reason=quoted(verdict.reason),
        error=None if verdict.error is None else quoted(verdict.error),
        judge=quoted(verdict.audit.judge),
    )
