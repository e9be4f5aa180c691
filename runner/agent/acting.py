"""The tools that move: pick, place, retreat, judge, and the rehearsal of a move. Each is stages of a trial, no more.

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
    RehearseIn,
    RehearseOut,
)
from runner.agent.seeing import grip_of, last_picture, seen_out
from runner.agent.sitting import Sitting
from runner.agent.tool import Result
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
    """Try a move in the twin, where something rehearses."""
    if sitting.rehearsal is None:
        said = quoted("nothing rehearses moves here; look, look up and ask why not tell what can be known without")
        return Result(RehearseOut(available=False, said=said))
    told = sitting.rehearsal(sitting, asked.phase, (asked.x_m, asked.z_m), asked.yaw_deg)
    return Result(RehearseOut(available=True, answer=dict(told)))


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
